"""The section of a report on gaps before and after matching."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from matcheval.io.text_tables import TextColumn, counted
from matcheval.protocol import words
from matcheval.protocol.comparisons import suspicions_in
from matcheval.protocol.schemas import GAPS, MEAN_GAPS, MODEL_TABLE
from matcheval.protocol.settings import matching_label
from matcheval.protocol.words import UNDEFINED, percent, with_interval
from matcheval.report.charts import Chart, Point, Series, bounds_in_percent
from matcheval.report.pages import HtmlTable
from matcheval.report.sections import Content, Headline
from matcheval.statistics.intervals import percent as level_of

_QUANTITIES = {"gap": "gap", "matched_gap": "matched gap"}
_PARTS = {
    "gap": "gap",
    "confidence_part": "part with confidence",
    "conditional_part": "part at equal confidence",
    "matched_gap": "matched gap",
}
_AXIS = "accuracy on the original − on the replication (percentage points)"

# Gaps of models by pair and matching, with the models as index and their accuracies.
Gaps = Mapping[tuple[str, str], pd.DataFrame]


def content(data: Mapping[str, Sequence[str]], values: Mapping[str, Any]) -> Content:
    """Read the tables of a study, and make headlines, charts, and a table of all models."""
    titles, tables = values["titles"], [MODEL_TABLE.read(path) for path in data["tables"]]
    means = pd.concat([MEAN_GAPS.read(p).to_pandas() for p in data["means"]], ignore_index=True)
    level = level_of(values["confidence"])
    gaps, accuracies = {}, ["accuracy_original", "accuracy_replication"]
    for (pair, matching), path, table in zip(values["places"], data["gaps"], tables, strict=True):
        of_models = table.to_pandas().set_index("model")[accuracies]
        gaps[pair, matching] = GAPS.read(path).to_pandas().set_index("model").join(of_models)
    rows = [row for _, row in means.iterrows()]
    several = len(set(means["pair"])) > 1
    names = [f"{row['pair']}: " * several + titles[row["matching"]] for row in rows]
    charts = [
        (name, _chart_of_models(row, gaps[row["pair"], row["matching"]], name, level))
        for row, name in zip(rows, names, strict=True)
    ]
    remarks = [f"{n}: {r['remarks']}." for n, r in zip(names, rows, strict=True) if r["remarks"]]
    return Content(
        headlines=tuple(map(_headline, rows, names)),
        variables={
            "level": level,
            "overview": _overview(rows, names, level),
            "charts": [one for one in charts if one[1].series[0].defined],
            "models": _model_table(gaps),
        },
        notes=(*words.told(suspicions_in(tables)), *words.unmatched_notes(rows, titles), *remarks),
    )


def _headline(row: pd.Series, name: str) -> Headline:
    text, share = words.verdict(row), words.share_of_confidence(row)
    statement = f"No target was matched in any run of {counted(row['n_left_out'], 'model')}."
    if row["n_models"]:
        statement = (
            f"{counted(row['n_models'], 'model')}; "
            f"`{row['original']}` (n = {row['n_original']:,}) and "
            f"`{row['replication']}` (n = {row['n_replication']:,}). Of the gap, "
            f"{with_interval(row, 'confidence_part')} points go with confidence"
            f"{f' (share: {share})' * (share != UNDEFINED)}. The matched gap is "
            f"{words.narrowing(row)}. "
            f"Unmatched targets: {percent(row['fraction_unmatched'], 1)}."
        )
    return Headline(
        subject=name,
        value=f"Gap {with_interval(row, 'gap')} points",
        verdict=f"Matched gap {with_interval(row, 'matched_gap')}: {text}",
        statement=statement,
        is_clear=text == words.BEYOND,
    )


def _point(row: pd.Series, quantity: str, label: str, at: int, name: str) -> Point:
    """Return a quantity in percentage points, with its interval, in the row of a category."""
    text, bounds = with_interval(row, quantity), bounds_in_percent(row, quantity)
    return Point(100 * row[quantity], at, name, f"{label}: {text} points", x_bounds=bounds)


def _overview(rows: Sequence[pd.Series], names: Sequence[str], level: str) -> Chart:
    """Show gap and matched gap of every pair and matching, with intervals."""
    of_several = ", mean over models" * (max(row["n_models"] for row in rows) > 1)
    series = [
        Series(
            label + of_several,
            [_point(row, quantity, label, i, names[i]) for i, row in enumerate(rows)],
        )
        for quantity, label in _QUANTITIES.items()
    ]
    title = f"Gaps before and after matching, with {level} intervals, of every pair and matching."
    return Chart(title, _AXIS, "", series, categories=names, zero="x")


def _chart_of_models(row: pd.Series, gaps: pd.DataFrame, name: str, level: str) -> Chart:
    """Show gap and matched gap of models against accuracy; of a single one the parts of its gap."""
    models = [model for _, model in gaps.reset_index().iterrows()]
    if len(models) == 1:
        (model,) = models
        points = [
            _point(model, quantity, label, i, label)
            for i, (quantity, label) in enumerate(_PARTS.items())
        ]
        of_model = f"gap of {model['model']}, its parts and matched gap"
        title = f"{name}: {of_model}, with {level} intervals."
        parts = [Series(model["model"], points)]
        return Chart(title, _AXIS, "", parts, categories=list(_PARTS.values()), zero="x")
    series = [
        Series(
            label,
            [
                Point(
                    100 * model["accuracy_original"], 100 * model[quantity], model["model"],
                    _values(model),
                    y_bounds=bounds_in_percent(model, quantity),
                )
                for model in models
            ],
        )
        for quantity, label in _QUANTITIES.items()
    ]  # fmt: skip
    return Chart(
        f"{name}: gap and matched gap of {counted(len(models), 'model')} against accuracy, with "
        f"{level} intervals.",
        f"accuracy on {row['original']} (%)", "percentage points", series, zero="y",
    )  # fmt: skip


def _values(model: pd.Series) -> str:
    accuracy = percent(model["accuracy_original"], 2)
    lines = [f"{label}: {with_interval(model, name)}" for name, label in _QUANTITIES.items()]
    return "\n".join([f"accuracy on the original: {accuracy}", *lines])


def _model_table(gaps: Gaps) -> HtmlTable:
    """Lay out one row per pair and model, with the matched gaps of all matchings."""
    pairs, matchings = (list(dict.fromkeys(names)) for names in zip(*gaps, strict=True))
    rows = []
    for pair in pairs:
        order = ["accuracy_original", "model"]
        models = gaps[pair, matchings[0]].sort_values(order, ascending=[False, True])
        for name in models.index.tolist():
            model = models.loc[name]
            row = {"Model": name} | ({"Pair": pair} if len(pairs) > 1 else {})
            for origin in ("original", "replication"):
                row[f"Accuracy, {origin} (%)"] = f"{100 * model[f'accuracy_{origin}']:.2f}"
            row["Gap (points)"] = with_interval(model, "gap")
            for matching in matchings:
                found, title = gaps[pair, matching].loc[name], matching_label(matching)
                row[f"Matched gap, {title}"] = with_interval(found, "matched_gap")
                row[f"Unmatched, {title}"] = percent(found["fraction_unmatched"], 1)
            rows.append(row)
    columns = [
        TextColumn(head, [row[head] for row in rows], is_number=head not in ("Model", "Pair"))
        for head in rows[0]
    ]
    return HtmlTable("All models", tuple(columns))
