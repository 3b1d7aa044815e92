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
from matcheval.io import tables
from matcheval.io.text_tables import TextColumn, columns_by_part, signed_cells, write_readable
from matcheval.predictions.correctness import ACCURACIES
from matcheval.settings import Named, Names, Settings, SomeNames
from matcheval.statistics.intervals import clopper_pearson
from matcheval.study.rules import Wildcards
from matcheval.study.tables import TableAnalysis

SCHEMA = tables.TableSchema(
    "accuracies on revisions",
    (
        tables.MODEL,
        tables.text("revisions", "name of the series of revisions"),
        tables.Column("number", pa.int16(), "1", "number of the revision, from 1"),
        tables.DATASET,
        tables.Column("n", pa.int64(), "datapoints", "size of the revision; 0 if unknown"),
        tables.Column("n_correct", pa.int64(), "datapoints", "correctly predicted; -1 if unknown"),
        tables.fraction("accuracy", "top-1 accuracy"),
        tables.fraction("accuracy_low", "Clopper-Pearson lower bound; NaN if n is unknown"),
        tables.fraction("accuracy_high", "Clopper-Pearson upper bound; NaN if n is unknown"),
        tables.fraction(
            "change", "accuracy minus that on the previous revision; NaN for the first"
        ),
        tables.CONFIDENCE_LEVEL,
    ),
)


def tabulate(
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
            found = frame.loc[model]
            n, accuracy = int(found["n"]), float(found["accuracy"])
            low = high = float("nan")
            if n:
                interval = clopper_pearson(int(found["n_correct"]), n, confidence)
                low, high = float(interval.low), float(interval.high)
            rows.append({
                "model": model, "revisions": name, "number": number, "dataset": dataset, "n": n,
                "n_correct": int(found["n_correct"]), "accuracy": accuracy, "accuracy_low": low,
                "accuracy_high": high, "change": accuracy - before, "confidence": confidence,
            })  # fmt: skip
            before = accuracy
    return pd.DataFrame(rows, columns=SCHEMA.names)


def text_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Format the accuracies for a readable table."""
    sets = table[["number", "dataset", "n"]].drop_duplicates().itertuples(index=False)
    heads = {k: f"{name}{f', n = {n:,}' if n else ''} (%)" for k, name, n in sets}
    change = table.groupby("model", sort=False)["change"].sum()
    changes = TextColumn("Change", signed_cells([*change, change.mean()], 2))
    return [*columns_by_part(table, "number", "accuracy", heads), changes]


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
    table = tabulate(tables, series, confidence, without)
    write_readable(table, SCHEMA, text_columns, outputs)
    logging.info("%d revisions", len(datasets))


class RevisionsSettings(Settings):
    """Series of datasets, each with the successive revisions of one dataset."""

    series: Named[SomeNames] = Field(
        {}, description="Datasets of each series, from the first to the last revision"
    )
    without: Names = Field((), description="Models to leave out")


class Revisions(TableAnalysis):
    """Tabulate how accuracies change from one revision of a dataset to the next."""

    name: ClassVar[str] = "revisions"
    per = "series"
    write_table = write_revisions
    caption: ClassVar[str] = (
        "Accuracies on the successive revisions of **{{ snakemake.wildcards.series }}**, with "
        "Clopper-Pearson intervals. The change is that from the first revision to the last."
    )
    Settings: ClassVar[type[RevisionsSettings]] = RevisionsSettings
    settings: RevisionsSettings

    def check(self) -> None:
        """Check names of datasets and models."""
        self.study.check_models(self.settings.without, self.field("without"))
        for name, datasets in self.settings.series.items():
            for dataset in datasets:
                self.check_has_accuracies(dataset, self.field("series", name))

    @property
    def subjects(self) -> list[str]:
        """Names of the series."""
        return list(self.settings.series)

    def inputs(self, wildcards: Wildcards) -> list[str]:
        """Return the accuracies on the revisions."""
        return [self.study.accuracies_file(name) for name in self.settings.series[wildcards.series]]

    def arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the further arguments of `write_revisions`."""
        return {
            "datasets": list(self.settings.series[wildcards.series]),
            "accuracies": self.inputs(wildcards),
            "without": list(self.settings.without),
            "confidence": self.study.confidence,
        }
