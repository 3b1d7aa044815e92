"""Corruptions of one image from their formulas with loops, in float64.

They draw the same random numbers as the library, in the same order.
"""

import numpy as np
from scipy import ndimage


def elastic_transform(image, c, generator):
    size, sigma, largest = c
    height, width = image.shape[:2]
    third = min(height, width) // 3
    y, x = height // 2, width // 2
    before = np.array([[y + third, x + third], [y - third, x + third], [y - third, x - third]])
    after = before + generator.uniform(-largest, largest, (3, 2))
    weights = np.linalg.inv(np.vstack([after.T, np.ones(3)]))  # of the points, for each position
    moved = np.empty_like(image)
    for row in range(height):
        for column in range(width):
            place = before.T @ weights @ [row, column, 1]
            for i in range(3):
                moved[row, column, i] = ndimage.map_coordinates(
                    image[..., i], place[:, None], order=1, mode="mirror"
                )[0]
    rows, columns = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    if size:
        fields = [
            size * ndimage.gaussian_filter(field, sigma, mode="reflect", truncate=3)
            for field in generator.uniform(-1, 1, (2, height, width))
        ]
        rows, columns = rows + fields[0], columns + fields[1]
    return np.stack(
        [
            ndimage.map_coordinates(moved[..., i], (rows, columns), order=1, mode="reflect")
            for i in range(3)
        ],
        axis=-1,
    )


def _blurred(image, sigma):
    return ndimage.gaussian_filter(image, (sigma, sigma, 0), mode="nearest", truncate=4)


def glass_blur(image, c, generator):
    sigma, delta, passes = c
    height, width = image.shape[:2]
    offsets = generator.integers(-delta, delta, (passes, height, width, 2), np.int8)
    levels = np.uint8(_blurred(image, sigma) * 255 + 1e-3)
    for one in offsets:
        for h in range(height - delta, delta, -1):
            for w in range(width - delta, delta, -1):
                dy, dx = one[h - 1, w - 1]
                levels[h, w] = levels[h + dy, w + dx]
    return _blurred(levels / 255, sigma)


def defocus_blur(image, c, _):
    radius, edge = c
    half, reach = (8, 1) if radius <= 8 else (radius, 2)
    disk = np.zeros((2 * half + 1, 2 * half + 1))
    for y in range(-half, half + 1):
        for x in range(-half, half + 1):
            disk[y + half, x + half] = y * y + x * x <= radius * radius
    disk /= disk.sum()
    steps = np.arange(-reach, reach + 1)
    weights = np.exp(-(steps[:, None] ** 2 + steps**2) / (2 * edge**2))
    kernel = ndimage.correlate(disk, weights / weights.sum(), mode="mirror")
    return ndimage.correlate(image, kernel[..., None], mode="mirror")


def _streaks(image, radius, sigma, angle):
    weights = [np.exp(-(i**2) / (2 * sigma**2)) for i in range(2 * radius + 1)]
    height, width = image.shape[:2]
    result = np.zeros_like(image)
    for i, weight in enumerate(weights):
        down = int(np.ceil(i * np.sin(np.deg2rad(angle)) - 0.5))
        right = int(np.ceil(i * np.cos(np.deg2rad(angle)) - 0.5))
        for y in range(height):
            for x in range(width):
                source = min(max(y + down, 0), height - 1), min(max(x + right, 0), width - 1)
                result[y, x] += weight / sum(weights) * image[source]
    return result


def _zoomed(image, factor):
    height, width = image.shape[:2]
    part = [int(np.ceil(side / factor)) for side in (height, width)]
    top, left = (height - part[0]) // 2, (width - part[1]) // 2
    centre = image[top : top + part[0], left : left + part[1]]
    large = ndimage.zoom(centre, (factor, factor, 1), order=1)
    top, left = (large.shape[0] - height) // 2, (large.shape[1] - width) // 2
    return large[top : top + height, left : left + width]


def zoom_blur(image, c, _):
    zooms = [_zoomed(image, factor) for factor in np.arange(1, *c)]
    return (image + sum(zooms)) / (len(zooms) + 1)


def plasma(side, decay, generator):
    numbers = generator.random((side, side), np.float32) * 2.0 - 1
    field = np.zeros((side, side))
    step, wibble = side, 100.0
    while step >= 2:
        half = step // 2
        for y in range(0, side, step):
            for x in range(0, side, step):
                corners = [
                    field[(y + i) % side, (x + j) % side] for i in (0, step) for j in (0, step)
                ]
                field[y + half, x + half] = (
                    sum(corners) / 4 + wibble**2 * numbers[y + half, x + half]
                )
        old = field.copy()
        for y in range(0, side, step):
            for x in range(0, side, step):
                for row, column in ((y, x + half), (y + half, x)):
                    near = [
                        old[(row + i) % side, (column + j) % side]
                        for i, j in ((-half, 0), (half, 0), (0, -half), (0, half))
                    ]
                    field[row, column] = sum(near) / 4 + wibble**2 * numbers[row, column]
        step, wibble = half, wibble / decay
    field -= field.min()
    return field / field.max()


def fog(image, c, generator):
    (height, width), most = image.shape[:2], image.max()
    side = 2 ** int(np.ceil(np.log2(max(height, width))))
    clouds = plasma(side, c[1], generator)[:height, :width, None]
    return (image + c[0] * clouds) * most / (most + c[0])


def snow(image, c, generator):
    mean, spread, zoom, threshold, radius, sigma, weight = c
    numbers = generator.standard_normal((*image.shape[:2], 1), np.float32).astype(float)
    layer = _zoomed(mean + spread * numbers, zoom)
    layer = np.clip(np.where(layer < threshold, 0, layer), 0, 1)
    layer = _streaks(layer, radius, sigma, generator.uniform(-135, -45))
    grey = image @ [0.299, 0.587, 0.114]
    white = np.maximum(image, 1.5 * grey[..., None] + 0.5)
    return weight * image + (1 - weight) * white + layer + layer[::-1, ::-1]


def spatter(image, c, generator):
    mean, spread, sigma, threshold, strength, mud = c
    numbers = generator.standard_normal((*image.shape[:2], 1), np.float32)
    liquid = _blurred(mean + spread * numbers.astype(float), sigma)[..., 0]
    if mud:
        cover = _blurred((liquid > threshold)[..., None].astype(float), strength)
        cover[cover < 0.8] = 0
        return image * (1 - cover) + cover * np.array([63, 42, 20]) / 255
    levels = np.uint8(np.where(liquid < threshold, 0, np.clip(liquid, 0, 1)) * 255)
    far = np.minimum(ndimage.distance_transform_edt(~edges(levels)), 20)
    box = np.ones((3, 3)) / 9
    near = np.uint8(ndimage.correlate(far, box, mode="mirror") + 1e-5)
    counts = np.bincount(near.ravel(), minlength=256)
    least = near.min()
    spread_out = np.array([counts[least + 1 : level + 1].sum() for level in range(256)])
    raised = np.rint(spread_out * 255 / max(1, near.size - counts[least]))[near]
    relief = ndimage.correlate(raised, [[-2, -1, 0], [-1, 1, 1], [0, 1, 2]], mode="mirror")
    light = np.rint(ndimage.correlate(np.clip(relief, 0, 255), box, mode="mirror")) * levels
    water = light / light.max() * strength
    return image + water[..., None] * np.array([175, 238, 238]) / 255


def edges(levels):
    """Canny's edges, pixel by pixel."""
    values = levels.astype(float)
    dy, dx = (ndimage.sobel(values, axis, mode="nearest") for axis in (0, 1))
    size = np.pad(abs(dx) + abs(dy), 1)
    candidates = np.zeros(levels.shape, bool)
    for y in range(levels.shape[0]):
        for x in range(levels.shape[1]):
            slope = abs(dy[y, x]) / abs(dx[y, x]) if dx[y, x] else np.inf
            if slope < np.tan(np.pi / 8):
                i, j = 0, 1
            elif slope > np.tan(3 * np.pi / 8):
                i, j = 1, 0
            else:
                i, j = 1, (-1 if dx[y, x] * dy[y, x] < 0 else 1)
            here, one, other = (size[y + 1 + k * i, x + 1 + k * j] for k in (0, -1, 1))
            larger = here > other if i and j else here >= other
            candidates[y, x] = here > 50 and here > one and larger
    strong = candidates & (size[1:-1, 1:-1] > 150)
    return ndimage.binary_propagation(strong, np.ones((3, 3)), mask=candidates)
