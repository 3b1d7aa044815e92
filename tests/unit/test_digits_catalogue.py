from pathlib import Path

import pandas as pd

from matcheval.models.sizes import SPECIFICATIONS
from matcheval.study.catalogue import read_catalogue

ROOT = Path(__file__).parents[2]
FILE = ROOT / "studies" / "digits-models.csv"


def test_everything_made_for_small_images_occurs_and_has_a_reason():
    models = read_catalogue(FILE)
    recipes = [model.recipe for model in models.values()]
    assert len(recipes) == 20
    assert pd.read_csv(FILE)["note"].notna().all()
    small = {name for name, spec in SPECIFICATIONS.items() if spec.family == "small"}
    assert {r.architecture for r in recipes} == small
    assert {r.loss for r in recipes} == {
        "cross_entropy", "focal", "brier", "label_smoothing", "mmce"
    }  # fmt: skip
    assert {r.augmentation for r in recipes} == {"none", "shift", "noise", "cutout", "mixup"}
    assert {r.schedule for r in recipes} == {"constant", "cosine", "step", "warmup_cosine"}
    assert len({r.seed for r in recipes}) >= 2
