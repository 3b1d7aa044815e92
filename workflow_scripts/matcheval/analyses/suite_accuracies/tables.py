"""Accuracies of models on the sets of a suite, compared with a base set."""

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from matcheval.analyses.suite_accuracies.correctness import SuiteCorrectness
from matcheval.datasets.suites import Member, Suite
from matcheval.errors import configuration_error
from matcheval.io.columns import CONFIDENCE_LEVEL, DATASET, MODEL, accuracy, fraction
from matcheval.io.tables import Column, TableSchema
from matcheval.io.text_tables import TextColumn, signed_cells
from matcheval.predictions.correctness import Correctness
from matcheval.statistics.accuracies import accuracy_columns
from matcheval.study.tables import SuiteFiles

SCHEMA = TableSchema(
    "accuracies on a suite",
    (
        MODEL,
        Column("suite", pa.string(), "", "name of the suite"),
        DATASET,
        Column("group", pa.string(), "", "group of the set; empty if not said"),
        Column("subgroup", pa.string(), "", "subgroup of the set; empty if not said"),
        Column("severity", pa.float64(), "1", "severity of the shift; NaN if not said"),
        *accuracy("set", "datapoints of the set, of the classes that its member names"),
        Column("base", pa.string(), "", "name of the base"),
        *accuracy("base", "datapoints of the base, of the same classes"),
        fraction("gap", "accuracy on the base minus accuracy on the set"),
        CONFIDENCE_LEVEL,
    ),
)


def tabulate(files: SuiteFiles, *, confidence: float = 0.95) -> pd.DataFrame:
    """Tabulate accuracies of predictions on file; see `tabulate_suite`."""
    known = SuiteCorrectness(files)
    return tabulate_suite(files.suite, files.base, known, known.labels, confidence)


def tabulate_suite(
    suite: Suite,
    base: str,
    correctness: Callable[[str, Member], Correctness],
    labels: Mapping[str, npt.NDArray[np.int64]],
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Tabulate the accuracies of models on the sets of a suite and on the base."""
    rows = []
    for member in suite.members:
        known, chosen = correctness(member.dataset, member), labels.get(member.dataset)
        on_set = _of_classes(known, chosen, member.dataset, suite.name)
        on_base = _of_classes(correctness(base, member), chosen, base, suite.name)
        for model, correct, correct_base in zip(known.models, on_set, on_base, strict=True):
            of_set = accuracy_columns("set", correct, confidence)
            of_base = accuracy_columns("base", correct_base, confidence)
            rows.append(
                {
                    "model": model, "suite": suite.name, "dataset": member.dataset,
                    "group": member.group, "subgroup": member.subgroup,
                    "severity": float("nan") if member.severity is None else member.severity,
                    **of_set, "base": base, **of_base,
                    "gap": of_base["accuracy_base"] - of_set["accuracy_set"],
                    "confidence": confidence,
                }
            )  # fmt: skip
    return pd.DataFrame(rows, columns=SCHEMA.names)


def _of_classes(
    known: Correctness, chosen: npt.NDArray[np.int64] | None, dataset: str, suite: str
) -> npt.NDArray[np.bool_]:
    """Return the correctness of the datapoints of some classes, by model."""
    if chosen is None:
        return known.right
    rows = np.isin(known.labels, chosen)
    if not rows.any():
        raise configuration_error(
            f"dataset '{dataset}' has no datapoints of the classes of a member",
            field=f"suites.{suite}",
            remedy="Correct 'classes', or leave the set out",
        )
    return known.right[:, rows]


def text_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Format the accuracies for a readable table."""
    sets = table.groupby("dataset", sort=False)
    first = sets.first()
    severity = ["" if np.isnan(s) else f"{s:g}" for s in first["severity"]]
    percent = {
        name: [f"{100 * value:.1f}" for value in values]
        for name, values in sets["accuracy_set"].agg(["mean", "min", "max"]).items()
    }
    return [
        TextColumn("Set", first.index.tolist(), is_number=False),
        TextColumn("Group", first["group"].tolist(), is_number=False),
        TextColumn("Subgroup", first["subgroup"].tolist(), is_number=False),
        TextColumn("Severity", severity),
        TextColumn("n", [f"{n:,}" for n in first["n_set"]]),
        TextColumn(f"Mean accuracy of {table['model'].nunique()} models (%)", percent["mean"]),
        TextColumn("Lowest (%)", percent["min"]),
        TextColumn("Highest (%)", percent["max"]),
        TextColumn(
            f"Mean gap to {first['base'].iloc[0]}", signed_cells(sets["gap"].mean().tolist(), 1)
        ),
    ]
