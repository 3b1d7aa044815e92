"""For which code the versions of the expensive stages were decided on.

Datasets, sampling, training and inference are not repeated when the library is edited, but when
the version of the stage is raised. Whoever edits their code decides whether results change, raises
the version if so, and enters the code's digest in `stages.json` (`make stages`). Until then, every
run warns, and `tests/unit/test_versions.py` fails.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from matcheval.accuracy_prediction import ROTATION_VERSION
from matcheval.analyses.sampling import SAMPLING_VERSION
from matcheval.datasets.derived import DERIVATION_VERSION
from matcheval.datasets.kinds import KINDS
from matcheval.inference import INFERENCE_VERSION
from matcheval.io.files import write_text
from matcheval.training import TRAINING_VERSION

FILE = Path(__file__).with_suffix(".json")
# Syntax trees, and so digests, differ between versions of Python.
PYTHON = "3.11"


# By script, or function of one, what is raised when its results change: constants of the library,
# or the `builder_version` of every kind of dataset.
STAGES: dict[str, dict[str, int]] = {
    "prepare:prepare": {
        f"builder_version of {name}": kind.builder_version
        for name, kind in KINDS.items()
        if kind.has_images
    },
    "train": {"TRAINING_VERSION": TRAINING_VERSION},
    "predict": {"INFERENCE_VERSION": INFERENCE_VERSION},
    "score_rotation": {"ROTATION_VERSION": ROTATION_VERSION},
    "prepare:prepare_derived": {"DERIVATION_VERSION": DERIVATION_VERSION},
    "matcheval.analyses.sampling.build:sample": {"SAMPLING_VERSION": SAMPLING_VERSION},
}


def current_stages(digest: Callable[..., str]) -> dict[str, dict[str, Any]]:
    """Return the present versions and code digests of the stages, by script."""
    return {
        script: {"versions": versions, "code": digest(script)}
        for script, versions in STAGES.items()
    }


def recorded_stages() -> dict[str, dict[str, Any]]:
    """Return the versions and code digests that `stages.json` has, by script."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def record_stages(digest: Callable[..., str]) -> None:
    """Write the present versions and code digests of the stages to `stages.json`."""
    stages = current_stages(digest).items()
    lines = [f"{json.dumps(script)}: {json.dumps(stage)}" for script, stage in stages]
    write_text(FILE, "{\n" + ",\n".join(lines) + "\n}\n")


def stage_warnings(digest: Callable[..., str]) -> list[str]:
    """Return a warning for each stage whose code, but not version, has changed since recorded."""
    if ".".join(map(str, sys.version_info[:2])) != PYTHON:
        return []
    recorded = recorded_stages()
    edited = [
        script
        for script, now in current_stages(digest).items()
        if now["versions"] == recorded[script]["versions"]
        and now["code"] != recorded[script]["code"]
    ]
    return [
        f"The code of {script} was edited, and nobody has decided yet whether its results change; "
        "files that it wrote before are kept. If they change, raise "
        f"{_version_to_raise(STAGES[script])}; in both cases, enter the decision by `make stages`"
        for script in edited
    ]


def _version_to_raise(versions: dict[str, int]) -> str:
    names = list(versions)
    return names[0] if len(names) == 1 else "`builder_version` of the kind of dataset"
