"""Choose which prediction of an accuracy to rely on, if any, and say so, without target labels.

The choice depends on what each method needs and on how far the predictions agree.
docs/accuracy-prediction.md begins with the rules, and has the methods' errors in two studies.
"""

import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

from matcheval.accuracy_prediction.estimation import EXTRAPOLATED
from matcheval.accuracy_prediction.predicting import FLAGGED
from matcheval.errors import advice_for_caller
from matcheval.io.text_tables import aligned, supported_digits
from matcheval.statistics.claims import Strength

# Methods that need no further sets: the first is recommended, the others are its check; where there
# are no logits, which COTT needs, those that there are.
_WITHOUT = ("atc_mc", "cott", "ac_temperature")
_WITHOUT_LOGITS = ("atc_mc", "doc_feat", "ac_temperature", "atc_ne")
_COT = "cot_fitted"  # assumes that class frequencies are those of the sets it is fitted to
_WITH = (_COT, "nuclear_norm", "doc")  # regressions, the first that there is
_AGREE = 0.05  # most that the methods without further sets may differ
_ROUNDING = 1e-9
_HALF_WIDTH = 0.05  # of the interval that labels are recommended for
_WIDTH = 100  # of printed text


@dataclass(frozen=True)
class Recommendation:
    """Which prediction of the accuracy on a set without labels to rely on, if any.

    Attributes
    ----------
    target : str
        Name of the set.
    method : str
        The method to rely on; empty if there is none.
    predicted, low, high : float
        Its prediction with the 95 % interval over datapoints, fractions; NaN where there is none.
    strength : Strength
        `assumed` or `inconclusive`: no interval holds what an assumption may be wrong by.
    text, reason, next_step : str
        Sentences.
    """

    target: str
    method: str
    predicted: float
    low: float
    high: float
    strength: Strength
    text: str
    reason: str
    next_step: str


def recommend(rows: Sequence[Mapping[str, Any]]) -> list[Recommendation]:
    """Recommend a prediction for each target, from rows of `estimation.ESTIMATES` in its order."""
    return [
        _recommend(target, list(part)) for target, part in groupby(rows, lambda row: row["target"])
    ]


def _recommend(target: str, rows: Sequence[Mapping[str, Any]]) -> Recommendation:
    """Recommend one of the predictions for a target, or to label datapoints instead."""
    defined = {
        row["method"]: row for row in rows if not row["variant"] and math.isfinite(row["predicted"])
    }
    if rows[0]["accuracy_base"] in (0, 1):
        why = "all predictions on the base are right, or all wrong: they tell nothing of errors"
        return _recommend_labels(target, why, rows[0])
    calibrated = [name for name in _WITH if name in defined]
    checks = _WITHOUT if "cott" in defined else _WITHOUT_LOGITS
    plain = [name for name in checks if name in defined]
    if calibrated:
        row = defined[calibrated[0]]
        if row["reason"].startswith(FLAGGED):
            return _recommend_labels(target, "all sets to calibrate on have the same score", row)
        if row["reason"].startswith(EXTRAPOLATED):
            why = f"{row['title']} lies outside the sets to calibrate on, so that it extrapolates"
            return _recommend_labels(target, f"{why} to {_format_range([row['predicted']])}", row)
        also = ", and has their class frequencies" if row["method"] == _COT else ""
        why = f"assumes that it changed as did the {row['n_fitted']} sets to calibrate on{also}; "
        why += f"it lies between them. {_describe_set_interval(row)}"
        return _rely_on(target, row, why)
    if len(plain) < 2:
        return _recommend_labels(target, "no two methods have what they need", rows[0])
    predicted = [defined[name]["predicted"] for name in plain]
    shown, points = defined[plain[0]], f"{100 * _AGREE:g} points"
    if max(predicted) - min(predicted) > _AGREE + _ROUNDING:
        names = ", ".join(defined[name]["title"] for name in plain)
        why = f"{len(plain)} methods that need no further labelled sets ({names}) give"
        why += f" {_format_range(predicted)}"
        return _recommend_labels(target, f"{why}, more than {points} apart: not reliable", shown)
    why = "assumes that confidence means what it does on the base, which no labels have tested"
    why += f"; {len(plain)} methods that need no further labelled sets agree within {points}"
    return _rely_on(target, shown, f"{why}. The interval is of the sampling of images alone")


def _describe_set_interval(row: Mapping[str, Any]) -> str:
    """Return a sentence with the interval over calibration sets, or that these are too few."""
    low, high = row["groups_low"], row["groups_high"]
    if not high - low < 1:  # NaN, or all accuracies
        return "They are too few for an interval of sets"
    text = f"Of sets like these, 9 in 10 are about within [{100 * low:.1f}, {100 * high:.1f}] %"
    return f"{text} (jackknife+, {row['n_groups']} groups of sets)"


def _rely_on(target: str, row: Mapping[str, Any], reason: str) -> Recommendation:
    """Recommend the prediction of a row, with its interval and how labels would test it."""
    value, low, high = (row[f"predicted{end}"] for end in ("", "_low", "_high"))
    digits = supported_digits(100 * low, 100 * high) if math.isfinite(low) else 1
    bounds = f" [{100 * low:.{digits}f}, {100 * high:.{digits}f}]" if math.isfinite(low) else ""
    base = f"{100 * row['accuracy_base']:.{digits}f} % on the base"
    text = f"Accuracy on {target} is about {100 * value:.{digits}f} %{bounds} by {row['title']}"
    return Recommendation(
        target, row["method"], value, low, high, Strength.ASSUMED, f"{text}; {base}.", reason,
        advice_for_caller(
            f"Labels of {_format_label_count(row['n'])} random datapoints would test it "
            "(`matched-eval label-plan`)."
        ),
    )  # fmt: skip


def _recommend_labels(target: str, reason: str, row: Mapping[str, Any]) -> Recommendation:
    """Recommend to label random datapoints, for a reason why no prediction can be relied on."""
    return Recommendation(
        target, "", math.nan, math.nan, math.nan, Strength.OPEN,
        f"Without labels, accuracy on {target} cannot be estimated.", reason,
        advice_for_caller(
            f"Label {_format_label_count(row['n'])} random datapoints, for an interval of about "
            f"±{100 * _HALF_WIDTH:g} points (`matched-eval label-plan`)."
        ),
    )  # fmt: skip


def labels_for(half_width: float) -> int:
    """Return how many random labels give a 95 % interval of ± `half_width` at any accuracy."""
    return math.ceil(0.25 * (1.96 / half_width) ** 2)


def _format_label_count(n: int) -> str:
    """Format the number of labels to recommend for a set of n datapoints."""
    return f"{min(n, labels_for(_HALF_WIDTH)):,}"


def _format_range(values: Iterable[float]) -> str:
    """Format fractions as "lowest to highest %", or a single one as "value %"."""
    shown = [f"{100 * value:.0f}" for value in values]
    ends = (min(shown, key=float), max(shown, key=float)) if len(shown) > 1 else shown
    return f"{' to '.join(ends)} %"


# --- The text that commands print


def describe(base: str, rows: Sequence[Mapping[Any, Any]]) -> str:
    """Return the text for the terminal: recommendation and table of predictions per target."""
    first, advice_on = rows[0], {advice.target: advice for advice in recommend(rows)}
    accuracy = _format_percent(first["accuracy_base"])
    lines = [f"base {base}: {first['n_base']:,} datapoints, accuracy {accuracy}"]
    for target, target_rows in groupby(rows, lambda row: row["target"]):
        advice = advice_on[target]
        claim = f"{advice.strength}: {advice.text} ({advice.reason})"
        fill = partial(textwrap.fill, width=_WIDTH, break_on_hyphens=False)
        texts = [fill(claim), fill(f"next: {advice.next_step}")]
        lines += ["", *texts, "", *_target_lines(target, list(target_rows))]
    lines += [
        "",
        "Errors in percentage points. Intervals are over datapoints; they do not hold the error of "
        "a method's assumption.",
    ]
    if fitted := [row for row in rows if not math.isnan(row["sets_low"])]:
        n, n_groups = (max(row[name] for row in fitted) for name in ("n_fitted", "n_groups"))
        lines.append(
            f"Intervals over sets: jackknife+, of {n} sets to calibrate on in {n_groups} groups, "
            "approximate; they hold for sets exchangeable with these only."
        )
    return "\n".join([*lines, ""])


def _target_lines(target: str, rows: Sequence[Mapping[Any, Any]]) -> Iterator[str]:
    """Yield the lines of a target's table of predictions."""
    has_truth = not math.isnan(rows[0]["accuracy"])
    truth = f"accuracy {_format_percent(rows[0]['accuracy'])}" if has_truth else "no labels"
    yield f"{target}: {rows[0]['n']:,} datapoints, {truth}"
    heads = {"predicted": "95 % interval"}
    if any(not math.isnan(row["sets_low"]) for row in rows):
        heads |= {"sets": "90 %, over sets", "groups": "over groups"}
    cells = [("method", "predicted", *heads.values(), *["error"] * has_truth)]
    for row in rows:
        name = row["title"] + (f" ({row['variant']})" if row["variant"] else "")
        error = "" if math.isnan(row["error"]) else f"{100 * row['error']:.2f}"
        predicted = _format_percent(row["predicted"])
        intervals = (_format_interval(row, of) for of in heads)
        cells.append((name, predicted, *intervals, *[error] * has_truth))
    reasons = ["", *(row["reason"] for row in rows)]
    for line, reason in zip(aligned(cells), reasons, strict=True):
        yield f"{line}   {reason}".rstrip()


def _format_interval(row: Mapping[Any, Any], name: str) -> str:
    low, high = (_format_percent(row[f"{name}_{side}"]) for side in ("low", "high"))
    return "" if math.isnan(row[f"{name}_low"]) else f"{low[:-2]} – {high}"


def _format_percent(value: float) -> str:
    return "n/a" if math.isnan(value) else f"{100 * value:.2f} %"
