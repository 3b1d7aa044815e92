"""Check all that a study's results rest on (`snakemake check`)."""

import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from matcheval.errors import InputError, listed


def check(
    *, checks: Path, study: Path, results: Sequence[Path], datasets: Sequence[Path],
    expected: Mapping[str, Any],
) -> None:  # fmt: skip
    """Check a study's files, against each other and the study file, by running pytest on them."""
    folders = [path for path in results if path.is_dir()]
    files = [path for path in results if path not in folders]
    files += [path for folder in folders for path in sorted(folder.rglob("[!.]*.*"))]
    described = {"study": study, "files": [*files, *datasets], "expected": expected}
    with NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(described, file, default=str)
        file.flush()
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--given", file.name]
        library = {"PYTHONPATH": str(Path(__file__).parent)}  # which need not be installed
        ran = subprocess.run(
            [*command, checks], capture_output=True, text=True, check=False,
            env=os.environ | library,
        )  # fmt: skip
    logging.info("%s", ran.stdout + ran.stderr)
    if ran.returncode:
        failed = re.findall(r"^(?:FAILED|ERROR) \S*::(.+)", ran.stdout, re.MULTILINE)
        problem = f"{len(failed)} checks failed: {listed(failed)}"
        raise InputError(problem if failed else "the checks could not run", file=study)
    passed = re.findall(r"(\d+) passed", ran.stdout)[-1]
    message = f"{passed} checks of {len(files)} files passed."
    logging.info("%s", message)
    sys.stderr.write(f"{message}\n")
