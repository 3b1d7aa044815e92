"""Sizes of datasets and networks, compared with built models and known sizes."""

import numpy as np
import pytest

from matcheval.datasets.dataset import make_dataset
from matcheval.datasets.folders import write_dataset
from matcheval.errors import InputError
from matcheval.models.networks import build_model
from matcheval.study.sizes import ImageSet, _prepared_size, network_size

DIGITS, CIFAR = ImageSet(600, 8, 1), ImageSet(50_000, 32)


@pytest.mark.parametrize(
    ("architecture", "width", "depth"),
    [("linear", 0, 0), ("mlp", 64, 3), ("cnn", 16, 2), ("resnet", 16, 2)],
)
@pytest.mark.parametrize("data", [DIGITS, CIFAR])
def test_parameters_of_models_that_are_built(architecture, width, depth, data):
    size = network_size(architecture, width, depth, data)
    model = build_model(
        architecture, width=width, depth=depth, n_classes=data.classes,
        input_shape=(data.side, data.side, data.channels),
    )  # fmt: skip
    true = sum(weights.numel() for weights in model.parameters())
    if architecture in ("linear", "mlp"):
        assert size.parameters == true
    assert true / 2 <= size.parameters <= 2 * true


def test_sizes_of_datasets_before_and_after_they_are_prepared(tmp_path):
    assert _prepared_size(tmp_path / "none", DIGITS) == DIGITS
    images, labels = np.zeros((7, 12, 10, 3), np.uint8), np.arange(7) % 4
    write_dataset(
        make_dataset("mine", images, labels, classes=tuple("abcd"), max_value=255, source=""),
        tmp_path / "mine",
    )
    size = _prepared_size(tmp_path / "mine", CIFAR)
    assert size == ImageSet(images=7, side=12, channels=3, classes=4)
    (tmp_path / "dataset.json").write_text("{")
    with pytest.raises(InputError, match=r"dataset\.json"):
        _prepared_size(tmp_path, DIGITS)


@pytest.mark.parametrize("left", [None, 0, 100, 5000])
def test_images_that_are_missing_or_cut_off_have_the_size_of_their_kind(tmp_path, left):
    """So that runs which make them again can be planned."""
    images, labels = np.zeros((90, 8, 8, 1), np.uint8), np.arange(90) % 4
    mine = make_dataset("mine", images, labels, classes=tuple("abcd"), max_value=16, source="")
    write_dataset(mine, tmp_path / "mine")
    file = tmp_path / "mine" / "images.npy"
    content = file.read_bytes()
    file.unlink() if left is None else file.write_bytes(content[:left])
    _prepared_size.cache_clear()
    assert _prepared_size(tmp_path / "mine", DIGITS) == ImageSet(90, 8, 1, classes=4)
