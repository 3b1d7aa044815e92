"""Corruptions of images: against references, published numbers and what they promise."""

import io
import zipfile
import zlib
from functools import cache

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_sample_images

import corruption_references
from image_sets import encode
from matcheval.datasets.corruptions import ARCHIVE, SEVERITIES, applying
from matcheval.datasets.corruptions.applying import CORRUPTIONS, corrupt
from matcheval.datasets.corruptions.c_bar import _random_phases
from matcheval.datasets.corruptions.digital import shrunk_side
from matcheval.datasets.corruptions.operations import streak_weights, to_bytes
from matcheval.datasets.corruptions.weather import load_textures
from matcheval.errors import InputError
from vectors import case

TEXTURES = ("frost1.png", "frost2.png", "frost3.png", "frost4.jpg", "frost5.jpg")


@pytest.fixture(scope="session")
def textures(tmp_path_factory):
    """Photographs in place of the real ones, parts of scikit-learn's."""
    folder = tmp_path_factory.mktemp("textures")
    photo = load_sample_images().images[0]
    for i, name in enumerate(TEXTURES):
        part = photo[9 * i : 9 * i + 300, 40 * i : 40 * i + 340]
        Image.fromarray(part).save(folder / name, quality=95)
    return folder


@cache
def photos(n, side, *, height=None):
    """Parts of photographs, made smaller."""
    parts = []
    for i in range(n):
        picture = Image.fromarray(load_sample_images().images[i % 2])
        x, y = 37 * i % 370, 29 * i % 170
        parts.append(picture.crop((x, y, x + 256, y + 256)).resize((side, height or side)))
    images = np.stack([np.asarray(part) for part in parts])
    images.setflags(write=False)
    return images


class TestVectors:
    """The numbers of the specification."""

    @pytest.mark.parametrize("name", ["contrast", "brightness"])
    def test_pixels(self, name):
        known = case("shifts", name)
        image = np.array(known["inputs"]["image"], float)[None] / 255
        found = CORRUPTIONS[name].apply(image, known["inputs"]["c"]) * 255
        np.testing.assert_allclose(found.reshape(-1, 3), known["expected"], atol=known["tol"])

    def test_motion_kernel(self):
        known = case("shifts", "motion_kernel")
        found = streak_weights(known["inputs"]["radius"], known["inputs"]["sigma"])
        np.testing.assert_allclose(found, known["expected"], atol=known["tol"])

    @pytest.mark.parametrize(("size", "set_"), [(32, "cifar"), (224, "imagenet")])
    def test_counts_and_sizes(self, size, set_):
        zooms = [len(np.arange(1, *one)) for one in CORRUPTIONS["zoom_blur"].parameters[size]]
        assert zooms == case("shifts", "zoom_blur.counts")["expected"][set_]
        sides = [shrunk_side(size, one) for one in CORRUPTIONS["pixelate"].parameters[size]]
        assert sides == case("shifts", "pixelate.sizes")["expected"][set_]


@pytest.mark.parametrize("size", [32, 224])
@pytest.mark.parametrize(
    "name",
    ["defocus_blur", "elastic_transform", "fog", "glass_blur", "snow", "spatter", "zoom_blur"],
)
def test_agrees_with_its_formula(name, size):
    images = photos(2, 26, height=20)
    reference = getattr(corruption_references, name)
    for severity, parameters in zip(SEVERITIES, CORRUPTIONS[name].parameters[size], strict=True):
        key = [3, zlib.crc32(name.encode()), severity]
        expected = [
            np.clip(reference(image / 255, parameters, np.random.default_rng([*key, i])), 0, 1)
            for image, i in zip(images, (7, 2), strict=True)
        ]
        found = corrupt(images, name, severity, [7, 2], seed=3, size=size)
        off = np.abs(found - np.trunc(np.stack(expected) * 255 + 1e-3))
        # Levels differ where rounding errors move a value over a threshold or a whole level.
        assert (off > 1).mean() < 2e-3, (severity, off.max())
        assert (off > 0).mean() < 4e-2, severity


@pytest.mark.parametrize("size", [32, 224])
def test_frost_adds_a_part_of_a_photograph(size, textures):
    image = photos(1, 24)
    weight, frosted, step = CORRUPTIONS["frost"].parameters[size][1]
    generator = np.random.default_rng([0, zlib.crc32(b"frost"), 2, 5])
    name = TEXTURES[generator.integers(5)]
    texture = np.asarray(Image.open(textures / name))[step // 2 :: step, step // 2 :: step]
    y, x = generator.integers(texture.shape[0] - 24), generator.integers(texture.shape[1] - 24)
    expected = weight * image[0] + frosted * texture[y : y + 24, x : x + 24]
    found = corrupt(image, "frost", 2, [5], size=size, textures=textures)[0]
    assert np.abs(found - np.clip(expected, 0, 255)).max() <= 1


DRAWS = {
    "gaussian_noise": lambda x, c, rng: x + c * rng.normal(size=x.shape),
    "speckle_noise": lambda x, c, rng: x + c * x * rng.normal(size=x.shape),
    "shot_noise": lambda x, c, rng: rng.poisson(x * c) / c,
    "impulse_noise": lambda x, c, rng: np.where(
        rng.random(x.shape) < c, rng.integers(0, 2, x.shape), x
    ),
}


@pytest.mark.parametrize("size", [32, 224])
@pytest.mark.parametrize("name", DRAWS)
def test_noise_has_the_distribution_of_its_formula(name, size):
    for severity in (1, 5):
        c = CORRUPTIONS[name].parameters[size][severity - 1]
        for level in (0, 3, 128, 250, 255):
            images = np.full((1, 300, 300, 3), level, np.uint8)
            found = corrupt(images, name, severity, [level], size=size)
            drawn = DRAWS[name](images / 255, c, np.random.default_rng(level))
            expected = to_bytes(np.clip(drawn, 0, 1))
            shares = [
                np.bincount(x.ravel(), minlength=256).cumsum() / x.size for x in (found, expected)
            ]
            assert np.abs(shares[0] - shares[1]).max() < 0.005, (severity, level)  # n = 270,000


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_seed_and_index_decide_and_not_the_other_images(name, textures, monkeypatch):
    images, indices = photos(6, 32), np.array([0, 9, 4, 49_999, 2, 7])
    for size in (32, 224):
        monkeypatch.setattr(applying, "_BLOCK", 1 << 18)
        options = {"seed": 1, "size": size, "textures": textures}
        whole = corrupt(images, name, 4, indices, **options)
        assert (whole.dtype, whole.shape) == (np.uint8, images.shape)
        assert (whole != images).any(axis=(1, 2, 3)).all()
        monkeypatch.setattr(applying, "_BLOCK", 2 * 32 * 32 * 3)
        order = np.array([3, 0, 5, 1, 4, 2])
        parts = corrupt(images[order], name, 4, indices[order], **options)
        np.testing.assert_array_equal(parts, whole[order])
    again = corrupt(images[::-1][::-1], name, 4, list(indices), **options)  # not contiguous
    np.testing.assert_array_equal(again, whole)
    same = np.repeat(images[:1], 5, axis=0)
    for others, seed in (([0] * 5, 2), (range(1, 6), 1)):
        other = corrupt(same, name, 4, others, **options | {"seed": seed})
        assert (other != whole[0]).any() == CORRUPTIONS[name].random


def test_grey_and_black_as_the_formulas_have_them():
    image = np.array([[[0, 0, 0], [100, 100, 100]]], np.uint8)[None]
    brighter = corrupt(image, "brightness", 2, [0])
    np.testing.assert_array_equal(brighter[0, 0], [[25] * 3, [125] * 3])
    # Grey has the hue of red: saturation 0.2 leaves red, and green and blue are 80 %.
    redder = corrupt(image, "saturate", 5, [0])
    np.testing.assert_array_equal(redder[0, 0], [[0] * 3, [100, 80, 80]])


FILES = {
    name: encode(np.full((200, 200 + i, 3), 40 * i, np.uint8), name[-3:].replace("jpg", "JPEG"))
    for i, name in enumerate((*TEXTURES, "frost6.jpg"))
}


def archive(files):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as wheel:
        wheel.writestr("imagecorruptions/__init__.py", "raise SystemExit")
        for name, content in files.items():
            wheel.writestr(f"imagecorruptions/frost/{name}", content)
    return data.getvalue()


def test_the_photographs_in_the_archive_are_used_like_those_in_a_folder(tmp_path):
    (tmp_path / ARCHIVE).write_bytes(archive(FILES))
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    images = np.zeros((30, 32, 32, 3), np.uint8)
    used = [
        corrupt(images, "frost", 1, range(30), textures=place)
        for place in (tmp_path / ARCHIVE, tmp_path)
    ]
    assert np.array_equal(*used)
    # Severity 1 at 32 pixels adds a fifth of a photograph; the sixth is never drawn.
    assert set(np.unique(used[0])) == {int(0.2 * 40 * i) for i in range(5)}


def test_what_has_not_the_photographs_is_refused(tmp_path, textures):
    with pytest.raises(InputError, match=r"the corruption 'frost' needs photographs.*procedural"):
        corrupt(photos(1, 8), "frost", 1, [0])
    with pytest.raises(InputError, match=r"images of 320 x 320 pixels .* 300"):
        corrupt(np.zeros((1, 320, 320, 3), np.uint8), "frost", 1, [0], textures=textures)
    path = tmp_path / "a.whl"
    eps = encode(Image.new("RGB", (8, 8)), "EPS")  # for which Pillow starts Ghostscript
    path.write_bytes(archive(FILES | {"frost2.png": eps}))
    with pytest.raises(InputError, match=r"a.whl.*frost2.png: not a readable .*identify"):
        load_textures(path)


@pytest.mark.parametrize("side", [4, 5])
def test_phases_are_those_of_the_opposite_points(side):
    """Of an odd side, the middle column is drawn last, and the point in the middle is 0."""
    phases = np.angle(_random_phases(np.random.default_rng(0), side)) % (2 * np.pi)
    rng = np.random.default_rng(0)
    np.testing.assert_allclose(phases[:, : side // 2], rng.uniform(0, 2 * np.pi, (side, side // 2)))
    np.testing.assert_allclose(phases, phases[::-1, ::-1])
    if side == 5:
        middle = rng.uniform(0, 2 * np.pi, 2)
        np.testing.assert_allclose(phases[:3, 2], [*middle, 0])
