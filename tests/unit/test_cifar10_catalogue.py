from pathlib import Path
from types import SimpleNamespace

import make_cifar10_models
import pytest
import torch

from matcheval.models.building import build_model
from matcheval.study.catalogue import read_catalogue
from matcheval.study.stages import StageJobs
from matcheval.training.settings import TrainingSettings

STUDIES = Path(__file__).parents[2] / "studies"
MODELS = read_catalogue(STUDIES / "cifar10-models.csv")
OTHERS = read_catalogue(STUDIES / "cifar10-warehouse-models.csv")
BUILT = [model.recipe for models in (MODELS, OTHERS) for model in models.values() if model.recipe]
SIZES = sorted({(r.architecture, r.width, r.depth, r.groups) for r in BUILT})


def test_is_what_the_script_writes(tmp_path, monkeypatch):
    monkeypatch.setattr(make_cifar10_models, "__file__", str(tmp_path / "script.py"))
    make_cifar10_models.main()
    written = (tmp_path / "cifar10-models.csv").read_bytes()
    assert written == (STUDIES / "cifar10-models.csv").read_bytes()


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
