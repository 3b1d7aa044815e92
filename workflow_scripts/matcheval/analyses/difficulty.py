"""The Gaussian model of difficulty, which explains why probit accuracies lie on a line.

Recht et al. (2019), arXiv 1902.10811, section 5.3: a model of skill s classifies an image of
difficulty τ correctly with probability Φ(s − τ), and the difficulties of a set are distributed as
N(μ, σ²). Then the model's accuracy is α = Φ((s − μ) / √(σ² + 1)), and the accuracies on two sets
are related by Φ⁻¹(α₂) = u · Φ⁻¹(α₁) + v.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from pydantic import Field

from matcheval.errors import InputError, configuration_error
from matcheval.figures import style
from matcheval.figures.forms import drawing, point_options, scatter, square
from matcheval.io.tables import MODEL, PAIR, Column, TableSchema, fraction, write_table
from matcheval.replication.analysis import Replication
from matcheval.replication.tables import FITS, RESULTS
from matcheval.settings import ModelNames, Number, PairName, Seed, Settings, UniqueTuple
from matcheval.statistics.intervals import FloatArray
from matcheval.statistics.lines import Scale, from_scale, to_scale
from matcheval.study.analysis import Analysis
from matcheval.study.rules import Artifact
from matcheval.study.study import Study

_SKILLS = "standard deviations of a model's own noise"

DIFFICULTY = TableSchema(
    "model of difficulty",
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
    shown={
        "Pair": "{pair}", "u": "{slope:.3f}", "v": "{offset:.3f}",
        "μ original": "{mu_original:.3f}", "σ original": "{sigma_original:.3f}",
        "μ new": "{mu_replication:.3f}", "σ new": "{sigma_replication:.3f}",
        "RMS error (points)": "{rms_error:.2%}", "Models": "{n_models:d}",
    },
)  # fmt: skip

_EXPECTED = "accuracy on the replication that the model of difficulty expects"

SKILLS = TableSchema(
    "skills of models",
    MODEL,
    Column("skill", pa.float64(), _SKILLS, "from the accuracy on the original"),
    fraction("accuracy_original", "accuracy on the original"),
    fraction("accuracy_replication", "accuracy on the replication"),
    fraction("expected_replication", _EXPECTED),
    fraction("simulated_original", "accuracy on a simulated set of the original's size"),
    fraction("simulated_replication", "accuracy on a simulated set of the replication's size"),
)


@dataclass(frozen=True)
class Difficulties:
    """The normal distribution N(μ, σ²) of the difficulties of a set's images."""

    mu: float
    sigma: float

    @property
    def spread(self) -> float:
        """Standard deviation of difficulty and a model's own noise combined: √(σ² + 1)."""
        return float(np.hypot(self.sigma, 1))

    def density(self, x: FloatArray) -> FloatArray:
        """Compute the probability density at difficulties `x`."""
        z = (x - self.mu) / self.sigma
        return np.exp(-z * z / 2) / (self.sigma * np.sqrt(2 * np.pi))


def expected_accuracy(skill: npt.ArrayLike, difficulty: Difficulties) -> FloatArray:
    """Compute the accuracies on a set that models of given skills are expected to have."""
    z = (np.asarray(skill, np.float64) - difficulty.mu) / difficulty.spread
    return from_scale(z, Scale.PROBIT)


def skills(accuracy: npt.ArrayLike, difficulty: Difficulties) -> FloatArray:
    """Compute models' skills from their accuracies on a set: the inverse of `expected_accuracy`."""
    return difficulty.mu + difficulty.spread * to_scale(accuracy, Scale.PROBIT)


def fitted_difficulty(slope: float, offset: float, original: Difficulties) -> Difficulties:
    """Compute the difficulties of the replication from the probit fit and those of the original."""
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
    return Difficulties(original.mu - offset * spread, float(np.sqrt(variance)))


def simulate_correct(
    skill: npt.ArrayLike, difficulty: Difficulties, n: int, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Simulate how many of `n` random images of a set models of given skills classify correctly."""
    tau = rng.normal(difficulty.mu, difficulty.sigma, n)
    chances = (from_scale(s - tau, Scale.PROBIT) for s in np.asarray(skill, np.float64))
    return np.array([(rng.random(n) < chance).sum() for chance in chances], np.int64)


def fit_difficulty(
    results: pd.DataFrame, fit: pd.Series, sigma: float = 1.0, seed: int = 0
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Fit the model of difficulty to a pair; return its row of `DIFFICULTY` and table `SKILLS`."""
    original = Difficulties(0.0, sigma)
    replication = fitted_difficulty(float(fit["slope"]), float(fit["offset"]), original)
    finite = results[results["accuracy_original"].between(0, 1, inclusive="neither")]
    finite = finite.sort_values("model", ignore_index=True)
    table = finite[["model", "accuracy_original", "accuracy_replication"]].copy()
    table["skill"] = skills(finite["accuracy_original"], original)
    table["expected_replication"] = expected_accuracy(table["skill"], replication)
    rng = np.random.default_rng(seed)
    for origin, difficulty in (("original", original), ("replication", replication)):
        n = int(finite[f"n_{origin}"].iloc[0])
        drawn = simulate_correct(table["skill"], difficulty, n, rng) / n if n else np.nan
        table[f"simulated_{origin}"] = drawn
    error = table["accuracy_replication"] - table["expected_replication"]
    row = dict(fit) | {
        "mu_original": original.mu, "sigma_original": original.sigma,
        "mu_replication": replication.mu, "sigma_replication": replication.sigma,
        "rms_error": float(np.sqrt((error**2).mean())), "n_models": len(table), "seed": seed,
    }  # fmt: skip
    return {name: row[name] for name in DIFFICULTY.names}, table[SKILLS.names]


_SIMULATED = style.SeriesStyle("#009E73", "none", "x")
_FORMS = (("replication", ".2f"), ("original", "g"))
_REACH = 3.5  # half the width of a drawn density, in standard deviations


def plot_difficulty(
    results: pd.DataFrame, skill_table: pd.DataFrame, row: pd.Series
) -> "style.Figure":
    """Plot the densities of both sets' difficulties, and observed and expected accuracies."""
    names = {origin: style.shortened(row[origin]) for origin in ("original", "replication")}
    sets = {origin: Difficulties(row[f"mu_{origin}"], row[f"sigma_{origin}"]) for origin in names}
    new, old = (f"N({row[f'mu_{o}']:{form}}, {row[f'sigma_{o}']:{form}}²)" for o, form in _FORMS)
    title = f"{row['pair']}: difficulties {new} against {old}"
    with drawing(2 * style.COLUMN_WIDTH, style.COLUMN_WIDTH + 0.3, title) as figure:
        left, right = figure.subplots(1, 2)
        for origin, difficulty in sets.items():
            look = style.SETS[origin][0].line_options()
            _draw_density(left, difficulty, label=names[origin], **look)
        left.plot(
            skill_table["skill"], np.zeros(len(skill_table)), "|", color=style.MODELS.color,
            markersize=6, alpha=point_options(len(skill_table))["alpha"], clip_on=False,
            label="skills",
        )  # fmt: skip
        left.set(xlabel="Difficulty of an image, skill of a model", ylabel="Density")
        left.set_ylim(bottom=0)
        _draw_accuracies(right, results, skill_table, *sets.values())
        x_label, y_label = (f"Accuracy on {name} (%)" for name in names.values())
        right.set(xlabel=x_label, ylabel=y_label)
        for axes in (left, right):
            style.legend_above(axes, ncols=2)
    return figure


def _draw_density(axes: "style.Axes", difficulty: Difficulties, **look: Any) -> None:
    if not difficulty.sigma:  # all images are equally difficult
        axes.axvline(difficulty.mu, **look)
        return
    x = difficulty.mu + difficulty.sigma * np.linspace(-_REACH, _REACH, 200)
    axes.plot(x, difficulty.density(x), **look)


def _draw_accuracies(
    axes: "style.Axes", results: pd.DataFrame, skill_table: pd.DataFrame, original: Difficulties,
    replication: Difficulties,
) -> None:  # fmt: skip
    """Draw observed and simulated accuracies on both sets as points, expected ones as a line."""
    x_name, y_name = "accuracy_original", "accuracy_replication"
    observed = results[[x_name, y_name]]  # without intervals
    low = max(100 * float(observed.min().min()) - 3, 0.1)
    high = min(100 * float(observed.max().max()) + 3, 99.9)
    square(axes, low, high)
    x = np.linspace(low, high, 200)
    curve = 100 * expected_accuracy(skills(x / 100, original), replication)
    axes.plot(x, curve, label="model", **style.FITTED.line_options())
    # Rings around the crosses: simulated accuracies lie close to observed ones.
    look = point_options(len(results), size=7.0) | {"markerfacecolor": "none"}
    look["markeredgewidth"] = 0.11 * look["markersize"]
    scatter(axes, observed, x_name, y_name, style.MODELS, label="observed", **look)
    x_name, y_name = "simulated_original", "simulated_replication"
    if np.isfinite(skill_table[[x_name, y_name]].to_numpy()).any():
        look["markersize"] *= 0.57
        scatter(axes, skill_table, x_name, y_name, _SIMULATED, label="simulated", **look)


def write_difficulty(
    *, results: Path, fits: Path, models: Sequence[str], sigma: float, seed: int,
    tables: Sequence[Path], skills: Path, plots: Sequence[Path],
) -> None:  # fmt: skip
    """Fit the model of difficulty to one pair, and write its tables and figure."""
    table = RESULTS.read(results).to_pandas()
    table = table[table["model"].isin(models)].reset_index(drop=True)
    fit = FITS.read(fits).to_pandas().set_index("scale", drop=False).loc["probit"]
    row, skill_table = fit_difficulty(table, fit, sigma, seed)
    DIFFICULTY.write(pd.DataFrame([row]), tables)
    write_table(SKILLS.from_frame(skill_table), skills)
    style.save_figure(plot_difficulty(table, skill_table, pd.Series(row)), *plots)
    logging.info("replication: mu %(mu_replication).4f, sigma %(sigma_replication).4f", row)


class DifficultySettings(Settings):
    """The pairs that the model of difficulty is fitted to, and its free parameter."""

    pairs: UniqueTuple[PairName] = Field(
        (), description="Pairs of datasets that the model of difficulty is fitted to"
    )
    sigma: Annotated[Number, Field(ge=0)] = Field(
        1.0, description="Standard deviation of the original's difficulties, a free choice"
    )
    seed: Seed = Field(0, description="Seed of the simulated datasets")
    without: ModelNames = Field((), description="Models to leave out")


class Difficulty(Analysis):
    """Fit the Gaussian model of difficulty to the probit fits of the replication analysis."""

    name: ClassVar[str] = "difficulty"
    Settings: ClassVar[type[DifficultySettings]] = DifficultySettings
    settings: DifficultySettings

    def __init__(self, settings: DifficultySettings, study: Study) -> None:
        super().__init__(settings, study)
        stem, labels = "{pair}-top{top}", {"table": self.name, "of": "{pair}-top{top}"}
        caption = (
            "The Gaussian model of difficulty for **{{ snakemake.wildcards.pair }}**: densities of "
            "the difficulties of both sets, and expected against observed accuracies. The mean and "
            "standard deviation of the original set's difficulties are chosen, which fixes the "
            "scale."
        )
        self.result = self.table(stem, caption, labels)
        self.skills = Artifact(f"{study.folder}/difficulty/{stem}.skills", (".parquet",))
        self.plot = self.figure(f"difficulty/{stem}", caption, labels)

    def check(self) -> None:
        """Check that the replication analysis has probit fits, if a pair is listed."""
        if self.settings.pairs and "probit" not in self.study.analysis(Replication).fitted_scales:
            problem = "the model of difficulty requires a probit fit"
            remedy = "Add probit to replication.scales; a fit requires at least three models"
            raise configuration_error(problem, field=self.field("pairs"), remedy=remedy)

    @property
    def targets(self) -> list[str]:
        """Paths of tables, models' skills and figures, for every pair and k of top-k."""
        tops = self.study.analysis(Replication).settings.top
        return [
            file
            for artifact in (self.result, self.skills, self.plot)
            for file in artifact.expand(pair=self.settings.pairs, top=tops)
        ]

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments `models`, `sigma` and `seed` of `write_difficulty`."""
        return self.settings.model_dump(include={"sigma", "seed"}) | {"models": self.models}
