"""Configuration: completed from the defaults, and refused with one clear error before any job."""

import copy
import json
import re
from pathlib import Path

import make_settings
import pytest
import yaml
from jsonschema import Draft202012Validator

from matcheval.datasets.kinds import KINDS
from matcheval.errors import InputError
from matcheval.io.user_files import read_yaml
from matcheval.settings import read_settings
from matcheval.study.catalogue import read_catalogue
from matcheval.study.checks import check_custom_files
from studies import configuration, load

ROOT = Path(__file__).parents[2]
DEFAULTS = ROOT / "config.yaml"
SCHEMA = ROOT / "rules" / "schemas" / "config.schema.json"


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A study of imported predictions, in whose folder the test runs, with changes by path."""
    monkeypatch.chdir(tmp_path)
    Path("f.csv").write_text("index,writer\n0,a\n")
    Path("models.csv").write_text("name,kind\nm.v1,predictions\nn,predictions\n")
    for file in ("all.npz", "labels.npy", "old/m.v1.csv", "old/n.csv", "new/m.v1.csv", "new/n.csv"):
        Path(file).parent.mkdir(exist_ok=True)
        Path(file).touch()
    files = {name: {"kind": "predictions", "files": f"{name}/{{model}}.csv"} for name in SETS}
    pairs = {"both": {"original": "old", "replication": "new"}}
    config = {"study": "mine", "models": "models.csv", "datasets": files, "pairs": pairs}
    return lambda **changes: changed(config, changes)


def changed(config, changes):
    """A configuration with other values, each at a path such as `datasets/old/files`."""
    config = copy.deepcopy(config)
    for path, value in changes.items():
        *blocks, key = path.split("/")
        block = config
        for name in blocks:
            block = block.setdefault(name, {})
        block[key] = value
    return config


def refuse(config, message):
    with pytest.raises(InputError, match=re.escape(message)):
        load(config)


SETS = ("old", "new")
DIGITS = (ROOT / "studies" / "digits-models.csv").read_text()


def test_values_from_the_command_line_change_it():
    """They come as text, as do numbers like 1e-3 from YAML."""
    study = load({
        "matching": {"epsilon": "2e-2"}, "figures": {"formats": ["png"]},
        "inference": {"outputs": ["top"]}, "replication": {"top": ["1", "5"]},
        "training": {"channels_last": "true", "compile": "true", "device": "cpu"},
    })  # fmt: skip
    settings = study.analyses["matching"].settings
    assert (study.name, settings.epsilon, settings.seeds) == ("digits", 0.02, 10)
    assert study.formats == ("png",)
    assert study.training.machine_options.startswith("--device cpu --channels-last --compile --val")
    assert study.analyses["replication"].settings.top == (1, 5)


def test_takes_the_settings_but_not_the_contents_of_the_default(mine):
    study = load(mine())
    assert list(study.datasets) == ["old", "new"]
    assert list(study.pairs) == ["both"]
    matching = study.analyses["matching"]
    assert (matching.settings.epsilon, matching.settings.reliability_models) == (0.005, ())
    assert matching.inputs_with_groups("both", ["m.v1"]) == ["old/m.v1.csv", "new/m.v1.csv"]
    given = matching.files("both", ["m.v1"])
    assert (given["original"], given["replication"]) == (["old/m.v1.csv"], ["new/m.v1.csv"])
    assert study.analyses["replication"].fitted_scales == []  # two models determine no line


def test_how_to_train_is_inherited_and_what_on_is_not(mine):
    digits = {"datasets/d": {"kind": "digits", "part": "train"}}
    config = mine(training={"train": "d", "validation": "d", "threads": 2}, **digits)
    training = load(config).training
    assert (training.train, training.threads, training.device) == (("d",), 2, "cpu")
    del config["training"]["validation"]
    with pytest.raises(InputError, match=r"'training': .*validation missing"):
        load(config)


BAD = [
    ({"matching": {"epsilom": 0.1}}, "'matching': unknown key 'epsilom'. Did you mean 'epsilon'?"),
    ({"matching": {"epsilon": float("nan")}}, "'matching.epsilon': nan is not a finite number"),
    ({"matching": {"seeds": 0, "epsilon": 2}}, "at most 1; 'matching.seeds': 0 must be at"),
    ({"replication": {"top": [1, 5]}}, "which 1 class is kept. Put 'top' among inference.outputs"),
    ({"accuracy_prediction": {"view_methods": []}}, "'view_methods' is no more: leave it out"),
]


@pytest.mark.parametrize(("given", "message"), BAD)
def test_bad_values_in_the_default_study(given, message):
    config = configuration("digits")
    for key, value in given.items():
        block = config.get(key)
        config[key] = block | value if isinstance(block, dict) else value
    refuse(config, message)


ARCHIVE = {"kind": "label_archive", "file": "all.npz", "predictions": "p", "labels": "y"}
CINIC10 = {"kind": "cinic10", "part": "test"}
BAD_CUSTOM = [
    ({"groups": {"without": ["nope"]}}, "'groups.without': unknown model 'nope'"),
    ({"mcnemar": {"pairs": ["nope"]}}, "'mcnemar.pairs': unknown pair 'nope'"),
    ({"near_duplicates": {"searches": [{"of": "old", "among": "new"}]}},
     "'near_duplicates.searches.of': 'old' has predictions only, no images"),
    ({"datasets/old/files": "m.csv"}, "'datasets.old.files': 'm.csv' has no '{model}'"),
    ({"pairs/both/replication": "newer"}, "'pairs.both.replication': unknown dataset 'newer'"),
    ({"datasets/new/files": "old/{model}.csv"}, "'old' is compared with itself, as 'new'"),
    ({"datasets/OLD": CINIC10}, "'old' and 'OLD' differ only in upper and lower case"),
    ({"datasets/new": {"kind": "digits", "part": "known"}},
     "model 'm.v1' is of kind 'predictions' and cannot be run on it"),
    ({"datasets/old": ARCHIVE, "datasets/new": ARCHIVE, "matching": {"save_pairs": ["n"]}},
     "'matching.save_pairs': no pair can be matched"),
    ({"datasets/new": {"kind": "accuracies", "file": "t.csv", "unit": "correct",
                       "columns": {"model": "name", "top1": "k"}}}, "'datasets.new': n missing"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), BAD_CUSTOM)
def test_bad_values_in_a_custom_study(mine, changes, message):
    refuse(mine(**changes), message)


def test_training_and_test_set_have_one_label_space(mine):
    Path("models.csv").write_text(DIGITS)
    config = mine(training={"train": "digits", "validation": "digits"}, datasets={
        "old": {"kind": "cifar10", "part": "test"}, "new": {"kind": "cifar10_1", "version": "v6"},
        "digits": {"kind": "digits", "part": "train"},
    })  # fmt: skip
    refuse(config, "'training.train': 'new' has, against 'digits', different classes")


HEADER = "name,kind\n"
BAD_CATALOGUES = {
    HEADER + "m,predictions\nM,predictions\n": "line 3: model 'M' is named twice",
    HEADER + "m.logits,predictions\n": "'m.logits' cannot be a name",
    "name,kind,loss\nm,predictions,focal\n": "'m' is known by its predictions only, yet loss is",
}


@pytest.mark.parametrize(("text", "message"), BAD_CATALOGUES.items())
def test_bad_catalogues(tmp_path, text, message):
    (tmp_path / "models.csv").write_text(text)
    with pytest.raises(InputError, match=rf"models\.csv.*{re.escape(message)}"):
        read_catalogue(tmp_path / "models.csv")


def test_schema_and_page_are_those_of_the_settings():
    """Where this fails: `make settings`, and look at what changed."""
    for file, text in make_settings.generated_files().items():
        assert file.read_text(encoding="utf-8") == text, file


@pytest.mark.parametrize("study", [DEFAULTS, *(ROOT / "studies").glob("*.yaml")], ids=str)
def test_studies_fit_the_schema(study):
    schema = json.loads(SCHEMA.read_text())
    Draft202012Validator(schema).validate(yaml.safe_load(study.read_text()))


PHOTOS = {"kind": "image_folder", "path": "photos", "classes": [*"0123456789"]}
OF_SIZE = {name: PHOTOS | {"resize": size} for name, size in (("8", 8), ("16", 16))}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"training": {"train": "photos", "validation": "digits-validation"}},
         "'datasets.photos': the images of 'photos' are files"),
        ({"datasets/digits-known": OF_SIZE["8"], "datasets/digits-train": OF_SIZE["16"]},
         "'datasets.digits-known': has images of 8 × 8 pixels, 3 channel(s), values up to 255, and "
         "models are trained on 'digits-train', of 16 × 16"),
        ({"near_duplicates": {"searches": [{"of": "digits-known", "among": "photos"}]}},
         "'near_duplicates.searches.among': the images of 'photos' are files, which may differ in "
         "size. Add 'compare_size: 256'"),
    ],
)  # fmt: skip
def test_image_files_where_pixels_of_one_size_are_needed(changes, message):
    refuse(
        changed(configuration("digits-sampling"), {"datasets/photos": PHOTOS} | changes), message
    )


def test_class_folders_of_images(tmp_path):
    """Named before the first job; a study can be planned without them."""
    config = configuration("digits")
    photos = {**PHOTOS, "path": str(tmp_path), "resize": 8}
    config["datasets"] = dict.fromkeys(config["datasets"], photos)
    study = load(config)
    with pytest.raises(InputError, match="has no class folders with files"):
        check_custom_files(study)
    (tmp_path / "empty").mkdir()
    for name in ("0/a.png", "1/b.png", ".hidden/c.png"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    check_custom_files(study)
    (tmp_path / "empty" / "a.png").touch()
    with pytest.raises(InputError, match=r"digits-train.*'classes': 'empty' not among the classes"):
        check_custom_files(study)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def make():\n    ...\n", "there is no 'build' in .*own.py. Known: make"),
        ("def make(\n", "own.py: not readable as Python"),
    ],
)
def test_a_function_that_builds_a_model_must_be_there(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(text)
    Path("models.csv").write_text("name,kind,source\nm,callable,own:build\n")
    config = configuration("digits") | {"models": "models.csv"}
    del config["training"], config["matching"]
    with pytest.raises(InputError, match=message):
        load(config)
    Path("own.py").write_text("if True:\n    def build(): ...\n")
    load(config)


def test_an_empty_optional_key_and_a_default_count_as_left_out():
    """Jobs are repeated when options change: the same meaning must have the same options."""
    given = {"kind": "parquet", "files": "a.parquet", "per_class": None, "unreadable": "fail"}
    assert read_settings(KINDS["parquet"], given).options == {"files": ["a.parquet"]}


def test_a_key_that_is_there_twice(tmp_path):
    (tmp_path / "s.yaml").write_text("a: &a {x: 1}\nb: &b {<<: *a, x: 2}\nc: {<<: *b}\n")
    found = read_yaml(tmp_path / "s.yaml")
    assert found["b"] == found["c"] == {"x": 2}
    (tmp_path / "s.yaml").write_text("a: 1\nb: {x: 1, x: 2}\n")
    with pytest.raises(InputError, match=r"line 2, column 11: key 'x' is there twice\. Keep one"):
        read_yaml(tmp_path / "s.yaml")
