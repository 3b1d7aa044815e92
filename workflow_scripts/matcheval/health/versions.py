"""Versions of Python and of the packages that results depend on."""

import platform
from importlib import metadata

from matcheval.version import __version__

PACKAGES = ("numpy", "pandas", "pyarrow", "matplotlib", "torch", "timm", "snakemake")


def versions() -> dict[str, str | None]:
    """Look up the versions of what matters."""
    found: dict[str, str | None] = {
        "matched-eval": __version__, "python": platform.python_version(),
    }  # fmt: skip
    return found | {name: version_of(name) for name in PACKAGES}


def version_of(package: str) -> str | None:
    """Return the version of an installed package."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
