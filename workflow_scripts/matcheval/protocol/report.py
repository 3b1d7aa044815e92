"""The section of a report on gaps before and after matching."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from matcheval.io.text_tables import TextColumn, counted
from matcheval.protocol.comparisons import suspicions_in
from matcheval.protocol.schemas import GAPS, MEAN_GAPS, MODEL_TABLE
from matcheval.protocol.settings import matching_label
from matcheval.protocol.words import (
    BEYOND,
    UNDEFINED,
    narrowing,
    percent,
    share_of_confidence,
    unmatched_notes,
    verdict,
    with_interval,
)
from matcheval.report.charts import Chart, Point, Series, bounds_in_percent
from matcheval.report.pages import HtmlTable
from matcheval.report.sections import Content, Headline

_QUANTITIES = {"gap": "gap", "matched_gap": "matched gap"}
_PARTS = {
    "gap": "gap",
    "confidence_part": "part with confidence",
    "conditional_part": "part at equal confidence",
    "matched_gap": "matched gap",
}


@dataclass(frozen=True)
class GapTables:
    """The tables that the section is made from."""

    means: pd.DataFrame
    gaps: Mapping[tuple[str, str], pd.DataFrame]
    tables: Mapping[tuple[str, str], pd.DataFrame]
    suspicions: Sequence[tuple[str, str]] = ()


def content(data: Mapping[str, Sequence[str]], values: Mapping[str, Any]) -> Content:
    """Read the tables of a study, and make its section."""
    places = [(pair, matching) for pair, matching in values["places"]]
    tables = [MODEL_TABLE.read(path) for path in data["tables"]]
    read = GapTables(
        means=pd.concat([MEAN_GAPS.read(p).to_pandas() for p in data["means"]], ignore_index=True),
        gaps={
            place: GAPS.read(path).to_pandas()
            for place, path in zip(places, data["gaps"], strict=True)
        },
        tables={k: table.to_pandas() for k, table in zip(places, tables, strict=True)},
        suspicions=suspicions_in(tables),
    )
    return gap_content(read, values["titles"])


def gap_content(read: GapTables, titles: Mapping[str, str]) -> Content:
    """Make the section on gaps: headlines, charts, and a table of all models."""
    rows = [row for _, row in read.means.iterrows()]
    several = len(set(read.means["pair"])) > 1
    names = [f"{row['pair']}: " * several + titles[row["matching"]] for row in rows]
    charts = [
        (name, _chart_of_models(row, read.gaps[row["pair"], row["matching"]], read.tables, name))
        for row, name in zip(rows, names, strict=True)
    ]
    notes = [
        f"{model}, {text}{'' if text.endswith('?') else '.'}" for model, text in read.suspicions
    ]
    return Content(
        headlines=tuple(map(_headline, rows, names)),
        variables={
            "overview": _overview(rows, names),
            "charts": [one for one in charts if one[1].series[0].defined],
            "models": _model_table(read),
        },
        notes=(*notes, *unmatched_notes(rows, titles), *_remarks(rows, names)),
    )


def _headline(row: pd.Series, name: str) -> Headline:
    text = verdict(row)
    share = share_of_confidence(row)
    n = row["n_models"]
    if not n:
        n = row["n_left_out"]
        statement = f"No target was matched in any run of {counted(n, 'model')}."
    else:
        statement = (
            f"{counted(n, 'model')}; `{row['original']}` (n = {row['n_original']:,}) and "
            f"`{row['replication']}` (n = {row['n_replication']:,}). Of the gap, "
            f"{with_interval(row, 'confidence_part')} points go with confidence"
            f"{f' (share: {share})' * (share != UNDEFINED)}. The matched gap is {narrowing(row)}. "
            f"Unmatched targets: {percent(row['fraction_unmatched'], 1)}."
        )
    return Headline(
        subject=name,
        value=f"Gap {with_interval(row, 'gap')} points",
        verdict=f"Matched gap {with_interval(row, 'matched_gap')}: {text}",
        statement=statement,
        is_clear=text == BEYOND,
    )


def _overview(rows: Sequence[pd.Series], names: Sequence[str]) -> Chart:
    """Show gap and matched gap of every pair and matching, with intervals."""
    series = [
        Series(
            f"{label}, mean over models" if max(r["n_models"] for r in rows) > 1 else label,
            [
                Point(
                    100 * row[quantity], i, names[i],
                    f"{label}: {with_interval(row, quantity)} points",
                    x_bounds=bounds_in_percent(row, quantity),
                )
                for i, row in enumerate(rows)
            ],
        )
        for quantity, label in _QUANTITIES.items()
    ]  # fmt: skip
    return Chart(
        "Gaps before and after matching, with 95 % intervals, of every pair and matching.",
        "accuracy on the original − on the replication (percentage points)", "",
        series, categories=names, zero="x",
    )  # fmt: skip


def _chart_of_models(
    row: pd.Series,
    gaps: pd.DataFrame,
    tables: Mapping[tuple[str, str], pd.DataFrame],
    name: str,
) -> Chart:
    """Show gap and matched gap of every model against its accuracy."""
    accuracies = tables[row["pair"], row["matching"]].set_index("model")["accuracy_original"]
    models = [model for _, model in gaps.iterrows()]
    if len(models) == 1:
        return _chart_of_one_model(models[0], name)
    series = [
        Series(
            label,
            [
                Point(
                    100 * accuracies[model["model"]], 100 * model[quantity], model["model"],
                    _values(model, accuracies[model["model"]]),
                    y_bounds=bounds_in_percent(model, quantity),
                )
                for model in models
            ],
        )
        for quantity, label in _QUANTITIES.items()
    ]  # fmt: skip
    return Chart(
        f"{name}: gap and matched gap of {counted(len(models), 'model')} against accuracy, with "
        "95 % intervals.",
        f"accuracy on {row['original']} (%)", "percentage points", series, zero="y",
    )  # fmt: skip


def _chart_of_one_model(model: pd.Series, name: str) -> Chart:
    """Show what the gap of a single model consists of, below each other."""
    points = [
        Point(
            100 * model[quantity], i, label, f"{label}: {with_interval(model, quantity)} points",
            x_bounds=bounds_in_percent(model, quantity),
        )
        for i, (quantity, label) in enumerate(_PARTS.items())
    ]  # fmt: skip
    return Chart(
        f"{name}: gap of {model['model']}, its parts and matched gap, with 95 % intervals.",
        "accuracy on the original − on the replication (percentage points)", "",
        [Series(model["model"], points)], categories=list(_PARTS.values()), zero="x",
    )  # fmt: skip


def _values(model: pd.Series, accuracy: float) -> str:
    lines = [f"{label}: {with_interval(model, name)}" for name, label in _QUANTITIES.items()]
    return "\n".join([f"accuracy on the original: {percent(accuracy, 2)}", *lines])


def _model_table(read: GapTables) -> HtmlTable:
    """Lay out one row per pair and model, with the matched gaps of all matchings."""
    pairs = list(dict.fromkeys(pair for pair, _ in read.gaps))
    matchings = list(dict.fromkeys(matching for _, matching in read.gaps))
    cells: dict[str, list[str]] = {}

    def add(head: str, values: Sequence[str]) -> None:
        cells.setdefault(head, []).extend(values)

    for pair in pairs:
        of_pair = {m: read.gaps[pair, m].set_index("model") for m in matchings}
        table = read.tables[pair, matchings[0]]
        models = table["model"].tolist()
        add("Model", models)
        if len(pairs) > 1:
            add("Pair", [pair] * len(models))
        for origin in ("original", "replication"):
            add(f"Accuracy, {origin} (%)", [f"{100 * a:.2f}" for a in table[f"accuracy_{origin}"]])
        first = of_pair[matchings[0]]
        add("Gap (points)", [with_interval(first.loc[name], "gap") for name in models])
        for matching in matchings:
            found = [of_pair[matching].loc[name] for name in models]
            title = matching_label(matching)
            add(f"Matched gap, {title}", [with_interval(row, "matched_gap") for row in found])
            add(f"Unmatched, {title}", [percent(row["fraction_unmatched"], 1) for row in found])
    columns = [
        TextColumn(head, values, is_number=head not in ("Model", "Pair"))
        for head, values in cells.items()
    ]
    return HtmlTable("All models", tuple(columns))


def _remarks(rows: Sequence[pd.Series], names: Sequence[str]) -> list[str]:
    remarks = ((name, row["remarks"]) for row, name in zip(rows, names, strict=True))
    return [f"{name}: {remark}." for name, remark in remarks if remark]
