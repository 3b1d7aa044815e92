"""The section of a report on accuracies that were predicted without labels."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from matcheval.accuracy_prediction.errors import ALL, ERRORS
from matcheval.accuracy_prediction.predicting import procedure_labels, titles
from matcheval.accuracy_prediction.recommendation import labels_for
from matcheval.accuracy_prediction.scoring import WHOLE
from matcheval.io.text_tables import counted, level_text, signed
from matcheval.report import sections

Row = Mapping[Any, Any]  # of the table of errors, with what readers call it
# What a headline compares, where it was computed: the simplest method, and Guillory et al.'s.
_BASE, _COMPARED = "base_accuracy", ("ac", "doc")


def content(data: Mapping[str, Sequence[str]], values: Mapping[str, Any]) -> sections.Content:
    """Return headlines, charts and notes of the report's section, from the tables of errors."""
    headlines, parts, notes = [], [], []
    for path in data["errors"]:
        table = ERRORS.read(path).to_pandas()
        if table.empty:
            continue
        suite = table["suite"].iloc[0]
        rows = _rows_over_all_sets(table)
        with_error = rows.dropna(subset="mae").sort_values("mae", kind="stable").to_dict("records")
        if with_error:
            parts.append((suite, _chart(with_error)))
            headlines.append(_headline(suite, with_error))
        notes += [
            f"{suite}: {name} has no prediction of {counted(n, 'pair')} of model and set."
            for name, n in zip(rows["name"], rows["n_missing"], strict=True)
            if n
        ]
    return sections.Content(tuple(headlines), {"parts": parts}, tuple(notes))


def _rows_over_all_sets(table: pd.DataFrame) -> pd.DataFrame:
    """Return the errors over all sets, with columns `title`, `how` and `name` for readers."""
    rows = table[(table["view"] == WHOLE) & (table["group"] == ALL) & (table["subgroup"] == ALL)]
    rows = rows.assign(title=titles(rows), how=procedure_labels(rows))
    return rows.assign(name=rows["title"] + ", " + rows["how"])


def _format_error(row: Row) -> str:
    """Format a mean absolute error in points, with its interval."""
    low, high = sections.bounds_in_percent(row, "mae_sets")
    interval = "" if pd.isna(low) else f" [{low:.1f}, {high:.1f}]"
    return f"{100 * row['mae']:.1f}{interval}"


def _headline(suite: str, rows: Sequence[Row]) -> sections.Headline:
    """State the errors of base accuracy, AC and DoC on a suite, and how many labels are better."""
    sentences = []
    for method in (_BASE, *_COMPARED):
        if method_rows := [row for row in rows if row["method"] == method and not row["variant"]]:
            is_base = method == _BASE
            name = "To assume the accuracy of the base" if is_base else method_rows[0]["title"]
            errors = [
                f"{_format_error(row)} points{'' if is_base else ', ' + row['how']} "
                f"({counted(row['n_sets'], 'set')})"
                for row in method_rows
            ]
            sentences.append(f"{name} errs by {'; '.join(errors)}.")
    points = max(1, round(100 * float(rows[0]["mae"])))
    step = (
        f"Where an error of {points} points matters, label images: {labels_for(points / 100):,} "
        f"drawn at random give ±{points} points, whatever has shifted (`matched-eval label-plan`)."
    )
    return sections.Headline(
        subject=f"Accuracies predicted without labels: {suite}",
        lines=tuple(map(sections.Sentence, sentences)),
        next_step=step,
        notes=(
            f"Mean absolute errors with {level_text(rows[0]['confidence'])} intervals for the "
            "choice of the sets.",
        ),
    )


def _chart(rows: Sequence[Row]) -> sections.Chart:
    """Chart the mean absolute errors of methods, a series per procedure."""
    points: dict[str, list[sections.Point]] = {}
    for i, row in enumerate(rows):
        values = (
            f"mean absolute error: {_format_error(row)} points\n"
            f"bias: {signed(100 * row['bias'], 1, plus=True)} points\n"
            f"{counted(row['n_sets'], 'set')}, {counted(row['n_models'], 'model')}"
        )
        bounds = sections.bounds_in_percent(row, "mae_sets")
        point = sections.Point(100 * row["mae"], i, row["name"], values, x_bounds=bounds)
        points.setdefault(row["how"], []).append(point)
    return sections.Chart(
        f"{rows[0]['name']} errs least, by {_format_error(rows[0])} points on average",
        "mean absolute error (percentage points)", "",
        [sections.Series(how, of_procedure) for how, of_procedure in points.items()],
        categories=[row["name"] for row in rows], zero="x",
        note=f"With {level_text(rows[0]['confidence'])} intervals for the choice of the sets.",
    )  # fmt: skip
