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
from matcheval.statistics.lines import Scale, from_scale, to_scale


@dataclass(frozen=True)
class Difficulty:
    """The distribution N(μ, σ²) of the difficulties of a set."""

    mu: float
    sigma: float

    @property
    def spread(self) -> float:
        """√(σ² + 1): the standard deviation of difficulty and a model's own noise combined."""
        return float(np.hypot(self.sigma, 1))


def expected_accuracy(skill: npt.ArrayLike, difficulty: Difficulty) -> FloatArray:
    """Compute the accuracies that models are expected to have on a set."""
    z = (np.asarray(skill, np.float64) - difficulty.mu) / difficulty.spread
    return from_scale(z, Scale.PROBIT)


def skills(accuracy: npt.ArrayLike, difficulty: Difficulty) -> FloatArray:
    """Compute the skills of models from their accuracies; the inverse of `expected_accuracy`."""
    return difficulty.mu + difficulty.spread * to_scale(accuracy, Scale.PROBIT)


def fitted_difficulty(slope: float, offset: float, original: Difficulty) -> Difficulty:
    """Compute the difficulty of the replication from a line on the probit scale."""
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
    """Simulate the classification of a random set of images by the model of difficulty."""
    tau = rng.normal(difficulty.mu, difficulty.sigma, n)
    chances = (from_scale(s - tau, Scale.PROBIT) for s in np.asarray(skill, np.float64))
    return np.array([(rng.random(n) < chance).sum() for chance in chances], np.int64)


def model_difficulty(
    results: pd.DataFrame, fit: pd.Series, sigma: float = 1.0, seed: int = 0
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Fit the model of difficulty to a pair, and simulate sets of the same sizes."""
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
