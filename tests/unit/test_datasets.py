"""Datasets in memory and on disk: the digits, arrays, image files; sets derived from others."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from sklearn.datasets import load_digits

from image_sets import dataset, encode, encoded_dataset
from matcheval.datasets.dataset import content_digest
from matcheval.datasets.decoding import UnreadableImageError, decode_rgb, inspect_image
from matcheval.datasets.derived import Derivation, balanced_parts, derive, part, rest, union
from matcheval.datasets.folders import read_dataset, write_datapoints, write_dataset
from matcheval.datasets.prepare import build_dataset
from matcheval.errors import InputError


@pytest.fixture
def small():
    return dataset(np.arange(24, dtype=np.uint8).reshape(3, 2, 2, 2), [0, 1, 1], "small")


def test_the_split_is_the_published_one():
    # A change of NumPy's random streams, or of the seed, would change every published number.
    digests = {
        "train": "c52676a80a296424",
        "validation": "255640b64e3038d7",
        "known": "3bc83d7f7b846e93",
        "new-writers": "e80d4399446407e1",
    }
    digits = {part: build_dataset(part, "digits", {"part": part}) for part in digests}
    assert {part: dataset.sha256[:16] for part, dataset in digits.items()} == digests
    original = load_digits()
    assert np.array_equal(digits["new-writers"].images[..., 0], original.images[1300:])
    assert np.array_equal(digits["new-writers"].labels, original.target[1300:])


def test_written_datasets_are_read_back_and_have_the_same_bytes(small, tmp_path):
    for folder in ("one", "two"):
        write_dataset(small, tmp_path / folder)
    again = read_dataset(tmp_path / "one")
    assert np.array_equal(again.images, small.images)
    assert np.array_equal(again.labels, small.labels)
    assert isinstance(again.images, np.memmap)
    for field in ("name", "classes", "max_value", "source", "sha256", "image_shape"):
        assert getattr(again, field) == getattr(small, field)
    files = ["datapoints.parquet", "dataset.json", "images.npy"]
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == files
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


@pytest.mark.parametrize("file", ["images.npy", "datapoints.parquet", "dataset.json"])
def test_truncated_files_of_a_dataset_are_named(small, tmp_path, file):
    write_dataset(small, tmp_path)
    (tmp_path / file).write_bytes((tmp_path / file).read_bytes()[:-10])
    with pytest.raises(InputError, match=file):
        read_dataset(tmp_path)


def test_changed_contents_are_refused(small, tmp_path):
    write_dataset(small, tmp_path)
    np.save(tmp_path / "images.npy", small.images[::-1])
    with pytest.raises(InputError, match="sha256"):
        read_dataset(tmp_path)
    write_datapoints(tmp_path, np.array([0, 1]), ["a", "b"])
    with pytest.raises(InputError, match="3 images, 2 labels"):
        read_dataset(tmp_path)
    write_datapoints(tmp_path, np.array([0, 2, 1]), ["a", "b", "c"])
    with pytest.raises(InputError, match=r"row 1 \(from 0\): 2 is not one of 2 classes"):
        read_dataset(tmp_path)


def noise(height, width):
    values = np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)
    return Image.fromarray(values)


FILES = [
    encode(noise(5, 7)), encode(noise(40, 30), "JPEG"), encode(noise(9, 9), "WEBP", lossless=True),
]  # fmt: skip


def mixed(files=FILES):
    return encoded_dataset(files, name="mixed", n_classes=2)


def test_written_files_are_read_back(tmp_path):
    written = mixed()
    write_dataset(written, tmp_path / "mixed")
    again = read_dataset(tmp_path / "mixed")
    assert again.stored == written.stored == "files"
    assert [bytes(again.images.encoded(i)) for i in range(3)] == FILES
    assert again.names == ("0.jpg", "1.jpg", "2.jpg")
    assert again.sha256 == written.sha256
    assert isinstance(again.images.data, np.memmap)
    assert np.array_equal(again.image(0), noise(5, 7))
    assert [again.image(i).size for i in range(3)] == [(7, 5), (30, 40), (9, 9)]
    with pytest.raises(InputError, match="mixed: its images are encoded files"):
        _ = again.image_shape


def test_the_digest_depends_on_contents_and_how_they_are_divided(small, tmp_path):
    other = small.images.copy()
    other[-1, -1, -1, -1] ^= 1
    for changed in (other, small.images.reshape(3, 4, 1, 2)):
        assert content_digest(changed, small.labels) != small.sha256
    a, b = FILES[:2]
    assert mixed([a, b]).sha256 != mixed([a + b[:1], b[1:]]).sha256
    write_dataset(small, tmp_path)
    mapped = read_dataset(tmp_path).images  # of which a view is not the whole file
    digests = {content_digest(images[1:], small.labels[1:]) for images in (mapped, small.images)}
    assert len(digests) == 1


def pixel_formats():
    rgb = noise(8, 8)
    for mode, kind in [("RGBA", "PNG"), ("P", "PNG"), ("CMYK", "JPEG"), ("1", "PNG"),
                       ("LA", "PNG"), ("L", "JPEG")]:  # fmt: skip
        image = rgb.convert("L").convert(mode) if mode == "LA" else rgb.convert(mode)
        if mode == "RGBA":
            image.putalpha(rgb.convert("L"))
        yield pytest.param(encode(image, kind), id=f"{mode} {kind}")


@pytest.mark.parametrize("encoded", list(pixel_formats()))
def test_every_pixel_format_becomes_rgb_as_the_common_loaders_make_it(encoded, tmp_path):
    from timm.data import ImageDataset
    from torchvision.datasets.folder import default_loader

    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "image.png").write_bytes(encoded)
    decoded = decode_rgb(encoded)
    assert decoded.mode == "RGB"
    assert np.array_equal(decoded, default_loader(tmp_path / "c" / "image.png"))
    assert np.array_equal(decoded, ImageDataset(str(tmp_path))[0][0])


def test_truncated_files_are_refused():
    for encoded in FILES:
        inspect_image(encoded)
        for read in (inspect_image, decode_rgb):
            for cut in (encoded[:-30], encoded[:20], b""):
                with pytest.raises(UnreadableImageError):
                    read(cut)
            with pytest.raises(UnreadableImageError, match=r"it is not a JPEG, PNG.* TIFF file"):
                read(b"\x00" + encoded)


@pytest.mark.parametrize(
    ("lossless", "kind", "options"),
    [
        (True, "PNG", {}), (True, "WEBP", {"lossless": True, "exif": b"Exif\0\0abc"}),
        (False, "WEBP", {"exif": b"Exif\0\0abc"}), (False, "JPEG", {"quality": 100}),
    ],
)  # fmt: skip
def test_lossless_encodings_are_recognised(lossless, kind, options):
    assert inspect_image(encode(noise(8, 6), kind, **options)) == (8, 6, lossless)


def test_arrays_are_converted_to_rgb_images():
    grey = np.arange(0, 17, dtype=np.uint8).reshape(1, 1, 17, 1)
    rgb = np.asarray(dataset(grey, max_value=16).image(0))
    assert rgb.shape == (1, 17, 3)
    assert rgb[0, [0, 8, 16]].tolist() == [[0] * 3, [128] * 3, [255] * 3]


def numbered(name, labels, *, classes=("cat", "dog", "ship"), first=0, side=2):
    """All pixels of an image have one value, its position from `first`, which identifies it."""
    values = first + np.arange(len(labels), dtype=np.uint8)
    images = np.tile(values[:, None, None, None], (1, side, side, 1))
    return dataset(images, labels, name, classes)


def values(derived):
    return derived.images[:, 0, 0, 0].tolist()


@settings(max_examples=50, deadline=None)
@given(counts=st.lists(st.integers(5, 30), min_size=3, max_size=3), parts=st.integers(2, 5))
def test_parts_are_balanced_and_divide_the_set(counts, parts):
    labels = np.repeat([0, 1, 2], counts)
    dealt = balanced_parts(numbered("all", labels), parts, np.random.default_rng(0))
    sizes = np.bincount(dealt, minlength=parts)
    assert sizes.sum() == len(labels)
    assert np.ptp(sizes) <= 1
    for label in range(3):
        assert np.ptp(np.bincount(dealt[labels == label], minlength=parts)) <= 1


def test_a_part_and_the_rest_are_the_whole():
    source = numbered("all", np.tile([0, 1, 2], 20))
    one, others = (derive(f("all", 2, 5, seed=3), [source]) for f in (part, rest))
    assert (len(one), len(others)) == (12, 48)
    assert sorted(values(one) + values(others)) == list(range(60))
    assert one.labels.tolist() == [source.labels[i] for i in values(one)]
    assert one.names == tuple(source.names[i] for i in values(one))
    assert one.name == "all.part-2-of-5.seed-3"
    assert values(derive(part("all", 2, 5, seed=4), [source])) != values(one)


def test_sets_that_do_not_match_are_refused():
    for other in ({"classes": ("cat", "dog", "truck")}, {"side": 3}):
        sets = [numbered("one", [0, 1]), numbered("two", [0, 1], **other)]
        with pytest.raises(InputError, match="classes" if "classes" in other else "image_shape"):
            derive(union("one", "two"), sets)


def origins(role):
    options = {"per_set": 30, "role": role, "test_fraction": 0.2, "seed": 0}
    return Derivation("origins", ("one", "two"), options)


def test_origins_are_balanced_and_training_and_test_are_disjoint():
    sources = [numbered("one", np.tile([0, 1, 2], 15)), numbered("two", [0, 1, 2] * 12, first=100)]
    train, test = (derive(origins(role), sources) for role in ("train", "test"))
    assert train.classes == ("one", "two")
    assert not set(values(train)) & set(values(test))
    for derived, per_class in ((train, 8), (test, 2)):
        assert derived.labels.tolist() == [int(value >= 100) for value in values(derived)]
        for source, first in zip(sources, (0, 100), strict=True):
            rows = [v - first for v in values(derived) if (v >= 100) == (first == 100)]
            assert np.bincount(source.labels[rows]).tolist() == [per_class] * 3


def test_a_class_with_too_few_images_is_named_with_its_shortfall():
    sources = [numbered("one", [0] * 12 + [1] * 7 + [2] * 9), numbered("two", [0, 1, 2] * 12)]
    with pytest.raises(InputError, match=r"one.*'dog' has 7, 3 too few; 'ship' has 9, 1 too few"):
        derive(origins("train"), sources)
