"""The tables of accuracy prediction for human readers."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from matcheval.accuracy_prediction.aggregation import ALL
from matcheval.accuracy_prediction.comparison import MEASURES
from matcheval.accuracy_prediction.published import Key
from matcheval.accuracy_prediction.scores.registry import AnyScore
from matcheval.accuracy_prediction.views import WHOLE
from matcheval.io.text_tables import TextColumn, signed

MAX_COLUMNS = 26  # with more, subgroups are left to the files for programs
DASH = "–"
_PROTOCOLS = {
    "direct": "no regression",
    "calibrated": "calibrated on",
    "leave_one_out": "leave one set out",
}
_REGRESSORS = {"mlp": " (MLP)", "mlp_raw": " (MLP of raw scores)"}
_ROW = ["protocol", "regressor", "calibrated_on", "method", "variant"]


def how(row: Mapping[Any, Any]) -> str:
    """Return how predictions were made, in words."""
    text = _PROTOCOLS[row["protocol"]]
    text += f" {row['calibrated_on'].replace('+', ', ')}" if row["calibrated_on"] else ""
    return text + _REGRESSORS.get(row["regressor"], "")


def titles(rows: pd.DataFrame, known: Mapping[str, AnyScore]) -> list[str]:
    """Return the names of methods for readers, with their variants."""
    names = [
        (known[f"{method}:{variant}" if variant else method].title, variant)
        for method, variant in zip(rows["method"], rows["variant"], strict=True)
    ]
    return [
        f"{title} ({variant.replace('_', ' ')})" if variant else title for title, variant in names
    ]


def error_columns(
    table: pd.DataFrame,
    known: Mapping[str, AnyScore],
    published: Mapping[Key, float] = MappingProxyType({}),
    paper: str = "",
) -> list[TextColumn]:
    """Format mean absolute errors: a row per method, a column per group of sets."""
    whole = table[table["view"] == WHOLE]
    places = whole[["group", "subgroup"]].drop_duplicates()
    if len(places) > MAX_COLUMNS:
        places = places[places["subgroup"] == ALL]
    keys = ["protocol", "regressor", "calibrated_on"]
    cells: dict[str, list[str]] = {"How": [], "Method": []}
    heads = {place: place_name(*place) for place in places.itertuples(index=False, name=None)}
    printed = {key[-1] for key in published}
    for (group, subgroup), head in heads.items():
        cells[head] = []
        if subgroup == ALL and group in printed:
            cells[f"{head}, {paper}"] = []
    cells |= {"95 % over sets": [], "95 % over subgroups": [], "Bias": [], "n/a": []}
    for case, block in whole.groupby(keys, sort=False):
        rows = block[["method", "variant"]].drop_duplicates()
        cells["How"] += [how(dict(zip(keys, case, strict=True)))] * (len(rows) + 1)
        cells["Method"] += [*titles(rows, known), "mean of methods"]
        for (group, subgroup), head in heads.items():
            column = block[(block["group"] == group) & (block["subgroup"] == subgroup)]
            merged = rows.merge(column, on=["method", "variant"], how="left")
            cells[head] += _marked(merged)
            if subgroup == ALL and group in printed:
                cells[f"{head}, {paper}"] += [*_published(rows, case, group, published), ""]
        total = rows.merge(
            block[(block["group"] == ALL) & (block["subgroup"] == ALL)], on=["method", "variant"]
        )
        for of in ("sets", "subgroups"):
            bounds = zip(total[f"mae_{of}_low"], total[f"mae_{of}_high"], strict=True)
            cells[f"95 % over {of}"] += [*(_interval(*pair) for pair in bounds), ""]
        cells["Bias"] += [*(_points(value) for value in total["bias"]), ""]
        cells["n/a"] += [*(str(n or "") for n in total["n_missing"]), ""]
    return [
        TextColumn(head, column, is_number=head not in ("How", "Method"))
        for head, column in cells.items()
    ]


def _published(
    rows: pd.DataFrame, case: Sequence[Any], group: str, published: Mapping[Key, float]
) -> list[str]:
    """Format what a paper prints; empty for variants and for other regressors than a line."""
    protocol, regressor, on = case
    values = [
        published.get((protocol, on, method, group))
        for method in rows["method"].where(
            (rows["variant"] == "") & (regressor not in _REGRESSORS), ""
        )
    ]
    return ["" if value is None else f"{100 * value:.2f}" for value in values]


def place_name(group: str, subgroup: str) -> str:
    """Return what readers call a column of sets."""
    if group == ALL:
        return "All (points)"
    name = group or "no group"
    return name if subgroup == ALL else f"{name}: {subgroup or 'no subgroup'}"


def _marked(column: pd.DataFrame) -> list[str]:
    """Format a column of errors, and their mean in the end."""
    values, n_sets = column["mae"].to_numpy(np.float64), column["n_sets"].to_numpy(np.float64)
    known = np.isfinite(values)
    full = known & (n_sets == np.max(n_sets[known], initial=0))
    texts = [f"{100 * value:.2f}" for value in values]
    finite = sorted({text for text, is_full in zip(texts, full, strict=True) if is_full}, key=float)
    marks = dict(zip(finite, ("**", "*"), strict=False)) if full.sum() > 2 else {}
    cells = [f"{text} (n = {n:g})" for text, n in zip(texts, n_sets, strict=True)]
    for row, is_known in enumerate(known):
        if full[row] or not is_known:
            cells[row] = texts[row] + marks.get(texts[row], "") if is_known else DASH
    return [*cells, f"{100 * values[full].mean():.2f}" if full.any() else DASH]


def _interval(low: float, high: float) -> str:
    return DASH if np.isnan(low) else f"[{100 * low:.2f}, {100 * high:.2f}]"


def _points(value: float) -> str:
    return DASH if np.isnan(value) else signed(100 * value, 2, plus=True)


def correlation_columns(
    table: pd.DataFrame, known: Mapping[str, AnyScore], uncounted: Sequence[str] = ()
) -> list[TextColumn]:
    """Format correlations of scores and accuracies: a row per method, means over models."""
    whole = table[(table["view"] == WHOLE) & ~table["model"].isin(uncounted)]
    every = whole[(whole["group"] == ALL) & (whole["subgroup"] == ALL)]
    rows = every[["method", "variant"]].drop_duplicates()
    columns = [TextColumn("Method", titles(rows, known), is_number=False)]
    kinds = ("spearman", "pearson", "kendall")
    for head, kind in zip(("Spearman ρ", "Pearson r", "Kendall τ-b"), kinds, strict=True):
        values = every.groupby(["method", "variant"], sort=False)[kind].agg(["mean", "min", "max"])
        cells = [
            DASH if np.isnan(mean) else f"{signed(mean, 2)} [{signed(low, 2)}, {signed(high, 2)}]"
            for mean, low, high in values.itertuples(index=False, name=None)
        ]
        columns.append(TextColumn(f"{head}, mean [lowest, highest] over models", cells))
    for group in dict.fromkeys(whole["group"]):
        part = whole[(whole["group"] == group) & (whole["subgroup"] == ALL)]
        if group != ALL and len(part):
            means = part.groupby(["method", "variant"], sort=False)["spearman"].mean()
            merged = [means.get((m, v), np.nan) for m, v in rows.itertuples(index=False, name=None)]
            cells = [DASH if np.isnan(value) else signed(value, 2) for value in merged]
            columns.append(TextColumn(f"ρ in {group or 'no group'}", cells))
    return columns


def comparison_columns(table: pd.DataFrame, known: Mapping[str, AnyScore]) -> list[TextColumn]:
    """Format how errors go with what the protocol says of a gap: a row per method."""
    rows = table[_ROW].drop_duplicates()
    columns = [
        TextColumn("How", [how(row) for row in rows.to_dict("records")], is_number=False),
        TextColumn("Method", titles(rows, known), is_number=False),
    ]
    for position, (measure, title) in enumerate(MEASURES.items()):
        part = rows.merge(table[table["measure"] == measure], on=_ROW, how="left")
        if position == 0:
            cells = [DASH if np.isnan(v) else f"{100 * v:.2f}" for v in part["mae"]]
            columns.append(TextColumn("Error (points)", cells))
        columns.append(TextColumn(f"ρ with {title}", _correlations(part, "with_error")))
        if measure != "confidence_part":  # given the gap, it says what the conditional part does
            cells = _correlations(part, "given_gap")
            columns.append(TextColumn(f"ρ with {title}, given the gap", cells))
    return columns


def _correlations(part: pd.DataFrame, name: str) -> list[str]:
    values = part[[name, f"{name}_low", f"{name}_high"]].itertuples(index=False, name=None)
    return [
        DASH if np.isnan(value) else f"{signed(value, 2)} [{signed(low, 2)}, {signed(high, 2)}]"
        for value, low, high in values
    ]


def setting_notes(settings: Mapping[str, Any], reasons: Sequence[str] = ()) -> list[str]:
    """Return sentences for below a table: the settings, and why values are n/a."""
    notes = ["Settings: " + "; ".join(f"{key} {value}" for key, value in settings.items()) + "."]
    for reason, count in pd.Series(list(reasons), dtype=object).value_counts().items():
        notes.append(f"n/a {count} times: {reason}.")
    return notes
