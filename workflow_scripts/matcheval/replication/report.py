"""The section of a report on accuracies on the original and the replication, and their fits."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from matcheval.io.text_tables import counted
from matcheval.replication.tables import FITS, REGION, RESULTS
from matcheval.report import sections
from matcheval.statistics.lines import Scale


def content(data: Mapping[str, Sequence[str]], values: Mapping[str, Any]) -> sections.Content:
    """Return headlines, charts and notes of the report's section, from a study's tables."""
    results = [RESULTS.read(path).to_pandas() for path in data["results"]]
    fits = [FITS.read(path).to_pandas() for path in data["fits"]]
    regions = [REGION.read(path).to_pandas() for path in data["regions"]]
    charts = []
    for i, table in enumerate(results):
        if len(table) > 1:
            lines = _fitted_lines(fits[i], regions[i]) if fits else []
            charts.append((_title(table), _chart(table, lines)))
    return sections.Content(
        headlines=tuple(map(_headline, results)) if values["is_headline"] else (),
        variables={"charts": charts},
        notes=tuple(note for table in fits for note in _notes(table)),
    )


def _title(results: pd.DataFrame) -> str:
    """Return the name of the pair, with k for top-k accuracies other than top-1."""
    top = results["top"].iloc[0]
    return f"{results['pair'].iloc[0]}{f', top {top}' if top > 1 else ''}"


def _headline(results: pd.DataFrame) -> sections.Headline:
    """State the mean gap, its range, and how many gaps exceed twice their standard error."""
    gaps = 100 * results["gap"]
    n, first = len(results), results.iloc[0]
    certain = int((results["z"].abs() > 2).sum())
    return sections.Headline(
        subject=_title(results),
        lines=(
            sections.Sentence(
                f"The gap, accuracy on `{first['original']}` minus accuracy on "
                f"`{first['replication']}`, is {gaps.mean():.2f} points, mean over "
                f"{counted(n, 'model')}, from {gaps.min():.2f} to {gaps.max():.2f}."
            ),
            sections.Sentence(f"{certain} of {n} gaps exceed twice their standard error."),
        ),
    )


def _fitted_lines(fits: pd.DataFrame, regions: pd.DataFrame) -> list[sections.Line]:
    """Return the line of the linear fit, or of the only fit, in percent."""
    lines = []
    for _, fit in fits.iterrows():
        region = regions[regions["scale"] == fit["scale"]]
        if fit["scale"] == Scale.LINEAR.value or len(fits) == 1:
            label = f"{fit['scale']} fit, slope {fit['slope']:.2f}"
            xs, ys = 100 * region["accuracy_original"], 100 * region["fit"]
            lines.append(sections.Line(label, "fit", xs.tolist(), ys.tolist()))
    return lines


def _chart(results: pd.DataFrame, lines: Sequence[sections.Line]) -> sections.Chart:
    """Chart accuracies on the replication by those on the original, a point per model."""
    rows = [row for _, row in results.iterrows()]
    points = [
        sections.Point(
            100 * row["accuracy_original"], 100 * row["accuracy_replication"], row["model"],
            f"{row['original']}: {_format_accuracy(row, 'original')}\n"
            f"{row['replication']}: {_format_accuracy(row, 'replication')}\n"
            f"gap: {100 * row['gap']:.2f} points",
            x_bounds=sections.bounds_in_percent(row, "accuracy_original"),
            y_bounds=sections.bounds_in_percent(row, "accuracy_replication"),
        )
        for row in rows
    ]  # fmt: skip
    ends, first = [0.0, 100.0], rows[0]
    n_lower = int((results["gap"] > 0).sum())
    return sections.Chart(
        f"{_title(results)}: {n_lower} of {len(rows)} models {'is' if n_lower == 1 else 'are'} "
        f"less accurate on {first['replication']}",
        f"accuracy on {first['original']} (%)", f"accuracy on {first['replication']} (%)",
        [sections.Series("a model", points, "models")],
        lines=[sections.Line("equal accuracy", "reference", ends, ends), *lines], is_square=True,
    )  # fmt: skip


def _format_accuracy(row: pd.Series, origin: str) -> str:
    low, high = sections.bounds_in_percent(row, f"accuracy_{origin}")
    interval = "" if pd.isna(low) else f" [{low:.2f}, {high:.2f}]"
    return f"{100 * row[f'accuracy_{origin}']:.2f} %{interval}"


def _notes(fits: pd.DataFrame) -> list[str]:
    """Say which models were left out of a fit or clipped, and why."""
    notes = []
    for _, fit in fits.iterrows():
        where = f"{fit['pair']}, {fit['scale']} fit"
        if fit["left_out"]:
            notes.append(f"{where}: {fit['left_out']} left out, as the settings ask.")
        if fit["extreme"]:
            how = "clipped" if fit["extremes"] == "clip" else "left out"
            notes.append(f"{where}: {fit['extreme']} {how}, because of accuracies of 0 or 100 %.")
    return notes
