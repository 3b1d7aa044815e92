"""What the estimates for a pair say on each question of a verdict, and how strongly."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from matcheval.names import ORIGINS
from matcheval.protocol.comparisons import MANY_UNMATCHED
from matcheval.protocol.decomposition import N_BINS
from matcheval.statistics.claims import Evidence, Strength
from matcheval.statistics.intervals import LEVEL, normal_factor

if TYPE_CHECKING:
    import pandas as pd

Question = Literal["accuracy", "calibration", "confidence", "left"]
Finding = Literal["loss", "gain", "overconfident", "underconfident", "small", "mixed", "open"]
_ENDS = ("_low", "_high", "_se")
FEW_EVENTS = 5
_MINORITY = 0.2  # of models, which the mean calibration may leave out
ALL_OF_A_LOSS = 0.9  # from which confidence is said to explain all of it
QUESTIONS: tuple[Question, ...] = ("accuracy", "calibration", "confidence", "left")
COUNTED: tuple[Question, ...] = ("accuracy", "calibration", "left")


@dataclass(frozen=True)
class Counts:
    """Names of those of `n` models that differ on the two sets, by Holm's correction."""

    lost: tuple[str, ...]
    gained: tuple[str, ...]
    n: int

    def are_mixed(self, least: float) -> bool:
        """Whether models differ in sign, and both signs have a least share of those that differ."""
        fewer = min(len(self.lost), len(self.gained))
        return fewer > least * (len(self.lost) + len(self.gained))


@dataclass(frozen=True)
class Scale:
    """By what the claims of a report are judged."""

    margin: float
    level: float  # of single intervals
    joint: float  # of all intervals together
    n_claims: int


_SIGNS: Mapping[Question, tuple[Finding, Finding]] = {
    "calibration": ("overconfident", "underconfident")
}
# Quantities that have a standard error of their own.
_MEASURED: Mapping[Question, str] = {
    "calibration": "overconfidence_replication", "confidence": "confidence_fall",
    "left": "matched_gap",
}  # fmt: skip


def evidence_on(row: "pd.Series", question: Question, level: float) -> list[Evidence]:
    """Return the estimates that all have to support a claim; the first is shown.

    Of what is left, these are the matched gap, which a shift of confidence within ε biases, and the
    part at equal confidence, which bins bias: neither alone establishes it. What confidence
    explains needs a fall of its mean, too: confident errors also move the part.
    """
    # Means of a few groups are skewed, which those of the other set balance if it has groups, too.
    n_groups = int(row["n_groups"]) // (2 if row.get("groups_in_one") else 1)

    def resampled(name: str, bias: float = 0.0) -> Evidence:
        bounds = row[f"{name}_low"], row[f"{name}_high"]
        return Evidence.of_interval(row[name], *bounds, level, bias=bias, n_groups=n_groups)

    if question == "accuracy":
        return [resampled("gap")]
    other = measured(row, _MEASURED[question], n_groups)
    if question == "calibration":
        return [other]
    if question == "confidence":
        return [resampled("confidence_part", row["binning_bound"]), other]
    return [other, resampled("conditional_part", row["binning_bound"])]


def measured(row: "pd.Series", name: str, n_groups: int = 0) -> Evidence:
    """Return a quantity that has a standard error in its row; NaN if the row lacks it."""
    value, low, high, se = (row.get(f"{name}{end}", math.nan) for end in ("", *_ENDS))
    return Evidence(value, low, high, se, n_groups=n_groups)


def _few_events(row: "pd.Series") -> bool:
    """Whether resamples know too little: of nearly all predictions being right, or wrong."""
    sets = ((row[f"n_{o}"], row[f"accuracy_{o}"]) for o in ORIGINS)
    return any(n * min(a, 1 - a) < FEW_EVENTS for n, a in sets)


def _p_value(row: "pd.Series", question: Question, level: float) -> float:
    """Return the p-value of no difference of a model: exact for accuracies on independent images.

    It is 1 where the estimates differ in sign, or are of a few errors.
    """
    evidence = evidence_on(row, question, level)
    if question == "accuracy" and not row["n_groups"] and not row["paired"]:
        from matcheval.statistics.intervals import fisher

        sets = ((row[f"n_{o}"], row[f"accuracy_{o}"]) for o in ORIGINS)
        return fisher(*(int(one) for n, a in sets for one in (round(n * a), n)))
    if len({one.value > 0 for one in evidence}) > 1 or _few_events(row):
        return 1.0
    return float(np.max([one.p_value() for one in evidence]))


def clear_models(
    tables: "Mapping[Any, pd.DataFrame]", question: Question, level: float, of_bounds: float = LEVEL
) -> "dict[Any, dict[str, bool]]":
    """Name the models that differ beyond chance, and whether each loses or is overconfident.

    By Holm's correction over all tables, the probability that any is named wrongly is below
    1 - level; `of_bounds` is the level of the intervals in the tables.
    """
    from matcheval.statistics.intervals import holm

    places, lost, p = list[tuple[Any, str]](), list[bool](), list[float]()
    for place, table in tables.items():
        for model, row in table.iterrows():
            places.append((place, str(model)))
            lost.append(bool(evidence_on(row, question, of_bounds)[0].value > 0))
            p.append(_p_value(row, question, of_bounds))
    clear: dict[Any, dict[str, bool]] = {place: {} for place in tables}
    for (place, model), is_lost, adjusted in zip(places, lost, holm(p), strict=True):
        if adjusted < 1 - level:
            clear[place][model] = is_lost
    return clear


def count_models(
    tables: "Mapping[str, pd.DataFrame]", question: Question, scale: Scale
) -> dict[str, Counts]:  # fmt: skip
    """Count the models of each pair that differ; the questions share the errors."""
    of_one = 1 - (1 - scale.joint) / len(COUNTED)
    clear = clear_models(tables, question, of_one, scale.level)
    return {
        name: Counts(
            tuple(model for model, is_lost in models.items() if is_lost),
            tuple(model for model, is_lost in models.items() if not is_lost),
            len(tables[name]),
        )
        for name, models in clear.items()
    }


class Judgement:
    """What the estimates for one pair say on each question, and how strongly.

    Of the estimates for a question (`evidence`), the first is shown.
    """

    def __init__(
        self, row: "pd.Series", models: "pd.DataFrame", scale: Scale,
        counts: Mapping[Question, Counts | None],
    ) -> None:  # fmt: skip
        self.row, self.models, self.scale, self.counts = row, models, scale, counts
        self.evidence = {q: evidence_on(row, q, scale.level) for q in QUESTIONS}
        self.mean = row.copy()
        for name in ("accuracy_original", "accuracy_replication"):
            self.mean[name] = models[name].mean()
        is_one_sided = all(self.mean[f"accuracy_{origin}"] in (0, 1) for origin in ORIGINS)
        if self._is_exact and is_one_sided:
            self.evidence["accuracy"] = [self._of_one_sided()]
        judged = {q: self._judge(q) for q in QUESTIONS}
        self.finding = {q: finding for q, (finding, _) in judged.items()}
        self.strength = {q: strength for q, (_, strength) in judged.items()}

    def _judge(self, question: Question) -> tuple[Finding, Strength]:
        """Return what all estimates for a question say, as strongly as the weakest of them."""
        evidence, scale = self.evidence[question], self.scale
        counts = self.counts.get(question)
        if counts and counts.are_mixed(_MINORITY if question == "calibration" else 0):
            return "mixed", self._capped(question, Strength.ESTABLISHED)
        differ = _weakest(estimate.differs(scale.joint, scale.n_claims) for estimate in evidence)
        # The fall of confidence is of another scale.
        sized = evidence[:1] if question == "confidence" else evidence
        small = _weakest(
            estimate.is_below(scale.margin, scale.joint, scale.n_claims) for estimate in sized
        )
        signs = {estimate.value > 0 for estimate in evidence}
        is_small_first = question == "calibration" and small is not Strength.OPEN
        if differ is not Strength.OPEN and len(signs) == 1 and not is_small_first:
            above, below = _SIGNS.get(question, ("loss", "gain"))
            return (above if signs.pop() else below), self._capped(question, differ)
        if small is not Strength.OPEN:
            return "small", self._capped(question, small)
        return "open", Strength.OPEN

    def _capped(self, question: Question, strength: Strength) -> Strength:
        """Cap the strength at suggested if only some images or models count, or errors are few."""
        is_part = question == "left" and (self.is_mostly_unmatched or self.n_left_out > 0)
        is_capped = is_part or self.has_few_events(question)
        return _weakest([strength, Strength.SUGGESTED]) if is_capped else strength

    def has_few_events(self, question: Question) -> bool:
        """Whether nearly all predictions are right, or wrong, and no exact test shows more."""
        return _few_events(self.mean) and not self._is_clear(question)

    @property
    def _is_exact(self) -> bool:
        """Whether counts alone say what is known: of one model on independent images."""
        return len(self.models) == 1 and not self.row["n_groups"] and not self.row["paired"]

    def _is_clear(self, question: Question) -> bool:
        """Whether accuracies differ by the exact test, which few errors do not mislead."""
        if question != "accuracy" or not self._is_exact:
            return False
        allowed = (1 - self.scale.joint) / self.scale.n_claims
        return _p_value(self.mean, question, self.scale.level) < allowed

    def _of_one_sided(self) -> Evidence:
        """Return the difference of sets that are all right or all wrong, by exact intervals."""
        value, tail = self.row["gap"], (1 - self.scale.level) / 2
        half = math.hypot(*(1 - tail ** (1 / self.row[f"n_{o}"]) for o in ORIGINS))
        ends = max(-1.0, value - half), min(1.0, value + half)
        return Evidence(value, *ends, half / normal_factor(self.scale.level))

    @property
    def n_left_out(self) -> int:
        """Number of models without a match."""
        return int(self.row.get("n_left_out", 0))

    @property
    def is_mostly_unmatched(self) -> bool:
        """Whether matched gaps are of a minority of the targets."""
        return bool(self.row["fraction_unmatched"] > MANY_UNMATCHED)

    def is_hidden(self, question: Question) -> bool:
        """Whether a part excludes 0 but for what it may be off."""
        part = self.evidence[question][question == "left"]
        includes_zero = part.low - part.bias <= 0 <= part.high + part.bias
        return includes_zero and not part.low <= 0 <= part.high

    @property
    def is_tied(self) -> bool:
        """Whether too many confidences are equal to know what changes with them."""
        return bool(self.row.get("tied_share", 0) > 1 / N_BINS)

    @property
    def explains_all(self) -> bool:
        """Whether confidence explains all of a loss: none that matters remains, by intervals."""
        part, gap = self.evidence["confidence"][0], self.evidence["accuracy"][0]
        strengths = {self.strength[question] for question in ("accuracy", "left")}
        is_none_left = self.finding["left"] == "small" and strengths == {Strength.ESTABLISHED}
        return is_none_left and part.value >= ALL_OF_A_LOSS * gap.value

    def raised(self, loss: float) -> float:
        """Return by which factor a loss raises the variance of the difference."""
        before, after = (self.mean[f"accuracy_{origin}"] for origin in ORIGINS)

        def variance(replication: float) -> float:
            sets = zip((before, replication), ORIGINS, strict=True)
            return float(sum(a * (1 - a) / self.row[f"n_{origin}"] for a, origin in sets))

        now = variance(after)
        return max(1.0, variance(max(0.0, before - loss)) / now) if now else 1.0


def _weakest(strengths: Iterable[Strength]) -> Strength:
    return min(strengths, key=[*Strength][::-1].index)
