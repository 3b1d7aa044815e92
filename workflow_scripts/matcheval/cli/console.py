"""A comparison as a text table for the terminal."""

from collections.abc import Mapping

import pandas as pd

from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.criteria import Criterion


def describe(comparison: Comparison, tables: Mapping[Criterion, pd.DataFrame]) -> str:
    """Format a comparison as text, with accuracies in percent and gaps in percentage points.

    Parameters
    ----------
    comparison : Comparison
        The model, the pair and its predictions.
    tables : mapping of Criterion to pandas.DataFrame
        Columns of `schemas.MODEL_TABLE`, one row each; at least one criterion.

    Returns
    -------
    str
        Lines of text, each ending with a newline.
    """
    records = {criterion: table.iloc[0] for criterion, table in tables.items()}
    pair, row = comparison.pair, next(iter(records.values()))
    rows = [*_plain_rows(comparison, row)]
    notes = []
    for criterion, record in records.items():
        rows += _matched_rows(comparison, criterion, record)
        if pd.isna(record.matched_gap_mean):
            notes.append(
                f"No target was matched by {criterion.description}: the matched accuracy is "
                "undefined."
            )
    several = row.n_seeds > 1
    header = (
        f"{comparison.model}: {pair.original} (original) against {pair.replication} (replication)"
    )
    footer = (
        f"ε = {row.epsilon:g}, {row.n_seeds} seed{'s' if several else ''}"
        f"{', ± standard deviation over them' if several else ''}; gaps in percentage points\n"
        "The sampling error of the sets is not included."
    )
    return "\n".join([header, "", *_aligned(rows), "", footer, *notes, ""])


def _plain_rows(comparison: Comparison, row: pd.Series) -> list[tuple[str, ...]]:
    """Build the header and the rows that do not depend on the matching."""
    accuracies = row.accuracy_original, row.accuracy_replication
    confidences = row.confidence_original, row.confidence_replication
    return [
        ("", comparison.pair.original, comparison.pair.replication, "gap"),
        ("role", *_roles(comparison), ""),
        ("datapoints", f"{row.n_original:,}", f"{row.n_replication:,}", ""),
        ("accuracy", *map(_percent, accuracies), _points(row.gap)),
        (
            "mean confidence",
            *map(_percent, confidences),
            _points(confidences[0] - confidences[1]),
        ),
    ]


def _matched_rows(
    comparison: Comparison, criterion: Criterion, row: pd.Series
) -> list[tuple[str, ...]]:
    """Build the title and the rows of a criterion."""

    def cell(name: str) -> str:
        return _percent(row[f"{name}_mean"], row[f"{name}_std"])

    n_target = row.n_replication if comparison.source_is_original else row.n_original
    n_matched = n_target * (1 - row.fraction_unmatched_mean)

    def of_target(name: str) -> tuple[str, str]:
        return ("", cell(name)) if comparison.source_is_original else (cell(name), "")

    return [
        ("", "", "", ""),
        (criterion.description, "", "", ""),
        (
            "matched accuracy",
            cell("matched_accuracy_original"),
            cell("matched_accuracy_replication"),
            _points(row.matched_gap_mean, row.matched_gap_std),
        ),
        ("matched pairs", "", f"{n_matched:,.0f}", ""),
        ("unmatched targets", *of_target("fraction_unmatched"), ""),
        ("accuracy on unmatched", *of_target("unmatched_accuracy_target"), ""),
    ]


def _roles(comparison: Comparison) -> tuple[str, str]:
    return ("source", "target") if comparison.source_is_original else ("target", "source")


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Align the columns; a row with a title only does not widen the first column."""
    widths = [max(len(row[i]) for row in rows if any(row[1:])) for i in range(4)]
    return [
        (
            row[0].ljust(widths[0]) + "".join("  " + row[i].rjust(widths[i]) for i in (1, 2, 3))
        ).rstrip()
        for row in rows
    ]


def _percent(mean: float, deviation: float | None = None) -> str:
    return _number(100 * mean, deviation, " %")


def _points(mean: float, deviation: float | None = None) -> str:
    return _number(100 * mean, deviation, "")


def _number(value: float, deviation: float | None, unit: str) -> str:
    if pd.isna(value):
        return "undefined"
    spread = "" if deviation is None or pd.isna(deviation) else f" ± {100 * deviation:.2f}"
    return f"{value:.2f}{spread}{unit}"
