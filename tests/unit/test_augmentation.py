from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from matcheval.training import AUGMENTATIONS, augmentation
from matcheval.training.augmentation import _AUGMENTATIONS, augment


def images_and_targets(n=64, height=8, width=6):
    generator = torch.Generator().manual_seed(5)
    images = torch.rand(n, 2, height, width, generator=generator) + 0.1  # nowhere 0
    return images, torch.eye(4)[torch.randint(4, (n,), generator=generator)]


def generator(seed=5):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("name", AUGMENTATIONS)
def test_augmentations_preserve_shapes_arguments_and_label_mass(name):
    assert tuple(_AUGMENTATIONS) == AUGMENTATIONS
    images, targets = images_and_targets()
    before = images.clone(), targets.clone()
    augmented, mixed = augment(name, images, targets, generator())
    assert (augmented.shape, mixed.shape) == (images.shape, targets.shape)
    assert augmented.dtype == images.dtype
    assert torch.equal(images, before[0])
    assert torch.equal(targets, before[1])
    assert torch.allclose(mixed.sum(dim=1), torch.ones(len(mixed)))
    assert torch.equal(augmented, images) == (name == "none")
    again, _ = augment(name, images, targets, generator())
    other, _ = augment(name, images, targets, generator(1))
    last = images.contiguous(memory_format=torch.channels_last)
    elsewhere, same = augment(name, last, targets, generator())
    assert torch.equal(elsewhere, augmented)
    assert torch.equal(same, mixed)
    assert torch.equal(again, augmented)
    assert torch.equal(other, augmented) == (name == "none")


def test_noise_has_the_documented_deviation():
    images, targets = images_and_targets(n=512)
    noisy, _ = augment("noise", images, targets, generator())
    assert (noisy - images).std().item() == pytest.approx(0.1, rel=0.02)
    assert (noisy - images).mean().item() == pytest.approx(0, abs=0.002)


def test_cutout_hides_a_square_cut_off_at_the_border():
    images, targets = images_and_targets(n=256, height=12, width=12)
    cut, _ = augment("cutout", images, targets, generator())
    hidden = cut == 0
    assert torch.equal(hidden[:, 0], hidden[:, 1])  # the same in all channels
    assert torch.equal(cut[~hidden], images[~hidden])
    heights, widths = hidden[:, 0].any(dim=2).sum(dim=1), hidden[:, 0].any(dim=1).sum(dim=1)
    assert torch.equal(hidden[:, 0].sum(dim=(1, 2)), heights * widths)
    assert set(heights.tolist()) == set(widths.tolist()) == {2, 3}


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(["mixup", "basic_mixup", "basic_cutmix", "basic_ricap"]),
    seed=st.integers(0, 2**32), n=st.integers(1, 9), side=st.integers(2, 12),
    parameter=st.sampled_from([0.05, 0.3, 1.0, 4.0]),
)  # fmt: skip
def test_mixing_gives_classes_the_mass_of_their_pixels(name, seed, n, side, parameter):
    """Every pixel of an image is its one-hot label, so the mean pixel is the mixed target."""
    targets = torch.eye(5)[torch.randint(5, (n,), generator=generator(seed))]
    images = targets[:, :, None, None].expand(n, 5, side, side).contiguous()
    with pytest.MonkeyPatch.context() as patch:  # crops add pixels without a class
        patch.setattr(augmentation, "_basic", lambda images, targets, *_: (images, targets))
        parameter = None if name == "mixup" else parameter
        mixed, soft = augment(name, images, targets, generator(seed), parameter)
    assert torch.allclose(soft.sum(dim=1), torch.ones(n), atol=1e-5)
    assert torch.allclose(mixed.mean(dim=(2, 3)), soft, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "padding", "flips"), [("shift", 1, [False]), ("basic", 4, [0, 1])]
)
def test_windows_of_the_padded_image_are_cut_and_perhaps_flipped(name, padding, flips):
    images, targets = images_and_targets(n=400, height=6, width=5)
    found, same = augment(name, images, targets, generator())
    assert torch.equal(same, targets)
    padded = torch.nn.functional.pad(images, (padding,) * 4)
    seen, starts = set(), range(2 * padding + 1)
    for image, result in zip(padded, found, strict=True):
        fits = []
        for down, right, flipped in product(starts, starts, flips):
            cut = image[:, down : down + 6, right : right + 5]
            if torch.equal(cut.flip(2) if flipped else cut, result):
                fits.append((down, right, flipped))
        assert fits
        if len(fits) == 1:
            seen.add(fits[0])
    assert {down for down, _, _ in seen} == {right for _, right, _ in seen} == set(starts)
    assert 0.4 < sum(flipped for _, _, flipped in seen) / len(seen) < 0.6 or name == "shift"


def test_cutmix_replaces_one_box_in_half_of_the_batches(monkeypatch):
    monkeypatch.setattr(augmentation, "_basic", lambda images, targets, *_: (images, targets))
    images, targets = images_and_targets(n=8, height=12, width=12)
    changed = 0
    for seed in range(200):
        mixed, _ = augment("basic_cutmix", images, targets, generator(seed))
        different = (mixed != images).any(dim=1)
        for image in different:
            rows, columns = image.any(dim=1).sum(), image.any(dim=0).sum()
            assert image.sum() == rows * columns
        changed += bool(different.any())
    assert 60 < changed < 120


@pytest.mark.parametrize("parameter", [0.2, 1.0, 5.0])
def test_mixing_weights_follow_the_beta_distribution(parameter):
    draws = np.array(augmentation.draw_beta(parameter, 20_000, generator()))
    assert draws.mean() == pytest.approx(0.5, abs=0.01)
    assert draws.var() == pytest.approx(1 / (8 * parameter + 4), rel=0.05)
