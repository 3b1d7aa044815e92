"""Every row of the ImageNet catalogue is a model that the installed timm has."""

import csv
import re
from collections import Counter
from pathlib import Path

from matcheval.models.packages import load_timm
from matcheval.models.published import describe_published
from matcheval.study.catalogue import read_catalogue

FILE = Path(__file__).parents[2] / "studies" / "imagenet-models.csv"
ROWS = list(csv.DictReader(FILE.open(encoding="utf-8")))

# Named in the paper (table 3, figure 8), by timm's names of 2022.
PAPER = """
densenet161 deit_tiny_distilled_patch16_224 dpn68b efficientnet_b2 dpn92 gluon_resnet50_v1d
gluon_seresnext50_32x4d gluon_seresnext101_32x4d hrnet_w18_small_v2 ig_resnext101_32x8d
ig_resnext101_32x16d ig_resnext101_32x32d ig_resnext101_32x48d legacy_seresnet50
inception_resnet_v2 pnasnet5large resnet18 seresnext50_32x4d tf_efficientnet_b5
tf_efficientnet_l2_ns vgg13 visformer_small vit_base_patch16_224 vit_tiny_patch16_384 swsl_resnet18
"""


# The paper's table 3, with the number of models here.
FAMILIES = {
    "VGG": 8, "DenseNet": 6, "ResNet": 74, "ResNeXt": 27, "Inception-ResNet": 2, "EfficientNet": 69,
    "DPN": 7, "SEResNet": 23, "HRNet": 11, "DeiT": 24, "PNASNet": 1, "Visformer": 2, "ViT": 32,
}  # fmt: skip


def paper_name(row):
    found = re.search(r"in the paper as (\w+)", row["note"])
    return found and found[1]


def test_there_are_286_different_models_each_with_a_reason():
    assert len(read_catalogue(FILE)) == len({row["source"] for row in ROWS}) == 286
    assert all(row["kind"] == "timm" and row["name"] == row["source"] for row in ROWS)
    assert all(len(row["note"]) > 10 for row in ROWS)


def test_all_models_are_of_the_papers_families():
    models = read_catalogue(FILE).values()
    assert Counter(model.family for model in models) == FAMILIES


def test_the_papers_models_are_there_each_once():
    assert sorted(filter(None, map(paper_name, ROWS))) == sorted(PAPER.split())


def test_old_names_are_mapped_as_timm_maps_them(recwarn):
    """timm knows some of the old names; where it does, it agrees (but for its slip of 32×48d)."""
    deprecated = load_timm().models._registry._deprecated_models
    for row in ROWS:
        # All four of Instagram's are led to the smallest of them.
        old = paper_name(row)
        if old in deprecated and not old.startswith("ig_resnext101_32x"):
            assert deprecated[old] == row["source"]


def test_every_row_is_a_pretrained_model_of_1000_classes(tmp_path):
    """Name and tag are known, there is an address, and the transform is one that can be made."""
    models = read_catalogue(FILE)
    found = describe_published([model.source for model in models.values()], tmp_path)
    assert len(found) == 286
    assert {model.n_classes for model in found.values()} == {1000}
    assert all(re.match(r"https://\S+/\S+$", model.url) for model in found.values())
    assert {model.suffix for model in found.values()} == {".safetensors", ".pth"}
