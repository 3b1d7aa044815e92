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
        "",
    ]
    return "\n".join(lines)


def _advice(one: Recommendation) -> list[str]:
    said = f"{one.strength}: {one.text} ({one.reason})"
    return [textwrap.fill(text, _WIDTH) for text in (said, f"next: {one.next_step}")]


def _block(target: str, rows: Sequence[Mapping[Any, Any]], width: int) -> Iterator[str]:
    accuracy = rows[0]["accuracy"]
    has_truth = not math.isnan(accuracy)
    truth = f"accuracy {_percent(accuracy)}" if has_truth else "no labels"
    yield f"{target}: {rows[0]['n']:,} datapoints, {truth}"
    error = f"{'error':>8}" if has_truth else ""
    yield f"{'method'.ljust(width)}{'predicted':>9}{'95 % interval':>19}{error}"
    for row in rows:
        variant = f" ({row['variant']})" if row["variant"] else ""
        name = f"{row['title']}{variant}".ljust(width)
        if math.isnan(row["predicted"]):
            yield f"{name}      n/a   {row['reason']}"
            continue
        low, high = (_percent(row[f"predicted_{side}"]) for side in ("low", "high"))
        interval = "" if math.isnan(row["predicted_low"]) else f"{low[:-2]} – {high}"
        error = f"{100 * row['error']:>8.2f}" if has_truth else ""
        line = f"{name}{_percent(row['predicted']):>9}{interval:>19}{error}"
        yield f"{line}   {row['reason']}".rstrip()


def _percent(value: float) -> str:
    return f"{100 * value:.2f} %"
