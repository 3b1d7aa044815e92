import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import make_cifar10_models
import pytest
import torch

from matcheval.models import FAMILIES
from matcheval.models.building import build_model
from matcheval.models.sizes import SPECIFICATIONS
from matcheval.study.catalogue import read_catalogue
from matcheval.study.stages import StageJobs
from matcheval.training import LOSSES, SCHEDULES
from matcheval.training.settings import TrainingSettings

STUDIES = Path(__file__).parents[2] / "studies"
MODELS = read_catalogue(STUDIES / "cifar10-models.csv")
RECIPES = {name: model.recipe for name, model in MODELS.items()}
CODE = ("mmce_mukhoti", "mmce_weighted_mukhoti")
OTHERS = read_catalogue(STUDIES / "cifar10-warehouse-models.csv")
BUILT = [*RECIPES.values(), *(model.recipe for model in OTHERS.values() if model.recipe)]
SIZES = sorted({(r.architecture, r.width, r.depth, r.groups) for r in BUILT})


def test_is_what_the_script_writes(tmp_path, monkeypatch):
    monkeypatch.setattr(make_cifar10_models, "__file__", str(tmp_path / "script.py"))
    make_cifar10_models.main()
    written = (tmp_path / "cifar10-models.csv").read_bytes()
    assert written == (STUDIES / "cifar10-models.csv").read_bytes()


def test_278_models_with_a_reason_each():
    assert len(MODELS) == 278
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9-]*", name) for name in MODELS)
    lines = (STUDIES / "cifar10-models.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0].endswith(",note")
    assert not any(line.endswith(",") for line in lines)
    assert len({recipe for recipe in RECIPES.values() if recipe}) == 278  # none trained twice


def test_table_2_is_spanned():
    """Every family with every loss, augmentation and several schedules and seeds."""
    for family in FAMILIES:
        own = [r for r in RECIPES.values() if SPECIFICATIONS[r.architecture].family == family]
        assert len(own) >= 25
        assert {r.loss for r in own} == set(LOSSES) - {"mmce", "mmce_weighted"}  # the code's MMCE
        sizes = Counter((r.architecture, r.width, r.depth, r.groups) for r in own if r.loss in CODE)
        assert len(sizes) >= 2
        assert {r.augmentation for r in own} == {
            "none", "basic", "basic_mixup", "basic_cutmix", "basic_ricap"
        }  # fmt: skip
        assert {r.schedule for r in own} == set(SCHEDULES) - {"warmup_cosine"}
        assert {r.seed for r in own} == {0, 1, 2}
    assert {r.normalization for r in RECIPES.values()} == {"channels"}
    assert {SPECIFICATIONS[r.architecture].family for r in RECIPES.values()} == set(FAMILIES)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_every_network_can_be_built(size):
    architecture, width, depth, groups = size
    with torch.device("meta"):
        model = build_model(
            architecture, width=width, depth=depth, groups=groups, input_shape=(32, 32, 3),
            n_classes=10,
        )  # fmt: skip
        assert model.eval()(torch.empty(1, 3, 32, 32)).shape == (1, 10)


def test_engine_options_are_those_of_the_command_line():
    assert StageJobs(SimpleNamespace(training=None)).training_options == ""
    settings = TrainingSettings(
        train="a", validation="b", device="cuda", threads=2, channels_last=True,
        deterministic=False, validate_every=5,
    )  # fmt: skip
    assert settings.machine_options == (
        "--device cuda --channels-last --fast --validate-every 5 --save-minutes 10"
    )
