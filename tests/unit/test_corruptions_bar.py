"""The ten corruptions of C-bar, compared with references that go pixel by pixel."""

import math

import numpy as np
import pytest
from scipy import ndimage

from matcheval.datasets.corruptions import C_BAR
from matcheval.datasets.corruptions.applying import CORRUPTIONS, corrupt
from matcheval.errors import InputError

RNG = np.random.default_rng(1)
TURN = 2 * math.pi
GREY = np.full(3, 128.0)


def by_pixel(image, function):
    side = len(image)
    return np.array([[function(y, x) for x in range(side)] for y in range(side)])


def bilinear(image, y, x):
    """Of a pixel's four neighbours, those outside the image are black."""
    top, left, total = math.floor(y), math.floor(x), np.zeros(3)
    for row, by_row in ((top, 1 - y + top), (top + 1, y - top)):
        for column, by_column in ((left, 1 - x + left), (left + 1, x - left)):
            if 0 <= row < len(image) and 0 <= column < len(image):
                total += by_row * by_column * image[row, column]
    return total


def noise(rng, side, amplitude):
    phase = np.zeros((side, side))
    half = rng.uniform(0, TURN, (side, side // 2))
    middle = rng.uniform(0, TURN, side // 2) if side % 2 else None
    for row in range(side):
        for column in range(side // 2):
            phase[row, column] = half[row, column]
            phase[side - 1 - row, side - 1 - column] = half[row, column]
        if middle is not None and row < side // 2:
            phase[row, side // 2] = phase[side - 1 - row, side // 2] = middle[row]
    spectrum = np.zeros((side, side), complex)
    for row in range(side):
        for column in range(side):
            size = amplitude(math.hypot(row - side / 2, column - side / 2))
            to = (row + side // 2) % side, (column + side // 2) % side
            spectrum[to] = size * np.exp(1j * phase[row, column])
    waves = np.exp(2j * np.pi * np.outer(np.arange(side), np.arange(side)) / side)
    values = (waves @ spectrum @ waves).real
    return values / values.std()


def blue(image, level, rng):
    high = noise(rng, len(image), lambda d: d) > 0.3 * level - 2.5
    return by_pixel(image, lambda y, x: image[y, x] * high[y, x])


def brownish(image, level, rng):
    added = [noise(rng, len(image), lambda d: 1 / (d * d + 1)) for _ in range(3)]
    return image + 6.4 * level * np.stack(added, axis=2)


def cutout(image, level, rng):
    side = len(image)
    angle, size = rng.uniform(0, TURN), max(1, side * rng.uniform(0.1, 0.25))
    squares = int(4 * side // size)
    drawn = rng.random((squares, squares)) < level / 10

    def pixel(y, x):
        p = (math.cos(angle) * y + math.sin(angle) * x) / size
        q = (-math.sin(angle) * y + math.cos(angle) * x) / size
        kept = int(p % 2) != int(q % 2) or not drawn[int(p), int(q)]
        return image[y, x] if kept else GREY

    return by_pixel(image, pixel)


def drawn_lines(image, level, rng):
    """Bresenham's algorithm with anti-aliasing (Zingl 2012), as the original uses it."""
    side, image = len(image), image.copy()
    angle, spread = rng.uniform(0, TURN), rng.uniform(0.1, 1)
    for _ in range(int(level / 10 * side)):
        x, y, turned = rng.random(3)
        turned = angle + TURN * spread * (turned - 0.5)
        cos, sin = math.cos(turned), math.sin(turned)
        ends = [int(side * v) for v in (x - cos, y - sin, x + cos, y + sin)]
        for (row, column), share in line_pixels(*ends):
            if 0 <= row < side and 0 <= column < side:
                mixed = (1 - share) * image[row, column] + share * GREY
                image[row, column] = np.floor(mixed + 1e-9)
    return image


def line_pixels(r, c, r1, c1):
    dr, dc = abs(r1 - r), abs(c1 - c)
    down, right = 1 if r < r1 else -1, 1 if c < c1 else -1
    error, length = dc - dr, max(1, math.hypot(dr, dc))
    while True:
        yield (r, c), 1 - abs(error - dc + dr) / length
        before, at = error, c
        if 2 * before >= -dc:
            if c == c1:
                return
            if before + dr < length:
                yield (r + down, c), 1 - abs(before + dr) / length
            error, c = error - dr, c + right
        if 2 * before <= dr:
            if r == r1:
                return
            if dc - before < length:
                yield (r, at + right), 1 - abs(dc - before) / length
            error, r = error + dc, r + down


def ray_share(y, x, centre, rays, power):
    dy, dx = y - centre[0], x - centre[1]
    place = (math.atan2(dx, dy) + math.pi) / TURN * len(rays)
    i, f = int(place), place - int(place)
    one, two = rays[i % len(rays)], rays[(i + 1) % len(rays)]
    g = ((one + f * (two - one)) ** 2 / (dy * dy + dx * dx + 1e-4)) ** power
    return min(max((1 - (f - 0.5) ** 2) * g, 0), 1)


def sparkling(image, level, rng):
    side = len(image)
    centres, counts = rng.uniform(0, side, (5, 2)), rng.integers(50, 200, 5)
    for centre, count in zip(centres, counts, strict=True):
        radius = 0.01 * level * side
        rays = [max(1, radius + 0.25 * radius * z) for z in rng.standard_normal(count)]
        shares = by_pixel(image, lambda y, x, c=centre, r=rays: ray_share(y, x, c, r, 1))
        image = image + shares[..., None] * (255 - image)
    return image


def inversely_sparkling(image, level, rng):
    side = len(image)
    centre, count = rng.uniform(0.25, 0.75, 2) * side, rng.integers(50, 200)
    rays = [0.25 * side * (1 + 0.25 * z) for z in rng.standard_normal(count)]
    power = 6.5 * level / 50
    return by_pixel(
        image, lambda y, x: 255 + ray_share(y, x, centre, rays, power) * (image[y, x] - 255)
    )


def twirled(image, level, rng):
    side, out = len(image), image.copy()
    signs, cell = rng.choice([1, -1], (3, 3)), len(image) // 3
    for i in range(3):
        for j in range(3):
            for y in range(j * cell, (j + 1) * cell):
                for x in range(i * cell, (i + 1) * cell):
                    cy, cx = j * cell + cell / 2, i * cell + cell / 2
                    d = math.hypot(y - cy, x - cx) / (cell / 2)
                    if d > 1 or d == 0:
                        continue
                    nearer = math.sin(math.pi / 2 * d) ** -(0.04 * level + 0.1)
                    a = signs[i, j] * level * math.pi / 20 * (1 - d) ** 2
                    dy, dx = nearer * (y - cy), nearer * (x - cx)
                    out[y, x] = bilinear(
                        image,
                        cy + dy * math.cos(a) - dx * math.sin(a),
                        cx + dy * math.sin(a) + dx * math.cos(a),
                    )
    assert side % 3  # there is a remainder without discs
    return out


def rippled(image, level, rng):
    side = len(image)
    lengths, phases = rng.uniform(0.1, 0.3, 2) * side, rng.uniform(0, TURN, 2)

    def moved(at, k):
        return at + 0.0025 * level * side * math.sin(TURN * at / lengths[k] + phases[k])

    return by_pixel(image, lambda y, x: bilinear(image, moved(y, 0), moved(x, 1)))


def aberrant(image, level, rng):
    side = len(image)
    scales = np.array([1, 1 + level / 40, 1 + level / 20])[rng.permutation(3)]
    out = []
    for channel, scale in zip(np.moveaxis(image, 2, 0), scales, strict=True):
        large = np.floor(ndimage.zoom(channel, scale, prefilter=False) + 0.5 + 1e-9)
        edge = (len(large) - side) // 2
        out.append(large[edge : edge + side, edge : edge + side])
    return np.stack(out, axis=2)


def rotated(image, level, rng):
    total, weights = 0, 0
    for t in np.linspace(-1, 1, 21):
        weight = math.exp(-2 * t * t)
        total += weight * ndimage.rotate(image, 1.5 * level * t, reshape=False)
        weights += weight
    return total / weights


# In the order of their names.
REFERENCES = (blue, brownish, cutout, rotated, inversely_sparkling, drawn_lines, twirled, rippled,
              sparkling, aberrant)  # fmt: skip


@pytest.mark.parametrize(("name", "reference"), [*zip(sorted(C_BAR), REFERENCES, strict=True)])
@pytest.mark.parametrize("side", [32, 23])
def test_every_pixel_is_that_of_a_literal_reference(name, reference, side):
    """On the scale from 0 to 255."""
    images = RNG.integers(0, 256, (2, side, side, 3), np.uint8)
    corruption = CORRUPTIONS[name]
    level, scale = corruption.parameters[32][3], 1 if corruption.on_bytes else 255
    expected = [
        np.clip(reference(image.astype(float), level, np.random.default_rng(i)), 0, 255)
        for i, image in enumerate(images)
    ]
    generators = [[np.random.default_rng(i) for i in range(2)]] * corruption.random
    found = corruption.apply(images if scale == 1 else images / scale, *generators, level)
    found = scale * np.clip(found, 0, 255 // scale).astype(float)
    assert np.allclose(found, expected, rtol=0, atol=1e-6)


def test_images_of_224_pixels_have_25_discs():
    image = RNG.random((1, 224, 224, 3))
    moved = CORRUPTIONS["pinch_and_twirl"].apply(image, [np.random.default_rng(0)], 10) != image
    y, x = np.indices((224, 224))
    squared = (y % 44 - 22) ** 2 + (x % 44 - 22) ** 2
    inside = (squared > 0) & (squared < 22**2) & (np.maximum(y, x) < 220)
    assert np.array_equal(moved[0].any(axis=-1), inside)


def test_images_that_are_not_square_are_refused():
    with pytest.raises(InputError, match="images of 4 × 5 pixels to corrupt; C-bar"):
        corrupt(np.zeros((1, 4, 5, 3), np.uint8), "ripple", 1, [0])
