"""Decoding, hashes and colours of collected images, and the search for similar hashes."""

import io

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy.fft import dct

from collected import picture
from image_sets import encode
from matcheval.datasets.decoding import decode_rgb
from matcheval.warehouse import images
from matcheval.warehouse.duplicates import similar_pairs
from matcheval.warehouse.images import decode_collected, perceptual_hash
from matcheval.warehouse.settings import DecodingSettings

BOUNDS = DecodingSettings(min_side=8, max_pixels=10_000, max_bytes=100_000)


class TestDecoding:
    def test_orientation_is_applied(self):
        image = Image.new("RGB", (20, 10), "red")
        image.paste("blue", (0, 0, 10, 10))
        exif = Image.Exif()
        exif[0x0112] = 6  # rotated by 90 degrees
        shown = decode_collected(encode(image, exif=exif), ".png", BOUNDS)[0]
        assert shown.size == (10, 20)
        assert shown.getpixel((5, 2)) == (0, 0, 255)

    @pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
    def test_transparent_images_are_shown_over_white(self, mode):
        image = Image.new("RGBA", (16, 16), (0, 0, 0, 0))
        image.paste((0, 0, 0, 255), (0, 0, 8, 16))
        shown = decode_collected(encode(image.convert(mode)), ".png", BOUNDS)[0]
        assert shown.mode == "RGB"
        assert shown.getpixel((12, 3)) == (255, 255, 255)
        assert shown.getpixel((3, 3)) == (0, 0, 0)

    def test_the_first_of_several_jpeg_pictures_is_read(self):
        """As phones write them (MPO): the first is a plain JPEG; by both ways of decoding."""
        first, second = picture(1), picture(2)
        content = encode(first, "MPO", save_all=True, append_images=[second])
        jpeg = encode(first, "JPEG")
        alone = np.asarray(Image.open(io.BytesIO(jpeg)))
        for one in (content, jpeg):
            found, flags = decode_collected(one, ".JPG", BOUNDS)
            assert not any(flags.values())
            assert np.array_equal(found, alone)
        assert np.array_equal(decode_rgb(content), alone)


def test_hashes_against_the_definition():
    """Krawetz's hash: 8 × 8 lowest frequencies of 32 × 32 grey pixels against their median."""
    for seed in range(20):
        image = picture(seed)
        grey = np.asarray(image.convert("L").resize((32, 32), Image.Resampling.LANCZOS), float)
        low = dct(dct(grey, axis=0), axis=1)[:8, :8]
        text = "".join("01"[int(c > np.median(low))] for c in low.ravel())
        assert perceptual_hash(image) == int(text, 2)


COLOURS = {
    "black": [(0, 0, 50), (20, 20, 20)], "white": [(255, 255, 255), (230, 220, 210)],
    "gray": [(128, 128, 128), (80, 70, 66)], "brown": [(139, 69, 19), (120, 60, 70)],
    "pink": [(255, 105, 180), (255, 182, 193), (255, 0, 128)], "red": [(255, 0, 0), (200, 0, 40)],
    "orange": [(255, 140, 0)], "yellow": [(255, 255, 0)], "green": [(0, 128, 0)],
    "teal": [(0, 200, 200)], "blue": [(0, 0, 255)], "purple": [(100, 0, 255)],
}  # fmt: skip


def test_names_of_colours():
    for name, pixels in COLOURS.items():
        found = images.classify_colours(np.array(pixels) / 255)
        assert {images.COLOURS[number] for number in found} == {name}


def test_the_most_frequent_pixel_counts():
    image = Image.new("RGB", (300, 900), "blue")
    image.paste("yellow", (0, 0, 300, 500))
    assert images.dominant_colour(image) == "yellow"


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 20), st.integers(0, 8))
@example(0, 0, 4)
def test_the_search_against_all_pairs(seed, n, distance):
    """Hashes in clusters, so that distances around the limit are frequent."""
    random = np.random.default_rng(seed)
    hashes = random.integers(0, 2**63, n, dtype=np.uint64)
    for _ in range(3):
        n_flips = random.integers(0, distance + 3, len(hashes))
        flips = [sum(1 << int(b) for b in random.choice(64, n, False)) for n in n_flips]
        hashes = np.concatenate([hashes, hashes ^ np.array(flips, dtype=np.uint64)])
    hashes = random.permutation(np.unique(hashes))
    pairs = []
    for i in range(len(hashes)):
        bits = np.bitwise_count(hashes[i + 1 :] ^ hashes[i])
        near = np.flatnonzero(bits <= distance)
        pairs += [[i, i + 1 + int(j), int(bits[j])] for j in near]
    assert similar_pairs(hashes, distance).tolist() == pairs
