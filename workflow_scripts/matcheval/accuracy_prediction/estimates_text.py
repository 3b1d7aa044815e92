"""Estimated accuracies as text, for the terminal and for `print`."""

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from matcheval.accuracy_prediction.recommendation import Recommendation, recommend

_WIDTH = 100


def describe(base: str, rows: Sequence[Mapping[Any, Any]]) -> str:
    """Return a block of lines per target, with accuracies in percent."""
    first = rows[0]
    lines = [
        f"base {base}: {first['n_base']:,} datapoints, accuracy {_percent(first['accuracy_base'])}"
    ]
    advice = {one.target: one for one in recommend(rows)}
    width = max(len(row["title"]) + len(row["variant"]) for row in rows) + 3
    for target, of_target in groupby(rows, lambda row: row["target"]):
        lines += ["", *_advice(advice[target]), "", *_block(target, list(of_target), width)]
    lines += [
        "",
        "Errors in percentage points. Intervals are over datapoints; they do not hold the error of "
        "a method's assumption.",
        *_of_sets(rows),
        "",
    ]
    return "\n".join(lines)


def _of_sets(rows: Sequence[Mapping[Any, Any]]) -> Iterator[str]:
    """Say what intervals over sets to calibrate on are of, if there are any."""
    known = [row for row in rows if not math.isnan(row["sets_low"])]
    if known:
        n, n_groups = (max(row[name] for row in known) for name in ("n_fitted", "n_groups"))
        yield (
            f"Intervals over sets: jackknife+, of {n} sets to calibrate on in {n_groups} groups, "
            "approximate; they hold for sets exchangeable with these only."
        )


def _advice(one: Recommendation) -> list[str]:
    said = f"{one.strength}: {one.text} ({one.reason})"
    return [textwrap.fill(text, _WIDTH) for text in (said, f"next: {one.next_step}")]


def _block(target: str, rows: Sequence[Mapping[Any, Any]], width: int) -> Iterator[str]:
    accuracy = rows[0]["accuracy"]
    has_truth = not math.isnan(accuracy)
    truth = f"accuracy {_percent(accuracy)}" if has_truth else "no labels"
    yield f"{target}: {rows[0]['n']:,} datapoints, {truth}"
    error = f"{'error':>8}" if has_truth else ""
    has_sets = any(not math.isnan(row["sets_low"]) for row in rows)
    sets = f"{'90 %, over sets':>19}{'over groups':>19}" if has_sets else ""
    yield f"{'method'.ljust(width)}{'predicted':>9}{'95 % interval':>19}{sets}{error}"
    for row in rows:
        variant = f" ({row['variant']})" if row["variant"] else ""
        name = f"{row['title']}{variant}".ljust(width)
        if math.isnan(row["predicted"]):
            yield f"{name}      n/a   {row['reason']}"
            continue
        names = ("predicted", "sets", "groups") if has_sets else ("predicted",)
        interval = "".join(f"{_interval(row, name):>19}" for name in names)
        error = f"{100 * row['error']:>8.2f}" if has_truth else ""
        line = f"{name}{_percent(row['predicted']):>9}{interval}{error}"
        yield f"{line}   {row['reason']}".rstrip()


def _interval(row: Mapping[Any, Any], name: str) -> str:
    low, high = (_percent(row[f"{name}_{side}"]) for side in ("low", "high"))
    return "" if math.isnan(row[f"{name}_low"]) else f"{low[:-2]} – {high}"


def _percent(value: float) -> str:
    return f"{100 * value:.2f} %"
