"""The comparison of one model as text, and the sentences that follow from gaps."""

import textwrap
from collections.abc import Mapping

import pandas as pd

from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.settings import Criterion
from matcheval.protocol.words import (
    narrowing,
    points,
    share_of_confidence,
    verdict,
    with_interval,
)

_WIDTH = 100


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
        notes += notes_on(criterion, found[criterion.value])
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
        f"{design(any_gap)}."
    )
    return "\n".join([header, "", *aligned(rows), "", footer, "", *parts_of(any_gap), *notes, ""])


def notes_on(criterion: Criterion, gap: pd.Series) -> list[str]:
    """Say what follows from a matched gap, a sentence per line.

    Parameters
    ----------
    criterion : Criterion
    gap : pandas.Series
        Row of `gap_schemas.MEAN_GAPS`.
    """
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


def parts_of(gap: pd.Series) -> list[str]:
    """Say what of the gap goes with confidence, which no matching is needed for.

    Parameters
    ----------
    gap : pandas.Series
        Row of `gap_schemas.MEAN_GAPS`.
    """
    share = share_of_confidence(gap)
    return [
        _wrapped(
            f"gap {with_interval(gap, 'gap')}: of it, {with_interval(gap, 'confidence_part')} goes "
            f"with confidence, {with_interval(gap, 'conditional_part')} does not"
            + (f" (share with confidence {share})" if "[" in share else "")
        )
    ]


def design(gap: pd.Series) -> str:
    """Say what intervals take to be independent, if that is not each datapoint.

    Parameters
    ----------
    gap : pandas.Series
        Row of `gap_schemas.MEAN_GAPS`.
    """
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


def aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Align the columns; a row with a title only does not widen the first column.

    Parameters
    ----------
    rows : list of tuple of str
        Cells, equally many in each row; the first column is text, the others are numbers.
    """
    columns = zip(*filter(_has_numbers, rows), strict=True)
    first, *widths = (max(map(len, cells)) for cells in columns)
    return [
        "  ".join([name.ljust(first), *map(str.rjust, numbers, widths)]).rstrip()
        for name, *numbers in rows
    ]


def _has_numbers(row: tuple[str, ...]) -> bool:
    return any(row[1:])


def _percent(mean: float, deviation: float | None = None) -> str:
    return _number(100 * mean, deviation, " %")


def _points(mean: float, deviation: float | None = None) -> str:
    return _number(100 * mean, deviation, "")


def _number(value: float, deviation: float | None, unit: str) -> str:
    if pd.isna(value):
        return "undefined"
    spread = "" if deviation is None or pd.isna(deviation) else f" ± {100 * deviation:.2f}"
    return f"{value:.2f}{spread}{unit}"
