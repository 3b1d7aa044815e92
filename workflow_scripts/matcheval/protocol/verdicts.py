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
from matcheval.protocol.schemas import GAPS, MEAN_GAPS, MODEL_TABLE
from matcheval.protocol.settings import MARGIN
from matcheval.statistics.claims import FEW_GROUPS, POWER, Evidence, Strength
from matcheval.statistics.intervals import LEVEL

if TYPE_CHECKING:
    import pandas as pd

Question = Literal["accuracy", "confidence", "left"]
Finding = Literal["loss", "gain", "small", "mixed", "open"]
_ORIGINS = ("original", "replication")
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
        subject = f"The models differ on {self.replication}, beyond chance{place}: accuracy of"
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
            least = self._rounded(shown.detectable)
            return f"a difference of {least} points would show with {_POWER} probability"
        if strength is Strength.OPEN:
            found = self.evidence[question]
            if all(one.low <= 0 <= one.high for one in found):
                return "the interval holds 0"
            return "an interval holds 0, or would with the error that bins can make"
        if shown.has_few_groups:
            return f"no more than suggested, as a set has only {shown.n_groups} groups"
        if question == "left" and self._mostly_unmatched:
            return "no more than suggested, as most targets are unmatched"
        if self._few_events:
            return (
                f"no more than suggested, as fewer than {_FEW_EVENTS} predictions are right, or "
                "wrong, on a set"
            )
        return "passes the ordinary test, but not the stricter one for all claims at once"

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
            share, beside = ("all", ", and {} are lost") if self._explains else ("part", " of {}")
            beside = beside.format(self._rounded(gap.value))
            return f"Lower confidence {warns} of {share} of this loss: {points}{beside}."
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
        """Whether confidence warns of a loss as large as the one that there is."""
        one, gap = self.evidence["confidence"][0], self.evidence["accuracy"][0]
        is_left = self.finding["left"] not in ("small", "open")
        return one.value >= _ALL * gap.value and not is_left

    def _left(self) -> str:
        matched, without = self.evidence["left"]
        finding, where = self.finding["left"], f" on {self.replication}"
        if not math.isfinite(matched.value):
            return "What is left where confidence is equal is unknown: no target was matched."
        if finding == "small":
            return (
                f"Where confidence is equal, accuracy is the same within {self._margin}: it is "
                f"{self._directed(matched, where)} (matched gap)."
            )
        if finding in ("loss", "gain"):
            verb = "seems" if self.strength["left"] is Strength.SUGGESTED else "is"
            directed = self._directed(matched, where)
            return f"Where confidence is equal, accuracy {verb} {directed} (matched gap)."
        text = "Whether a difference is left where confidence is equal cannot be told"
        held = [one.low - one.bias <= 0 <= one.high + one.bias for one in (matched, without)]
        if matched.is_defined and without.is_defined and held[0] != held[1]:
            return (
                f"{text}, as only one of two estimates is clear of 0: pairs leave a loss of "
                f"{self._points(matched)} (matched gap), bins leave {self._points(without)}."
            )
        return f"{text}: accuracy is {self._directed(matched, where)} (matched gap)."

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
        if finding["left"] == "open":
            return f"Label more images of {row[smaller]}, the smaller set, to tell what is left."
        part = "only a part" if finding["confidence"] == "loss" else "none"
        return (
            f"Do not rely on confidence, which warns of {part} of the loss: see which classes lose "
            "most (`matched-eval compare --analyses class_gaps`), and which images are wrong with "
            "high confidence."
        )

    def _more_images(self, gap: Evidence) -> str:
        """Say how many images would show a loss of the margin and, before it, a larger loss."""
        small, large = sorted(_ORIGINS, key=lambda origin: self.row[f"n_{origin}"])
        n_small, n_large = (int(self.row[f"n_{origin}"]) for origin in (small, large))
        shown = []
        for loss in sorted({self.scale.margin, max(self.scale.margin, _CLEAR_LOSS)}, reverse=True):
            times = (gap.detectable / loss) ** 2
            if times <= 1:
                continue
            # The square of the error goes by the sum of 1 / n.
            wanted = (1 / n_small + 1 / n_large) / times
            is_alone = 2 / wanted < n_large
            n = 1 / (wanted - 1 / n_large) if is_alone else 2 / wanted
            of = f"of {self.row[small]} (now {n_small:,})" if is_alone else "in each set"
            shown.append(
                f"a loss of {_in_points(loss)} shows with about {float(f'{n:.2g}'):,.0f} {of}"
            )
        return f"Label more images: {', '.join(shown)} ({_POWER} probability)."


def _in_points(value: float) -> str:
    text = f"{100 * value:g}"
    return f"{text} point{'s' * (text != '1')}"


def _weakest(strengths: Iterable[Strength]) -> Strength:
    return min(strengths, key=[*Strength][::-1].index)
