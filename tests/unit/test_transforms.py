"""Transforms equal those of timm and torchvision in every pixel."""

import io

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image
from timm.data import create_transform
from torchvision import models

from image_sets import jpeg, photo
from matcheval.errors import InputError
from matcheval.models import transforms
from matcheval.models.transforms import Transform

CONFIG = {
    "input_size": (3, 224, 224), "interpolation": "bicubic", "crop_pct": 0.875,
    "mean": transforms.IMAGENET_MEAN, "std": transforms.IMAGENET_STD, "crop_mode": "center",
}  # fmt: skip


def as_tensor(image, transform):
    """Transform an image as inference does, on the CPU."""
    pixels = torch.from_numpy(np.array(transform.geometry.apply(image))).permute(2, 0, 1)
    mean, std = (torch.tensor(v)[:, None, None] for v in (transform.mean, transform.std))
    return (pixels.float() / 255 - mean) / std


def assert_as_timm(image, **changes):
    config = {**CONFIG, **changes}
    theirs = create_transform(**config, is_training=False)(image)
    assert torch.equal(as_tensor(image, Transform.from_data_config(config)), theirs)


@pytest.mark.parametrize("mode", ["center", "squash", "border"])
@pytest.mark.parametrize("interpolation", ["bicubic", "bilinear", "nearest", "lanczos", "hamming"])
def test_equal_to_timm_for_every_mode_and_interpolation(mode, interpolation):
    for size in ((500, 375), (224, 224), (60, 100)):
        assert_as_timm(photo(*size), crop_mode=mode, interpolation=interpolation)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    width=st.integers(1, 300), height=st.integers(1, 300),
    crop=st.tuples(st.integers(16, 160), st.integers(16, 160)) | st.integers(16, 160),
    crop_pct=st.sampled_from([0.8, 0.875, 0.9, 0.96, 1.0, 1.15]),
    mode=st.sampled_from(["center", "squash", "border"]),
)  # fmt: skip
@example(width=75, height=75, crop=(76, 76), crop_pct=1.15, mode="center")  # padded, odd
@example(width=90, height=61, crop=(80, 60), crop_pct=1.0, mode="border")
@example(width=61, height=23, crop=(19, 57), crop_pct=0.875, mode="border")  # padded by one pixel
def test_equal_to_timm_for_any_size(width, height, crop, crop_pct, mode):
    crop = crop if isinstance(crop, tuple) else (crop, crop)
    # For both, an edge of 0 pixels after resizing is an error of Pillow.
    if max(width, height) * crop_pct > min(width, height) * min(crop):
        return
    assert_as_timm(
        photo(width, height), input_size=(3, *crop), crop_pct=crop_pct, crop_mode=mode,
        mean=(0.5, 0.25, 0.1),
    )  # fmt: skip


@pytest.mark.parametrize(
    "name", ["ResNet18_Weights.IMAGENET1K_V1", "EfficientNet_B3_Weights.IMAGENET1K_V1"],
)  # fmt: skip
def test_equal_to_torchvision(name):
    preset = models.get_weight(name).transforms()
    for size in ((500, 375), (333, 500), (64, 80)):
        image = Image.open(io.BytesIO(jpeg(photo(*size)))).convert("RGB")
        assert torch.equal(as_tensor(image, Transform.from_preset(preset)), preset(image))


def test_transforms_with_equal_pixels_have_the_same_name():
    """timm's 224 at 0.875 is torchvision's 256, as are fractions that round to the same size."""
    timm = Transform.from_data_config({**CONFIG, "interpolation": "bilinear"})
    torchvision = Transform.from_preset(
        models.get_weight("ResNet18_Weights.IMAGENET1K_V1").transforms()
    )
    assert timm.geometry == torchvision.geometry
    assert timm.geometry.name == "short256-bilinear-crop224"
    other = Transform.from_data_config({**CONFIG, "interpolation": "bilinear", "crop_pct": 0.874})
    assert other.geometry == timm.geometry


def test_configurations_unknown_to_timm_are_rejected():
    with pytest.raises(InputError, match="unknown interpolation 'random'"):
        Transform.from_data_config({**CONFIG, "interpolation": "random"})
