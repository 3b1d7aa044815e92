"""The page of an experiment: its findings in words, and its table."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from matcheval.analyses.retraining.tables import BASELINE, trial_columns
from matcheval.io.text_tables import accuracy_cells, markdown

_TITLES = {
    "half_of_new": "Half of the new set added to the training set",
    "cross_validation": "Folds of the training set as test sets",
    "discriminator": "Telling the two sets apart",
    "grid": "Other hyper-parameters",
}


def write_page(table: pd.DataFrame, original: str, replication: str) -> str:
    """Format the page of an experiment as Markdown: title, findings and table."""
    kind = table["kind"].iloc[0]
    parts = [f"# {_TITLES[kind]}: {table['experiment'].iloc[0]}\n"]
    for base, rows in table.groupby("base", sort=False):
        lines = _FINDINGS[kind](rows, original, replication)
        parts.append("\n".join([f"**{base}**", "", *(f"- {line}" for line in lines), ""]))
    return "\n".join([*parts, markdown(trial_columns(table))])


def _half_of_new(rows: pd.DataFrame, original: str, replication: str) -> list[str]:
    baselines = rows[rows["variant"] == BASELINE].set_index("test")
    lines = []
    for _, row in rows[rows["variant"] != BASELINE].iterrows():
        base = baselines.loc[row["test"]]
        where = original if row["test"] == original else f"the other half of {replication}"
        lines.append(
            f"{row['variant']}: {_percent(row)} % on {where}, {_percent(base)} % without "
            f"({_points(row['accuracy'] - base['accuracy'])}; n = {row['n']:,})"
        )
    return lines


def _cross_validation(rows: pd.DataFrame, original: str, replication: str) -> list[str]:
    folds = rows[rows["variant"] != BASELINE]["accuracy"]
    base = rows[rows["variant"] == BASELINE].set_index("test")["accuracy"]
    drop = base[original] - base[replication]
    return [
        f"{len(folds)} folds: {100 * folds.min():.1f} to {100 * folds.max():.1f} %, mean "
        f"{100 * folds.mean():.1f} %, standard deviation {100 * folds.std(ddof=1):.1f} points",
        f"{original} {100 * base[original]:.1f} %, {replication} {100 * base[replication]:.1f} %: "
        f"the drop of {100 * drop:.1f} points is {_times(drop, folds.max() - folds.min())} the "
        "folds' range",
    ]


def _discriminator(rows: pd.DataFrame, original: str, replication: str) -> list[str]:
    (row,) = (row for _, row in rows.iterrows())
    half = row["accuracy_low"] <= 0.5 <= row["accuracy_high"]
    verdict = (
        "contains 50 %: no difference found" if half else "does not contain 50 %: the sets differ"
    )
    (accuracy,) = accuracy_cells(rows, "")
    return [
        f"{accuracy} % of {row['n']:,} images are correctly attributed to {original} or "
        f"{replication}; the interval {verdict}"
    ]


def _grid(rows: pd.DataFrame, original: str, replication: str) -> list[str]:
    on_original, on_new = (
        dict(zip(chosen["model"], chosen["accuracy"].astype(float), strict=True))
        for chosen in (rows[rows["test"] == name] for name in (original, replication))
    )
    values = {row["model"]: json.loads(row["values"]) for _, row in rows.iterrows()}
    base = str(rows["base"].iloc[0])
    best, found = max(on_new, key=on_new.__getitem__), max(on_original, key=on_original.__getitem__)
    return [
        f"best on {replication}: {100 * on_new[best]:.1f} % ({_values_text(values[best])}), "
        f"{_points(on_new[best] - on_new[base])} relative to the baseline's "
        f"{100 * on_new[base]:.1f} %; chosen by its accuracy on this set, which is therefore too "
        "high",
        f"best on {original}: {_values_text(values[found])}, with {100 * on_new[found]:.1f} % on "
        f"{replication} ({_points(on_new[found] - on_new[base])} relative to the baseline)",
        *_borders(values, best),
    ]


def _borders(values: Mapping[str, Mapping[str, Any]], best: str) -> list[str]:
    """Name the best values that lie at the border of the grid."""
    at_border = []
    for key, value in values[best].items():
        tried = sorted({v[key] for v in values.values()})
        if isinstance(value, str) or len(tried) < 3:
            continue
        if value in (tried[0], tried[-1]):
            at_border.append(f"{key} {value}")
    if not at_border:
        return []
    return [f"at the border of the grid, so that the best may lie beyond: {', '.join(at_border)}"]


def _values_text(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items())


def _percent(row: "pd.Series[Any]") -> str:
    return accuracy_cells(pd.DataFrame([row]), "")[0]


def _points(difference: float) -> str:
    return f"{100 * difference:+.1f} points".replace("-", "−")


def _times(drop: float, spread: float) -> str:
    return f"{drop / spread:.1f} times" if spread > 0 else "against no spread of"


_FINDINGS: dict[str, Callable[[pd.DataFrame, str, str], list[str]]] = {
    "half_of_new": _half_of_new,
    "cross_validation": _cross_validation,
    "discriminator": _discriminator,
    "grid": _grid,
}
