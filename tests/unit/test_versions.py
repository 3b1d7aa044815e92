"""Edits of dear stages are decided on: does what they make change?

Datasets, sampling, training and inference run by `shell:` rules, which take no notice of the
library. If an edit changes their results, raise the stage's version: everything is made again. If
it does not (a message, a type, a faster way to the same bytes), leave it. In both cases enter the
new digest here; this test is the reminder.
"""

import sys
from pathlib import Path

import pytest

from matcheval.datasets import KIND_VERSIONS
from matcheval.inference import INFERENCE_VERSION
from matcheval.provenance import code_digest
from matcheval.sampling import SAMPLING_VERSION
from matcheval.training import TRAINING_VERSION

SCRIPTS = Path(__file__).parents[2] / "workflow_scripts"

DECIDED = {
    "prepare_dataset.py": (KIND_VERSIONS, {"digits": 2}, "f5d0efe97db03426"),
    "train_model.py": (TRAINING_VERSION, 1, "6046359288e5dfef"),
    "predict_dataset.py": (INFERENCE_VERSION, 1, "9876b5fab7a70294"),
    "simulate_answers.py": (SAMPLING_VERSION, 1, "3b24d4467d9b4b46"),
    "count_selections.py": (SAMPLING_VERSION, 1, "95bbc1076bec57ac"),
    "sample_dataset.py": (SAMPLING_VERSION, 1, "8b6e4fe76c5f82a1"),
}


@pytest.mark.skipif(
    sys.version_info[:2] != (3, 11), reason="syntax trees differ between versions of Python"
)
@pytest.mark.parametrize("script", DECIDED)
def test_an_edit_was_decided_on(script):
    version, decided_version, digest = DECIDED[script]
    assert version == decided_version, "enter the version here"
    assert code_digest(SCRIPTS / script) == digest, (
        f"code behind {script} was edited: raise the stage's version if its results change, and "
        "enter the new digest here"
    )
