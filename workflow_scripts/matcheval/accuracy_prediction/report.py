"""The section of a report on accuracies that were predicted without labels."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from matcheval.accuracy_prediction.aggregation import ALL, ERRORS
from matcheval.accuracy_prediction.reading import how, titles
from matcheval.accuracy_prediction.scores.registry import ALL_SCORES
from matcheval.accuracy_prediction.views import WHOLE
from matcheval.io.text_tables import TextColumn, counted, signed
from matcheval.report.charts import Chart, Point, Series, bounds_in_percent
from matcheval.report.sections import Content, Headline
from matcheval.report.tables import HtmlTable

# What a headline compares, where it was computed: the simplest method, and Guillory et al.'s.
_BASE, _COMPARED = "base_accuracy", ("ac", "doc")


def content(data: Mapping[str, Sequence[str]], values: Mapping[str, Any]) -> Content:
    """Read the errors of every suite, and make the section.

    Parameters
    ----------
    data : mapping of str to sequence of str
        `errors`: a file per suite.
    values : mapping
        Not used.

    Raises
    ------
    InputError
        If a file cannot be read.
    """
    headlines, parts, notes = [], [], []
    for path in data["errors"]:
        table = ERRORS.read(path).to_pandas()
        if table.empty:
            continue
        suite = table["suite"].iloc[0]
        rows = _over_all_sets(table)
        known = rows[rows["mae"].notna()].sort_values("mae", kind="stable")
        if len(known):
            file = path.removesuffix(".parquet") + ".csv"
            parts.append((suite, _chart(suite, known), _table(suite, known, file)))
            headlines.append(_headline(suite, known))
        notes += [
            f"{suite}: {name} has no prediction of {counted(row['n_missing'], 'pair')} of model "
            "and set."
            for name, row in zip(_names(rows), rows.to_dict("records"), strict=True)
            if row["n_missing"]
        ]
    return Content(
        headlines=tuple(headlines),
        variables={"parts": parts},
        notes=tuple(notes),
    )


def _over_all_sets(table: pd.DataFrame) -> pd.DataFrame:
    return table[
        (table["view"] == WHOLE) & (table["group"] == ALL) & (table["subgroup"] == ALL)
    ].reset_index(drop=True)


def _names(rows: pd.DataFrame) -> list[str]:
    """Name every row by its method and how predictions were made."""
    return [
        f"{title}, {how(row)}"
        for title, row in zip(titles(rows, ALL_SCORES), rows.to_dict("records"), strict=True)
    ]


def _error(row: Mapping[Any, Any]) -> str:
    low, high = bounds_in_percent(row, "mae_sets")
    interval = "" if pd.isna(low) else f" [{low:.1f}, {high:.1f}]"
    return f"{100 * row['mae']:.1f}{interval}"


def _points(fraction: float) -> str:
    return signed(100 * fraction, 1, plus=True)


def _headline(suite: str, rows: pd.DataFrame) -> Headline:
    said = {
        name: f"{_error(row)} points ({counted(row['n_sets'], 'set')})"
        for name, row in zip(_names(rows), rows.to_dict("records"), strict=True)
        if row["method"] in _COMPARED and not row["variant"]
    }
    assumed = rows[rows["method"] == _BASE].to_dict("records")
    value = f"To assume the base accuracy errs by {_error(assumed[0])} points" if assumed else ""
    return Headline(
        subject=f"Accuracies predicted without labels: {suite}",
        value=value,
        statement="Mean absolute errors with 95 % intervals for the choice of the sets. "
        + "; ".join(f"{name}: {error}" for name, error in said.items()),
    )


def _chart(suite: str, rows: pd.DataFrame) -> Chart:
    names = _names(rows)
    ways = [how(row) for row in rows.to_dict("records")]
    points = [
        Point(
            100 * row["mae"], i, names[i],
            f"mean absolute error: {_error(row)} points\nbias: {_points(row['bias'])} points\n"
            f"{counted(row['n_sets'], 'set')}, {counted(row['n_models'], 'model')}",
            x_bounds=bounds_in_percent(row, "mae_sets"),
        )
        for i, row in enumerate(rows.to_dict("records"))
    ]  # fmt: skip
    return Chart(
        f"{suite}: mean absolute errors of predicted accuracies by method, with 95 % intervals.",
        "mean absolute error (percentage points)", "",
        [
            Series(way, [p for p, of in zip(points, ways, strict=True) if of == way])
            for way in dict.fromkeys(ways)
        ],
        categories=names, zero="x",
    )  # fmt: skip


def _table(suite: str, rows: pd.DataFrame, file: str) -> HtmlTable:
    records = rows.to_dict("records")
    columns = (
        TextColumn("Method", titles(rows, ALL_SCORES), is_number=False),
        TextColumn("How", [how(row) for row in records], is_number=False),
        TextColumn("Mean absolute error (points) [95 % CI]", [_error(row) for row in records]),
        TextColumn("Bias (points)", [_points(row["bias"]) for row in records]),
        TextColumn("Sets", [str(row["n_sets"]) for row in records]),
        TextColumn("Models", [str(row["n_models"]) for row in records]),
    )
    return HtmlTable(f"{suite}: errors over all sets that were not fitted to", columns, file)
