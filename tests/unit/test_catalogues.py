"""Catalogues with algorithms, optimisers, options and training sets; what studies do of them."""

import json

import pytest
import yaml

from matcheval.errors import InputError
from matcheval.study.catalogue import read_catalogue
from matcheval.study.stages import StageJobs
from matcheval.study.stored import meanings
from studies import configuration, load

ROW = {
    "name": "m", "kind": "trained", "architecture": "linear", "width": 0, "depth": 0,
    "loss": "cross_entropy", "loss_parameter": None, "augmentation": "none",
    "schedule": "constant", "epochs": 2, "batch_size": 8, "learning_rate": 0.1,
    "weight_decay": 0, "train_fraction": 1, "seed": 0,
}  # fmt: skip


def catalogue(folder, row, form="csv"):
    path = folder / f"models.{form}"
    if form == "csv":
        cells = {key: "" if value is None else str(value) for key, value in row.items()}
        quoted = ['"' + cell.replace('"', '""') + '"' for cell in cells.values()]
        path.write_text(f"{','.join(cells)}\n{','.join(quoted)}\n")
    else:
        path.write_text(yaml.safe_dump([row]))
    return path


def test_yaml_and_csv_catalogues_say_the_same(tmp_path):
    options = {"betas": [0.5, 0.75], "eps": 1e-6}
    further = {"optimizer": "adamw", "algorithm": "erm", "nesterov": True, "note": "why"}
    csv = ROW | further | {"options": json.dumps(options), "train": "one  two"}
    mapping = ROW | further | {"options": options, "train": ["one", "two"]}
    (found,) = read_catalogue(catalogue(tmp_path, csv)).values()
    assert read_catalogue(catalogue(tmp_path, mapping, "yaml")) == {"m": found}
    assert (found.train, found.recipe.options) == (("one", "two"), options)
    assert json.loads(found.recipe_json)["options"] == options


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("model,top1,pretrained\nresnet18.a1_in1k,70.1,True\nvit_tiny_r_s16_p8_224,0,false\n",
         ["timm", "random"]),
        ("resnet18.a1_in1k\nresnet50.a1_in1k\n", ["timm", "timm"]),
    ],
)  # fmt: skip
def test_a_list_of_timms_models(tmp_path, text, kinds):
    (tmp_path / "m.csv").write_text(text)
    found = read_catalogue(tmp_path / "m.csv")
    assert [one.source.kind for one in found.values()] == kinds
    assert [one.source.source for one in found.values()] == list(found)
    (tmp_path / "m.csv").write_text("model,pretrained\nresnet18,maybe\n")
    with pytest.raises(InputError, match="line 2: 'pretrained': 'maybe' is neither true nor"):
        read_catalogue(tmp_path / "m.csv")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"algorithm": "emr"}, r"'algorithm': unknown value 'emr'\. Did you mean 'erm'\?"),
        ({"optimizer": "adam", "options": {"beta": 1}},
         r"'options': unknown option 'beta' of algorithm erm with optimizer adam\. .* 'betas'"),
        ({"optimizer": "adam", "options": {"betas": [0.5, 1]}},
         r"'options': 'betas\[1\]': 1 must be below 1"),
        ({"options": "{"}, r"'options': cannot read '\{'\. Give a JSON object"),
        ({"optimizer": "adam", "momentum": 0.5}, "'momentum': is 0.5, but optimizer adam has no"),
        ({"train": "a b a"}, "'train': 'a' is named twice"),
    ],
)  # fmt: skip
def test_what_is_unknown_is_named_with_its_place(tmp_path, given, message):
    in_a_cell = {key: json.dumps(v) if isinstance(v, dict) else v for key, v in given.items()}
    for form, values, place in (("csv", in_a_cell, "line 2"), ("yaml", given, "entry 1")):
        path = catalogue(tmp_path, ROW | values, form)
        with pytest.raises(InputError, match=message) as caught:
            read_catalogue(path)
        assert str(caught.value).startswith(f"{path}, {place} ('m')")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1", "is not a list. Begin every entry with '- '"),
        ("- {name: a}", "entry 1: 'kind': missing"),
        ("- {name: a, kind: timm, source: r.a, options: {b: 1}}", "do not use options"),
    ],
)
def test_yaml_catalogues_that_are_none(tmp_path, text, message):
    (tmp_path / "m.yaml").write_text(text)
    with pytest.raises(InputError, match=message):
        read_catalogue(tmp_path / "m.yaml")


def digits(tmp_path, rows, **training):
    """The digits, with models of one's own."""
    path = tmp_path / "models.yaml"
    path.write_text(yaml.safe_dump([ROW | row for row in rows]))
    config = configuration("digits") | {"models": str(path), "results": str(tmp_path / "results")}
    config["training"] |= training
    config["matching"] = {}
    return load(config)


def test_models_are_trained_on_the_studys_sets_or_their_own(tmp_path):
    own = {"name": "own", "train": ["digits-new-writers", "digits-known"]}
    study = digits(tmp_path, [{}, own])
    assert study.used == [
        f"digits-{one}" for one in ("known", "new-writers", "train", "validation")
    ]
    jobs, folder = StageJobs(study), f"{tmp_path}/results/datasets"
    option, trainings, *places = jobs.training_arguments(list(study.models))
    assert option == "--trainings"
    assert places == [
        "--datasets", folder, "--checkpoints", f"{tmp_path}/results/checkpoints",
        "--links", f"{study.folder}/checkpoints",
    ]  # fmt: skip
    (m, recipe, *of_study), (own, _, *of_own) = json.loads(trainings)
    assert (m, own) == ("m", "own")
    assert json.loads(recipe)["architecture"] == "linear"
    assert of_study == [["digits-train"], ["digits-validation"]]
    assert of_own == [["digits-new-writers", "digits-known"], ["digits-validation"]]
    files = jobs.training_inputs(["own"])
    assert [file for file in files["train"] if file.endswith(".json")] == [
        f"{folder}/digits-new-writers/dataset.json", f"{folder}/digits-known/dataset.json",
    ]  # fmt: skip
    known = {name: each["training"]["train"] for name, each in meanings(study)["model"].items()}
    assert known == {"m": "digits-train", "own": "digits-new-writers+digits-known"}
