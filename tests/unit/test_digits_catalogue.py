import csv
import re
from pathlib import Path

import pandas as pd
import pytest

from matcheval.models.building import build_model
from matcheval.models.sizes import SPECIFICATIONS
from matcheval.training.recipe import Recipe

ROOT = Path(__file__).parents[2]
FILE = ROOT / "studies" / "digits-models.csv"
COLUMNS = (
    "name,kind,architecture,width,depth,loss,loss_parameter,augmentation,schedule,epochs,"
    "batch_size,learning_rate,weight_decay,train_fraction,seed,note"
)
with FILE.open(newline="", encoding="utf-8") as stream:
    ROWS = list(csv.DictReader(stream))


def recipe_of(row):
    fields = {key: value for key, value in row.items() if key not in ("name", "kind", "note")}
    return Recipe.from_mapping(fields, row["name"])


def test_columns_and_rows():
    assert FILE.read_text(encoding="utf-8").splitlines()[0] == COLUMNS
    assert len(ROWS) == 20
    names = [row["name"] for row in ROWS]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+", name) for name in names)
    assert {row["kind"] for row in ROWS} == {"trained"}
    assert all(row["note"] for row in ROWS)


def test_everything_made_for_small_images_occurs():
    recipes = [recipe_of(row) for row in ROWS]
    small = {name for name, spec in SPECIFICATIONS.items() if spec.family == "small"}
    assert {r.architecture for r in recipes} == small
    assert {r.loss for r in recipes} == {
        "cross_entropy", "focal", "brier", "label_smoothing", "mmce"
    }  # fmt: skip
    assert {r.augmentation for r in recipes} == {"none", "shift", "noise", "cutout", "mixup"}
    assert {r.schedule for r in recipes} == {"constant", "cosine", "step", "warmup_cosine"}
    assert len({r.seed for r in recipes}) >= 2


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_every_row_builds(row):
    recipe = recipe_of(row)
    model = build_model(
        recipe.architecture, width=recipe.width, depth=recipe.depth,
        input_shape=(8, 8, 1), n_classes=10,
    )  # fmt: skip
    assert sum(p.numel() for p in model.parameters()) > 0


def test_models_are_spread():
    """From poor to nearly perfect, in the results that the documentation shows."""
    table = pd.read_csv(ROOT / "docs" / "digits" / "label_probability.csv")
    assert set(table.model) == {row["name"] for row in ROWS}
    assert table.accuracy_original.max() - table.accuracy_original.min() > 0.1
    assert table.accuracy_original.max() > 0.95
