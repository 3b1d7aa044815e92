"""Every row of the ImageNet catalogue is a model that the installed timm has."""

import csv
import re
from collections import Counter
from pathlib import Path

from matcheval.models.published import describe_published
from matcheval.study.catalogue import read_catalogue

FILE = Path(__file__).parents[2] / "studies" / "imagenet-models.csv"
ROWS = list(csv.DictReader(FILE.open(encoding="utf-8")))

# The paper's table 3, with the number of models here.
FAMILIES = {
    "VGG": 8, "DenseNet": 6, "ResNet": 74, "ResNeXt": 27, "Inception-ResNet": 2, "EfficientNet": 69,
    "DPN": 7, "SEResNet": 23, "HRNet": 11, "DeiT": 24, "PNASNet": 1, "Visformer": 2, "ViT": 32,
}  # fmt: skip


def test_there_are_286_different_models_each_with_a_reason():
    assert len(read_catalogue(FILE)) == len({row["source"] for row in ROWS}) == 286
    assert all(row["kind"] == "timm" and row["name"] == row["source"] for row in ROWS)
    assert all(len(row["note"]) > 10 for row in ROWS)


def test_all_models_are_of_the_papers_families():
    models = read_catalogue(FILE).values()
    assert Counter(model.family for model in models) == FAMILIES


def test_every_row_is_a_pretrained_model_of_1000_classes(tmp_path):
    """Name and tag are known, there is an address, and the transform is one that can be made."""
    models = read_catalogue(FILE)
    found = describe_published([model.source for model in models.values()], tmp_path)
    assert len(found) == 286
    assert {model.n_classes for model in found.values()} == {1000}
    assert all(re.match(r"https://\S+/\S+$", model.url) for model in found.values())
    assert {model.suffix for model in found.values()} == {".safetensors", ".pth"}
