"""A comparison as text: a table for one model, the summary page for many."""

import textwrap
from collections.abc import Mapping

import pandas as pd

from matcheval.api.compared import Compared
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.criteria import Criterion
from matcheval.protocol.summary import write_summary
from matcheval.protocol.words import (
    narrowing,
    points,
    share_of_confidence,
    verdict,
    with_interval,
)

_WIDTH = 100


def described(compared: Compared) -> str:
    """Format a comparison as text.

    Parameters
    ----------
    compared : Compared

    Returns
    -------
    str
        Lines, each ending with a newline.
    """
    means = compared.gaps.means
    if len(compared.known.comparisons) > 1:
        return write_summary(compared.title, means, compared.titles)
    return describe(compared.known.comparisons[0], compared.tables, means, compared.title)


def describe(
    comparison: Comparison,
    tables: Mapping[Criterion, pd.DataFrame],
    gaps: pd.DataFrame,
    header: str,
) -> str:
    """Format a comparison as text, with accuracies in percent and gaps in percentage points.

    Parameters
    ----------
    comparison : Comparison
        The model, the pair and its predictions.
    tables : mapping of Criterion to pandas.DataFrame
        Columns of `schemas.MODEL_TABLE`, one row each; at least one criterion.
    gaps : pandas.DataFrame
        Columns of `gap_schemas.MEAN_GAPS`, a row per criterion.
    header : str
        The first line.

    Returns
    -------
    str
        Lines of text, each ending with a newline.
    """
    records = {criterion: table.iloc[0] for criterion, table in tables.items()}
    row = next(iter(records.values()))
    rows = [*_plain_rows(comparison, row)]
    notes = []
    found = {row["matching"]: row for _, row in gaps.iterrows()}
    any_gap = next(iter(found.values()))
    for criterion, record in records.items():
        rows += _matched_rows(comparison, criterion, record)
        notes += _notes(criterion, found[criterion.value])
        if pd.isna(record.matched_gap_mean):
            notes.append(
                f"No target was matched by {criterion.description}: the matched accuracy is "
                "undefined."
            )
    several = row.n_seeds > 1
    footer = (
        f"ε = {row.epsilon:g}, {row.n_seeds} seed{'s' if several else ''}"
        f"{', ± standard deviation over them' if several else ''}; gaps in percentage points\n"
        "The standard deviation is of the random choices of the matching, not of the sampling of "
        "the sets.\nBrackets: 95 % intervals for the sampling of the sets"
        f"{_design(any_gap)}."
    )
    return "\n".join([header, "", *_aligned(rows), "", footer, "", *_parts(any_gap), *notes, ""])


def _notes(criterion: Criterion, gap: pd.Series) -> list[str]:
    """Say what follows from the gap, a sentence per line."""
    if pd.isna(gap["matched_gap"]):
        return []
    lines = [
        f"matched gap: {with_interval(gap, 'matched_gap')}, {verdict(gap)}",
        f"{narrowing(gap)}",
        f"gap in terms of the matching: matched gap {points(gap['matched_gap'])}, source "
        f"selection {points(gap['source_selection'])}, dropped targets "
        f"{points(gap['dropped_targets'])}",
        gap["remarks"],
    ]
    return ["", f"{criterion.description}:", *(_wrapped(line, "  ") for line in lines if line)]


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, _WIDTH, initial_indent=indent, subsequent_indent=indent + "  ")


def _parts(gap: pd.Series) -> list[str]:
    """Say what of the gap goes with confidence, which no matching is needed for."""
    share = share_of_confidence(gap)
    return [
        _wrapped(
            f"gap {with_interval(gap, 'gap')}: of it, {with_interval(gap, 'confidence_part')} goes "
            f"with confidence, {with_interval(gap, 'conditional_part')} does not"
            + (f" (share with confidence {share})" if "[" in share else "")
        )
    ]


def _design(gap: pd.Series) -> str:
    if gap["n_groups"]:
        return f", by groups (at least {gap['n_groups']} in a set)"
    return ", by image: the sets are paired" if gap["paired"] else ""


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
