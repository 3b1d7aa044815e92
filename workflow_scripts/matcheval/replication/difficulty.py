"""The Gaussian model of difficulty: why probit accuracies lie on a line.

Recht et al. (2019), arXiv 1902.10811, section 5.3: an image of difficulty τ is classified right by
a model of skill s with probability Φ(s − τ), and the difficulties of a set are N(μ, σ²). Then the
accuracy is Φ((s − μ) / √(σ² + 1)), and those on two sets are Φ⁻¹(α₂) = u · Φ⁻¹(α₁) + v.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.statistics.intervals import FloatArray
from matcheval.statistics.scales import Scale, from_scale, to_scale


@dataclass(frozen=True)
class Difficulty:
    """Mean and standard deviation of the difficulties of a set, on the scale of skills."""

    mu: float
    sigma: float

    @property
    def spread(self) -> float:
        """√(σ² + 1): the standard deviation of τ and of a model's own noise together."""
        return float(np.hypot(self.sigma, 1))


def expected_accuracy(skill: npt.ArrayLike, difficulty: Difficulty) -> FloatArray:
    """Accuracy of models of these skills on a set."""
    z = (np.asarray(skill, np.float64) - difficulty.mu) / difficulty.spread
    return from_scale(z, Scale.PROBIT)


def skills(accuracy: npt.ArrayLike, difficulty: Difficulty) -> FloatArray:
    """Skills of models from their accuracies on a set: the inverse of `expected_accuracy`."""
    return difficulty.mu + difficulty.spread * to_scale(accuracy, Scale.PROBIT)


def probit_line(original: Difficulty, replication: Difficulty) -> tuple[float, float]:
    """Slope u and offset v of the line that two sets give on the probit scale."""
    slope = original.spread / replication.spread
    return slope, (original.mu - replication.mu) / replication.spread


def fitted_difficulty(slope: float, offset: float, original: Difficulty) -> Difficulty:
    """Difficulty of the replication, from a probit line and the difficulty of the original.

    Two numbers determine two of the four: the original's are a choice of scale, and not found
    out from accuracies.

    Parameters
    ----------
    slope, offset : float
        Of the line on the probit scale; slope above 0.
    original : Difficulty

    Raises
    ------
    InputError
        If no replication gives the line: models' own noise alone spreads accuracies more.
    """
    variance = (original.spread / slope) ** 2 - 1 if slope > 0 else -1.0
    if variance < 0:
        least = "" if slope <= 0 else f": above {np.sqrt(max(slope**2 - 1, 0)):.3g}"
        raise InputError(
            f"no Gaussian difficulty gives a probit slope of {slope:.4g} with σ = "
            f"{original.sigma:g} on the original",
            field="followups.difficulty_sigma",
            remedy=f"Choose a larger one{least}" if least else "",
        )
    spread = original.spread / slope
    return Difficulty(original.mu - offset * spread, float(np.sqrt(variance)))


def simulate_correct(
    skill: npt.ArrayLike, difficulty: Difficulty, n: int, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Draw a set of n images and let models classify it.

    Parameters
    ----------
    skill : array-like, shape (n_models,)
    difficulty : Difficulty
    n : int
        Images, the same for all models.
    rng : numpy.random.Generator

    Returns
    -------
    int64 array, shape (n_models,)
        How many images each model gets right.
    """
    tau = rng.normal(difficulty.mu, difficulty.sigma, n)
    chances = (from_scale(s - tau, Scale.PROBIT) for s in np.asarray(skill, np.float64))
    return np.array([(rng.random(n) < chance).sum() for chance in chances], np.int64)
