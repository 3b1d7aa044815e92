"""Schemas of the tables of the model of difficulty, and their readable form."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from matcheval.errors import InputError
from matcheval.io.columns import MODEL, PAIR, fraction
from matcheval.io.tables import Column, TableSchema
from matcheval.io.text_tables import TextColumn
from matcheval.statistics.intervals import FloatArray
from matcheval.statistics.scales import Scale, from_scale, to_scale

_SKILLS = "standard deviations of a model's own noise"

DIFFICULTY = TableSchema(
    "model of difficulty",
    (
        *PAIR,
        Column("slope", pa.float64(), "1", "slope u of the probit fit"),
        Column("offset", pa.float64(), "standard deviations", "offset v of the probit fit"),
        Column("mu_original", pa.float64(), _SKILLS, "mean difficulty of the original; chosen"),
        Column("sigma_original", pa.float64(), _SKILLS, "their standard deviation; chosen"),
        Column("mu_replication", pa.float64(), _SKILLS, "mean difficulty of the replication"),
        Column("sigma_replication", pa.float64(), _SKILLS, "their standard deviation"),
        fraction("rms_error", "root mean square over models of new minus expected accuracy"),
        Column("n_models", pa.int32(), "models", "models with a finite skill: accuracy not 0 or 1"),
        Column("seed", pa.int64(), "1", "seed of the simulated sets"),
    ),
)

SKILLS = TableSchema(
    "skills of models",
    (
        MODEL,
        Column("skill", pa.float64(), _SKILLS, "from the accuracy on the original"),
        fraction("accuracy_original", "accuracy on the original"),
        fraction("accuracy_replication", "accuracy on the replication"),
        fraction(
            "expected_replication",
            "accuracy on the replication that the model of difficulty expects",
        ),
        fraction("simulated_original", "accuracy on a simulated set of the original's size"),
        fraction("simulated_replication", "accuracy on a simulated set of the replication's size"),
    ),
)


def difficulty_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Format the fitted difficulties for a readable table."""
    heads = {
        "slope": "u", "offset": "v", "mu_original": "μ original", "sigma_original": "σ original",
        "mu_replication": "μ new", "sigma_replication": "σ new",
    }  # fmt: skip
    numbers = [
        TextColumn(head, [f"{value:.3f}".replace("-", "−") for value in table[name]])
        for name, head in heads.items()
    ]
    return [
        TextColumn("Pair", table["pair"].tolist(), is_number=False),
        *numbers,
        TextColumn("RMS error (points)", [f"{100 * value:.2f}" for value in table["rms_error"]]),
        TextColumn("Models", [f"{n}" for n in table["n_models"]]),
    ]


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
