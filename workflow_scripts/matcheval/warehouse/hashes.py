"""Hashes of images: of their pixels, and of what they look like.

The perceptual hash is that of the package ImageHash (`phash`), which would bring PyWavelets, a
compiled package that is used nowhere else here, for four lines with Pillow and SciPy.
"""

import hashlib

import numpy as np
import numpy.typing as npt
from PIL import Image
from scipy.fft import dctn

_SIDE, _KEPT = 32, 8
# Grey levels: coefficients of uniform images differ from 0 by rounding errors only.
_DECIMALS = 6


def pixel_digest(image: Image.Image) -> str:
    """Compute the SHA-256 of an image's pixels and shape."""
    digest = hashlib.sha256(f"{image.height} {image.width} 3 ".encode())
    digest.update(image.tobytes())
    return digest.hexdigest()


def perceptual_hash(image: Image.Image) -> int:
    """Compute a 64-bit hash that hardly changes when an image is resized or encoded again."""
    grey = image.convert("L").resize((_SIDE, _SIDE), Image.Resampling.LANCZOS)
    spectrum: npt.NDArray[np.float64] = dctn(np.asarray(grey, dtype=np.float64), type=2)
    low = np.round(spectrum[:_KEPT, :_KEPT], _DECIMALS)
    bits = np.packbits(low > np.median(low))
    return int.from_bytes(bits.tobytes(), "big")
