"""A comparison as text for a terminal: of one model all numbers, of many a short overview."""

import pandas as pd

from matcheval.api.compared import Compared
from matcheval.api.describing import aligned, describe, design, notes_on, parts_of
from matcheval.figures.style import shortened
from matcheval.io.text_tables import counted
from matcheval.protocol.words import percent, points, with_interval

_MAX_SHOWN = 10  # models that are all shown
_N_FIRST = 5  # of more
_NAME_WIDTH = 30


def described(compared: Compared, where: str) -> str:
    """Format a comparison as text.

    Parameters
    ----------
    compared : Compared
    where : str
        Where the numbers of all models are.

    Returns
    -------
    str
        Lines, each ending with a newline; about as many for 300 models as for ten.
    """
    comparison, *others = compared.known.comparisons
    if others:
        text = _describe_many(compared, where)
    else:
        text = describe(comparison, compared.tables, compared.gaps.means, compared.title)
    return text + "".join(one.describe(where) for one in compared.analyses.values())


def _describe_many(compared: Compared, where: str) -> str:
    means, criteria = compared.gaps.means, list(compared.tables)
    row = means.iloc[0]
    lines = [
        compared.title,
        f"{row['n_original']:,} and {row['n_replication']:,} datapoints, source {row['source']}; "
        f"ε = {row['epsilon']:g}, {counted(row['n_seeds'], 'seed')}; gaps in percentage points",
        "",
        *aligned(_overview(compared)),
        "",
        f"Brackets: 95 % intervals for the sampling of the sets{design(row)}.",
        "",
        *parts_of(row),
    ]
    for criterion, (_, mean) in zip(criteria, means.iterrows(), strict=True):
        lines += notes_on(criterion, mean)
    return "\n".join([*lines, "", *aligned(_first_models(compared)), *_rest(compared, where), ""])


def _short(title: str) -> str:
    """Return what comes before the parentheses: `criterion 1`."""
    return title.partition(" (")[0]


def _overview(compared: Compared) -> list[tuple[str, ...]]:
    """Build rows of mean, lowest and highest value over the models."""
    accuracies = next(iter(compared.tables.values()))
    rows: list[tuple[str, ...]] = [("", "mean", "lowest", "highest", "narrower for")]
    for origin in ("original", "replication"):
        values = accuracies[f"accuracy_{origin}"]
        of_values = values.mean(), values.min(), values.max()
        rows.append((f"accuracy, {origin}", *(percent(value, 2) for value in of_values), ""))
    for _, mean in compared.gaps.means.iterrows():
        models = compared.gaps.models[mean["matching"]]
        if len(rows) == 3:
            rows.append(("gap", with_interval(mean, "gap"), *_range(models["gap"]), ""))
        name = f"matched gap, {_short(compared.titles[mean['matching']])}"
        narrower = f"{mean['n_narrower']} of {mean['n_models']}"
        bounds = _range(models["matched_gap"])
        rows.append((name, with_interval(mean, "matched_gap"), *bounds, narrower))
    return rows


def _range(values: "pd.Series[float]") -> tuple[str, str]:
    return points(values.min()), points(values.max())


def _first_models(compared: Compared) -> list[tuple[str, ...]]:
    """Build a row per model, by accuracy on the original, as far as they are shown."""
    matched = {
        _short(compared.titles[name]): table.set_index("model")["matched_gap"]
        for name, table in compared.gaps.models.items()
    }
    table = next(iter(compared.tables.values())).sort_values(
        ["accuracy_original", "model"], ascending=[False, True]
    )
    heads = (f"matched, {title}" for title in matched)
    rows: list[tuple[str, ...]] = [("model", "original", "replication", "gap", *heads)]
    for _, row in table.head(_n_shown(compared)).iterrows():
        rows.append(
            (
                shortened(row["model"], _NAME_WIDTH),
                percent(row["accuracy_original"], 2),
                percent(row["accuracy_replication"], 2),
                points(row["gap"]),
                *(points(gaps[row["model"]]) for gaps in matched.values()),
            )
        )
    return rows


def _n_shown(compared: Compared) -> int:
    n = len(compared.known.comparisons)
    return n if n <= _MAX_SHOWN else _N_FIRST


def _rest(compared: Compared, where: str) -> list[str]:
    """Say how many models are not shown, and where they are."""
    more = len(compared.known.comparisons) - _n_shown(compared)
    return [f"... and {more} more models, less accurate on the original: {where}"] if more else []
