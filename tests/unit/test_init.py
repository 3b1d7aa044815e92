"""`matched-eval init`: what it sees, what it writes, what it refuses."""

import csv
import json
import shlex
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

from helpers import simulate, told_json
from matcheval.cli.main import main
from matcheval.predictions.records import write_predictions
from matcheval.registry import ANALYSES
from matcheval.starting.drafting import as_name, pattern_name
from matcheval.starting.writing import as_yaml
from matcheval.study.configuration import load_study
from studies import ROOT

TEMPLATES = ROOT / "workflow_scripts" / "matcheval" / "starting" / "templates"


@pytest.fixture(autouse=True)
def _in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def init(capsys, *arguments):
    main(["init", *map(str, arguments), "--json"])
    return told_json(capsys.readouterr().out)


def refused(capsys, *arguments, code=1):
    with pytest.raises(SystemExit) as caught:
        main(["init", *map(str, arguments)])
    assert caught.value.code == code
    return capsys.readouterr().err


def images(folder, classes, n=4, side=8, suffix="png"):
    for name in classes:
        place = Path(folder, name)
        place.mkdir(parents=True)
        for i in range(n):
            pixels = np.full((side, side, 3), 20 * i, np.uint8)
            Image.fromarray(pixels).save(place / f"{i}.{suffix}")


def predictions(folder, models, n=40, suffix="csv"):
    for seed, model in enumerate(models):
        Path(folder).mkdir(parents=True, exist_ok=True)
        known = simulate(n, 3, seed, label=np.arange(n) % 3)
        write_predictions(known, Path(folder, f"{model}.{suffix}"))


def written(name):
    return yaml.safe_load(Path(f"{name}.yaml").read_text())


@pytest.fixture
def photos():
    """Two sets of the same classes."""
    images("old", ["cat", "dog"], n=5)
    images("new", ["cat", "dog"], n=3)


class TestImages:
    def test_two_folders(self, capsys, photos):
        told = init(capsys, "old", "new")
        study = written("old-new")
        assert told["files"] == ["old-new.yaml", "old-new-models.csv"]
        block = {"kind": "image_folder", "path": "old", "classes": ["cat", "dog"], "resize": 8}
        # Half of the images of each class are for training.
        assert study["datasets"] == {
            "old-train": {**block, "per_class": 2},
            "old": {**block, "skip_per_class": 2},
            "new": {**block, "path": "new"},
        }
        assert study["pairs"] == {"new": {"original": "old", "replication": "new"}}
        assert study["training"]["train"] == "old-train"
        # Networks for images of 8 × 8 pixels are trained by one job, and run by another.
        assert study["training"]["device"] == study["inference"]["device"] == "cpu"
        loaded = load_study(study, default_study=Path("old-new.yaml"), analyses=ANALYSES)
        (trained,), (run,) = loaded.trainings.batches.values(), loaded.predicting.batches.values()
        assert trained == run == tuple(loaded.models)
        assert told["report"] == "results/old-new/report.html"

    def test_training_images_of_their_own(self, capsys):
        for name in ("a/test", "b/test", "train"):
            images(name, ["1", "2", "10"], side=70, suffix="jpg")
        study = init(capsys, "a/test", "b/test", "--train", "train", "--name", "mine")["study"]
        datasets = written(study)["datasets"]
        assert list(datasets) == ["test-original-train", "test-original", "test-new"]
        for block in datasets.values():
            assert block["classes"] == ["1", "2", "10"]  # in the order of numbers
            assert block["resize"] == 32
            assert not {"per_class", "skip_per_class"} & set(block)
        assert written(study)["training"]["device"] == "auto"

    def test_custom_models_are_not_trained(self, capsys, photos):
        Path("nets.py").write_text("def make(): ...\n")
        Path("nets.csv").write_text("name,kind,source\nmine,callable,nets:make\n")
        told = init(capsys, "old", "new", "--models", "nets.csv")
        study = written("old-new")
        assert told["files"] == ["old-new.yaml"]
        assert "training" not in study
        assert list(study["datasets"]) == ["old", "new"]
        assert "resize" not in study["datasets"]["old"]

    def test_folders_named_as_in_imagenet_need_no_training(self, capsys):
        pytest.importorskip("timm")
        for name in ("old", "new"):
            images(name, ["n01440764", "n01443537"])
        init(capsys, "old", "new")
        study = written("old-new")
        assert study["datasets"]["old"]["classes"] == "imagenet"
        assert "training" not in study
        assert "resnet18.tv_in1k" in Path("old-new-models.csv").read_text()

    def test_a_folder_of_sets(self, capsys):
        images("sets/clean", ["cat", "dog"])
        images("sets/noise", ["cat"])
        images("sets/fog", ["cat", "dog"])
        init(capsys, "sets/clean", "sets")
        study = written("clean-sets")
        (member,) = study["suites"]["sets"]["members"]
        assert member["values"] == {"set": ["fog", "noise"]}  # not the original
        assert member["dataset"]["path"] == "sets/{set}"
        assert study["suite_accuracies"] == {"suites": {"sets": "clean"}}
        assert study["accuracy_prediction"]["suites"]["sets"]["reference"] == "clean-train"

    def test_files_that_are_no_images_are_skipped_and_said(self, capsys, photos):
        Path("new/cat/notes.txt").write_text("x")
        Path("new/labels.csv").write_text("x")  # beside class folders, no prediction file
        Path("new/cat/.hidden").write_text("x")
        init(capsys, "old", "new")
        assert written("old-new")["datasets"]["new"]["unreadable"] == "skip"
        assert "unreadable" not in written("old-new")["datasets"]["old"]
        assert "1 file without the name of an image" in Path("old-new.yaml").read_text()

    def test_names_that_another_study_has_used_are_not_used_again(self, capsys, photos):
        Path("results/studies").mkdir(parents=True)
        there = {"dataset": {"old": {"kind": "digits", "part": "known"}}, "model": {}}
        Path("results/studies/other.json").write_text(json.dumps(there))
        init(capsys, "old", "new", "--name", "mine")
        study = written("mine")
        assert list(study["datasets"]) == ["mine-old-train", "mine-old", "mine-new"]
        assert study["pairs"] == {"new": {"original": "mine-old", "replication": "mine-new"}}
        rows = csv.DictReader(Path("mine-models.csv").read_text().splitlines())
        assert {row["name"][:5] for row in rows} == {"mine-"}
        (line,) = [one for one in Path("mine.yaml").read_text().splitlines() if "$schema=" in one]
        assert Path(line.partition("$schema=")[2]).is_file()
        init(capsys, "old", "new")  # whose name would repeat those of the sets
        sets = ["train", "original", "replication"]
        assert list(written("old-new")["datasets"]) == [f"old-new-{one}" for one in sets]
        assert list(written("old-new")["pairs"]) == ["new"]


class TestPredictions:
    def test_a_pattern_and_a_folder(self, capsys, undrawn):
        predictions("old", ["a", "b"])
        predictions("new", ["a", "b"], n=20, suffix="parquet")
        told = init(capsys, "old/{model}.csv", "new")
        study = written("old-new")
        assert study["datasets"] == {
            "old": {"kind": "predictions", "files": "old/{model}.csv"},
            "new": {"kind": "predictions", "files": "new/{model}.parquet"},
        }
        assert Path("old-new-models.csv").read_text() == (
            "name,kind,note\na,predictions,\nb,predictions,\n"
        )
        # The other command that is printed works as it is.
        main(shlex.split(told["compare"])[1:])
        assert Path("results/old-new-compared/report.html").is_file()

    def test_names_that_files_may_have_and_models_not(self, capsys):
        predictions("old", ["my net", "b"])
        predictions("new", ["my net", "b"], n=20)
        told = init(capsys, "old", "new")
        assert written("old-new")["datasets"]["new"]["aliases"] == {"my-net": "my net"}
        assert told["compare"] is None or "my net" not in told["compare"]

    def test_classes_and_columns_are_seen_or_given(self, capsys):
        for name in ("old", "new"):
            Path(name).mkdir()
            rows = "".join(f"{'cat' if i % 2 else 'dog'},cat,0.{i}\n" for i in range(1, 9))
            Path(name, "m.csv").write_text("truth,prediction,probability\n" + rows)
        init(capsys, "old", "new", "--columns", "label=truth")
        block = written("old-new")["datasets"]["old"]
        assert (block["columns"], block["classes"]) == ({"label": "truth"}, ["cat", "dog"])

    def test_models_without_files_and_unreadable_files(self, capsys):
        predictions("old", ["a", "b"])
        predictions("new", ["b", "c"])
        init(capsys, "old", "new", "--skip-missing")
        assert Path("old-new-models.csv").read_text().count("predictions") == 1
        for name in ("old", "new"):
            Path(name, "b.csv").write_text("label,prediction\n1,1\n")
        assert "b.csv" in refused(capsys, "old", "new", "--skip-missing", "--name", "bad")
        assert not Path("bad.yaml").exists()


class TestPublished:
    def test_the_sets_are_those_of_this_repositorys_studies(self, capsys):
        init(capsys, "CIFAR-10", "cifar10.1")
        study = written("cifar10-cifar10.1-v6")
        reference = yaml.safe_load((ROOT / "studies" / "cifar10.yaml").read_text())
        for name, block in study["datasets"].items():
            assert reference["datasets"][name] == block
        assert study["training"]["train"] == reference["training"]["train"]

    def test_what_has_to_be_provided_is_said(self, capsys):
        pytest.importorskip("timm")
        told = init(capsys, "imagenet", "imagenetv2")
        assert "no such file or folder: data/imagenet" in told["missing"]
        assert "training" not in written("imagenet-imagenetv2")

    @pytest.mark.parametrize("name", ["cifar10", "digits", "imagenet"])
    def test_rows_of_catalogues_are_those_of_the_studies(self, name):
        """With the same rows, checkpoints and predictions are those of the longer studies."""
        rows = (TEMPLATES / f"{name}.csv").read_text().splitlines()
        assert set(rows) < set((ROOT / "studies" / f"{name}-models.csv").read_text().splitlines())


DIGITS = ("digits", "digits-new-writers")


class TestFiles:
    def test_nothing_is_overwritten_unasked(self, capsys):
        Path("results/mine").mkdir(parents=True)
        err = refused(capsys, *DIGITS, "--name", "mine")
        assert "there already: results/mine (results)" in err
        Path("results/mine").rmdir()
        init(capsys, *DIGITS, "--name", "mine")
        Path("mine.yaml").write_text("precious")
        err = refused(capsys, *DIGITS, "--name", "mine")
        assert "there already: mine.yaml (study), mine-models.csv (catalogue)" in err
        assert Path("mine.yaml").read_text() == "precious"
        init(capsys, *DIGITS, "--name", "mine", "--force")
        assert written("mine")["study"] == "mine"

    def test_an_example_is_left_alone(self, capsys):
        assert "is no folder" in refused(capsys, "--example", "images", "--results", "")
        assert not list(Path().iterdir())
        Path("example-predictions").mkdir()
        Path("example-predictions/mine.txt").write_text("precious")
        err = refused(capsys, "--example", "predictions")
        assert "there already: example-predictions (data)" in err
        init(capsys, "--example", "predictions", "--force")
        assert Path("example-predictions/mine.txt").read_text() == "precious"

    def test_a_catalogue_is_not_overwritten_by_the_study(self, capsys):
        Path("m.yaml").write_text("- {name: a, kind: predictions}\n")
        err = refused(capsys, *DIGITS, "--models", "m.yaml", "--file", "m.yaml", "--force")
        assert "is the catalogue of models, too" in err
        assert "name: a" in Path("m.yaml").read_text()

    def test_strange_names_stay_texts(self, capsys):
        """No name of a folder can become a key, a comment or a second line of the study."""
        for name in ("a: b #\n!!x", "{new}"):
            images(name, ["no", "1e3", "- x #"])
        init(capsys, "a: b #\n!!x", "{new}", "--name", "mine")
        datasets = written("mine")["datasets"]
        assert list(datasets) == ["a-b-x-train", "a-b-x", "new"]
        assert datasets["a-b-x"]["path"] == "a: b #\n!!x"
        assert sorted(datasets["new"]["classes"]) == ["- x #", "1e3", "no"]


def test_what_is_refused(capsys):
    for name, classes in (
        ("old", ["cat", "dog", "owl"]), ("new", ["cat", "dog", "fox"]), ("one", ["cat"]),
        ("hollow", ["cat", "dog", "owl"]), ("{x}/one", ["cat", "dog", "owl"]),
    ):  # fmt: skip
        images(name, classes)
    for name in ("few", "few2", "bad"):
        images(name, ["cat", "dog"], n=1)
    Path("bad/cat/0.png").write_bytes(b"no image")
    for name in ("empty/cat", "hollow/ant"):
        Path(name).mkdir(parents=True)
    for name, models in (("p", "ab"), ("q", "bc"), ("r", "d"), ("mixed", "a")):
        predictions(name, models)
    predictions("mixed", ["b"], suffix="parquet")
    images("loop", ["cat", "dog"])
    Path("loop/cat/again").symlink_to("..")
    for arguments, said in (
        ("old new", "only old has owl; only new has fox"),
        ("old empty", "empty: holds no images in class folders"),
        ("old hollow", "hollow: class folders without images: ant"),
        ("old one", "one: holds images of one class only, 'cat'"),
        ("few few2", "class 'cat' has one image, too few"),
        ("loop loop", "loop/cat/again: is a link to "),
        ("bad few2", "0.png: is not a readable image"),
        ("digits old", "which cannot be compared with images"),
        ("cifar10 old", "no classes of cifar10: owl"),
        ("old old/../old", "compared with itself"),
        ("old few2 --train old/../few2", "learned from"),
        ("old {x}", "braces stand for"),
        (f"{'x' * 5000} old", "no published set of this name"),
        ("a\0b old", "no published set of this name"),
        ("cifar10 cifr10.1", "no published set of this name. Did you mean 'cifar10.1'"),
        ("cifar10 imagenetv2", "those of cifar10 and of imagenet"),
        ("p q", "p/{model}.csv has no files of c; q/{model}.csv has no files of a"),
        ("p r", "no model has files on all sets"),
        ("x/{model}.csv q", "there are no files of this name"),
        ("{model}/{model}.csv q", "must hold {model} once"),
        ("p/a.csv q", "is the file of one model"),
        ("mixed q", "several formats: .csv, .parquet"),
        ("p old", "prediction files, the other images"),
        ("digits digits-new-writers --name ../x", "not a valid name"),
        ("digits digits-new-writers --file x.txt", "ends in .yaml"),
        ("digits digits-new-writers --resize 0", "--resize 0"),
        ("digits digits-new-writers --name predictions", "predictions"),
    ):
        assert said in refused(capsys, *arguments.split(" "))
    assert "name two sets" in refused(capsys, "digits", code=2)
    assert "takes no sets" in refused(capsys, "digits", "--example", "digits", code=2)
    assert not list(Path().glob("*.yaml"))


@pytest.mark.parametrize(
    ("name_of", "text", "name"),
    [
        (as_name, "Ä b/ć", "b"), (as_name, "..", "set"), (as_name, "-x", "x"),
        (as_name, "x" * 300, "x" * 50), (pattern_name, "p/{model}-v2.csv", "v2"),
        (pattern_name, "p/{model}/test.csv", "test"), (pattern_name, "p/old/{model}/{x}.csv", "x"),
    ],
)  # fmt: skip
def test_names(name_of, text, name):
    assert name_of(text) == name


@pytest.mark.parametrize("value", ["a", "no", "1", "a: b", "{x}", "é", "", ["1", "b\nc"], {"a": 1}])
def test_values_are_read_back(value):
    text = as_yaml(value)
    assert "\n" not in text
    assert yaml.safe_load(f"key: {text}    # note") == {"key": value}
