"""The Gaussian model of difficulty: why probit accuracies lie on a line.

Recht et al. (2019), arXiv 1902.10811, section 5.3: an image of difficulty τ is classified right by
a model of skill s with probability Φ(s − τ), and the difficulties of a set are N(μ, σ²). Then the
accuracy is Φ((s − μ) / √(σ² + 1)), and those on two sets are Φ⁻¹(α₂) = u · Φ⁻¹(α₁) + v.
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


def model_difficulty(
    results: pd.DataFrame, fit: pd.Series, sigma: float = 1.0, seed: int = 0
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Fit the model of difficulty to a pair, and simulate sets of the same sizes.

    Parameters
    ----------
    results : pandas.DataFrame
        Columns of `schemas.RESULTS`, one pair and top.
    fit : pandas.Series
        The row of `schemas.FITS` on the probit scale.
    sigma : float
        Standard deviation of the original's difficulties; their mean is 0.
    seed : int
        Of the simulated sets.

    Returns
    -------
    dict, pandas.DataFrame
        A row of `schemas.DIFFICULTY`; columns of `schemas.SKILLS`, by name of the model. Models
        with accuracy 0 or 1 on the original have no skill and are left out. Where the size of a
        set is not known, nothing is simulated (NaN).

    Raises
    ------
    InputError
        If no difficulty gives the fit.
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
