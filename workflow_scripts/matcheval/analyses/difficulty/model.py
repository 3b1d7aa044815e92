"""The Gaussian model of difficulty, which explains why probit accuracies lie on a line.

Recht et al. (2019), arXiv 1902.10811, section 5.3: a model of skill s classifies an image of
difficulty τ correctly with probability Φ(s − τ), and the difficulties of a set are distributed as
N(μ, σ²). Then the model's accuracy is α = Φ((s − μ) / √(σ² + 1)), and the accuracies on two sets
are related by Φ⁻¹(α₂) = u · Φ⁻¹(α₁) + v.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from matcheval.analyses.difficulty.tables import DIFFICULTY, SKILLS
from matcheval.errors import InputError
from matcheval.statistics.intervals import FloatArray
from matcheval.statistics.scales import Scale, from_scale, to_scale


@dataclass(frozen=True)
class Difficulty:
    """The distribution N(μ, σ²) of the difficulties of a set.

    Attributes
    ----------
    mu : float
        Mean difficulty, on the scale of skills: in standard deviations of a model's own noise.
    sigma : float
        Standard deviation of the difficulties on the same scale, at least 0.
    """

    mu: float
    sigma: float

    @property
    def spread(self) -> float:
        """√(σ² + 1): the standard deviation of difficulty and a model's own noise combined."""
        return float(np.hypot(self.sigma, 1))


def expected_accuracy(skill: npt.ArrayLike, difficulty: Difficulty) -> FloatArray:
    """Compute the accuracies that models are expected to have on a set.

    Parameters
    ----------
    skill : array-like of float
        Skills of the models.
    difficulty : Difficulty
        Difficulties of the set.

    Returns
    -------
    float64 array
        Accuracies as fractions, of the same shape: Φ((s − μ) / √(σ² + 1)).

    References
    ----------
    Recht et al. (2019), arXiv 1902.10811, section 5.3.
    """
    z = (np.asarray(skill, np.float64) - difficulty.mu) / difficulty.spread
    return from_scale(z, Scale.PROBIT)


def skills(accuracy: npt.ArrayLike, difficulty: Difficulty) -> FloatArray:
    """Compute the skills of models from their accuracies; the inverse of `expected_accuracy`.

    Parameters
    ----------
    accuracy : array-like of float
        Accuracies on the set, as fractions.
    difficulty : Difficulty
        Difficulties of the set.

    Returns
    -------
    float64 array
        Skills, of the same shape; infinite for accuracies of 0 and 1.
    """
    return difficulty.mu + difficulty.spread * to_scale(accuracy, Scale.PROBIT)


def fitted_difficulty(slope: float, offset: float, original: Difficulty) -> Difficulty:
    """Compute the difficulty of the replication from a line on the probit scale.

    Accuracies on two sets lie on the line with u = √(σ₁² + 1) / √(σ₂² + 1) and
    v = (μ₁ − μ₂) / √(σ₂² + 1), where 1 is the original. The line has two parameters and the two
    sets have four, so that the original's must be chosen: accuracies do not determine them.

    Parameters
    ----------
    slope, offset : float
        Slope u and offset v of the line on the probit scale.
    original : Difficulty
        Difficulties of the original, chosen.

    Returns
    -------
    Difficulty
        Difficulties of the replication.

    Raises
    ------
    InputError
        If the slope is not above 0, or is above √(σ₁² + 1): then σ₂² would be negative.

    References
    ----------
    Recht et al. (2019), arXiv 1902.10811, section 5.3.
    """
    variance = (original.spread / slope) ** 2 - 1 if slope > 0 else -1.0
    if variance < 0:
        least = "" if slope <= 0 else f": above {np.sqrt(max(slope**2 - 1, 0)):.3g}"
        raise InputError(
            f"no Gaussian difficulty gives a probit slope of {slope:.4g} with σ = "
            f"{original.sigma:g} on the original",
            field="difficulty.sigma",
            remedy=f"Choose a larger σ{least}" if least else "",
        )
    spread = original.spread / slope
    return Difficulty(original.mu - offset * spread, float(np.sqrt(variance)))


def simulate_correct(
    skill: npt.ArrayLike, difficulty: Difficulty, n: int, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Simulate the classification of a random set of images by the model of difficulty.

    Parameters
    ----------
    skill : array-like of float, shape (n_models,)
        Skills of the models.
    difficulty : Difficulty
        Distribution from which the difficulties of the images are drawn.
    n : int
        Number of images, which are the same for all models.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    int64 array, shape (n_models,)
        Number of images that each model classifies correctly.
    """
    tau = rng.normal(difficulty.mu, difficulty.sigma, n)
    chances = (from_scale(s - tau, Scale.PROBIT) for s in np.asarray(skill, np.float64))
    return np.array([(rng.random(n) < chance).sum() for chance in chances], np.int64)


def model_difficulty(
    results: pd.DataFrame, fit: pd.Series, sigma: float = 1.0, seed: int = 0
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Fit the model of difficulty to a pair, and simulate sets of the same sizes.

    Parameters
    ----------
    results : pandas.DataFrame
        Columns of `replication.schemas.RESULTS`, one pair and value of `top`.
    fit : pandas.Series
        The row of `replication.schemas.FITS` on the probit scale.
    sigma : float
        Standard deviation of the original's difficulties, at least 0; their mean is 0.
    seed : int
        Seed of the simulated sets.

    Returns
    -------
    row : dict
        A row of `tables.DIFFICULTY`.
    of_models : pandas.DataFrame
        Columns of `tables.SKILLS`, sorted by the name of the model. Models with an accuracy of 0
        or 1 on the original have no finite skill and are left out. Simulated accuracies on a set
        of unknown size are NaN.

    Raises
    ------
    InputError
        As for `fitted_difficulty`.

    References
    ----------
    Recht et al. (2019), arXiv 1902.10811, section 5.3.
    """
    original = Difficulty(0.0, sigma)
    replication = fitted_difficulty(float(fit["slope"]), float(fit["offset"]), original)
    known = results[results["accuracy_original"].between(0, 1, inclusive="neither")]
    known = known.sort_values("model", ignore_index=True)
    table = known[["model", "accuracy_original", "accuracy_replication"]].copy()
    table["skill"] = skills(known["accuracy_original"], original)
    table["expected_replication"] = expected_accuracy(table["skill"], replication)
    rng = np.random.default_rng(seed)
    for origin, difficulty in (("original", original), ("replication", replication)):
        n = int(known[f"n_{origin}"].iloc[0])
        drawn = simulate_correct(table["skill"], difficulty, n, rng) / n if n else np.nan
        table[f"simulated_{origin}"] = drawn
    error = table["accuracy_replication"] - table["expected_replication"]
    row = {
        **{name: fit[name] for name in ("pair", "top", "original", "replication")},
        "slope": fit["slope"],
        "offset": fit["offset"],
        "mu_original": original.mu,
        "sigma_original": original.sigma,
        "mu_replication": replication.mu,
        "sigma_replication": replication.sigma,
        "rms_error": float(np.sqrt((error**2).mean())),
        "n_models": len(table),
        "seed": seed,
    }
    return {name: row[name] for name in DIFFICULTY.names}, table[SKILLS.names]
