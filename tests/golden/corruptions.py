"""Fingerprints of the corruptions of images."""

import tempfile
from pathlib import Path

from PIL import Image

from golden.values import Fingerprint, fingerprint, pixels
from matcheval.datasets.corruptions import SEVERITIES
from matcheval.datasets.corruptions.applying import corrupt

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
