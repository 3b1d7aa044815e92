"""Accuracy by selection frequency, the fraction of annotators who selected an image, in bins.

Recht et al. (2019), arXiv 1902.10811, appendix C.4.7.
"""

from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
from pydantic import Field

from matcheval.analyses.sampling.annotations import frequency_bins
from matcheval.errors import InputError, configuration_error
from matcheval.figures import style
from matcheval.figures.forms import Series, curves, draw_curves, drawing
from matcheval.io import tables
from matcheval.io.text_tables import columns_by_part, counted
from matcheval.io.user_files import read_columns
from matcheval.predictions.correctness import Correctness
from matcheval.settings import CorrectName, ModelNames, Settings
from matcheval.statistics.intervals import accuracy_columns
from matcheval.study.tables import DatasetTableAnalysis

SCHEMA = tables.TableSchema(
    "accuracies by selection frequency",
    tables.MODEL,
    tables.DATASET,
    tables.Column("bin", pa.int16(), "1", "number of the bin of frequencies, from 0"),
    tables.fraction("frequency_low", "lower end of the bin, included"),
    tables.fraction("frequency_high", "upper end of the bin, included in the last bin only"),
    *tables.accuracy("bin", "datapoints in the bin"),
    tables.CONFIDENCE_LEVEL,
    shown=partial(
        columns_by_part, part="bin", accuracy="accuracy_bin",
        heading_format="{frequency_low:g}–{frequency_high:g}, n = {n_bin:,} (%)",
    ),
)  # fmt: skip

COLUMNS = ["index", "n_annotations", "n_selected"]
BINS = 5  # of equal width over [0, 1]


def read_counts(path: str | Path) -> pd.DataFrame:
    """Read from a CSV file how many annotators saw, and how many selected, each datapoint."""
    counts = read_columns(path, COLUMNS)
    bad = (counts["n_selected"] < 0) | (counts["n_selected"] > counts["n_annotations"])
    if bad.any():
        row = counts[bad].iloc[0]
        share = f"{row['n_selected']} of {row['n_annotations']} annotators"
        raise InputError(f"datapoint {row['index']}: selected by {share}", file=path)
    if counts["index"].duplicated().any():
        raise InputError("a datapoint occurs twice", file=path, field="index")
    return counts


def tabulate(
    correctness: Correctness, dataset: str, file: str, *, confidence: float = 0.95
) -> pd.DataFrame:
    """Tabulate each model's accuracy in five bins of the datapoints' selection frequencies."""
    counts = read_counts(file)
    seen = counts[counts["n_annotations"] > 0]
    rows = correctness.rows_of(seen["index"].tolist(), file=file)
    bin_numbers = frequency_bins(seen["n_selected"], seen["n_annotations"], BINS)
    table = [
        {
            "model": model, "dataset": dataset, "bin": i, "confidence": confidence,
            "frequency_low": i / BINS, "frequency_high": (i + 1) / BINS,
            **accuracy_columns("bin", correct[rows[bin_numbers == i]], confidence),
        }
        for model, correct in zip(correctness.models, correctness.right, strict=True)
        for i in range(BINS)
    ]  # fmt: skip
    return pd.DataFrame(table, columns=SCHEMA.names)


_MOST_UPRIGHT = 5  # labels of bins, with their sizes, that fit beside each other
FEW = 30  # bins with fewer datapoints have hollow markers


def plot(table: pd.DataFrame) -> "style.Figure":
    """Plot models' accuracies, and their mean, against the bins of selection frequency."""
    filled = table[table["n_bin"] > 0]
    if filled.empty:
        raise InputError("no datapoints with a selection frequency to plot")
    by_model = 100 * filled.pivot_table("accuracy_bin", "model", "bin", dropna=False)
    several = len(by_model) > 1  # a single model is the mean
    columns = ["frequency_low", "frequency_high", "n_bin", "accuracy_bin"]
    mean = filled.groupby("bin")[columns].mean()
    mean.index = mean[["frequency_low", "frequency_high"]].mean(axis=1)
    title = f"{filled['dataset'].iloc[0]}: accuracy by selection frequency"
    few = mean["n_bin"] < FEW
    note = f"Hollow: fewer than {FEW} datapoints." if few.any() else ""
    models = counted(len(by_model), "model")
    with drawing(style.COLUMN_WIDTH, 2.6, f"{title}, {models}", note) as figure:
        axes = figure.add_subplot()
        if several:
            values = by_model.to_numpy(np.float64)
            draw_curves(axes, mean.index.to_numpy(), values, style.MODELS.color)
        label = "mean over models" if several else "the model"
        curves(axes, mean, [Series("accuracy_bin", style.FITTED, label, "none")])
        color = style.FITTED.color
        for rows, face in ((mean[few], "white"), (mean[~few], color)):
            axes.plot(100 * rows["accuracy_bin"], "o", color=color, markerfacecolor=face)
        ends = mean[columns[:3]].itertuples(index=False)
        axes.set_xticks(
            mean.index, [f"{a:g}–{b:g}\nn = {style.count(n)}" for a, b, n in ends],
            rotation=90 if len(mean) > _MOST_UPRIGHT else 0,
        )  # fmt: skip
        axes.set(xlim=(0, 1), xlabel="Selection frequency", ylabel="Accuracy (%)")
        style.legend_above(axes, ncols=2)
    return figure


class SelectionFrequencySettings(Settings):
    """Datasets, each with its file; `""` for one that is sampled from a pool with annotations."""

    datasets: dict[CorrectName, str] = Field(
        {}, description="File of selection frequencies, by dataset"
    )
    without: ModelNames = Field((), description="Models to leave out")


class SelectionFrequency(DatasetTableAnalysis):
    """Compare accuracies on images that annotators selected for their class more or less often."""

    name: ClassVar[str] = "selection_frequency"
    caption: ClassVar[str] = (
        "Accuracies on **{{ snakemake.wildcards.dataset }}** by selection frequency, the "
        "fraction of annotators who selected an image as showing its class, with Clopper- "
        "Pearson intervals."
    )
    Settings: ClassVar[type[SelectionFrequencySettings]] = SelectionFrequencySettings
    has_figure: ClassVar[bool] = True
    file_columns: ClassVar[tuple[str, ...]] = tuple(COLUMNS)

    def check(self) -> None:
        """Check that there is a file of selection frequencies for every dataset, given or built."""
        super().check()
        for dataset in self.dataset_files:
            if not self.file_of(dataset):
                raise configuration_error(
                    f"'{dataset}' is not sampled from a pool with annotations, so that a file with "
                    "its selection frequencies is required", field=self.field("datasets"),
                    remedy=f"Name a file with the columns {', '.join(self.file_columns)}",
                )  # fmt: skip

    def file_of(self, dataset: str) -> str:
        """Return a dataset's file of selection frequencies: the user's, or that of its sampling."""
        built = self.study.built_datasets.get(dataset)
        return super().file_of(dataset) or (built.selection_frequencies if built else "")
