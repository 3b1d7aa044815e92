"""Accuracies on the successive revisions of a dataset that was reviewed and sampled again.

Recht et al. (2019), arXiv 1902.10811, appendix C.3.2: does cleaning a new test set change the
accuracies on it?
"""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
import pyarrow as pa
from pydantic import Field

from matcheval.errors import InputError
from matcheval.io.tables import CONFIDENCE_LEVEL, DATASET, MODEL, Column, TableSchema, fraction
from matcheval.io.text_tables import TextColumn, accuracy_cells, signed_cells, write_readable
from matcheval.predictions.correctness import ACCURACIES
from matcheval.settings import Named, Names, Settings, SomeNames
from matcheval.statistics.intervals import clopper_pearson
from matcheval.study.analysis import Analysis
from matcheval.study.rules import Rule
from matcheval.study.study import Study

SCHEMA = TableSchema(
    "accuracies on revisions",
    (
        MODEL,
        Column("revisions", pa.string(), "", "name of the series of revisions"),
        Column("number", pa.int16(), "1", "number of the revision, from 1"),
        DATASET,
        Column("n", pa.int64(), "datapoints", "size of the revision; 0 if unknown"),
        Column("n_correct", pa.int64(), "datapoints", "correctly predicted; -1 if unknown"),
        fraction("accuracy", "top-1 accuracy"),
        fraction("accuracy_low", "Clopper-Pearson lower bound; NaN if n is unknown"),
        fraction("accuracy_high", "Clopper-Pearson upper bound; NaN if n is unknown"),
        fraction("change", "accuracy minus that on the previous revision; NaN for the first"),
        CONFIDENCE_LEVEL,
    ),
)


def tabulate_revisions(
    sets: Mapping[str, pa.Table], name: str, confidence: float = 0.95, without: Sequence[str] = ()
) -> pd.DataFrame:
    """Tabulate top-1 accuracies on the revisions of a dataset."""
    accuracies = {}
    for dataset, table in sets.items():
        frame = table.to_pandas()
        kept = (frame["top"] == 1) & ~frame["model"].isin(without)
        accuracies[dataset] = frame[kept].set_index("model")
    models = next(iter(accuracies.values())).index
    rows = []
    for model in models:
        before = float("nan")
        for number, (dataset, frame) in enumerate(accuracies.items(), start=1):
            if model not in frame.index:
                raise InputError(
                    f"no accuracy of model '{model}'",
                    file=dataset,
                    field="revisions.series",
                    remedy="List the model under revisions.without",
                )
            row = _row(frame.loc[model], before, confidence)
            before = row["accuracy"]
            rows.append(
                {"model": model, "revisions": name, "number": number, "dataset": dataset, **row}
            )
    return pd.DataFrame(rows, columns=SCHEMA.names)


def _row(found: pd.Series, before: float, confidence: float) -> dict[str, Any]:
    n, correct = int(found["n"]), int(found["n_correct"])
    low = high = float("nan")
    if n:
        interval = clopper_pearson(correct, n, confidence)
        low, high = float(interval.low), float(interval.high)
    return {
        "n": n,
        "n_correct": correct,
        "accuracy": float(found["accuracy"]),
        "accuracy_low": low,
        "accuracy_high": high,
        "change": float(found["accuracy"]) - before,
        "confidence": confidence,
    }


def text_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Format the accuracies for a readable table."""
    columns = [TextColumn("Model", [*table["model"].unique(), "mean"], is_number=False)]
    for _, of_set in table.groupby("number"):
        n = of_set["n"].iloc[0]
        cells = accuracy_cells(of_set, "")
        cells.append(f"{100 * of_set['accuracy'].mean():.1f}")
        size = f", n = {n:,}" if n else ""
        columns.append(TextColumn(f"{of_set['dataset'].iloc[0]}{size} (%)", cells))
    change = table.groupby("model", sort=False)["change"].sum()
    return [*columns, TextColumn("Change", signed_cells([*change, change.mean()], 2))]


def write_revisions(
    *,
    series: str,
    datasets: Sequence[str],
    accuracies: Sequence[Path],
    without: Sequence[str],
    confidence: float,
    outputs: Sequence[Path],
) -> None:
    """Write the table of one series of revisions."""
    tables = {name: ACCURACIES.read(f) for name, f in zip(datasets, accuracies, strict=True)}
    table = tabulate_revisions(tables, series, confidence, without)
    write_readable(table, SCHEMA, text_columns, outputs)
    logging.info("%d revisions", len(datasets))


class RevisionsSettings(Settings):
    """Series of datasets, each with the successive revisions of one dataset."""

    series: Named[SomeNames] = Field(
        {}, description="Datasets of each series, from the first to the last revision"
    )
    without: Names = Field((), description="Models to leave out")


class Revisions(Analysis):
    """Tabulate how accuracies change from one revision of a dataset to the next."""

    name: ClassVar[str] = "revisions"
    Settings: ClassVar[type[RevisionsSettings]] = RevisionsSettings
    settings: RevisionsSettings

    def __init__(self, settings: RevisionsSettings, study: Study) -> None:
        super().__init__(settings, study)
        labels = {"table": self.name, "of": "{series}"}
        self.result = self.table(
            "{series}",
            "Accuracies on the successive revisions of **{{ snakemake.wildcards.series }}**, with "
            "Clopper-Pearson intervals. The change is that from the first revision to the last.",
            labels,
        )

    def check(self) -> None:
        """Check names of datasets and models."""
        self.study.check_models(self.settings.without, self.field("without"))
        for name, datasets in self.settings.series.items():
            for dataset in datasets:
                self.check_has_accuracies(dataset, self.field("series", name))

    @property
    def targets(self) -> list[str]:
        """A table for every series."""
        return self.result.expand(series=self.settings.series)

    @property
    def rules(self) -> list[Rule]:
        """The rule of the table of a series."""
        series, study = self.settings.series, self.study
        return [
            Rule(
                name="tabulate_revisions",
                run=write_revisions,
                input={
                    "accuracies": lambda wildcards: [
                        study.accuracies_file(name) for name in series[wildcards.series]
                    ]
                },
                output={"outputs": self.result},
                arguments=lambda wildcards: {
                    "datasets": list(series[wildcards.series]),
                    "without": list(self.settings.without),
                    "confidence": study.confidence,
                },
                values={"series": series},
                message="Tabulating the revisions of {wildcards.series}",
            )
        ]
