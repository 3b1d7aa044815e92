"""A comparison as the table a person wants to read in a terminal."""

from collections.abc import Mapping

import pandas as pd

from matcheval.comparisons import Comparison
from matcheval.settings import Criterion


def describe(comparison: Comparison, tables: Mapping[Criterion, pd.DataFrame]) -> str:
    """Lay out one model's comparison, accuracies in percent and gaps in points.

    Parameters
    ----------
    comparison : Comparison
        The model and its two sets.
    tables : mapping
        By criterion, the one-row table of schema `tabulation.MODEL_TABLE`.

    Returns
    -------
    str
        Lines of text, the last one ended.
    """
    row = next(iter(tables.values())).iloc[0]
    pair = comparison.pair
    rows = [
        ("", pair.original, pair.replication, "gap"),
        ("role", *_roles(comparison), ""),
        ("datapoints", f"{row.n_original:,}", f"{row.n_replication:,}", ""),
        (
            "accuracy",
            _percent(row.accuracy_original),
            _percent(row.accuracy_replication),
            _points(row.gap),
        ),
        (
            "mean confidence",
            _percent(row.confidence_original),
            _percent(row.confidence_replication),
            _points(row.confidence_original - row.confidence_replication),
        ),
    ]
    notes = []
    for criterion, table in tables.items():
        row = table.iloc[0]
        rows += [("", "", "", ""), (criterion.description, "", "", "")]
        rows.append(
            (
                "matched accuracy",
                _percent(row.matched_accuracy_original_mean, row.matched_accuracy_original_std),
                _percent(
                    row.matched_accuracy_replication_mean, row.matched_accuracy_replication_std
                ),
                _points(row.matched_gap_mean, row.matched_gap_std),
            )
        )
        at = 1 if not comparison.source_is_original else 0
        for label, name in (
            ("unmatched targets", "fraction_unmatched"),
            ("accuracy on unmatched", "unmatched_accuracy_target"),
        ):
            value = _percent(row[f"{name}_mean"], row[f"{name}_std"])
            rows.append((label, *((value, "") if at else ("", value)), ""))
        if pd.isna(row.matched_gap_mean):
            notes.append(
                f"No target was matched by {criterion.description}: the matched accuracy is "
                "undefined."
            )
    seeds = f"{row.n_seeds} seed{'s' * (row.n_seeds > 1)}"
    spread = ", ± standard deviation over seeds" if row.n_seeds > 1 else ""
    header = (
        f"{comparison.model}: {pair.original} (original) against {pair.replication} (replication)"
    )
    footer = f"ε = {row.epsilon:g}, {seeds}{spread}; gaps in percentage points"
    return "\n".join([header, "", *_aligned(rows), "", footer, *notes, ""])


def _roles(comparison: Comparison) -> tuple[str, str]:
    return ("source", "target") if comparison.source_is_original else ("target", "source")


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Align columns; a row with a title alone does not widen the first one."""
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
