"""Accuracies on the successive revisions of a dataset that was reviewed and sampled again.

Recht et al. (2019), arXiv 1902.10811, appendix C.3.2.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
import pyarrow as pa
from pydantic import Field

from matcheval.io import tables
from matcheval.io.text_tables import TextColumn, columns_by_part, signed_cells
from matcheval.predictions.correctness import ACCURACIES
from matcheval.replication.tables import accuracy_intervals, top_accuracies
from matcheval.settings import EvaluatedName, ModelNames, Named, Settings, SomeUnique
from matcheval.study.rules import Wildcards
from matcheval.study.tables import TableAnalysis


def _text_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Lay out a column of accuracies per revision, and the change from the first to the last."""
    sizes = [f", n = {n:,}" if n else "" for n in table["n"]]
    change = table.groupby("model", sort=False)["change"].sum()
    return [
        *columns_by_part(table.assign(size=sizes), "number", "accuracy", "{dataset}{size} (%)"),
        TextColumn("Change", signed_cells([*change, change.mean()], 2)),
    ]


SCHEMA = tables.TableSchema(
    "accuracies on revisions",
    tables.MODEL,
    tables.text("revisions", "name of the series of revisions"),
    tables.Column("number", pa.int16(), "1", "number of the revision, from 1"),
    tables.DATASET,
    *tables.accuracy("", "size of the revision; 0 if unknown"),
    tables.fraction("change", "accuracy minus that on the revision before; NaN for the first"),
    tables.CONFIDENCE_LEVEL,
    shown=_text_columns,
)


def tabulate(
    sets: Mapping[str, pa.Table], name: str, confidence: float = 0.95, without: Sequence[str] = ()
) -> pd.DataFrame:
    """Tabulate models' top-1 accuracies on the revisions of a dataset, and changes between them."""
    first = next(iter(sets.values())).to_pandas()
    models = [m for m in first.loc[first["top"] == 1, "model"] if m not in without]
    place = {"field": "revisions.series", "remedy": "List the model under revisions.without"}
    parts = []
    for number, (dataset, accuracies) in enumerate(sets.items(), start=1):
        of_set = top_accuracies(accuracies, 1, models, dataset, **place)
        parts.append(pd.DataFrame({
            "model": models, "revisions": name, "number": number, "dataset": dataset,
            **accuracy_intervals(of_set, "", confidence), "confidence": confidence,
        }))  # fmt: skip
    table = pd.concat(parts)
    table["change"] = table.groupby("model", sort=False)["accuracy"].diff()
    by_model = [rows for _, rows in table.groupby("model", sort=False)]
    ordered: pd.DataFrame = pd.concat(by_model, ignore_index=True)
    return ordered[SCHEMA.names]


def read_revisions(
    *, series: str, datasets: Sequence[str], accuracies: Sequence[Path]
) -> tuple[dict[str, pa.Table], str]:
    """Read the accuracies on all revisions of a series; return them and its name."""
    files = zip(datasets, accuracies, strict=True)
    return {name: ACCURACIES.read(file) for name, file in files}, series


class RevisionsSettings(Settings):
    """Series of datasets, each with the successive revisions of one dataset."""

    series: Named[SomeUnique[EvaluatedName]] = Field(
        {}, description="Datasets of each series, from the first to the last revision"
    )
    without: ModelNames = Field((), description="Models to leave out")


class Revisions(TableAnalysis):
    """Tabulate how accuracies change from one revision of a dataset to the next."""

    name: ClassVar[str] = "revisions"
    per = "series"
    read = read_revisions
    caption: ClassVar[str] = (
        "Accuracies on the successive revisions of **{{ snakemake.wildcards.series }}**, with "
        "Clopper-Pearson intervals. The change is that from the first revision to the last."
    )
    Settings: ClassVar[type[RevisionsSettings]] = RevisionsSettings
    settings: RevisionsSettings

    @property
    def subjects(self) -> list[str]:
        """Names of the series."""
        return list(self.settings.series)

    def inputs(self, wildcards: Wildcards) -> list[str]:
        """Return the files of accuracies on the revisions of a series."""
        return [self.study.accuracies_file(name) for name in self.settings.series[wildcards.series]]

    def arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the arguments of `read_revisions`."""
        datasets = list(self.settings.series[wildcards.series])
        accuracies = self.inputs(wildcards)
        return {"series": wildcards.series, "datasets": datasets, "accuracies": accuracies}
