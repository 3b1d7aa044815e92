"""What a comparison of two sets shows: claims, how strong they are, and what to do next.

Three questions are answered: whether accuracy differs, whether confidence warns of it, and whether
a difference is left at equal confidence. Terminal, JSON, Python, summary and report take their
words from here; docs/protocol.md has the rules, and how often they err.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from matcheval.io.text_tables import signed, supported_digits
from matcheval.protocol.comparisons import MANY_UNMATCHED, suspicions_in
from matcheval.protocol.schemas import GAPS, MEAN_GAPS, MODEL_TABLE
from matcheval.protocol.settings import MARGIN
from matcheval.statistics.claims import FEW_GROUPS, Evidence, Strength
from matcheval.statistics.intervals import LEVEL

if TYPE_CHECKING:
    import pandas as pd

Question = Literal["accuracy", "confidence", "left"]
Finding = Literal["loss", "gain", "small", "mixed", "open"]
_ORIGINS = ("original", "replication")
_FEW_EVENTS = 5
_QUESTIONS: tuple[Question, ...] = ("accuracy", "confidence", "left")


@dataclass(frozen=True)
class Claim:
    """An answer to one question.

    Attributes
    ----------
    question : str
        `accuracy`: does it differ? `confidence`: does confidence warn of it? `left`: is a
        difference left at equal confidence?
    finding : str
        `loss`, `gain`, `small` (below the margin), `mixed` (models differ in sign) or `open`.
    text : str
        A sentence.
    value, low, high : float
        Estimate and its interval, fractions; NaN where there are none.
    strength : Strength
        `established`, `suggested` or `cannot be told`.
    reason : str
        What the strength rests on.
    """

    question: Question
    finding: Finding
    text: str
    value: float
    low: float
    high: float
    strength: Strength
    reason: str


@dataclass(frozen=True)
class Counts:
    """How many of several models differ on the two sets, by Holm's correction over a report."""

    lost: int
    gained: int
    n: int

    @property
    def text(self) -> str:
        """Such as `3 of 20 models lose, and 1 gains, more than chance explains`."""
        lose = f"{self.lost} of {self.n} models {'loses' if self.lost == 1 else 'lose'}"
        gain = f", and {self.gained} {'gains' if self.gained == 1 else 'gain'}," * bool(self.gained)
        return f"{lose}{gain} more than chance explains"


@dataclass(frozen=True)
class Verdict:
    """What a comparison of a pair shows.

    Attributes
    ----------
    pair : str
    claims : tuple of Claim
        On `accuracy`, `confidence` and what is `left`.
    next_step : str
        What to do now, a sentence.
    models : Counts or None
        Of several models, how many lose and gain accuracy.
    """

    pair: str
    claims: tuple[Claim, ...]
    next_step: str
    models: Counts | None = None

    def __str__(self) -> str:
        """Return a line per claim, with its strength and what that rests on."""
        lines = [f"{one.strength}: {one.text} ({one.reason})" for one in self.claims]
        return "\n".join([*lines, f"next: {self.next_step}"])


@dataclass(frozen=True)
class _Scale:
    """By what the claims of a report are judged."""

    margin: float
    level: float  # of single intervals
    joint: float  # of all intervals together
    n_claims: int


def verdicts(
    means: "Iterable[pd.Series]",
    models: "Mapping[tuple[str, str], pd.DataFrame]",
    *,
    margin: float = MARGIN,
    level: float = LEVEL,
) -> list[Verdict]:
    """Judge all pairs of a report together, each by its first matching.

    Parameters
    ----------
    means : iterable of Series
        Rows of `schemas.MEAN_GAPS`; of each pair, the first is judged.
    models : mapping of (str, str) to DataFrame
        By pair and matching, rows of `schemas.GAPS` with `accuracy_original` and
        `accuracy_replication`, the models' names as index.
    margin : float
        Differences below it do not matter; a fraction.
    level : float
        Of the intervals. 1 minus it bounds the share of reports with a wrong established claim.
    """
    rows = dict[str, Any]()
    for row in means:
        rows.setdefault(row["pair"], row)
    tables = {name: models[name, row["matching"]] for name, row in rows.items()}
    several = {name: table for name, table in tables.items() if len(table) > 1}
    # Half of the errors that are allowed are for the counts of models, if there are several.
    joint = 1 - (1 - level) / (2 if several else 1)
    scale = _Scale(margin, level, joint, len(_QUESTIONS) * len(rows))
    counted: tuple[Question, ...] = ("accuracy", "left")
    counts = {question: _counts(several, question, scale) for question in counted}
    of_pairs = {name: {q: found.get(name) for q, found in counts.items()} for name in rows}
    return [_Judge(row, tables[name], scale, of_pairs[name]).verdict for name, row in rows.items()]


def with_accuracies(gaps: "pd.DataFrame", results: "pd.DataFrame") -> "pd.DataFrame":
    """Put rows of `schemas.GAPS` and the accuracies of `MODEL_TABLE` together, by model."""
    accuracies = results.set_index("model")[["accuracy_original", "accuracy_replication"]]
    return gaps.set_index("model").join(accuracies)


@dataclass(frozen=True)
class Judged:
    """Tables of a study's gaps, and what they show."""

    means: "pd.DataFrame"
    gaps: "Mapping[tuple[str, str], pd.DataFrame]"  # by pair and matching, with accuracies
    verdicts: list[Verdict]
    suspicions: list[tuple[str, str]]

    @classmethod
    def read(
        cls, data: Mapping[str, Sequence[str | Path]], places: Sequence[tuple[str, str]],
        margin: float, level: float,
    ) -> "Judged":  # fmt: skip
        """Read the files `means` of pairs, and `tables` and `gaps` of pairs and matchings."""
        import pandas as pd

        means = pd.concat([MEAN_GAPS.read(p).to_pandas() for p in data["means"]], ignore_index=True)
        tables = [MODEL_TABLE.read(path) for path in data["tables"]]
        gaps = {
            (pair, name): with_accuracies(GAPS.read(path).to_pandas(), table.to_pandas())
            for (pair, name), path, table in zip(places, data["gaps"], tables, strict=True)
        }
        rows = (row for _, row in means.iterrows())
        judged = verdicts(rows, gaps, margin=margin, level=level)
        return cls(means, gaps, judged, suspicions_in(tables))


def _evidence(row: "pd.Series", question: Question, level: float) -> list[Evidence]:
    """Return the estimates that all have to support a claim; the first is shown.

    Of what is left, these are the matched gap, which a shift of confidence within ε biases, and the
    part at equal confidence, which bins bias: neither alone establishes it.
    """
    n_groups = int(row["n_groups"])

    def resampled(name: str, bias: float = 0.0) -> Evidence:
        bounds = row[f"{name}_low"], row[f"{name}_high"]
        return Evidence.of_interval(row[name], *bounds, level, bias=bias, n_groups=n_groups)

    if question == "accuracy":
        return [resampled("gap")]
    if question == "confidence":
        return [resampled("confidence_part", row["binning_bound"])]
    bounds = row["matched_gap_low"], row["matched_gap_high"]
    matched = Evidence(row["matched_gap"], *bounds, row["matched_gap_se"], n_groups=n_groups)
    return [matched, resampled("conditional_part", row["binning_bound"])]


def clear_models(
    tables: "Mapping[Any, pd.DataFrame]", question: Question, level: float, of_bounds: float = LEVEL
) -> "dict[Any, dict[str, bool]]":
    """Name the models that differ beyond chance, by Holm's correction over all tables.

    Parameters
    ----------
    tables : mapping to DataFrame
        Rows of `schemas.GAPS`, the models' names as index.
    question : str
        `accuracy` or `left`.
    level : float
        1 minus it bounds the probability that any model is named wrongly.
    of_bounds : float
        Level of the intervals in the tables.

    Returns
    -------
    dict of dict of str to bool
        By table and model, whether it is less accurate on the replication.
    """
    from matcheval.statistics.significance import holm

    places, lost, p = list[tuple[Any, str]](), list[bool](), list[float]()
    for place, table in tables.items():
        for model, row in table.iterrows():
            found = _evidence(row, question, of_bounds)
            places.append((place, str(model)))
            lost.append(bool(found[0].value > 0))
            agree = len({one.value > 0 for one in found}) == 1
            p.append(float(np.max([one.p_value() for one in found])) if agree else 1.0)
    clear: dict[Any, dict[str, bool]] = {place: {} for place in tables}
    for (place, model), is_lost, adjusted in zip(places, lost, holm(p), strict=True):
        if adjusted < 1 - level:
            clear[place][model] = is_lost
    return clear


def _counts(
    tables: "Mapping[str, pd.DataFrame]", question: Question, scale: _Scale
) -> dict[str, Counts]:  # fmt: skip
    """Count the models of each pair that differ; the two questions share the errors."""
    clear = clear_models(tables, question, 1 - (1 - scale.joint) / 2, scale.level)
    return {
        name: Counts(sum(found.values()), len(found) - sum(found.values()), len(tables[name]))
        for name, found in clear.items()
    }


class _Judge:
    """The judgement of one pair."""

    def __init__(
        self, row: "pd.Series", models: "pd.DataFrame", scale: _Scale,
        counts: Mapping[Question, Counts | None],
    ) -> None:  # fmt: skip
        self.row, self.models, self.scale, self.counts = row, models, scale, counts
        self.evidence = {q: _evidence(row, q, scale.level) for q in _QUESTIONS}
        found = {q: self._found(q) for q in _QUESTIONS}
        self.finding = {q: one[0] for q, one in found.items()}
        self.strength = {q: one[1] for q, one in found.items()}
        self.replication = row["replication"]

    @property
    def verdict(self) -> Verdict:
        """All claims, and what to do."""
        texts = {"accuracy": self._accuracy, "confidence": self._confidence, "left": self._left}
        claims = tuple(self._claim(q, texts[q]()) for q in _QUESTIONS)
        counts = self.counts.get("accuracy")
        return Verdict(self.row["pair"], claims, self._next_step(), counts)

    def _found(self, question: Question) -> tuple[Finding, Strength]:
        """Return what all estimates for a question say, as strongly as the weakest of them."""
        found, scale = self.evidence[question], self.scale
        counts = self.counts.get(question)
        if counts and counts.lost and counts.gained:
            return "mixed", Strength.ESTABLISHED
        differ = _weakest(one.differs(scale.joint, scale.n_claims) for one in found)
        small = _weakest(one.is_below(scale.margin, scale.joint, scale.n_claims) for one in found)
        signs = {one.value > 0 for one in found}
        if differ is not Strength.OPEN and len(signs) == 1:
            return ("loss" if signs.pop() else "gain"), self._capped(question, differ)
        if small is not Strength.OPEN:
            return "small", self._capped(question, small)
        return "open", Strength.OPEN

    def _capped(self, question: Question, strength: Strength) -> Strength:
        """Nothing is established of the matched minority of a set, or from a few errors."""
        is_minority = question == "left" and self._mostly_unmatched
        is_capped = is_minority or self._few_events
        return _weakest([strength, Strength.SUGGESTED]) if is_capped else strength

    @property
    def _few_events(self) -> bool:
        """Whether resamples know too little: of nearly all predictions being right, or wrong."""
        shares = (self.models[f"accuracy_{origin}"].mean() for origin in _ORIGINS)
        sizes = (self.row[f"n_{origin}"] for origin in _ORIGINS)
        return any(n * min(a, 1 - a) < _FEW_EVENTS for n, a in zip(sizes, shares, strict=True))

    @property
    def _mostly_unmatched(self) -> bool:
        return bool(self.row["fraction_unmatched"] > MANY_UNMATCHED)

    def _claim(self, question: Question, text: str) -> Claim:
        shown = self.evidence[question][0]
        finding, strength = self.finding[question], self.strength[question]
        reason = self._reason(question, strength)
        if finding == "mixed" and (counts := self.counts[question]):
            at = "" if question == "accuracy" else " where confidence is equal"
            points = self._points(question)
            text = f"The models disagree{at}: {counts.text}. Their mean of {points} says little."
            reason = "Holm's correction over all models of this report"
        return Claim(
            question, finding, text, shown.value, shown.low, shown.high, strength, reason
        )  # fmt: skip

    def _reason(self, question: Question, strength: Strength) -> str:
        shown, n = self.evidence[question][0], self.scale.n_claims
        if not shown.is_defined:
            kinds = ("no standard error:",) if question != "left" else ("no standard", "no matched")
            told = [one for one in self.row["remarks"].split("; ") if one.startswith(kinds)]
            return "; ".join(told) or "its standard error is unknown"
        if strength is Strength.ESTABLISHED:
            return f"holds for all {n} claims of this report together"
        if strength is Strength.OPEN:
            least = self._rounded(shown.detectable, question)
            return f"{least} points would show in eight of ten pairs of sets of this size"
        if shown.has_few_groups:
            return f"rests on {shown.n_groups} groups of datapoints"
        if question == "left" and self._mostly_unmatched:
            return "most targets are unmatched"
        if self._few_events:
            return (
                f"rests on fewer than {_FEW_EVENTS} predictions that are right, or wrong, on a set"
            )
        return f"holds by itself, but not for all {n} claims of this report together"

    def _digits(self, question: Question) -> int:
        shown = self.evidence[question][0]
        return supported_digits(100 * shown.low, 100 * shown.high)

    def _rounded(self, value: float, question: Question) -> str:
        return signed(100 * value, self._digits(question))

    def _points(self, question: Question, *, unsigned: bool = False) -> str:
        """Format an estimate in points with its interval; with the sign left to the words."""
        shown = self.evidence[question][0]
        sign = -1 if unsigned and shown.value < 0 else 1
        value = f"{self._rounded(sign * shown.value, question)} points"
        if not shown.is_defined:
            return value
        low, high = sorted((sign * shown.low, sign * shown.high))
        return f"{value} [{self._rounded(low, question)}, {self._rounded(high, question)}]"

    @property
    def _accuracies(self) -> str:
        digits = max(1, self._digits("accuracy"))
        means = (self.models[f"accuracy_{origin}"].mean() for origin in _ORIGINS)
        return " → ".join(signed(100 * mean, digits) for mean in means) + " %"

    @property
    def _margin(self) -> str:
        value = f"{100 * self.scale.margin:g}"
        return f"{value} point{'s' * (value != '1')}"

    def _accuracy(self) -> str:
        finding, n = self.finding["accuracy"], len(self.models)
        one = self.evidence["accuracy"][0]
        least = f"a loss of {self._rounded(one.detectable, 'accuracy')} points"
        if finding == "small":
            return (
                f"No measurable loss: accuracy differs by {self._points('accuracy')}, less than "
                f"{self._margin} ({self._accuracies}); {least} would have shown."
            )
        if finding == "open":
            known = f"; {least} or more would have shown" * one.is_defined
            return (
                f"Whether accuracy differs cannot be told: {self._points('accuracy')} "
                f"({self._accuracies}){known}."
            )
        verb, subject = ("lose" if one.value > 0 else "gain"), "The model"
        if n > 1:
            subject = f"On average, the {n} models"
        if self.strength["accuracy"] is Strength.SUGGESTED:
            verb = f"seem to {verb}" if n > 1 else f"seems to {verb}"
        elif n == 1:
            verb += "s"
        points, counts = self._points("accuracy", unsigned=True), self.counts.get("accuracy")
        also = f"; {counts.text}" if counts and (counts.lost or counts.gained) else ""
        where = f"of accuracy on {self.replication} ({self._accuracies})"
        return f"{subject} {verb} {points} {where}{also}."

    def _confidence(self) -> str:
        finding, points = self.finding["confidence"], self._points("confidence")
        seems = self.strength["confidence"] is Strength.SUGGESTED
        is_lost = self.finding["accuracy"] == "loss"
        if finding == "open":
            what = "part of this loss" if is_lost else "a change"
            return f"Whether confidence warns of {what} cannot be told: {points} go with it."
        if finding == "small":
            return f"Confidence warns of no change: {points} go with it, less than {self._margin}."
        if finding == "loss" and is_lost:
            warns = "seems to warn" if seems else "warns"
            return f"Lower confidence {warns} of {points} of this loss."
        lower, fallen = ("lower", "fallen") if finding == "loss" else ("higher", "risen")
        points = self._points("confidence", unsigned=True)
        return (
            f"Confidence {'seems' if seems else 'is'} {lower} on {self.replication}: by that "
            f"alone, accuracy would have {fallen} by {points}."
        )

    def _left(self) -> str:
        matched, without = self.evidence["left"]
        finding, points = self.finding["left"], f"the matched gap is {self._points('left')}"
        if not math.isfinite(matched.value):
            return "What is left where confidence is equal is unknown: no target was matched."
        if finding == "small":
            less = f"less than {self._margin}"
            return f"Where confidence is equal, hardly any is left: {points}, {less}."
        if finding in ("loss", "gain"):
            lower = "lower" if finding == "loss" else "higher"
            is_ = "seems" if self.strength["left"] is Strength.SUGGESTED else "is"
            where = f"{lower} on {self.replication}"
            return f"Where confidence is equal, accuracy {is_} {where}: {points}."
        text = "Whether a difference is left where confidence is equal cannot be told"
        if not matched.is_defined:
            return f"{text}: {points}."
        held = [one.low <= 0 <= one.high for one in (matched, without)]
        if held == [True, True]:
            is_loss = self.evidence["accuracy"][0].value > 0
            end, digits = matched.high if is_loss else -matched.low, self._digits("left")
            most = signed(math.ceil(100 * end * 10**digits) / 10**digits, digits)
            return f"{text}: it could be 0, and is at most {most} points; {points}."
        value, *ends = (
            self._rounded(one, "left") for one in (without.value, without.low, without.high)
        )
        other = f"without matching it is {value} [{', '.join(ends)}]"
        both = "both could be biased" if held == [False, False] else "one of which could be 0"
        return f"{text}: {points}, {other}, {both}."

    def _next_step(self) -> str:
        row, gap, finding = self.row, self.evidence["accuracy"][0], self.finding
        if gap.has_few_groups:
            return (
                f"Test on more groups (writers, patients, places): from {gap.n_groups}, however "
                f"many datapoints they have, nothing can be established; from {FEW_GROUPS}, it can."
            )
        if not gap.is_defined:
            return "Give sets from which an error can be told, of more datapoints or groups."
        if finding["accuracy"] == "open":
            times = (gap.detectable / self.scale.margin) ** 2
            return (
                f"Label more datapoints: a loss of {self._margin} shows in eight of ten pairs of "
                f"sets that are {times:.{0 if times > 10 else 1}f} times as large."
            )
        if finding["accuracy"] == "small":
            return "For accuracy, the two sets can stand for each other."
        if finding["accuracy"] == "gain":
            return (
                "Look whether the new set is easier, or whether its images were trained on "
                "(`matched-eval duplicates`)."
            )
        if row["fraction_unmatched"] == 1:
            return "Look at the confidences: those of the two sets do not overlap."
        if self._mostly_unmatched:
            larger = max(_ORIGINS, key=lambda origin: row[f"n_{origin}"])
            if row["source"] != row[larger]:
                return f"Seek matches in the larger set: make {row[larger]} the source."
            return "Look at matching on confidence alone, which leaves fewer targets out."
        if finding["left"] in ("loss", "mixed"):
            return (
                "Confidence does not warn of it all: see which classes lose most (`class_gaps`), "
                "and which images are wrong with high confidence."
            )
        if finding["left"] == "open":
            return "Label more datapoints of the smaller set to tell what is left."
        return (
            "Watch the mean confidence on new data: it falls with accuracy "
            "(`matched-eval predict-accuracy` estimates how far)."
        )


def _weakest(strengths: Iterable[Strength]) -> Strength:
    return min(strengths, key=[*Strength][::-1].index)
