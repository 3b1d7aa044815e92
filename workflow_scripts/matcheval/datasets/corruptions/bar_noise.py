"""Noise of C-bar: blue and brownish noise.

Source: classes `BlueNoiseSample` and `BrownishNoise` of the program named in `bar_common`.
"""

import numpy as np
import numpy.typing as npt
from scipy import fft

from matcheval.datasets.corruptions.bar_common import levels, side_of
from matcheval.datasets.corruptions.corruption import Corruption, Generators, Images

_Array = npt.NDArray[np.float64]
_Waves = npt.NDArray[np.complex128]


def blue_noise_sample(images: Images, level: float, generators: Generators) -> Images:
    """Make pixels black where blue noise of standard deviation 1 is at most 0.3 · level − 2.5."""
    side = side_of(images)
    noise = _noise(generators, side, _frequency(side))
    return np.where((noise > 0.3 * level - 2.5)[..., None], images, 0)


def brownish_noise(images: Images, level: float, generators: Generators) -> Images:
    """Add noise of low frequencies, of a standard deviation of 6.4 · level of 255, per channel."""
    side = side_of(images)
    amplitude = 1 / (_frequency(side) ** 2 + 1)
    noise = np.stack([_noise(generators, side, amplitude) for _ in range(3)], axis=-1)
    noise *= 6.4 * level / 255
    noisy: Images = images + noise.astype(images.dtype)
    return noisy


def _frequency(side: int) -> _Array:
    """Return the magnitude of every frequency, zero in the middle, in cycles per image."""
    axis = np.arange(side) - side / 2
    frequency: _Array = np.hypot(axis[:, None], axis)
    return frequency


def _noise(generators: Generators, side: int, amplitude: _Array) -> _Array:
    """Draw noise of a given spectrum and of standard deviation 1, shape (n, side, side)."""
    waves = np.stack([_waves(generator, side) for generator in generators])
    spectrum = fft.fftshift(amplitude * waves, axes=(1, 2))
    noise: _Array = np.real(fft.ifft2(spectrum, overwrite_x=True))
    noise /= noise.std(axis=(1, 2), keepdims=True)
    return noise


def _waves(generator: np.random.Generator, side: int) -> _Waves:
    """Draw random phases, as complex numbers of magnitude 1."""
    half = _unit(generator, side, side // 2)
    columns = [half, half[::-1, ::-1]]
    if side % 2:
        middle = _unit(generator, side // 2, 1)
        columns.insert(1, np.concatenate([middle, np.ones((1, 1)), middle[::-1]]))
    return np.concatenate(columns, axis=1)


def _unit(generator: np.random.Generator, *shape: int) -> _Waves:
    phases = generator.uniform(0, 2 * np.pi, shape)
    waves = np.empty(shape, np.complex128)
    waves.real, waves.imag = np.cos(phases), np.sin(phases)
    return waves


CORRUPTIONS = (
    Corruption(
        "blue_noise_sample", "c-bar", levels((0.7, 1.4, 2.1, 3.5, 4.2), (0.8, 1.6, 2.4, 4.0, 5.6)),
        blue_noise_sample,
    ),
    Corruption(
        "brownish_noise", "c-bar", levels((2.5, 4.0, 5.5, 6.5, 7.0), (1.0, 2.0, 3.0, 4.0, 5.0)),
        brownish_noise,
    ),
)  # fmt: skip
