"""Fingerprints of corruptions: all severities at 32 pixels, one image at 224."""

import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

from golden.values import Fingerprint, fingerprint, pixels
from matcheval.datasets.corruptions.applying import corrupt
from matcheval.datasets.corruptions.names import SEVERITIES


def of_corruption(name: str) -> Fingerprint:
    """Corrupted images; smooth ones, which are distorted by all corruptions."""
    with tempfile.TemporaryDirectory() as folder:
        for i in range(1, 6):
            kind = "png" if i < 4 else "jpg"
            _smooth(300 + 7 * i).save(Path(folder, f"frost{i}.{kind}"))
        small = np.stack([np.asarray(_smooth(32, seed)) for seed in range(4)])
        large = np.asarray(_smooth(224))[None]
        return fingerprint(
            [corrupt(small, name, s, range(3, 7), textures=Path(folder)) for s in SEVERITIES]
            + [corrupt(large, name, 3, [0], textures=Path(folder))]
        )


def _smooth(side: int, seed: int = 0) -> Image.Image:
    coarse = Image.fromarray(pixels(seed + 1, 6, 7, 3)[-1])
    return coarse.resize((side, side), Image.Resampling.BICUBIC)
