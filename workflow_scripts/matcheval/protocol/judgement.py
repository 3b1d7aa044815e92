"""What the estimates for a pair say on each question of a verdict, and how strongly."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from matcheval.names import ORIGINS
from matcheval.protocol.comparisons import MANY_UNMATCHED
from matcheval.protocol.decomposition import N_BINS
from matcheval.statistics.claims import Evidence, Strength
from matcheval.statistics.intervals import normal_factor

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
    """Of `n` models, the names of those that lose, and of those that gain, beyond chance.

    Of calibration, of those that are over- and underconfident. Holm's correction is applied.
    """

    lost: tuple[str, ...]
    gained: tuple[str, ...]
    n: int

    def are_mixed(self, minority: float) -> bool:
        """Whether some models lose and others gain, each more than a share `minority` of both."""
        fewer = min(len(self.lost), len(self.gained))
        return fewer > minority * (len(self.lost) + len(self.gained))


@dataclass(frozen=True)
class Limits:
    """The margin, levels and number of claims by which the claims of a report are judged."""

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
    """Return the estimates that all have to support an answer to a question; the first is shown.

    Of what is left, these are the matched gap, which a shift of confidence within ε biases, and the
    part at equal confidence, which bins bias: neither alone establishes it. What confidence
    explains needs a fall of its mean, too: confident errors also move the part.
    """
    # Means of a few groups are skewed, which those of the other set balance if it has groups, too.
    n_groups = int(row["n_groups"]) // (2 if row["groups_in_one"] else 1)

    def evidence_of_interval(name: str, bias: float = 0.0) -> Evidence:
        bounds = row[f"{name}_low"], row[f"{name}_high"]
        return Evidence.of_interval(row[name], *bounds, level, bias=bias, n_groups=n_groups)

    if question == "accuracy":
        return [evidence_of_interval("gap")]
    other = evidence_with_error(row, _MEASURED[question], n_groups)
    if question == "calibration":
        return [other]
    if question == "confidence":
        return [evidence_of_interval("confidence_part", row["binning_bound"]), other]
    return [other, evidence_of_interval("conditional_part", row["binning_bound"])]


def evidence_with_error(row: "pd.Series", name: str, n_groups: int = 0) -> Evidence:
    """Return a row's estimate of a quantity with its interval and its standard error."""
    value, low, high, se = (row[f"{name}{end}"] for end in ("", *_ENDS))
    return Evidence(value, low, high, se, n_groups=n_groups)


def _has_few_events(row: "pd.Series") -> bool:
    """Whether on a set fewer than `FEW_EVENTS` predictions are right, or wrong."""
    sets = ((row[f"n_{o}"], row[f"accuracy_{o}"]) for o in ORIGINS)
    return any(n * min(a, 1 - a) < FEW_EVENTS for n, a in sets)


def _p_value(row: "pd.Series", question: Question, level: float) -> float:
    """Return the p-value of a model's difference, by Fisher's exact test if that applies.

    It is 1 where the estimates differ in sign, or are of a few errors.
    """
    evidence = evidence_on(row, question, level)
    if question == "accuracy" and not row["n_groups"] and not row["paired"]:
        from matcheval.statistics.intervals import fisher

        sets = ((row[f"n_{o}"], row[f"accuracy_{o}"]) for o in ORIGINS)
        return fisher(*(int(k) for n, a in sets for k in (round(n * a), n)))
    if len({estimate.value > 0 for estimate in evidence}) > 1 or _has_few_events(row):
        return 1.0
    return float(np.max([estimate.p_value() for estimate in evidence]))


def models_beyond_chance(
    tables: "Mapping[str, pd.DataFrame]", question: Question, limits: Limits
) -> dict[str, Counts]:
    """Find by pair which models lose, and which gain, beyond chance, for one of the questions.

    By Holm's correction over all tables, and as the questions share the errors, the probability
    that any model is named wrongly for any question is below 1 - `limits.joint`.
    """
    from matcheval.statistics.intervals import holm

    level = 1 - (1 - limits.joint) / len(COUNTED)
    keys, is_lost, p = list[tuple[str, str]](), list[bool](), list[float]()
    for pair, table in tables.items():
        for model, row in table.iterrows():
            keys.append((pair, str(model)))
            is_lost.append(bool(evidence_on(row, question, limits.level)[0].value > 0))
            p.append(_p_value(row, question, limits.level))
    lost: dict[str, list[str]] = {pair: [] for pair in tables}
    gained: dict[str, list[str]] = {pair: [] for pair in tables}
    for (pair, model), loses, adjusted in zip(keys, is_lost, holm(p), strict=True):
        if adjusted < 1 - level:
            (lost if loses else gained)[pair].append(model)
    return {
        pair: Counts(tuple(lost[pair]), tuple(gained[pair]), len(table))
        for pair, table in tables.items()
    }


class Judgement:
    """The finding on each question about one pair, and how strong it is.

    Of the estimates for a question (`evidence`), the first is shown.
    """

    def __init__(
        self, row: "pd.Series", models: "pd.DataFrame", limits: Limits,
        counts: Mapping[Question, Counts | None],
    ) -> None:  # fmt: skip
        self.row, self.models, self.limits, self.counts = row, models, limits, counts
        self.evidence = {q: evidence_on(row, q, limits.level) for q in QUESTIONS}
        self.mean = row.copy()
        for name in ("accuracy_original", "accuracy_replication"):
            self.mean[name] = models[name].mean()
        is_one_sided = all(self.mean[f"accuracy_{origin}"] in (0, 1) for origin in ORIGINS)
        if self._has_exact_test and is_one_sided:
            self.evidence["accuracy"] = [self._one_sided_gap()]
        judged = {q: self._judge(q) for q in QUESTIONS}
        self.finding = {q: finding for q, (finding, _) in judged.items()}
        self.strength = {q: strength for q, (_, strength) in judged.items()}

    def _judge(self, question: Question) -> tuple[Finding, Strength]:
        """Return the finding on a question, and its strength: that of the weakest estimate."""
        evidence, limits = self.evidence[question], self.limits
        counts = self.counts.get(question)
        if counts and counts.are_mixed(_MINORITY if question == "calibration" else 0):
            return "mixed", self._capped(question, Strength.ESTABLISHED)
        differ = _weakest(estimate.differs(limits.joint, limits.n_claims) for estimate in evidence)
        # The fall of confidence is measured on another scale.
        sized = evidence[:1] if question == "confidence" else evidence
        small = _weakest(
            estimate.is_below(limits.margin, limits.joint, limits.n_claims) for estimate in sized
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
        """Lower a strength to suggested if only some images or models count, or errors are few."""
        is_part = question == "left" and (self.is_mostly_unmatched or self.n_left_out > 0)
        is_capped = is_part or self.has_few_events(question)
        return _weakest([strength, Strength.SUGGESTED]) if is_capped else strength

    def has_few_events(self, question: Question) -> bool:
        """Whether few predictions are right, or wrong, and no exact test makes up for it."""
        return _has_few_events(self.mean) and not self._is_exactly_clear(question)

    @property
    def _has_exact_test(self) -> bool:
        """Whether exact tests apply: there is one model, and images are independent."""
        return len(self.models) == 1 and not self.row["n_groups"] and not self.row["paired"]

    def _is_exactly_clear(self, question: Question) -> bool:
        """Whether the question is accuracy, and the exact test shows a difference."""
        if question != "accuracy" or not self._has_exact_test:
            return False
        allowed = (1 - self.limits.joint) / self.limits.n_claims
        return _p_value(self.mean, question, self.limits.level) < allowed

    def _one_sided_gap(self) -> Evidence:
        """Return the gap of sets all right or all wrong, with bounds from each set's exact one."""
        value, tail = self.row["gap"], (1 - self.limits.level) / 2
        half = math.hypot(*(1 - tail ** (1 / self.row[f"n_{o}"]) for o in ORIGINS))
        ends = max(-1.0, value - half), min(1.0, value + half)
        return Evidence(value, *ends, half / normal_factor(self.limits.level))

    @property
    def n_left_out(self) -> int:
        """Number of models without a matched pair."""
        return int(self.row["n_left_out"])

    @property
    def is_mostly_unmatched(self) -> bool:
        """Whether more than half of the targets are unmatched."""
        return bool(self.row["fraction_unmatched"] > MANY_UNMATCHED)

    def is_hidden_by_bias(self, question: Question) -> bool:
        """Whether a part's interval excludes 0, but not once widened by its possible bias."""
        part = self.evidence[question][question == "left"]
        includes_zero = part.low - part.bias <= 0 <= part.high + part.bias
        return includes_zero and not part.low <= 0 <= part.high

    @property
    def is_tied(self) -> bool:
        """Whether so many confidences are equal that what changes with them is unknown."""
        return bool(self.row["tied_share"] > 1 / N_BINS)

    @property
    def confidence_explains_all(self) -> bool:
        """Whether confidence explains all of a loss: what remains is below the margin."""
        part, gap = self.evidence["confidence"][0], self.evidence["accuracy"][0]
        strengths = {self.strength[question] for question in ("accuracy", "left")}
        is_none_left = self.finding["left"] == "small" and strengths == {Strength.ESTABLISHED}
        return is_none_left and part.value >= ALL_OF_A_LOSS * gap.value

    def variance_factor(self, loss: float) -> float:
        """Return by which factor a loss of accuracy would raise the variance of the gap."""
        before, after = (self.mean[f"accuracy_{origin}"] for origin in ORIGINS)

        def variance(replication: float) -> float:
            sets = zip((before, replication), ORIGINS, strict=True)
            return float(sum(a * (1 - a) / self.row[f"n_{origin}"] for a, origin in sets))

        now = variance(after)
        return max(1.0, variance(max(0.0, before - loss)) / now) if now else 1.0


def _weakest(strengths: Iterable[Strength]) -> Strength:
    return min(strengths, key=[*Strength][::-1].index)
