"""Fingerprints of corruptions and evaluation transforms of images."""

import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from PIL import Image

from golden.values import Fingerprint, fingerprint, pixels
from matcheval.datasets.corruptions import SEVERITIES
from matcheval.datasets.corruptions.applying import corrupt
from matcheval.models.transforms import NORMALIZATIONS, Geometry, Transform

_IMAGES = pixels(2, 40, 40, 3)  # so large that a level that changes by 1 does not count


def of_corruption(name: str) -> Fingerprint:
    """Images in all severities, with the parameters for small and for large images."""
    with tempfile.TemporaryDirectory() as text:
        for i, file in enumerate(("1.png", "2.png", "3.png", "4.jpg", "5.jpg")):
            texture = Image.fromarray(pixels(5, 250, 260, 3)[i])
            texture.save(Path(text, f"frost{file}"), "PNG")
        return fingerprint(
            corrupt(_IMAGES, name, severity, (3, 8), size=size, textures=Path(text))
            for size in (32, 224)
            for severity in SEVERITIES
        )


def _transformed(geometries: Iterable[Geometry]) -> Fingerprint:
    images = [Image.fromarray(pixels(*shape, 3)) for shape in ((37, 50), (61, 40), (16, 16))]
    return fingerprint(
        np.asarray(geometry.apply(image)) for geometry in geometries for image in images
    )


def of_resize(name: str) -> Fingerprint:
    """Images of several shapes, enlarged, reduced, cropped and padded."""
    if name == "none":
        return _transformed([Geometry()])
    fill = (10, 200, 90) if name == "fit" else None
    sizes = (((32, 32), (28, 28)), ((21, 21), (26, 24)))
    return _transformed(Geometry(name, *size, "bilinear", fill) for size in sizes)


def of_interpolation(name: str) -> Fingerprint:
    """Images that are enlarged and reduced."""
    return _transformed(Geometry("exact", (n, n), (n, n), name) for n in (23, 71))


def of_normalization(name: str) -> Fingerprint:
    """Means and standard deviations."""
    return fingerprint(NORMALIZATIONS[name])


def of_library_transform(name: str) -> Fingerprint:
    """What a transform of timm or torchvision becomes."""
    if name == "torchvision":
        from torchvision.models import ResNet50_Weights, ViT_L_16_Weights

        presets = (ResNet50_Weights.IMAGENET1K_V2, ViT_L_16_Weights.IMAGENET1K_SWAG_E2E_V1)
        return fingerprint([], [Transform.from_preset(p.transforms()).to_json() for p in presets])
    config = {
        "input_size": (3, 224, 200), "interpolation": "bicubic", "crop_pct": 0.9,
        "mean": (0.5, 0.4, 0.3), "std": (0.2, 0.3, 0.4), "crop_mode": name.partition(" ")[2],
    }  # fmt: skip
    square = config | {"input_size": (3, 224, 224), "crop_pct": None}
    return fingerprint([], [Transform.from_data_config(c).to_json() for c in (config, square)])


LIBRARY_TRANSFORMS = ("timm center", "timm squash", "timm border", "torchvision")
# Those of every version of Pillow; later ones have more, which no published transform uses.
TESTED_INTERPOLATIONS = ("nearest", "box", "bilinear", "hamming", "bicubic", "lanczos")
RESIZES = ("none", "short", "cover", "fit", "exact")
