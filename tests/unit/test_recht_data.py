"""Data of `make recht` are packed from the repositories."""

import csv
import json
from types import SimpleNamespace

import numpy as np
import pack_recht as script
import pytest

from matcheval.errors import InputError
from published import DATA, needs_data

MODELS = {"cifar": ["darc", "nas"], "imagenet": ["alexnet", "fv_16k", "xception"]}
FILES = ("cifar10_1_predictions.npz", "imagenetv2_predictions.npz", "imagenetv2_b23_accuracy.csv")


def lay_out_cifar(packed, clone):
    """The repository CIFAR-10.1, of two of its models."""
    (clone / "datasets").mkdir(parents=True)
    for key, name in (("orig", "original"), ("v4", "v4"), ("v6", "v6")):
        folder = clone / "model_predictions" / f"{name}_predictions"
        folder.mkdir(parents=True)
        for model in MODELS["cifar"]:
            classes = packed[f"{key}_pred"][list(packed["models"]).index(model)]
            (folder / f"{model}_predictions.json").write_text(json.dumps(classes.tolist()))
        if key != "orig":
            np.save(clone / "datasets" / f"cifar10.1_{key}_labels.npy", packed[f"{key}_labels"])


def lay_out_imagenet(packed, clone):
    """The repository ImageNetV2, of three of its models; one is named otherwise on one set."""
    for key, name in script.SETS.items():
        folder = clone / "data" / "predictions" / name
        folder.mkdir(parents=True)
        classes = packed[key]
        for model in MODELS["imagenet"]:
            stem = f"{model}_model" if (key, model) == ("top_images", "fv_16k") else model
            column = list(packed["models"]).index(model)
            np.save(folder / f"{stem}.npy", classes[:, column].astype(np.int64))
        write_images(clone, name, packed["wnids"][packed[f"{key}_labels"]])
    # An early revision of four images, at ranks 1, 5, 2 and none.
    folder = clone / "data" / "predictions" / script.EARLY
    folder.mkdir()
    np.save(
        folder / "alexnet.npy", [[7, 1, 2, 3, 4], [1, 2, 3, 4, 8], [1, 9, 2, 3, 4], [*range(5)]]
    )
    write_images(clone, script.EARLY, packed["wnids"][[7, 8, 9, 10]])


def write_images(clone, name, wnids):
    folder = clone / "data" / "datasets"
    folder.mkdir(exist_ok=True)
    images = [[f"image{i}", str(wnid)] for i, wnid in enumerate(wnids)]
    (folder / f"{name}.json").write_text(json.dumps({"image_filenames": images}))


@needs_data
def test_clones_are_packed_into_what_the_studies_read(tmp_path, monkeypatch):
    packed = [dict(np.load(DATA / file)) for file in FILES[:2]]
    for of, lay_out in zip(packed, (lay_out_cifar, lay_out_imagenet), strict=True):
        lay_out(of, tmp_path / lay_out.__name__)
    labels = packed[0]["orig_labels"].astype(np.int64)
    monkeypatch.setattr(script.Cifar10, "build", lambda *_: SimpleNamespace(labels=labels))
    clones = tmp_path / "lay_out_cifar", tmp_path / "lay_out_imagenet"
    script.pack(*clones, tmp_path, tmp_path / "made")
    for file, of, models, axis in zip(FILES[:2], packed, MODELS.values(), (0, 1), strict=True):
        made = dict(np.load(tmp_path / "made" / file))
        assert made["models"].tolist() == models
        rows = [list(of["models"]).index(model) for model in models]
        for name in set(made) - {"models"}:
            one_of_each = name.endswith("labels") or name == "wnids"
            wanted = of[name] if one_of_each else np.take(of[name], rows, axis=axis)
            assert np.array_equal(made[name], wanted), name
    with (tmp_path / "made" / FILES[2]).open() as stream:
        assert list(csv.DictReader(stream)) == [
            {"model": "alexnet", "b23_top1_correct": "1", "b23_top5_correct": "3", "n": "4"}
        ]
    (clones[0] / "model_predictions" / "v6_predictions" / "nas_predictions.json").unlink()
    with pytest.raises(InputError, match=r"v6: other models than the first set: \['nas'\]"):
        script.pack_cifar10(clones[0], labels)
    with pytest.raises(InputError, match="Name a whole clone"):
        script.pack_imagenet(clones[0])
