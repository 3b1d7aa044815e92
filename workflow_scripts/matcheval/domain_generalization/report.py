"""The section of a report on algorithms of domain generalisation, compared with ERM."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from matcheval.domain_generalization import tables
from matcheval.domain_generalization.plan import ERM
from matcheval.io.text_tables import counted, level_text, signed
from matcheval.report import sections

_SIGNIFICANT = 0.05


def content(data: Mapping[str, Sequence[str]], values: Mapping[str, Any]) -> sections.Content:
    """Read the results, and build the section's headlines and charts of gains over ERM."""
    (path,) = data["results"]
    rows = tables.overall_rows(tables.RESULTS.read(path).to_pandas())
    selected = rows[rows["selection"] == values["selection"]]
    how = values["selection"].replace("_", " ")
    headlines, charts = [], []
    for (design, block), part in selected.groupby(["design", "block"], sort=False):
        name = f"{design}, mean over the domains left out" if design else f"sources {block}"
        title = f"{name}; selection: {how}"
        compared = part[(part["algorithm"] != ERM) & ~part["same_as_erm"]]
        if len(compared):
            erm = part[part["algorithm"] == ERM].to_dict("records")[0]
            headlines.append(_headline(title, erm, compared))
            charts.append((title, _chart(title, compared)))
    return sections.Content(tuple(headlines), {"charts": charts})


def _format_gain(row: Mapping[Any, Any]) -> str:
    gain, low, high = (
        signed(100 * row[name], 1, plus=True) for name in ("gain", "gain_low", "gain_high")
    )
    return f"{gain}{'' if pd.isna(row['gain_low']) else f' [{low}, {high}]'} points"


def _headline(title: str, erm: Mapping[Any, Any], compared: pd.DataFrame) -> sections.Headline:
    certain = compared["p_holm"] < _SIGNIFICANT
    better = int((certain & (compared["gain"] > 0)).sum())
    worse = int((certain & (compared["gain"] < 0)).sum())
    best = max(compared.to_dict("records"), key=lambda row: row["gain"])
    gain = f"{tables.TITLES[best['algorithm']]}, {_format_gain(best)}"
    lines = (
        f"{better} of {len(compared)} algorithms are better than ERM beyond chance, {worse} worse.",
        f"ERM: {100 * erm['mean']:.1f} %; largest gain: {gain}.",
    )
    note = (
        f"Gains are paired, over {counted(erm['n_runs'], 'run')}; brackets are "
        f'{level_text(erm["confidence"])} intervals over runs (Student\'s t). "Beyond chance" '
        "means p < 0.05, adjusted for the number of algorithms (Holm)."
    )
    return sections.Headline(title, tuple(map(sections.Sentence, lines)), notes=(note,))


def _chart(title: str, rows: pd.DataFrame) -> sections.Chart:
    ordered = rows.sort_values("gain", ascending=False, kind="stable")
    names = [tables.TITLES[name] for name in ordered["algorithm"]]
    points = [
        sections.Point(
            100 * row["gain"], i, names[i],
            f"gain over ERM: {_format_gain(row)}\naccuracy: {100 * row['mean']:.1f} %\n"
            + ("p undefined" if pd.isna(row["p_holm"]) else f"p (Holm): {row['p_holm']:.3f}"),
            x_bounds=sections.bounds_in_percent(row, "gain"),
        )
        for i, row in enumerate(ordered.to_dict("records"))
    ]  # fmt: skip
    return sections.Chart(
        f"{title}: {int((rows['gain'] > 0).sum())} of {len(rows)} algorithms are above ERM",
        "accuracy − that of ERM (percentage points)", "",
        [sections.Series("", points)], categories=names, zero="x",
        note=f"With {level_text(rows['confidence'].iloc[0])} intervals over runs.",
    )  # fmt: skip
