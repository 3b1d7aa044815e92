"""For every edit of an expensive stage, somebody decides whether it changes results.

Datasets, sampling, training and inference run by `shell:` rules, which do not notice edits of the
library. If an edit changes results, raise the version of the stage, so that everything is rebuilt.
If it does not (a message, a type, a faster way to the same bytes), leave the version alone. In both
cases, enter the new digest here; this test is the reminder. Results are compared by
`test_fingerprints.py`.
"""

import sys
from pathlib import Path

import pytest

from matcheval.accuracy_prediction import ROTATION_VERSION
from matcheval.analyses.sampling import SAMPLING_VERSION
from matcheval.datasets.derivations import DERIVATION_VERSION
from matcheval.datasets.kinds import KINDS
from matcheval.inference import INFERENCE_VERSION
from matcheval.io.provenance import code_digest
from matcheval.training import TRAINING_VERSION
from matcheval.training.options import ALGORITHMS

# Modules that are imported by name, when a dataset is built or a model is trained.
_BUILDERS = {f"matcheval.datasets.{k.builder.split('.')[0]}" for k in KINDS.values() if k.builder}
_ALGORITHMS = {
    f"matcheval.training.algorithms.{kind.implementation.split('.')[0]}"
    for kind in ALGORITHMS.values()
}
IMPORTED_BY_NAME = {
    "prepare_dataset.py": sorted(_BUILDERS),
    "train_model.py": sorted(_ALGORITHMS),
}

SCRIPTS = Path(__file__).parents[2] / "workflow_scripts"

DECIDED = {
    "prepare_dataset.py": (
        {name: kind.builder_version for name, kind in KINDS.items() if kind.builder},
        {
            "digits": 2,
            "cifar10": 1,
            "cifar10_1": 1,
            "cifar10_2": 1,
            "cifar10_c": 1,
            "cinic10": 1,
            "imagenet": 1,
            "imagenetv2": 1,
            "image_folder": 1,
            "arrays": 1,
            "parquet": 1,
            "corrupted": 101,
            "restyled": 1,
        },
        "8e9ffc0c78ed3195",
    ),
    "train_model.py": (TRAINING_VERSION, 2, "fb879131f1e39a45"),
    "predict_datasets.py": (INFERENCE_VERSION, 3, "faa9844f6ae5e069"),
    "score_rotation.py": (ROTATION_VERSION, 1, "b5507fcb8d52abfb"),
    "derive_dataset.py": (DERIVATION_VERSION, 1, "37bd0dc662bb591e"),
    "simulate_annotations.py": (SAMPLING_VERSION, 1, "4a24c6cc5e4520d8"),
    "count_selections.py": (SAMPLING_VERSION, 1, "e0382b42d695ed18"),
    "sample_dataset.py": (SAMPLING_VERSION, 1, "d7febee7680dfd83"),
}


@pytest.mark.skipif(
    sys.version_info[:2] != (3, 11), reason="syntax trees differ between versions of Python"
)
@pytest.mark.parametrize("script", DECIDED)
def test_an_edit_was_decided_on(script):
    version, decided_version, digest = DECIDED[script]
    assert version == decided_version, "enter the version here"
    assert code_digest(SCRIPTS / script, *IMPORTED_BY_NAME.get(script, ())) == digest, (
        f"code behind {script} was edited: raise the stage's version if its results change, and "
        "enter the new digest here"
    )
