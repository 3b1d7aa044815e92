"""`matched-eval init`: what it writes, and what it refuses."""

import shlex
from pathlib import Path

import numpy as np
import pytest
import yaml

from helpers import error_of, printed, simulate
from image_sets import encode, write_files
from matcheval.cli.main import main
from matcheval.predictions.records import write_predictions
from matcheval.study.configuration import load_study
from studies import ROOT

TEMPLATES = ROOT / "workflow_scripts" / "matcheval" / "init" / "templates"


@pytest.fixture(autouse=True)
def _in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def init(capsys, *arguments):
    return printed(capsys, "init", *arguments)


def refused(capsys, *arguments, code=1):
    return error_of(capsys, code, "init", *arguments)


def images(folder, classes, n=4):
    pixels = [encode(np.full((8, 8, 3), 20 * i, np.uint8)) for i in range(n)]
    write_files(Path(folder), {f"{c}/{i}.png": x for c in classes for i, x in enumerate(pixels)})


def predictions(folder, models, n=40, suffix="csv"):
    for seed, model in enumerate(models):
        Path(folder).mkdir(parents=True, exist_ok=True)
        table = simulate(n, 3, seed, label=np.arange(n) % 3)
        write_predictions(table, Path(folder, f"{model}.{suffix}"))


def written(name):
    study = yaml.safe_load(Path(f"{name}.yaml").read_text())
    load_study(study)
    return study


@pytest.fixture
def photos():
    """Two sets of the same classes."""
    images("old", ["cat", "dog"], n=5)
    images("new", ["cat", "dog"], n=3)


class TestImages:
    def test_two_folders(self, capsys, photos):
        described = init(capsys, "old", "new")
        study = written("old-new")
        assert described["files"] == ["old-new.yaml", "old-new-models.csv"]
        block = {"kind": "image_folder", "path": "old", "classes": ["cat", "dog"], "resize": 32}
        # Half of the images of each class are for training.
        assert study["datasets"] == {
            "old-new-train": {**block, "per_class": 2},
            "old-new-original": {**block, "skip_per_class": 2},
            "old-new-replication": {**block, "path": "new"},
        }
        assert study["pairs"]["old-new"]["replication"] == "old-new-replication"
        assert study["training"]["train"] == "old-new-train"

    def test_custom_models_are_not_trained(self, capsys, photos):
        Path("nets.py").write_text("def make(): ...\n")
        Path("nets.csv").write_text("name,kind,source\nmine,callable,nets:make\n")
        described = init(capsys, "old", "new", "--models", "nets.csv")
        assert described["files"] == ["old-new.yaml"]
        assert "training" not in written("old-new")

    def test_strange_names_stay_texts(self, capsys):
        """No name of a folder can become a key, a comment or a second line of the study."""
        classes = ["no", "1e3", "- x #", "10", "9"]
        for name in ("a: b #\n!!x", "{new}"):
            images(name, classes)
        init(capsys, "a: b #\n!!x", "{new}")
        block = written("a-b-x-new")["datasets"]["a-b-x-new-original"]
        assert block["path"] == "a: b #\n!!x"
        assert sorted(block["classes"]) == sorted(classes)
        assert block["classes"].index("9") < block["classes"].index("10")


class TestPredictions:
    def test_two_patterns(self, capsys, undrawn):
        predictions("old", ["a", "b"])
        predictions("new", ["a", "b"], n=20, suffix="parquet")
        described = init(capsys, "old/{model}.csv", "new/{model}.parquet")
        assert written("old-new")["datasets"] == {
            "old-new-original": {"kind": "predictions", "files": "old/{model}.csv"},
            "old-new-replication": {"kind": "predictions", "files": "new/{model}.parquet"},
        }
        catalogue = Path("old-new-models.csv").read_text()
        assert catalogue == "name,kind,note\na,predictions,\nb,predictions,\n"
        # The other command that is printed works as it is.
        main(shlex.split(described["compare"])[1:])
        assert Path("results/old-new-compared/report.html").is_file()

    def test_names_that_files_may_have_and_models_not(self, capsys):
        for name in ("old", "new"):
            predictions(name, ["my net", "b"])
        described = init(capsys, "old/{model}.csv", "new/{model}.csv")
        blocks = written("old-new")["datasets"]
        assert blocks["old-new-original"]["aliases"] == {"my-net": "my net"}
        assert described["compare"] is None

    def test_classes_and_columns_are_seen_or_given(self, capsys):
        for name in ("old", "new"):
            Path(name).mkdir()
            rows = "".join(f"{'cat' if i % 2 else 'dog'},cat,0.{i}\n" for i in range(1, 9))
            Path(name, "m.csv").write_text("truth,prediction,probability\n" + rows)
        init(capsys, "old/{model}.csv", "new/{model}.csv", "--columns", "label=truth")
        block = written("old-new")["datasets"]["old-new-original"]
        assert (block["columns"], block["classes"]) == ({"label": "truth"}, ["cat", "dog"])


def test_sets_and_rows_of_catalogues_are_those_of_the_studies(capsys):
    """With the same rows, checkpoints and predictions are those of the longer studies."""
    pytest.importorskip("timm")
    for name in ("cifar10", "imagenet"):
        described = init(capsys, name)
        study = written(f"{name}-small")
        whole = yaml.safe_load((ROOT / "studies" / f"{name}.yaml").read_text())
        assert study["datasets"].items() <= whole["datasets"].items()
    assert "no such file or folder: data/imagenet" in described["missing"]
    for name in ("cifar10", "digits", "imagenet"):
        rows = (TEMPLATES / f"{name}.csv").read_text().splitlines()
        whole = (ROOT / "studies" / f"{name}-models.csv").read_text().splitlines()
        assert set(rows) < set(whole)


def test_examples(capsys):
    for name in ("digits", "shifts", "predictions", "images"):
        described = init(capsys, "--example", name)
        assert (described["missing"], described["study"]) == (None, f"example-{name}")
        written(f"example-{name}")
    assert len(list(Path("example-images/new-writers").glob("*/*.png"))) == 497


def test_nothing_is_overwritten_unasked(capsys):
    mine = ("--example", "digits", "--name", "mine")
    init(capsys, *mine)
    Path("mine.yaml").write_text("precious")
    assert "there already: mine.yaml, mine-models.csv" in refused(capsys, *mine)
    assert Path("mine.yaml").read_text() == "precious"
    init(capsys, *mine, "--force")
    assert written("mine")["study"] == "mine"
    Path("example-predictions").mkdir()
    Path("example-predictions/mine.txt").write_text("precious")
    assert "example-predictions" in refused(capsys, "--example", "predictions")
    init(capsys, "--example", "predictions", "--force")
    assert Path("example-predictions/mine.txt").read_text() == "precious"


def test_a_catalogue_is_not_overwritten_by_the_study(capsys, photos):
    Path("m.yaml").write_text("- {name: a, kind: predictions}\n")
    told = refused(capsys, "old", "new", "--models", "m.yaml", "--file", "m.yaml", "--force")
    assert "is the catalogue of models, too" in told
    assert "name: a" in Path("m.yaml").read_text()


def test_what_is_refused(capsys):
    for name, classes in (
        ("old", ["cat", "dog", "owl"]), ("new", ["cat", "dog", "fox"]), ("one", ["cat"]),
    ):  # fmt: skip
        images(name, classes)
    for name in ("few", "few2", "bad"):
        images(name, ["cat", "dog"], n=1 if name != "bad" else 2)
    Path("bad/cat/0.png").write_bytes(b"no image")
    for name, models in (("p", "ab"), ("q", "bc")):
        predictions(name, models)
    for arguments, said in (
        ("old new", "new: has other classes than old: fox, owl"),
        ("few few2", "few: has a class with one image, too few"),
        ("bad few2", "0.png"),
        ("old old/../old", "compared with itself"),
        ("p/{model}.csv q/{model}.csv", "models without files on both sets: a, c"),
        ("{model}/{model}.csv q/{model}.csv", "must hold {model} once"),
        ("cifar10 --name ../x", "not a valid name"),
    ):
        assert said in refused(capsys, *arguments.split(" ")), arguments
    assert "name two sets" in refused(capsys, "digits", code=2)
    assert not list(Path().glob("*.yaml"))
