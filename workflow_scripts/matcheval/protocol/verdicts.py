"""What a comparison of two sets shows: claims, how strong they are, and what to do next.

Three questions are answered: whether accuracy differs, whether confidence warns of it, and whether
a difference is left at equal confidence. Terminal, JSON, Python, summary and report take their
words from here; docs/protocol.md has the rules, and how often they err.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from matcheval.io.text_tables import signed, supported_digits
from matcheval.protocol.comparisons import MANY_UNMATCHED, suspicions_in
from matcheval.protocol.decomposition import N_BINS
from matcheval.protocol.schemas import GAPS, MEAN_GAPS, MODEL_TABLE
from matcheval.protocol.settings import MARGIN
from matcheval.statistics.claims import FEW_GROUPS, POWER, Evidence, Strength
from matcheval.statistics.intervals import LEVEL, normal_factor

if TYPE_CHECKING:
    import pandas as pd

Question = Literal["accuracy", "confidence", "left"]
Finding = Literal["loss", "gain", "small", "mixed", "open"]
_ORIGINS = ("original", "replication")
_ENDS = ("_low", "_high", "_se")
_FEW_EVENTS = 5
_ALL = 0.9  # of a loss, which confidence then is said to warn of
_MOST_NAMED = 3  # models in a sentence
_CLEAR_LOSS = 0.05  # a larger one than the margin, for which fewer images are needed
_POWER = f"{100 * POWER:g} %"
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
        Why it is no stronger; empty if it is established.
    """

    question: Question
    finding: Finding
    text: str
    value: float
    low: float
    high: float
    strength: Strength
    reason: str

    @property
    def told(self) -> str:
        """The sentence, with what its strength rests on if that is not plain."""
        return f"{self.text} ({self.reason})" if self.reason else self.text


@dataclass(frozen=True)
class Counts:
    """Which of several models differ on the two sets, by Holm's correction over a report.

    Attributes
    ----------
    lost, gained : tuple of str
        Names of the models.
    n : int
        Number of all models.
    """

    lost: tuple[str, ...]
    gained: tuple[str, ...]
    n: int


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
        lines = [f"{one.strength}: {one.told}" for one in self.claims]
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
    names = [f"{name}_{origin}" for name in ("accuracy", "n") for origin in _ORIGINS]
    return gaps.set_index("model").join(results.set_index("model")[names])


@dataclass(frozen=True)
class StudyVerdicts:
    """Tables of a study's gaps, and what they show."""

    means: "pd.DataFrame"
    gaps: "Mapping[tuple[str, str], pd.DataFrame]"  # by pair and matching, with accuracies
    verdicts: list[Verdict]
    suspicions: list[tuple[str, str]]

    @classmethod
    def read(
        cls, data: Mapping[str, Sequence[str | Path]], places: Sequence[tuple[str, str]],
        margin: float, level: float,
    ) -> "StudyVerdicts":  # fmt: skip
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
    part at equal confidence, which bins bias: neither alone establishes it. That confidence warns
    needs a fall of its mean, too: what is wrong with high confidence also moves the part.
    """
    # Means of a few groups are skewed, which those of the other set balance if it has groups, too.
    n_groups = int(row["n_groups"]) // (2 if row.get("groups_in_one") else 1)

    def resampled(name: str, bias: float = 0.0) -> Evidence:
        bounds = row[f"{name}_low"], row[f"{name}_high"]
        return Evidence.of_interval(row[name], *bounds, level, bias=bias, n_groups=n_groups)

    if question == "accuracy":
        return [resampled("gap")]
    name = "confidence_fall" if question == "confidence" else "matched_gap"
    value, low, high, se = (row.get(f"{name}{end}", math.nan) for end in ("", *_ENDS))
    other = Evidence(value, low, high, se, n_groups=n_groups)
    if question == "confidence":
        return [resampled("confidence_part", row["binning_bound"]), other]
    return [other, resampled("conditional_part", row["binning_bound"])]


def _few_events(row: "pd.Series") -> bool:
    """Whether resamples know too little: of nearly all predictions being right, or wrong."""
    sets = ((row[f"n_{o}"], row[f"accuracy_{o}"]) for o in _ORIGINS)
    return any(n * min(a, 1 - a) < _FEW_EVENTS for n, a in sets)


def _p_value(row: "pd.Series", question: Question, level: float) -> float:
    """Return the p-value of no difference of a model: exact for accuracies on independent images.

    It is 1 where the estimates differ in sign, or are of a few errors.
    """
    found = _evidence(row, question, level)
    if question == "accuracy" and not row["n_groups"] and not row["paired"]:
        from matcheval.statistics.significance import fisher

        sets = ((row[f"n_{o}"], row[f"accuracy_{o}"]) for o in _ORIGINS)
        return fisher(*(int(one) for n, a in sets for one in (round(n * a), n)))
    if len({one.value > 0 for one in found}) > 1 or _few_events(row):
        return 1.0
    return float(np.max([one.p_value() for one in found]))


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
            places.append((place, str(model)))
            lost.append(bool(_evidence(row, question, of_bounds)[0].value > 0))
            p.append(_p_value(row, question, of_bounds))
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
        name: Counts(
            tuple(model for model, is_lost in found.items() if is_lost),
            tuple(model for model, is_lost in found.items() if not is_lost),
            len(tables[name]),
        )
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
        self.of_mean = row.copy()
        for name in ("accuracy_original", "accuracy_replication"):
            self.of_mean[name] = models[name].mean()
        is_one_sided = all(self.of_mean[f"accuracy_{origin}"] in (0, 1) for origin in _ORIGINS)
        if self._is_exact and is_one_sided:
            self.evidence["accuracy"] = [self._of_one_sided()]
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
            return "mixed", self._capped(question, Strength.ESTABLISHED)
        differ = _weakest(one.differs(scale.joint, scale.n_claims) for one in found)
        sized = found[:1] if question == "confidence" else found  # the fall is of another scale
        small = _weakest(one.is_below(scale.margin, scale.joint, scale.n_claims) for one in sized)
        signs = {one.value > 0 for one in found}
        if differ is not Strength.OPEN and len(signs) == 1:
            return ("loss" if signs.pop() else "gain"), self._capped(question, differ)
        if small is not Strength.OPEN:
            return "small", self._capped(question, small)
        return "open", Strength.OPEN

    def _capped(self, question: Question, strength: Strength) -> Strength:
        """Nothing is established of a minority of images or of models, or from a few errors."""
        is_part = question == "left" and (self._mostly_unmatched or self._n_left_out > 0)
        is_capped = is_part or (_few_events(self.of_mean) and not self._is_clear(question))
        return _weakest([strength, Strength.SUGGESTED]) if is_capped else strength

    @property
    def _is_exact(self) -> bool:
        """Whether counts alone tell what is known: of one model on independent images."""
        return len(self.models) == 1 and not self.row["n_groups"] and not self.row["paired"]

    def _is_clear(self, question: Question) -> bool:
        """Whether accuracies differ by the exact test, which few errors do not mislead."""
        if question != "accuracy" or not self._is_exact:
            return False
        allowed = (1 - self.scale.joint) / self.scale.n_claims
        return _p_value(self.of_mean, question, self.scale.level) < allowed

    def _of_one_sided(self) -> Evidence:
        """Return the difference of sets that are all right or all wrong, by exact intervals."""
        value, tail = self.row["gap"], (1 - self.scale.level) / 2
        half = math.hypot(*(1 - tail ** (1 / self.row[f"n_{o}"]) for o in _ORIGINS))
        ends = max(-1.0, value - half), min(1.0, value + half)
        return Evidence(value, *ends, half / normal_factor(self.scale.level))

    @property
    def _n_left_out(self) -> int:
        return int(self.row.get("n_left_out", 0))

    @property
    def _mostly_unmatched(self) -> bool:
        return bool(self.row["fraction_unmatched"] > MANY_UNMATCHED)

    def _claim(self, question: Question, text: str) -> Claim:
        shown = self.evidence[question][0]
        finding, strength = self.finding[question], self.strength[question]
        if finding == "mixed" and (counts := self.counts[question]):
            text = self._mixed(question, counts)
        return Claim(
            question, finding, text, shown.value, shown.low, shown.high, strength,
            self._reason(question, strength),
        )  # fmt: skip

    def _mixed(self, question: Question, counts: Counts) -> str:
        """Say by how much each of a few models falls or rises; of more, the range."""
        place = " where confidence is equal" * (question == "left")
        said = []
        for names, verb in ((counts.lost, "falls"), (counts.gained, "rises")):
            rows = self.models.loc[list(names)].iterrows()
            found = {name: _evidence(row, question, self.scale.level)[0] for name, row in rows}
            if len(found) <= _MOST_NAMED:
                said += [
                    f"{n} {verb} by {self._points(e, unsigned=True)}" for n, e in found.items()
                ]
                continue
            ends = [self._rounded(f(abs(e.value) for e in found.values())) for f in (min, max)]
            said.append(f"{len(found)} models {verb[:-1]} by {' to '.join(ends)} points")
        n_open = counts.n - len(counts.lost) - len(counts.gained)
        rest = f"; of {n_open} of {counts.n} it cannot be told" if n_open else ""
        differ = "seem to differ" if self.strength[question] is Strength.SUGGESTED else "differ"
        subject = f"The models {differ} on {self.replication}, beyond chance{place}: accuracy of"
        return f"{subject} {', of '.join(said)}{rest}."

    def _reason(self, question: Question, strength: Strength) -> str:
        shown = self.evidence[question][0]
        if strength is Strength.ESTABLISHED:
            return ""
        if not shown.is_defined:
            kinds = ("no standard error:",) if question != "left" else ("no standard", "no matched")
            told = [one for one in self.row["remarks"].split("; ") if one.startswith(kinds)]
            return "; ".join(told) or "its standard error is unknown"
        if strength is Strength.OPEN and question == "accuracy":
            least = self._detectable(shown)
            if shown.has_few_groups:
                return f"from {self.row['n_groups']} groups, no difference would be established"
            if least >= 1:
                return "sets of this size would establish no difference"
            points = f"{self._rounded(least)} points"
            return f"a difference of {points} would be established with {_POWER} probability"
        if strength is Strength.OPEN:
            return self._why_open(question)
        if shown.has_few_groups:
            return f"no more than suggested, as a set has only {self.row['n_groups']} groups"
        if question == "left" and self._mostly_unmatched:
            return "no more than suggested, as most targets are unmatched"
        if question == "left" and self._n_left_out:
            return f"no more than suggested, as {self._n_left_out} of the models have no match"
        if _few_events(self.of_mean) and not self._is_clear(question):
            return (
                f"no more than suggested, as fewer than {_FEW_EVENTS} predictions are right, or "
                "wrong, on a set"
            )
        return "passes the ordinary test, but not the stricter one for all claims at once"

    def _why_open(self, question: Question) -> str:
        """Say why nothing can be told of confidence, or of what is left."""
        found = self.evidence[question]
        part, sized = (found[0], found[:1]) if question == "confidence" else (found[1], found)
        if all(one.low <= 0 <= one.high for one in sized):
            return "the interval holds 0"
        if self._is_hidden(question):
            if self._is_tied:
                share = f"{100 * self.row['tied_share']:.0f} %"
                return f"{share} of the confidences of a set are rounded, or 1, to equal values"
            if self.row.get("unshared_bound", 0) > part.bias / 2:
                return "confidences of the two sets hardly overlap"
            return "an interval holds 0, or would with the error that bins can make"
        if question == "confidence" and not found[1].is_defined:
            return "how far mean confidence changes is not known"
        if question == "confidence":
            return f"mean confidence is {self._directed(found[1], f' on {self.replication}')}"
        return "an interval holds 0, or would with the error that bins can make"

    def _is_hidden(self, question: Question) -> bool:
        """Whether a part excludes 0 but for what it may be off."""
        part = self.evidence[question][question == "left"]
        held = part.low - part.bias <= 0 <= part.high + part.bias
        return held and not part.low <= 0 <= part.high

    @property
    def _is_tied(self) -> bool:
        """Whether too many confidences are equal to tell what changes with them."""
        return bool(self.row.get("tied_share", 0) > 1 / N_BINS)

    def _detectable(self, found: Evidence) -> float:
        """Return the smallest difference that would be established, at the error that it has."""
        least = found.detectable(self.scale.joint, self.scale.n_claims)
        return least * math.sqrt(self._raised(min(least, 1.0)))

    def _raised(self, loss: float) -> float:
        """Return by which factor a loss raises the variance of the difference."""
        before, after = (self.of_mean[f"accuracy_{origin}"] for origin in _ORIGINS)

        def variance(replication: float) -> float:
            sets = zip((before, replication), _ORIGINS, strict=True)
            return float(sum(a * (1 - a) / self.row[f"n_{origin}"] for a, origin in sets))

        now = variance(after)
        return max(1.0, variance(max(0.0, before - loss)) / now) if now else 1.0

    @cached_property
    def _digits(self) -> int:
        """How many digits the widest interval of the three supports."""
        shown = [of[0] for of in self.evidence.values() if of[0].is_defined]
        return min((supported_digits(100 * one.low, 100 * one.high) for one in shown), default=1)

    def _rounded(self, value: float) -> str:
        return signed(100 * value, self._digits)

    def _points(self, found: Evidence, *, unsigned: bool = False) -> str:
        """Format an estimate in points with its interval; with the sign left to the words."""
        sign = -1 if unsigned and found.value < 0 else 1
        value = f"{self._rounded(sign * found.value)} points"
        if not found.is_defined:
            return value
        low, high = sorted((sign * found.low, sign * found.high))
        return f"{value} [{self._rounded(low)}, {self._rounded(high)}]"

    def _directed(self, found: Evidence, where: str = "") -> str:
        """Format a difference, such as `0.2 points higher [−2.9, 3.0]`, with its sign in words."""
        points = self._points(found, unsigned=True)
        lower = "lower" if found.value > 0 else "higher"
        return points.replace(" points", f" points {lower}{where}", 1)

    def _accounted(self, found: Evidence) -> str:
        """Format what a change of confidence accounts for, such as `a gain of 0.2 points`."""
        return f"a {'loss' if found.value > 0 else 'gain'} of {self._points(found, unsigned=True)}"

    @property
    def _accuracies(self) -> tuple[str, str]:
        """Both in percent, to so many digits that their difference is the gap that is shown."""
        values = [100 * self.models[f"accuracy_{origin}"].mean() for origin in _ORIGINS]
        gap = round(100 * self.evidence["accuracy"][0].value, self._digits)
        for digits in range(max(1, self._digits), 3):
            before, after = (round(value, digits) for value in values)
            if round(before - after - gap, self._digits) == 0:
                break
        return signed(before, digits), signed(after, digits)

    @property
    def _margin(self) -> str:
        return _in_points(self.scale.margin)

    def _accuracy(self) -> str:
        finding, one, n = self.finding["accuracy"], self.evidence["accuracy"][0], len(self.models)
        before, after = self._accuracies
        if finding in ("small", "open"):
            where = f"{self._directed(one, f' on {self.replication}')} ({before} → {after} %)"
            if finding == "small":
                return f"Accuracy is the same within {self._margin}: it is {where}."
            return f"Whether accuracy differs cannot be told: it is {where}."
        verb = "fall" if one.value > 0 else "rise"
        seems = self.strength["accuracy"] is Strength.SUGGESTED
        subject = f"Averaged over {n} models, accuracy" if n > 1 else "Accuracy"
        points = self._points(one, unsigned=True)
        text = f"{subject} {f'seems to {verb}' if seems else f'{verb}s'} by {points} on "
        text += f"{self.replication}, from {before} to {after} %"
        if counts := self.counts.get("accuracy"):
            k = len(counts.lost if one.value > 0 else counts.gained)
            of_all = f"each of the {n}" if k == n else f"{k} of the {n}"
            text += f"; {of_all} {verb}{'s' * (k in (1, n))} beyond chance" * bool(k)
        return f"{text}."

    def _confidence(self) -> str:
        finding, one = self.finding["confidence"], self.evidence["confidence"][0]
        gap = self.evidence["accuracy"][0]
        seems, change = self.strength["confidence"] is Strength.SUGGESTED, self.finding["accuracy"]
        points = self._points(one)
        of_what = {"loss": "this loss", "gain": "this gain"}.get(change, "a change")
        if finding in ("open", "small"):
            text = f"Whether confidence warns of {of_what} cannot be told"
            if finding == "small":
                text = {
                    "loss": "Confidence gives no warning of this loss",
                    "gain": "Confidence does not show this gain",
                }.get(change, "Confidence stays the same") + f", within {self._margin}"
            mean = ", on average over models," * (change == "mixed")
            text += f": its change{mean} accounts for {self._accounted(one)}"
            return f"{text}{self._confidence_by_model()}."
        if finding == change == "loss":
            warns = "seems to warn" if seems else "warns"
            of, lost = "", f", and {self._rounded(gap.value)} are lost"
            if self._explains:
                of = "all of "
            elif one.value < _ALL * gap.value:
                of, lost = "part of ", f" of {self._rounded(gap.value)}"
            return f"Lower confidence {warns} of {of}this loss: {points}{lost}."
        lower, loss = ("lower", "loss") if finding == "loss" else ("higher", "gain")
        return (
            f"Confidence {'seems' if seems else 'is'} {lower} on {self.replication}, as for a "
            f"{loss} of {self._points(one, unsigned=True)}."
        )

    def _confidence_by_model(self) -> str:
        """Name what confidence says of each of a few models that differ."""
        if self.finding["accuracy"] != "mixed" or len(self.models) > _MOST_NAMED:
            return ""
        rows = self.models.iterrows()
        found = {name: _evidence(row, "confidence", self.scale.level)[0] for name, row in rows}
        return f" ({', '.join(f'{name}: {self._accounted(of)}' for name, of in found.items())})"

    @property
    def _explains(self) -> bool:
        """Whether confidence warns of all of a loss: none that matters is left, by intervals."""
        one, gap = self.evidence["confidence"][0], self.evidence["accuracy"][0]
        strengths = {self.strength[question] for question in ("accuracy", "left")}
        is_left = self.finding["left"] != "small" or strengths != {Strength.ESTABLISHED}
        return one.value >= _ALL * gap.value and not is_left

    def _left(self) -> str:
        matched, without = self.evidence["left"]
        finding, where = self.finding["left"], f" on {self.replication}"
        n, which = len(self.models), "matched gap"
        if self._n_left_out:
            which += f" of {n - self._n_left_out} of {n} models"
        if not math.isfinite(matched.value):
            return "What is left where confidence is equal is unknown: no target was matched."
        if finding == "small":
            return (
                f"Where confidence is equal, accuracy is the same within {self._margin}: it is "
                f"{self._directed(matched, where)} ({which})."
            )
        if finding in ("loss", "gain"):
            verb = "seems" if self.strength["left"] is Strength.SUGGESTED else "is"
            directed = self._directed(matched, where)
            return f"Where confidence is equal, accuracy {verb} {directed} ({which})."
        text = "Whether a difference is left where confidence is equal cannot be told"
        held = [one.low - one.bias <= 0 <= one.high + one.bias for one in (matched, without)]
        if matched.is_defined and without.is_defined and held[0] != held[1]:
            return (
                f"{text}, as only one of two estimates is clear of 0: pairs leave a loss of "
                f"{self._points(matched)} ({which}), bins leave {self._points(without)}."
            )
        return f"{text}: accuracy is {self._directed(matched, where)} ({which})."

    def _next_step(self) -> str:
        row, gap, finding = self.row, self.evidence["accuracy"][0], self.finding
        if gap.has_few_groups:
            return (
                f"Test on at least {FEW_GROUPS} groups (writers, patients, places) in each set: "
                f"more images of the same {gap.n_groups} will not help."
            )
        if not gap.is_defined:
            return "Give sets from which an error can be told, of more datapoints or groups."
        smaller = min(_ORIGINS, key=lambda origin: row[f"n_{origin}"])
        needed = f"{row[smaller]}, the smaller set,"
        if row["n_original"] == row["n_replication"]:
            needed = "both sets"
        if finding["accuracy"] == "open":
            return self._more_images(gap)
        if finding["accuracy"] == "small":
            return "Nothing is needed: in accuracy, the sets do not differ by what matters."
        if finding["accuracy"] == "gain":
            return (
                "Check whether the new set is easier, or its images are in the training data "
                "(`matched-eval duplicates`)."
            )
        if finding["accuracy"] == "mixed":
            return (
                "Find out what sets these models apart (training data, preprocessing, files that "
                "are mixed up), and judge each by itself: their mean says little."
            )
        if row["fraction_unmatched"] == 1:
            return "Look at the confidences: those of the two sets do not overlap."
        if self._mostly_unmatched:
            larger = max(_ORIGINS, key=lambda origin: row[f"n_{origin}"])
            if row["source"] != row[larger]:
                return f"Seek matches in the larger set: make {row[larger]} the source."
            return "Look at matching on confidence alone, which leaves fewer targets out."
        if finding["confidence"] == "loss" and self._explains:
            return (
                "Watch the mean confidence on new data: it accounts for this loss "
                "(`matched-eval predict-accuracy`)."
            )
        if self._is_tied and (self._is_hidden("confidence") or self._is_hidden("left")):
            return "Give confidences with all their digits, or scores: equal ones hide changes."
        if finding["left"] == "open":
            return f"Label more images of {needed} to tell what is left."
        if finding["left"] == "gain":
            return (
                "Do not read the loss off confidence, which falls by more than accuracy: label "
                "some images of each new set."
            )
        warns = {"loss": "warns of only a part", "small": "warns of none"}
        which = warns.get(finding["confidence"], "is not shown to warn")
        return (
            f"Do not rely on confidence, which {which} of the loss: see which classes lose most "
            "(`matched-eval compare --analyses class_gaps`), and which images are wrong with high "
            "confidence."
        )

    def _more_images(self, gap: Evidence) -> str:
        """Say how many images would establish a loss of the margin and, first, a larger loss."""
        small, large = sorted(_ORIGINS, key=lambda origin: self.row[f"n_{origin}"])
        n_small, n_large = (int(self.row[f"n_{origin}"]) for origin in (small, large))
        shown = []
        for loss in sorted({self.scale.margin, max(self.scale.margin, _CLEAR_LOSS)}, reverse=True):
            scale = self.scale
            least = gap.detectable(scale.joint, scale.n_claims)
            times = (least / loss) ** 2 * self._raised(loss)
            if times <= 1:
                continue
            # The square of the error goes by the sum of 1 / n.
            wanted = (1 / n_small + 1 / n_large) / times
            is_alone = 2 / wanted < n_large
            n = 1 / (wanted - 1 / n_large) if is_alone else 2 / wanted
            of = f"of {self.row[small]} (now {n_small:,})" if is_alone else "in each set"
            shown.append(f"of {_in_points(loss)}, about {float(f'{n:.2g}'):,.0f} {of}")
        if not shown:
            return "Label more images: the difference is too near the margin to tell."
        losses = "; ".join(shown)
        return f"Label more images: to establish a loss {losses} ({_POWER} probability)."


def _in_points(value: float) -> str:
    text = f"{100 * value:g}"
    return f"{text} point{'s' * (text != '1')}"


def _weakest(strengths: Iterable[Strength]) -> Strength:
    return min(strengths, key=[*Strength][::-1].index)
