"""Check all that a study's results rest on (`snakemake check`)."""

import json
import logging
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from matcheval.io.records import State, recorded_states

from matcheval.errors import InputError, listed
from matcheval.execution.batches import members_in


def check(
    *, checks: Path, study: Path, shared: Path, results: Sequence[Path], datasets: Sequence[Path],
    batches: Sequence[Path], expected: Mapping[str, Any],
) -> None:  # fmt: skip
    """Compare files with what was recorded when they were made, and tables with the study file."""
    # What makes a member of a batch is the job that makes the batch's index.
    made_by = {file: one for one in batches if one.is_file() for file in members_in(one, shared)}
    recorded = recorded_states([*results, *datasets, *made_by], shared)
    changed = [
        file
        for file, state in sorted(recorded.items())
        if not (file.is_file() and State.of(file).has_bytes_of(state))
    ]
    if changed:
        targets = dict.fromkeys(str(made_by.get(file, file)) for file in changed)
        named = listed([str(file) for file in changed])
        raise InputError(
            f"{len(changed)} of {len(recorded)} files are not as they were made: {named}",
            remedy="Delete those that are there, and make them: snakemake --cores all"
            f" {' '.join(targets)} all, with the other options of the run",
        )
    given = {"study": study, "files": [*results, *datasets], "expected": expected}
    with NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(given, file, default=str)
        file.flush()
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--given", file.name]
        ran = subprocess.run([*command, checks], capture_output=True, text=True, check=False)
    logging.info("%s", ran.stdout + ran.stderr)
    if ran.returncode:
        failed = re.findall(r"^(?:FAILED|ERROR) \S*::(.+)", ran.stdout, re.MULTILINE)
        raise InputError(f"{len(failed)} checks failed: {listed(failed)}", file=study)
    passed = re.findall(r"(\d+) passed", ran.stdout)[-1]
    told = f"{len(recorded)} files are as they were made; {passed} checks of what they say passed."
    logging.info("%s", told)
    sys.stderr.write(f"{told}\n")
