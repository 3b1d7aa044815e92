import pytest
import torch

from matcheval.training import AUGMENTATIONS
from matcheval.training.augmentation import _AUGMENTATIONS, augment


def images_and_targets(n=64, height=8, width=6):
    generator = torch.Generator().manual_seed(5)
    images = torch.rand(n, 2, height, width, generator=generator) + 0.1  # nowhere 0
    return images, torch.eye(4)[torch.randint(4, (n,), generator=generator)]


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("name", AUGMENTATIONS)
def test_augmentations_keep_shapes_arguments_and_label_mass(name):
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
    assert torch.equal(again, augmented)
    assert torch.equal(other, augmented) == (name == "none")


def test_shift_moves_each_image_by_at_most_one_pixel():
    images, targets = images_and_targets()
    shifted, _ = augment("shift", images, targets, generator())
    seen = set()
    for image, result in zip(images, shifted, strict=True):
        moves = []
        for down in (-1, 0, 1):
            for right in (-1, 0, 1):
                expected = torch.zeros_like(image)
                rows = slice(max(0, down), 8 + min(0, down))
                columns = slice(max(0, right), 6 + min(0, right))
                source = image[:, max(0, -down) : 8 - max(0, down), :]
                source = source[:, :, max(0, -right) : 6 - max(0, right)]
                expected[:, rows, columns] = source
                if torch.equal(expected, result):
                    moves.append((down, right))
        assert len(moves) == 1
        seen.update(moves)
    assert len(seen) == 9


def test_noise_has_its_deviation():
    images, targets = images_and_targets(n=512)
    noisy, _ = augment("noise", images, targets, generator())
    assert (noisy - images).std().item() == pytest.approx(0.1, rel=0.02)
    assert (noisy - images).mean().item() == pytest.approx(0, abs=0.002)


def test_cutout_hides_a_square_cut_off_at_the_border():
    images, targets = images_and_targets(n=256, height=12, width=12)
    cut, _ = augment("cutout", images, targets, generator())
    hidden = cut == 0
    assert torch.equal(hidden[:, 0], hidden[:, 1])  # all channels alike
    assert torch.equal(cut[~hidden], images[~hidden])
    heights, widths = hidden[:, 0].any(dim=2).sum(dim=1), hidden[:, 0].any(dim=1).sum(dim=1)
    assert torch.equal(hidden[:, 0].sum(dim=(1, 2)), heights * widths)
    assert set(heights.tolist()) == set(widths.tolist()) == {2, 3}


def test_mixup_mixes_images_as_their_targets():
    # Images that are their own targets stay so only if both are mixed alike.
    targets = torch.eye(4).repeat(4, 1)
    images = targets.reshape(16, 1, 2, 2)
    mixed, soft = augment("mixup", images, targets, generator())
    assert torch.equal(mixed.reshape(16, 4), soft)
    assert len(soft.unique()) > 2
