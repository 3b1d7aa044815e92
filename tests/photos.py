"""Generated photographs, and datasets of them, for tests of what happens to real images."""

import numpy as np
from PIL import Image

from image_sets import dataset, encode
from matcheval.datasets.dataset import EncodedImages
from matcheval.datasets.label_spaces import imagenet_classes

WNIDS = 1000


def photo(width, height, seed=0):
    """An RGB image with soft shapes, sharp edges and noise, as photographs have them."""
    rng = np.random.default_rng(seed)
    soft = Image.fromarray(rng.integers(0, 256, (5, 7, 3), dtype=np.uint8))
    pixels = np.asarray(soft.resize((width, height), Image.Resampling.BICUBIC)).astype(float)
    pixels[:: max(2, height // 9)] = rng.integers(0, 256, 3)
    pixels[:, :: max(2, width // 7)] = rng.integers(0, 256, 3)
    pixels += rng.normal(0, 12, pixels.shape)
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def jpeg(image, **options):
    return encode(image, "JPEG", **{"quality": 90, **options})


def encoded_dataset(files, *, name="photos", n_classes=WNIDS, seed=0):
    """A dataset of image files, given as bytes; ImageNet's classes, if there are 1,000."""
    classes = imagenet_classes() if n_classes == WNIDS else tuple(map(str, range(n_classes)))
    offsets = np.cumsum([0, *map(len, files)])[:-1].astype(np.int64)
    images = EncodedImages(np.frombuffer(b"".join(files), np.uint8), offsets)
    labels = np.random.default_rng(seed).integers(0, n_classes, len(files))
    names = [f"{i}.jpg" for i in range(len(files))]
    return dataset(images, labels, name, classes, names=names)


def photos(n, *, seed=0, edges=(150, 420)):
    """A dataset of photographs of many sizes, as JPEG files."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(*edges, (n, 2))
    return encoded_dataset([jpeg(photo(*map(int, size), i)) for i, size in enumerate(sizes)])
