"""Datasets whose images are made from another dataset's when they are read."""

import io
import json
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from torchvision.transforms.v2 import CenterCrop, Compose, Resize

from image_sets import (
    cifar_images,
    dataset,
    encode,
    encoded_dataset,
    jpeg,
    photo,
    prepare,
    write_files,
)
from matcheval.datasets import dataset as images_module
from matcheval.datasets.corruptions import ARCHIVE
from matcheval.datasets.corruptions.applying import corrupt
from matcheval.datasets.folders import read_dataset, write_dataset
from matcheval.datasets.prepare import prepare_dataset
from matcheval.errors import InputError
from matcheval.inference.readers import DecodingReader, MakingReader
from matcheval.inference.running import open_reader
from matcheval.models.transforms import Geometry
from studies import configuration, load

CLASSES = tuple(f"class-{i}" for i in range(10))
NOISE = {"corruption": "gaussian_noise", "severity": 3}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Forty real images, grey ones of values up to 16, and photographs of two sizes."""
    folder = tmp_path_factory.mktemp("results") / "datasets"
    colour, labels = cifar_images(40)
    grey = np.random.default_rng(0).integers(0, 17, (40, 8, 8, 1), np.uint8)
    for name, pixels, most in (("colour", colour, 255), ("grey", grey, 16)):
        dataset(pixels, labels, name, CLASSES, most, folder)
    files = [jpeg(photo(*size, seed=i)) for i, size in enumerate([(300, 260), (240, 310)])]
    write_dataset(encoded_dataset(files, n_classes=10), folder / "photos")
    return folder


def corrupted(folder, of, name="made", **options):
    downloads = folder.parent / "downloads"
    return prepare_dataset(name, "corrupted", {"of": of, **options}, folder / name, downloads)


@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(st.integers(0, 39), min_size=1, max_size=60),
    block=st.sampled_from([1, 3072, 5 * 3072, 1 << 30]),
)
def test_an_image_does_not_depend_on_those_it_is_made_with(folder, rows, block):
    made = corrupted(folder, "colour", **NOISE).images
    whole = made[:]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(images_module, "_MADE_BYTES", block)
        np.testing.assert_array_equal(made[rows], whole[rows])
        np.testing.assert_array_equal(made[rows[0] :], whole[rows[0] :])
        np.testing.assert_array_equal(made[rows[0]], whole[rows[0]])


def test_the_bytes_are_those_of_the_corruption_stored_or_not_and_in_threads(folder):
    source = read_dataset(folder / "colour")
    made = corrupted(folder, "colour", **NOISE, seed=5)
    expected = corrupt(np.array(source.pixels), "gaussian_noise", 3, range(40), seed=5)
    np.testing.assert_array_equal(np.asarray(made.pixels), expected)
    with ThreadPoolExecutor(4) as pool:
        threaded = list(pool.map(made.pixels.__getitem__, range(40)))
    np.testing.assert_array_equal(threaded, expected)
    kept = corrupted(folder, "colour", "kept", **NOISE, seed=5, stored=True)
    assert (made.stored, kept.stored) == ("made", "array")
    np.testing.assert_array_equal(kept.pixels, expected)
    assert read_dataset(folder / "kept").sha256 == kept.sha256
    again = corrupted(folder, "colour", "kept", **NOISE, seed=5)
    assert not (folder / "kept" / "images.npy").exists()
    assert (again.names, again.sha256) == (source.names, made.sha256)
    assert corrupted(folder, "colour", **NOISE, seed=6).sha256 != made.sha256


def test_grey_images_of_another_range_become_rgb_and_larger(folder):
    grey = read_dataset(folder / "grey")
    plain = corrupted(folder, "grey", corruption="none")
    expected = np.repeat(np.rint(np.asarray(grey.pixels) * (255 / 16)), 3, axis=3)
    np.testing.assert_array_equal(np.asarray(plain.pixels), expected)
    assert plain.max_value == 255
    larger = corrupted(folder, "grey", corruption="none", size=32)
    resized = grey.image(7).resize((32, 32), Image.Resampling.BILINEAR)
    np.testing.assert_array_equal(larger.pixels[7], np.asarray(resized))


def test_restored_images_are_averages_in_the_form_of_the_other_set(folder):
    grey, colour = (read_dataset(folder / name) for name in ("grey", "colour"))
    for source in (grey, colour):
        plain = corrupted(folder, source.name, corruption="none", size=64, restore=True)
        assert plain.max_value == source.max_value
        np.testing.assert_array_equal(plain.pixels[:], source.pixels)
    noisy = corrupted(folder, "grey", **NOISE, size=32, restore=True)
    large = np.rint(np.asarray(grey.pixels, float) * (255 / 16)).repeat(4, axis=1).repeat(4, axis=2)
    shifted = corrupt(np.repeat(large, 3, axis=3).astype(np.uint8), "gaussian_noise", 3, range(40))
    average = shifted.reshape(40, 8, 4, 8, 4, 3).mean(axis=(2, 4)) @ [0.299, 0.587, 0.114]
    assert np.abs(noisy.pixels[:] - average[..., np.newaxis] * (16 / 255)).max() <= 0.5 + 1e-9
    assert noisy.image_shape == (8, 8, 1)
    for of, size in (("grey", 30), ("photos", 448)):
        with pytest.raises(InputError, match=f"'restore': images of {size} × {size} pixels cannot"):
            corrupted(folder, of, **NOISE, size=size, restore=True)


def test_photographs_are_cropped_as_for_imagenet_c_and_saved_as_jpeg(folder):
    source = read_dataset(folder / "photos")
    cropped = corrupted(folder, "photos", corruption="none", jpeg_quality="none")
    transform = Compose([Resize(256), CenterCrop(224)])
    for i in range(2):
        np.testing.assert_array_equal(cropped.pixels[i], np.asarray(transform(source.image(i))))
    made = corrupted(folder, "photos", corruption="contrast", severity=2)
    shifted = corrupt(cropped.pixels[:], "contrast", 2, [0, 1], size=224)
    np.testing.assert_array_equal(made.pixels[:], as_jpeg(shifted))
    for of, side, parameters, quality in (("photos", 64, 32, None), ("colour", 65, 224, 85)):
        recipe = json.loads(corrupted(folder, of, **NOISE, size=side).images.recipe)
        assert (recipe["parameters"], recipe["jpeg_quality"]) == (parameters, quality)
    forced = corrupted(folder, "colour", corruption="contrast", severity=2, parameters=224)
    clean = read_dataset(folder / "colour").pixels[:3]
    expected = corrupt(clean, "contrast", 2, range(3), size=224)
    np.testing.assert_array_equal(forced.pixels[:3], as_jpeg(expected))


def as_jpeg(images):
    return [Image.open(io.BytesIO(encode(image, "JPEG", quality=85))) for image in images]


def test_models_read_made_images_as_they_read_stored_ones(folder):
    made = corrupted(folder, "colour", **NOISE)
    kept = corrupted(folder, "colour", "kept", **NOISE, stored=True)
    for geometry in (Geometry(), Geometry("short", (40, 40), (36, 36), "bicubic")):
        readers = MakingReader(made, geometry, 2), DecodingReader(kept, geometry, 2)
        np.testing.assert_array_equal(*(rows_of(reader, 20, 29) for reader in readers))


def rows_of(reader, start, stop):
    out = np.empty((stop - start, *reader.shape), np.uint8)
    reader.read(start, stop, out)
    return out


def test_all_severities_follow_each_other(folder):
    single = [corrupted(folder, "colour", **NOISE | {"severity": s}) for s in (1, 2, 3, 4, 5)]
    joined = corrupted(folder, "colour", **NOISE | {"severity": "all"})
    assert len(joined) == 5 * 40
    assert np.array_equal(joined.images, np.concatenate([one.images for one in single]))
    assert np.array_equal(joined.labels, np.tile(single[0].labels, 5))
    assert joined.names[:41:40] == ("1/00000", "2/00000")
    rows = [170, 3, 90, 43, 3]  # of several severities at once, in any order
    expected = [np.asarray(single[row // 40].images[row % 40]) for row in rows]
    assert np.array_equal(joined.images[rows], expected)


def test_a_source_that_was_changed_or_damaged_is_noticed(tmp_path):
    copy = tmp_path / "datasets"
    images, labels = cifar_images(8)
    dataset(images, labels, "of", CLASSES, folder=copy)
    corrupted(copy, "of", **NOISE)
    array = copy / "of" / "images.npy"
    intact = array.read_bytes()
    array.write_bytes(intact[:-1] + bytes([intact[-1] ^ 1]))
    with pytest.raises(InputError, match="of: images or labels differ"):
        read_dataset(copy / "made")
    dataset(images[::-1], labels, "of", CLASSES, folder=copy)
    with pytest.raises(InputError, match=r"made/dataset\.json: 'of', or the corruption, is not"):
        read_dataset(copy / "made", verify=False)


def test_frost_is_made_of_published_photographs(tmp_path, monkeypatch):
    texture = encode(np.random.default_rng(1).integers(0, 256, (400, 400, 3), np.uint8))
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in ("frost1.png", "frost2.png", "frost3.png", "frost4.jpg", "frost5.jpg"):
            archive.writestr(f"imagecorruptions/frost/{name}", texture)
    images, labels = cifar_images(4)
    dataset(images, labels, "of", CLASSES, folder=tmp_path / "datasets")
    options = {"of": "of", "corruption": "frost", "severity": 1}
    made = prepare(monkeypatch, tmp_path, "corrupted", options, {ARCHIVE: content.getvalue()})
    textures = tmp_path / "downloads" / ARCHIVE
    expected = corrupt(images, "frost", 1, range(4), textures=textures)
    np.testing.assert_array_equal(made.pixels[:], expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (NOISE | {"of": "digit"}, r"datasets\.made\.of.*unknown dataset 'digit'"),
        (NOISE | {"of": "made"}, "'made' is made from itself"),
        ({"corruption": "fogg", "severity": 1}, "unknown value 'fogg'. Did you mean 'fog'"),
    ],
)
def test_what_cannot_be_made_is_refused_before_any_job(options, message):
    config = configuration("digits") | {"suites": {"all": {"members": ["made"]}}}
    made = {"kind": "corrupted", "of": "digits-known", **options}
    config["datasets"] = config["datasets"] | {"made": made}
    with pytest.raises(InputError, match=message):
        load(config)


def test_rows_are_taken_before_the_first_of_each_class(tmp_path):
    """Of all of one class and then of the other."""
    pixels = np.tile(np.arange(12, dtype=np.uint8)[:, None, None, None], (1, 2, 2, 3))
    files = {f"{'ab'[i % 2]}/{i:02d}.png": encode(pixels[i]) for i in range(12)}
    path = write_files(tmp_path / "x", files)

    def prepared(**further):
        options = {"path": path, "rows": [2, 9], **further}
        made = prepare_dataset("d", "image_folder", options, tmp_path / "d", tmp_path)
        return np.asarray(made.pixels)[:, 0, 0, 0].tolist()

    assert prepared() == [4, 6, 8, 10, 1, 3, 5]
    assert prepared(per_class=1) == [4, 1]
    assert prepared(skip_per_class=1, per_class=1) == [6, 3]
    assert prepared(skip_per_class=2) == [8, 10, 5]
    with pytest.raises(InputError, match=r"'rows': \[8, 13\] are 5 images, of which there are 4"):
        prepared(rows=[8, 13])


@pytest.mark.parametrize(("crop", "as_they_are"), [(224, True), (299, False)])
def test_images_that_were_cropped_before_are_not_cropped_again(folder, crop, as_they_are):
    made = corrupted(folder, "photos", **NOISE)
    geometry = Geometry("short", (crop + 32, crop + 32), (crop, crop), "bilinear")
    read = rows_of(open_reader(made, geometry, 1), 0, 1)
    assert np.array_equal(read, made.images[0:1]) == as_they_are
