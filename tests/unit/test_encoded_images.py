"""Datasets of image files, and decoding of images to RGB."""

import io

import numpy as np
import pytest
from PIL import Image

from matcheval.datasets.dataset import EncodedImages, content_digest, make_dataset
from matcheval.datasets.decoding import (
    UnreadableImageError,
    decode_rgb,
    inspect_image,
)
from matcheval.datasets.folders import read_dataset, write_dataset
from matcheval.errors import InputError


def encode(image, kind, **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def noise(height, width, seed=0):
    values = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    return Image.fromarray(values)


FILES = [
    encode(noise(5, 7), "PNG"),
    encode(noise(40, 30), "JPEG"),
    encode(noise(9, 9), "WEBP", lossless=True),
]


def encoded_dataset(files=FILES):
    offsets = np.cumsum([0, *map(len, files)])[:-1]
    images = EncodedImages(np.frombuffer(b"".join(files), np.uint8), offsets)
    return make_dataset(
        "mixed", images, np.arange(len(files)) % 2,
        classes=("a", "b"), max_value=255, source="", names=[f"x/{i}" for i in range(len(files))],
    )  # fmt: skip


def test_written_files_are_read_back(tmp_path):
    dataset = encoded_dataset()
    write_dataset(dataset, tmp_path / "mixed")
    again = read_dataset(tmp_path / "mixed")
    assert again.stored == dataset.stored == "files"
    assert [bytes(again.images.encoded(i)) for i in range(3)] == FILES
    assert again.names == ("x/0", "x/1", "x/2")
    assert again.sha256 == dataset.sha256
    assert isinstance(again.images.data, np.memmap)
    assert np.array_equal(again.image(0), noise(5, 7))
    assert [again.image(i).size for i in range(3)] == [(7, 5), (30, 40), (9, 9)]


def test_files_have_no_common_shape():
    with pytest.raises(InputError, match="mixed: its images are encoded files"):
        _ = encoded_dataset().image_shape


def test_the_digest_depends_on_how_bytes_are_divided():
    a, b = FILES[0], FILES[1]
    assert encoded_dataset([a, b]).sha256 != encoded_dataset([a + b[:1], b[1:]]).sha256


def test_a_damaged_file_is_named():
    dataset = encoded_dataset([FILES[0], FILES[1][:-200]])
    with pytest.raises(InputError, match=r"mixed: image 1 \(x/1\) cannot be decoded .*truncated"):
        dataset.image(1)


def test_offsets_must_divide_the_data():
    with pytest.raises(InputError, match="2 offsets do not divide"):
        make_dataset(
            "bad", EncodedImages(np.zeros(4, np.uint8), np.array([0, 4])), np.array([0, 0]),
            classes=("a",), max_value=255, source="",
        )  # fmt: skip


def test_arrays_are_converted_to_rgb_images():
    grey = np.arange(0, 17, dtype=np.uint8).reshape(1, 1, 17, 1)
    dataset = make_dataset("d", grey, np.array([0]), classes=("a",), max_value=16, source="")
    found = np.asarray(dataset.image(0))
    assert found.shape == (1, 17, 3)
    assert found[0, [0, 8, 16]].tolist() == [[0] * 3, [128] * 3, [255] * 3]
    pixels = np.asarray(noise(4, 5))[None]
    dataset = make_dataset("d", pixels, np.array([0]), classes=("a",), max_value=255, source="")
    assert np.array_equal(dataset.image(0), pixels[0])


def pixel_formats():
    """Encoded images in all pixel formats."""
    rgb = noise(8, 8)
    for mode, kind in [("L", "PNG"), ("RGBA", "PNG"), ("P", "PNG"), ("CMYK", "JPEG"),
                       ("1", "PNG"), ("LA", "PNG"), ("L", "JPEG"), ("RGB", "BMP")]:  # fmt: skip
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
    found = decode_rgb(encoded)
    assert found.mode == "RGB"
    assert np.array_equal(found, default_loader(tmp_path / "c" / "image.png"))
    assert np.array_equal(found, ImageDataset(str(tmp_path))[0][0])


@pytest.mark.parametrize("encoded", FILES, ids=["png", "jpeg", "webp"])
def test_truncated_files_are_refused(encoded):
    inspect_image(encoded)
    for read in (inspect_image, decode_rgb):
        for part in (encoded[:-30], encoded[: len(encoded) // 2], encoded[:20], b""):
            with pytest.raises(UnreadableImageError) as caught:
                read(part)
            assert "BytesIO" not in str(caught.value)
        for other in (b"<html>404</html>", b"\x00" + encoded):
            with pytest.raises(UnreadableImageError, match=r"it is no JPEG, PNG.* TIFF file"):
                read(other)


def test_lossless_encodings_are_recognised():
    image = noise(8, 6)
    kinds = {
        True: [("PNG", {}), ("BMP", {}), ("WEBP", {"lossless": True}),
               ("WEBP", {"lossless": True, "exif": b"Exif\0\0abc"})],
        False: [("JPEG", {"quality": 100}), ("WEBP", {}), ("WEBP", {"exif": b"Exif\0\0abc"})],
    }  # fmt: skip
    for lossless, formats in kinds.items():
        for kind, options in formats:
            facts = inspect_image(encode(image, kind, **options))
            assert (facts.height, facts.width, facts.lossless) == (8, 6, lossless), kind


def test_mapped_and_loaded_images_have_the_same_digest(tmp_path):
    pixels = np.asarray(noise(6, 6))[None].repeat(3, 0)
    array = make_dataset("d", pixels, np.zeros(3, int), classes=("a",), max_value=255, source="")
    for dataset in (array, encoded_dataset()):
        write_dataset(dataset, tmp_path / "d")
        mapped = read_dataset(tmp_path / "d")
        assert content_digest(mapped.images, mapped.labels) == dataset.sha256
    write_dataset(array, tmp_path / "d")
    part = read_dataset(tmp_path / "d").pixels[
        1:
    ]  # a view of a mapped array, which is not the whole file
    assert content_digest(part, mapped.labels[1:]) == content_digest(pixels[1:], mapped.labels[1:])
