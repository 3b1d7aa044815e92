"""Sizes of datasets and networks, compared with built models and known sizes."""

import numpy as np
import pytest

from matcheval.datasets.dataset import make_dataset
from matcheval.datasets.folders import write_dataset
from matcheval.errors import InputError
from matcheval.execution import sizes
from matcheval.execution.sizes import CIFAR, DIGITS, IMAGENET, ImageSet, prepared_size
from matcheval.models.building import build_model


@pytest.mark.parametrize(
    ("architecture", "width", "depth"),
    [("linear", 0, 0), ("mlp", 64, 3), ("cnn", 16, 2), ("cnn", 32, 2), ("resnet", 16, 2)],
)
@pytest.mark.parametrize("data", [DIGITS, CIFAR])
def test_parameters_of_models_that_are_built(architecture, width, depth, data):
    size = sizes.size_of_architecture(architecture, width, depth, data)
    model = build_model(
        architecture, width=width, depth=depth, n_classes=data.classes,
        input_shape=(data.side, data.side, data.channels),
    )  # fmt: skip
    true = sum(weights.numel() for weights in model.parameters())
    if architecture in ("linear", "mlp"):
        assert size.parameters == true
    assert true / 2 <= size.parameters <= 2 * true


# Weights in millions and multiply-adds for one image, as their papers and timm have them.
@pytest.mark.parametrize(
    ("architecture", "width", "depth", "groups", "data", "millions", "billions"),
    [
        ("resnet_a", 16, 20, 1, CIFAR, 0.27, 0.041),
        ("resnet_a", 16, 110, 1, CIFAR, 1.73, 0.255),
        ("preact", 16, 110, 1, CIFAR, 1.73, 0.255),
        ("vgg", 64, 16, 1, CIFAR, 14.7, 0.31),
        ("shake_shake", 96, 26, 2, CIFAR, 26.2, 3.8),
    ],
)
def test_sizes_in_the_literature(architecture, width, depth, groups, data, millions, billions):
    size = sizes.size_of_architecture(architecture, width, depth, data, groups=groups)
    assert millions / 3 <= size.parameters / 1e6 <= 3 * millions
    assert billions / 3 <= size.multiply_adds / 1e9 <= 6 * billions


def test_published_models_by_their_names():
    """Never less than the model: too little memory costs a second attempt."""
    for name, millions in (
        ("vit_large_patch16_224.augreg_in21k_ft_in1k", 304), ("resnet152.a1_in1k", 60.2),
        ("convnext_xxlarge.clip_laion2b_soup_ft_in1k", 846), ("VGG16_Weights.IMAGENET1K_V1", 138),
        ("mobilenetv3_large_100.ra_in1k", 5.5), ("eva_giant_patch14_224.clip_ft_in1k", 1013),
    ):  # fmt: skip
        assert sizes.size_of_published(name).parameters >= 0.95 * millions * 1e6, name
    small, large = (sizes.size_of_published("resnet50", side=side) for side in (224, 448))
    assert large.multiply_adds == 4 * small.multiply_adds


def test_sizes_of_datasets_before_and_after_they_are_prepared(tmp_path):
    assert sizes.size_of_kind("cifar10_1") == CIFAR
    assert sizes.size_of_kind("something") == IMAGENET
    assert prepared_size(tmp_path / "none", DIGITS) == DIGITS
    images, labels = np.zeros((7, 12, 10, 3), np.uint8), np.arange(7) % 4
    write_dataset(
        make_dataset("mine", images, labels, classes=tuple("abcd"), max_value=255, source=""),
        tmp_path / "mine",
    )
    size = prepared_size(tmp_path / "mine", IMAGENET)
    assert size == ImageSet(images=7, side=12, channels=3, classes=4)
    (tmp_path / "dataset.json").write_text("{")
    with pytest.raises(InputError, match=r"dataset\.json"):
        prepared_size(tmp_path, DIGITS)


@pytest.mark.parametrize("left", [None, 0, 100, 5000])
def test_images_that_are_missing_or_cut_off_have_the_size_of_their_kind(tmp_path, left):
    """So that runs which make them again can be planned."""
    images, labels = np.zeros((90, 8, 8, 1), np.uint8), np.arange(90) % 4
    mine = make_dataset("mine", images, labels, classes=tuple("abcd"), max_value=16, source="")
    write_dataset(mine, tmp_path / "mine")
    file = tmp_path / "mine" / "images.npy"
    content = file.read_bytes()
    file.unlink() if left is None else file.write_bytes(content[:left])
    prepared_size.cache_clear()
    assert prepared_size(tmp_path / "mine", DIGITS) == ImageSet(90, 8, 1, classes=4)
