"""Catalogues of models: rows with recipes, options and sources; those of the studies."""

import json
import re
from collections import Counter

import make_cifar10_models
import pytest
import yaml

from matcheval.errors import InputError
from matcheval.models.published import describe_published
from matcheval.models.rows import ModelSource
from matcheval.study.catalogue import read_catalogue
from studies import ROOT
from trainings import recipe

RECIPE = recipe(
    architecture="linear", width=0, depth=0, schedule="constant", batch_size=8, learning_rate=0.1,
    weight_decay=0,
)  # fmt: skip
ROW = {"name": "m", "kind": "trained", **RECIPE.to_mapping()}


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


def test_a_list_of_timms_models(tmp_path):
    text = "model,top1,pretrained\nresnet18.a1_in1k,70.1,True\nvit_tiny_r_s16_p8_224,0,false\n"
    (tmp_path / "m.csv").write_text(text)
    found = read_catalogue(tmp_path / "m.csv")
    assert [one.source.kind for one in found.values()] == ["timm", "random"]
    assert [one.source.source for one in found.values()] == list(found)
    (tmp_path / "m.csv").write_text("model,pretrained\nresnet18,maybe\n")
    with pytest.raises(InputError, match="line 2: 'pretrained': 'maybe' is neither true nor"):
        read_catalogue(tmp_path / "m.csv")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"algorithm": "emr"}, r"'algorithm': unknown value 'emr'\. Did you mean 'erm'\?"),
        ({"optimizer": "adam", "options": {"betas": [0.5, 1]}},
         r"'options': 'betas\[1\]': 1 must be below 1"),
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


def evaluated(tmp_path, *rows):
    """A catalogue of models that are not trained here."""
    header = "name,kind,source,architecture,width,depth,normalization"
    (tmp_path / "models.csv").write_text("\n".join([header, *rows]) + "\n")
    return read_catalogue(tmp_path / "models.csv")


def test_rows_are_read(tmp_path):
    models = evaluated(
        tmp_path,
        "a,timm,resnet50.a1_in1k,,,,",
        "c,checkpoint,w/c.safetensors,resnet_a,16,20,imagenet",
        "f,predictions,,,,,",
    )
    assert models["a"].source == ModelSource("a", "timm", "resnet50.a1_in1k")
    assert models["c"].source.options == {
        "architecture": "resnet_a", "width": 16, "depth": 20, "normalization": "imagenet",
    }  # fmt: skip
    assert models["f"].source is None
    for model in models.values():
        assert model.source is None or ModelSource.from_json(model.source.to_json()) == model.source


def test_invalid_rows_are_rejected_with_their_line(tmp_path):
    message = r"models.csv, line 2.*unknown kind of model 'oracle'. Known: trained, timm, torchv"
    with pytest.raises(InputError, match=message):
        evaluated(tmp_path, "a,oracle,,,,,")


def test_the_catalogue_of_cifar10_is_what_its_script_writes(tmp_path, monkeypatch):
    monkeypatch.setattr(make_cifar10_models, "__file__", str(tmp_path / "script.py"))
    make_cifar10_models.main()
    written = (tmp_path / "cifar10-models.csv").read_bytes()
    assert written == (ROOT / "studies/cifar10-models.csv").read_bytes()


# The paper's table 3, with the number of models here.
FAMILIES = {
    "VGG": 8, "DenseNet": 6, "ResNet": 74, "ResNeXt": 27, "Inception-ResNet": 2, "EfficientNet": 69,
    "DPN": 7, "SEResNet": 23, "HRNet": 11, "DeiT": 24, "PNASNet": 1, "Visformer": 2, "ViT": 32,
}  # fmt: skip


def test_the_286_models_of_imagenet_are_pretrained_ones_of_the_papers_families(tmp_path):
    """Name and tag are known, there is an address, and the transform is one that can be made."""
    models = read_catalogue(ROOT / "studies" / "imagenet-models.csv")
    assert Counter(model.family for model in models.values()) == FAMILIES
    assert all(model.source.source == name for name, model in models.items())
    found = describe_published([model.source for model in models.values()], tmp_path)
    assert len(found) == 286
    assert {model.n_classes for model in found.values()} == {1000}
    assert all(re.match(r"https://\S+/\S+$", model.url) for model in found.values())
    assert {model.suffix for model in found.values()} == {".safetensors", ".pth"}
