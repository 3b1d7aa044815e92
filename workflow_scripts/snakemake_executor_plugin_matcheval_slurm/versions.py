"""Versions of `snakemake-executor-plugin-slurm` that this executor works with."""

import re
from importlib import metadata
from typing import Any

from snakemake_interface_common.exceptions import WorkflowError

PACKAGE = "snakemake-executor-plugin-slurm"
# The tests run with the first and the last of these.
OLDEST, NEWEST = (2, 0, 0), (2, 8, 0)


def check(logger: Any) -> None:
    """Check the installed version."""
    tested = f"{_text(OLDEST)} to {_text(NEWEST)}"
    remedy = f"pip install '{PACKAGE}=={_text(NEWEST)}'"
    try:
        installed = metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        raise WorkflowError(f"{PACKAGE} is not installed. Install it: {remedy}") from None
    version = tuple(int(part) for part in re.findall(r"\d+", installed)[:3])
    if not OLDEST <= version < (NEWEST[0] + 1,):
        raise WorkflowError(
            f"{PACKAGE} {installed} is installed; this workflow was tested with {tested}, and "
            f"another version may submit jobs differently. Install one of these: {remedy}"
        )
    if version[:2] > NEWEST[:2]:
        logger.warning(
            f"{PACKAGE} {installed} is newer than the versions that this workflow was tested with "
            f"({tested}). If jobs are not submitted as they should be: {remedy}"
        )


def _text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
