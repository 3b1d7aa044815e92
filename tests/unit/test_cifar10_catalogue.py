from pathlib import Path

import make_cifar10_models

from matcheval.training.settings import TrainingSettings

STUDIES = Path(__file__).parents[2] / "studies"


def test_is_what_the_script_writes(tmp_path, monkeypatch):
    monkeypatch.setattr(make_cifar10_models, "__file__", str(tmp_path / "script.py"))
    make_cifar10_models.main()
    written = (tmp_path / "cifar10-models.csv").read_bytes()
    assert written == (STUDIES / "cifar10-models.csv").read_bytes()


def test_engine_options_are_those_of_the_command_line():
    settings = TrainingSettings(
        train="a", validation="b", device="cuda", threads=2, channels_last=True,
        deterministic=False, validate_every=5,
    )  # fmt: skip
    assert settings.machine_options == (
        "--device cuda --channels-last --no-deterministic --validate-every 5 --save-minutes 10"
    )
