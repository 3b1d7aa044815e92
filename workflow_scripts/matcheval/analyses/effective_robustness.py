"""Effective robustness: how far a model's accuracy on a new set is above what others have there.

Taori et al. (2020), arXiv 2007.00644, section 2: ρ(f) = acc_new(f) − β(acc_base(f)), where β is
fitted to standard models. Shi et al. (2023), arXiv 2302.01381: β of several base sets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
from pydantic import Field

from matcheval import settings as types
from matcheval.datasets.kinds import DatasetSpec
from matcheval.errors import configuration_error
from matcheval.figures import style
from matcheval.figures.forms import Series, curves, drawing, intervals, name_rows
from matcheval.io import tables
from matcheval.io.text_tables import counted, level_text, with_interval
from matcheval.predictions.correctness import ACCURACIES, Correctness, dataset_correctness
from matcheval.replication.figures import draw_models, set_scale
from matcheval.replication.tables import accuracy_intervals, top_accuracies
from matcheval.settings import Settings
from matcheval.statistics.lines import Scale, to_scale
from matcheval.statistics.robustness import draw_accuracies, effective_robustness, least_models
from matcheval.study.rules import Wildcards
from matcheval.study.tables import TableAnalysis

SCHEMA = tables.TableSchema(
    "effective robustness",
    tables.MODEL,
    tables.DATASET,
    tables.text("bases", "names of its base sets"),
    tables.text("scale", "of the fit. linear: percent; probit: inverse normal of accuracies"),
    *tables.accuracy("new", "size of the new set; 0 if unknown"),
    *tables.accuracy("base", "size of the first base set; 0 if unknown"),
    tables.Column("is_standard", pa.bool_(), "", "whether fits for other models include it"),
    tables.fraction("fitted", "accuracy on the new set by the fit to all standard models"),
    tables.fraction("expected", "by the fit without this model; NaN if there is none"),
    *tables.estimate("rho", "effective robustness: accuracy_new minus expected"),
    tables.text("resampled", "images, the same for all models; counts, by model; or both"),
    tables.Column("n_standard", pa.int32(), "models", "models of the fit of expected"),
    tables.Column("resamples", pa.int64(), "1", "of the interval; 0 if n of a set is unknown"),
    tables.Column("n_degenerate", pa.int64(), "1", "of these, without a fit and left out"),
    tables.Column("seed", pa.int64(), "1", "seed of the resamples"),
    tables.CONFIDENCE_LEVEL,
    shown={
        "Model": "{model}", "Scale": "{scale}",
        "First base (%)": with_interval("accuracy_base"),
        "New set (%)": with_interval("accuracy_new"), "Expected (%)": "{expected:.1%}",
        "ρ (points)": with_interval("rho", "+.1%"), "Resampled": "{resampled}",
        "Models fitted": "{n_standard:d}",
    },
)  # fmt: skip
_MOST_NAMED = 20  # in a figure


def tabulate(
    accuracies: Mapping[str, pa.Table], models: Sequence[str],
    images: Mapping[str, Correctness] = MappingProxyType({}), *, standard: Sequence[str] = (),
    scales: Sequence[str] = (Scale.PROBIT,), resamples: int = 10_000, seed: int = 0,
    confidence: float = 0.95,
) -> pd.DataFrame:  # fmt: skip
    """Tabulate models' effective robustness ρ on a new set, with intervals, by scale of the fit.

    `accuracies` are those on the new set, then those on its base sets. Resamples draw `images` of
    sets where they are given, else counts. Each scale has a row per model, the largest ρ first.
    """
    names = sorted(models)  # so that draws do not depend on the order of the rows
    dataset, *bases = accuracies
    place = {
        "field": "effective_robustness.sets",
        "remedy": "List the models under effective_robustness.without",
    }
    sets = [top_accuracies(table, 1, names, name, **place) for name, table in accuracies.items()]
    rows = {s: list(map(correctness.models.index, names)) for s, correctness in images.items()}
    right = [images[s].right[rows[s]] if s in images else None for s in accuracies]
    is_shared = np.array([correct is not None for correct in right])
    resampled = "both" if len(set(is_shared)) > 1 else "images" if is_shared[0] else "counts"
    common: dict[str, Any] = {
        "model": names, "dataset": dataset, "bases": " ".join(bases), "seed": seed,
        "confidence": confidence, "resampled": resampled,
    }  # fmt: skip
    for role, of_set in zip(("new", "base"), sets, strict=False):  # of several bases, the first
        common |= accuracy_intervals(of_set, role, confidence)
    accuracy, n = (np.array([of_set[key] for of_set in sets]) for key in ("accuracy", "n"))
    is_standard, parts = np.isin(names, list(standard) or names), []
    drawn = draw_accuracies(accuracy, n, right, resamples=resamples, seed=seed)
    for scale in map(Scale, scales):
        estimates = effective_robustness(
            accuracy, drawn, is_shared, is_standard, scale, seed=seed, confidence=confidence
        )
        part = pd.DataFrame(common | {"scale": scale.value} | estimates)
        parts.append(part.sort_values("rho", ascending=False, kind="stable"))
    table: pd.DataFrame = pd.concat(parts, ignore_index=True)[SCHEMA.names]
    return table


def plot(table: pd.DataFrame) -> "style.Figure":
    """Plot accuracies on a new set with their fit, and beside it the ρ that are farthest from 0.

    The scale is the first. Accuracies are drawn against those on the base or, of several bases,
    against those that the fit expects.
    """
    first, y = table.iloc[0], "accuracy_new"
    scale, bases = Scale(first["scale"]), first["bases"].split()
    table = table[table["scale"] == scale.value]
    x, x_label = "accuracy_base", f"Accuracy on {style.shortened(bases[0])} (%)"
    if len(bases) > 1:
        x, x_label = "fitted", f"Accuracy expected from {len(bases)} base sets (%)"
    is_finite = np.all(np.isfinite(to_scale(table[[x, y]], scale)), axis=1)
    drawn = table.take(np.flatnonzero(is_finite)).sort_values(x)
    is_off = (drawn["rho_low"] > 0) | (drawn["rho_high"] < 0)
    spread = 100 * table.loc[table["is_standard"], "rho"].std()
    note = f"Over the standard models, ρ has a standard deviation of {spread:.1f} points."
    if first["resamples"]:
        note = f"{is_off.sum()} of {drawn['rho_low'].count()} intervals of ρ miss 0. {note}"
    title = f"{first['dataset']}: {counted(len(table), 'model')} and their fit"
    with drawing(2 * style.COLUMN_WIDTH, style.COLUMN_WIDTH + 0.75, title, note) as figure:
        axes, right = figure.subplots(1, 2)
        set_scale(axes, drawn, x, y, scale)
        fit = Series("fitted", style.FITTED, f"{scale.value} fit")
        curves(axes, drawn.set_index(100 * drawn[x]), [fit], zorder=4)
        includes_0 = "interval of ρ includes 0" if first["resamples"] else "models"
        draw_models(axes, drawn, x, y, ~is_off, includes_0)
        axes.set(xlabel=x_label, ylabel=f"Accuracy on {style.shortened(first['dataset'])} (%)")
        style.legend_above(axes, ncols=2)
        _draw_farthest(right, table)
    return figure


def _draw_farthest(axes: "style.Axes", table: pd.DataFrame) -> None:
    """Draw ρ with its interval in a row for each of the 20 models whose ρ is farthest from 0."""
    by_size = table.dropna(subset=["rho"]).sort_values("rho", key=abs, kind="stable")
    rows = by_size.tail(_MOST_NAMED).sort_values("rho", ascending=False)
    intervals(axes, rows, [Series("rho", style.MODELS)])
    names = [style.shortened(name, 24) for name in rows["model"]]
    name_rows(axes, names, fontsize=style.NOTE_SIZE)
    style.draw_zero(axes, upright=True)
    level = level_text(table["confidence"].iloc[0])
    few = f", {len(rows)} farthest from 0" if len(rows) < len(table) else ""
    axes.set_xlabel(f"ρ with {level} interval (points){few}")


class EffectiveRobustnessSettings(Settings):
    """New sets, each with its base sets, and how accuracies are fitted and resampled."""

    sets: dict[types.EvaluatedName, types.EvaluatedNames] = Field(
        {}, description="By new set, its base set, or a list of them"
    )
    standard: types.ModelNames = Field(
        (), description="Models that are fitted; [] for all. None fits itself"
    )
    scales: types.SomeUnique[Scale] = Field(
        (Scale.PROBIT, Scale.LINEAR), description="Of the fits; the first is that of the figure"
    )
    resamples: types.Count = Field(
        10_000, description="Resamples of images, or counts, and of models"
    )
    seed: types.Seed = Field(0, description="Seed of the resamples")
    without: types.ModelNames = Field((), description="Models to leave out")


def read_sets(
    *, accuracies: Mapping[str, Path], models: Sequence[str], specs: Mapping[str, DatasetSpec],
    predictions: Mapping[str, Sequence[str]],
) -> tuple[dict[str, pa.Table], Sequence[str], dict[str, Correctness]]:  # fmt: skip
    """Read accuracies on a new set and its bases, and predictions of images where they exist."""
    images = {s: dataset_correctness(specs[s], models, predictions[s]) for s in specs}
    return {name: ACCURACIES.read(path) for name, path in accuracies.items()}, models, images


class EffectiveRobustness(TableAnalysis):
    """Tabulate how far models' accuracies on a new set are above what a fit expects of them."""

    name: ClassVar[str] = "effective_robustness"
    per = "dataset"
    read = read_sets
    has_figure = True
    caption: ClassVar[str] = (
        "Effective robustness ρ on **{{ snakemake.wildcards.dataset }}**: accuracy minus what a "
        "fit to the standard models, without the model itself, expects from its accuracy on the "
        "base sets. Intervals of {level} hold the sampling of the test sets and of the models "
        "fitted. Resampled are images, the same for all models; of sets with accuracies only, each "
        "model's count of correct predictions, which makes intervals too wide; or both."
    )
    Settings: ClassVar[type[EffectiveRobustnessSettings]] = EffectiveRobustnessSettings
    settings: EffectiveRobustnessSettings

    def check(self) -> None:
        """Check that fits have enough standard models, and that no set is its own base."""
        standard = set(self.settings.standard or self.models)
        if left_out := sorted(standard - set(self.models)):
            problem = f"'{left_out[0]}' is also under {self.field('without')}"
            remedy = "Take it from one of the lists"
            raise configuration_error(problem, field=self.field("standard"), remedy=remedy)
        for new, bases in self.settings.sets.items():
            if new in bases:
                field, remedy = self.field("sets", new), "Name the sets that predict its accuracies"
                raise configuration_error(f"'{new}' is its own base", field=field, remedy=remedy)
            if len(standard) < (needed := least_models(len(bases))):
                raise configuration_error(
                    f"{counted(len(standard), 'standard model')}, but the fit to "
                    f"{counted(len(bases), 'base set')} needs {needed}, one of which it leaves out",
                    field=self.field("standard"), remedy="Name more models, or fewer base sets",
                )  # fmt: skip

    @property
    def subjects(self) -> list[str]:
        """Names of the new sets, for each of which there is a table."""
        return list(self.settings.sets)

    def _new_and_base_sets(self, wildcards: Wildcards) -> tuple[list[str], list[str]]:
        """Return the names of a new set and its bases, and of those with predictions of images."""
        names = [wildcards.dataset, *self.settings.sets[wildcards.dataset]]
        return names, [n for n in names if self.study.datasets[n].kind_class.has_correctness]

    def inputs(self, wildcards: Wildcards) -> list[str]:
        """Return the files of accuracies on a new set and its bases, and of predictions."""
        names, with_images = self._new_and_base_sets(wildcards)
        files = [file for s in with_images for file in self.study.results_inputs(s, self.models)]
        return [*map(self.study.accuracies_file, names), *files]

    def arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the arguments of `read_sets`."""
        study, (names, with_images) = self.study, self._new_and_base_sets(wildcards)
        return {
            "accuracies": {name: study.accuracies_file(name) for name in names},
            "specs": {s: asdict(study.datasets[s]) for s in with_images},
            "predictions": {s: study.probability_files(s, self.models) for s in with_images},
            "models": self.models,
        }
