"""The sentences of a verdict: what each claim says, why it is no stronger, and what to do next."""

import math
from functools import cached_property

from matcheval.io.text_tables import signed, supported_digits
from matcheval.names import ORIGINS
from matcheval.protocol.judgement import (
    FEW_EVENTS,
    Counts,
    Judgement,
    Question,
    evidence_on,
    evidence_with_error,
)
from matcheval.statistics.claims import FEW_GROUPS, POWER, Evidence, Strength

_MOST_NAMED = 3  # models in a sentence
_CLEAR_LOSS = 0.05  # a larger one than the margin, for which fewer images are needed
_POWER = f"{100 * POWER:g} %"
_SIDES_OF_MODELS = (
    ("is overconfident", "are overconfident"), ("is underconfident", "are underconfident")
)  # fmt: skip
_CLASS_GAPS = "`matched-eval compare --analyses class_gaps`"


class VerdictText:
    """Writes the sentences of a verdict on one pair."""

    def __init__(self, judgement: Judgement) -> None:
        self._judged, self._row = judgement, judgement.row
        self._evidence, self._finding = judgement.evidence, judgement.finding
        self._margin = _exact_points(judgement.limits.margin)
        self._old, self._new = self._row["original"], self._row["replication"]
        self._n_models = len(judgement.models)

    def claim(self, question: Question) -> str:
        """Return the sentence that answers a question."""
        counts = self._judged.counts.get(question)
        if self._finding[question] == "mixed" and counts:
            return self._mixed_claim(question, counts)
        return {
            "accuracy": self._accuracy_claim, "calibration": self._calibration_claim,
            "confidence": self._confidence_claim, "left": self._remaining_claim,
        }[question]()  # fmt: skip

    def _is_suggested(self, question: Question) -> bool:
        return self._judged.strength[question] is Strength.SUGGESTED

    # --- claims

    def _accuracy_claim(self) -> str:
        finding, gap, n = self._finding["accuracy"], self._evidence["accuracy"][0], self._n_models
        before, after = self._accuracies
        if finding in ("small", "open"):
            where = f"{self._format_direction(gap, f' on {self._new}')} ({before} → {after} %)"
            if finding == "small":
                return f"Accuracy is the same within {self._margin}: it is {where}."
            return f"Accuracy is {where}, which could be chance."
        verb = "fall" if gap.value > 0 else "rise"
        subject = f"Averaged over {n} models, accuracy" if n > 1 else "Accuracy"
        verbs = f"seems to {verb}" if self._is_suggested("accuracy") else f"{verb}s"
        text = f"{subject} {verbs} by {self._format_points(gap, unsigned=True)} on {self._new}, "
        text += f"from {before} to {after} %"
        if counts := self._judged.counts.get("accuracy"):
            k = len(counts.lost if gap.value > 0 else counts.gained)
            which = ("both" if n == 2 else f"all {n}") if k == n else f"{k} of the {n}"
            does = "s" * (k == 1)
            verb = "lose" if gap.value > 0 else "gain"
            text += f"; {which} {verb}{does} more than chance explains" * bool(k)
        return f"{text}."

    def _calibration_claim(self) -> str:
        new, finding = self._evidence["calibration"][0], self._finding["calibration"]
        accuracy = self._judged.mean["accuracy_replication"]
        digits = max(1, self._digits)
        confident, accurate = (signed(100 * v, digits) for v in (accuracy + new.value, accuracy))
        subject = "the model is" if self._n_models == 1 else f"the {self._n_models} models are"
        seems = "apparently " * self._is_suggested("calibration")
        size = self._format_overconfidence(new)
        said = {
            "small": f"{seems}calibrated within {self._margin} ({size})",
            "open": f"no difference is shown ({size})",
        }.get(finding, f"{seems}{size}")
        text = (
            f"On {self._new}, {subject} {confident} % confident and {accurate} % accurate on "
            f"average: {said}"
        )
        old = self._overconfidence_on_original
        unclear = " (includes zero)" if old.low <= 0 <= old.high else ""
        text += f"; on {self._old}, {self._format_overconfidence(old)}{unclear}"
        if counts := self._judged.counts.get("calibration"):
            sides = (len(counts.lost), "overconfident"), (len(counts.gained), "underconfident")
            shown = [f"{k} {side}" for k, side in sides if k]
            if shown:
                are = "is" if shown[0].startswith("1 ") else "are"
                shown[0] = shown[0].replace(" ", f" of the {counts.n} models {are} ", 1)
                text += f"; {' and '.join(shown)} beyond chance"
        return f"{text}."

    @cached_property
    def _overconfidence_on_original(self) -> Evidence:
        return evidence_with_error(self._row, "overconfidence_original")

    def _format_overconfidence(self, difference: Evidence) -> str:
        """Format confidence minus accuracy, such as `overconfident by 2.1 points [1.0, 3.2]`."""
        side = "overconfident" if difference.value > 0 else "underconfident"
        return f"{side} by {self._format_points(difference, unsigned=True)}"

    def _confidence_claim(self) -> str:
        """Say how much of a change of accuracy the change of confidence explains."""
        finding, part = self._finding["confidence"], self._evidence["confidence"][0]
        gap, change = self._evidence["accuracy"][0], self._finding["accuracy"]
        whole, seems = self._format_in_points(abs(gap.value)), self._is_suggested("confidence")
        lower, lost = ("Lower", "lost") if change == "loss" else ("Higher", "gained")
        if change in ("loss", "gain") and finding in (change, "open"):
            explains = "may explain" if finding == "open" else "explains"
            verb = f"{lower} confidence {'seems to explain' if seems else explains}"
            points = self._format_points(part, sign=-1 if change == "gain" else 1)
            if finding == "loss" and self._judged.confidence_explains_all:
                return f"{verb} all of this loss: {points} of {whole}."
            if abs(part.value) > abs(gap.value):
                means = f"would {'apparently ' if seems else ''}mean a {change} of {points}"
                return f"{lower} confidence alone {means}; {whole} were {lost}."
            part_of_it = points.replace(" points", "", 1)
            return f"{verb} {part_of_it} of the {whole} points {lost}."
        if change in ("loss", "gain") and finding == "small":
            return (
                f"A change of confidence explains none of this {change} within {self._margin}: "
                f"{self._format_points(part)} of {self._format_in_points(gap.value)}."
            )
        if change == "mixed" and finding == "open":
            alone = "The change of confidence alone would mean"
            if by_model := self._list_implied_changes():
                return f"{alone} {by_model} (on average, a {self._format_change(part)})."
            return f"{alone} a {self._format_change(part)} on average over models."
        mean = " on average over models" * (change == "mixed")
        if finding in ("loss", "gain"):
            return (
                f"Confidence {'seems' if seems else 'is'} "
                f"{'lower' if finding == 'loss' else 'higher'} on {self._new}{mean}, which alone "
                f"would mean a {finding} of {self._format_points(part, unsigned=True)}."
            )
        same = f"stays the same within {self._margin}" if finding == "small" else "hardly changes"
        effect = self._format_change(part)
        return f"Confidence {same}{mean}: its change alone would mean a {effect}."

    def _list_implied_changes(self) -> str:
        """List the gain or loss that confidence alone would mean for each of up to three models."""
        if self._n_models > _MOST_NAMED:
            return ""
        return ", ".join(
            f"for {name} a {self._format_change(evidence_on(row, 'confidence', self._level)[0])}"
            for name, row in self._judged.models.iterrows()
        )

    def _remaining_claim(self) -> str:
        """Say whether accuracy differs at equal confidence."""
        matched, binned = self._evidence["left"]
        finding, where = self._finding["left"], f" on {self._new}"
        which = "matched gap"
        if self._judged.n_left_out:
            n = self._n_models
            which += f" of {n - self._judged.n_left_out} of {n} models"
        if not math.isfinite(matched.value):
            return "What remains at equal confidence is unknown: no target was matched."
        directed = self._format_direction(matched, where)
        mean = ", averaged over models" * (self._finding["accuracy"] == "mixed")
        equal = f"At equal confidence ({which}){mean}"
        if finding == "small":
            return f"{equal}, accuracy is the same within {self._margin}: it is {directed}."
        if finding in ("loss", "gain"):
            verb = "seems" if self._is_suggested("left") else "is"
            return f"{equal}, accuracy {verb} still {directed}."
        includes_zero = [estimate.low <= 0 <= estimate.high for estimate in (matched, binned)]
        if matched.is_defined and binned.is_defined and includes_zero[0] != includes_zero[1]:
            which_one = "second" if includes_zero[0] else "first"
            return (
                f"At equal confidence, accuracy is {directed} on matched pairs and "
                f"{self._format_direction(binned)} within bins of confidence; only the {which_one} "
                "interval excludes zero."
            )
        return f"{equal}, accuracy is {directed}."

    def _mixed_claim(self, question: Question, counts: Counts) -> str:
        """Say by how much models change that differ in sign: each of a few, or a range of many."""
        is_calibration = question == "calibration"
        verbs = _SIDES_OF_MODELS if is_calibration else (("falls", "fall"), ("rises", "rise"))
        said = []
        for names, (verb, plural) in zip((counts.lost, counts.gained), verbs, strict=True):
            rows = self._judged.models.loc[list(names)].iterrows()
            by_model = {name: evidence_on(row, question, self._level)[0] for name, row in rows}
            if len(by_model) <= _MOST_NAMED:
                said += [
                    f"{name} {verb} by {self._format_points(difference, unsigned=True)}"
                    for name, difference in by_model.items()
                ]
                continue
            sizes = [abs(difference.value) for difference in by_model.values()]
            ends = f"{self._format_in_points(min(sizes))} to {self._format_in_points(max(sizes))}"
            said.append(f"{len(by_model)} models {plural} by {ends} points")
        others = [m for m in self._judged.models.index if m not in {*counts.lost, *counts.gained}]
        few = " and ".join(others) if len(others) < _MOST_NAMED else f"{len(others)} models"
        rest = f"; {few} may {'be calibrated' if is_calibration else 'not have changed'}"
        rest *= bool(others)
        differ = "seem to differ" if self._is_suggested(question) else "differ"
        subject = {
            "accuracy": f"The models {differ} on {self._new} beyond chance: accuracy of ",
            "left": f"At equal confidence, the models {differ} on {self._new}: accuracy of ",
            "calibration": f"On {self._new}, the models {differ} in calibration: ",
        }[question]
        return f"{subject}{(', ' if is_calibration else ', of ').join(said)}{rest}."

    # --- reasons

    def reason(self, question: Question) -> str:
        """Say why the answer to a question is no stronger; nothing if it is established."""
        shown, judged = self._evidence[question][0], self._judged
        strength = judged.strength[question]
        if strength is Strength.ESTABLISHED:
            return ""
        if not shown.is_defined:
            kinds = ("no standard", "no matched") if question == "left" else ("no standard error:",)
            remarks = [r for r in self._row["remarks"].split("; ") if r.startswith(kinds)]
            return "; ".join(remarks) or "its standard error is unknown"
        if strength is Strength.OPEN:
            return self._why_inconclusive(question)
        if shown.has_few_groups:
            return f"only suggested, as a set has only {self._row['n_groups']} groups"
        if question == "left" and judged.is_mostly_unmatched:
            larger = max(ORIGINS, key=lambda origin: self._row[f"n_{origin}"])
            remedy = f": make {self._row[larger]} the source"
            remedy *= self._row["source"] != self._row[larger]
            return f"only suggested, as most targets are unmatched{remedy}"
        if question == "left" and judged.n_left_out:
            return f"only suggested, as {judged.n_left_out} of the models have no match"
        if judged.has_few_events(question):
            return (
                f"only suggested, as fewer than {FEW_EVENTS} predictions are right, or wrong, on "
                "a set"
            )
        return "passes the ordinary test, but not the stricter one for all claims at once"

    def _why_inconclusive(self, question: Question) -> str:
        """Say why data do not answer a question, or which difference they would show."""
        evidence, judged = self._evidence[question], self._judged
        if question == "accuracy":
            if evidence[0].has_few_groups:
                return f"from {self._row['n_groups']} groups, no difference would be established"
            limits = judged.limits
            least = evidence[0].detectable(limits.joint, limits.n_claims)
            least *= math.sqrt(judged.variance_factor(min(least, 1.0)))
            if least >= 1:
                return "sets of this size would establish no difference"
            points = f"{self._format_in_points(least)} points"
            return f"a difference of {points} would be established with {_POWER} probability"
        if question == "calibration":
            return f"the interval includes zero, and differences above {self._margin}"
        part, sized = (evidence[0], evidence[:1]) if question == "confidence" else (
            evidence[1], evidence
        )  # fmt: skip
        if all(estimate.low <= 0 <= estimate.high for estimate in sized):
            return "the interval includes zero"
        if any(estimate.low <= 0 <= estimate.high for estimate in sized):
            return "the two estimates disagree"
        binning = "an interval includes zero once the error of binning is allowed for"
        if judged.is_hidden_by_bias(question):
            if judged.is_tied:
                share = f"{100 * self._row['tied_share']:.0f} %"
                return f"{share} of the confidences of a set are rounded, or 1, to equal values"
            if self._row["unshared_bound"] > part.bias / 2:
                return "confidences of the two sets hardly overlap"
            return binning
        if question == "confidence" and not evidence[1].is_defined:
            return "how far mean confidence changes is not known"
        if question == "confidence":
            return f"mean confidence is {self._format_direction(evidence[1], f' on {self._new}')}"
        return binning

    # --- what to do

    def next_step(self) -> str:
        """Say what to do next, given the findings on accuracy and calibration."""
        gap, finding, judged = self._evidence["accuracy"][0], self._finding, self._judged
        if gap.has_few_groups:
            return (
                f"Test on at least {FEW_GROUPS} groups (writers, patients, places) in each set: "
                f"more images of the same {gap.n_groups} will not help."
            )
        if not gap.is_defined:
            return "Give sets from which an error can be estimated, of more datapoints or groups."
        if finding["accuracy"] == "mixed":
            text = (
                "Find out what sets these models apart (training data, preprocessing, files that "
                "are mixed up), and judge each by itself: their mean says little."
            )
            if finding["calibration"] in ("mixed", "overconfident"):
                text += (
                    f" Recalibrate those that are overconfident on {self._new} before you rely on "
                    "their confidence."
                )
            return text
        if finding["accuracy"] == "gain":
            return (
                "Check whether the new set is easier, or its images are in the training data "
                "(`matched-eval duplicates`)."
            )
        if finding["calibration"] == "mixed":
            return f"Judge the confidence of each model on {self._new} by itself."
        new, is_sure = self._evidence["calibration"][0], not self._is_suggested("calibration")
        is_off = finding["calibration"] in ("overconfident", "underconfident")
        if is_off and abs(new.value) > judged.limits.margin:
            return self._step_if_miscalibrated(new, is_sure=is_sure)
        if finding["accuracy"] == "open":
            return self._more_images_for_accuracy(gap)
        if finding["accuracy"] == "small":
            if finding["calibration"] == "small":
                return "Nothing is needed: on the new set, accuracy and calibration are as before."
            return "Nothing is needed for accuracy, which does not change by what matters."
        if finding["calibration"] == "open" and new.is_defined:
            return self._more_images_for_calibration(new)
        return self._step_if_calibrated(is_sure=is_sure)

    def _step_if_miscalibrated(self, new: Evidence, *, is_sure: bool) -> str:
        """Say what to do if confidence on the replication is off by more than the margin."""
        off, is_over = self._format_points(new, unsigned=True), new.value > 0
        if not is_sure:
            return (
                f"Label more images of {self._new}: its confidence may "
                f"{'over' if is_over else 'under'}state accuracy by {off}."
            )
        if not is_over:
            return (
                f"Before you use confidence as a probability, recalibrate on labelled images of "
                f"{self._new}: it understates accuracy there by {off}."
            )
        old = self._overconfidence_on_original
        as_before = old.low > 0
        is_tracked = self._finding["confidence"] == self._finding["accuracy"] == "loss"
        extra = " The fall of mean confidence does follow the loss." if (
            as_before and is_tracked and self._judged.confidence_explains_all
        ) else ""  # fmt: skip
        where = f"on both sets (by {off} on {self._new})" if as_before else f"there by {off}"
        return (
            f"Before you use confidence as a probability, recalibrate on labelled images of "
            f"{self._new}: it overstates accuracy {where}, so more predictions above a threshold "
            f"are wrong than it promises.{extra} Then look at its images that are confident and "
            "wrong."
        )

    def _step_if_calibrated(self, *, is_sure: bool) -> str:
        """Say what to do if accuracy falls and the replication is not shown to be miscalibrated."""
        if not self._evidence["calibration"][0].is_defined:
            return f"See which classes lose most ({_CLASS_GAPS})."
        if not is_sure:
            return (
                f"Label more images of {self._new} before its mean confidence is relied on: it "
                "seems to match accuracy."
            )
        text = f"Mean confidence can be watched on data like {self._new}: it matches accuracy there"
        old, strength = self._overconfidence_on_original, self._judged.strength["left"]
        if self._finding["left"] == "loss" and old.high < 0:
            seems = "seems to be" if strength is Strength.SUGGESTED else "is"
            return (
                f"{text}. Its change from {self._old} understates the loss: what remains at equal "
                f"confidence {seems} the model's underconfidence on {self._old}."
            )
        if self._finding["left"] == "loss" and strength is Strength.ESTABLISHED:
            return f"{text} on average. See which classes lose most ({_CLASS_GAPS})."
        judged = self._judged
        is_hidden = judged.is_hidden_by_bias("confidence") or judged.is_hidden_by_bias("left")
        if judged.is_tied and is_hidden:
            return f"{text} on average. Give confidences with all digits: equal ones hide changes."
        return f"{text} (`matched-eval predict-accuracy`)."

    def _more_images_for_calibration(self, new: Evidence) -> str:
        """Say how many images are needed to know whether confidence is off by the margin."""
        least = new.detectable(self._judged.limits.joint, self._judged.limits.n_claims)
        n = float(f"{self._row['n_replication'] * (least / self._judged.limits.margin) ** 2:.2g}")
        now = self._row["n_replication"]
        return (
            f"As far as {now:,} images show, mean confidence on {self._new} matches accuracy: "
            f"label about {n:,.0f} to know it within {self._margin}."
        )

    def _more_images_for_accuracy(self, gap: Evidence) -> str:
        """Say how many images are needed to establish a loss of the margin, and a larger one."""
        judged, row = self._judged, self._row
        limits = judged.limits
        small, large = sorted(ORIGINS, key=lambda origin: row[f"n_{origin}"])
        n_small, n_large = (int(row[f"n_{origin}"]) for origin in (small, large))
        shown = []
        for loss in sorted({limits.margin, max(limits.margin, _CLEAR_LOSS)}, reverse=True):
            least = gap.detectable(limits.joint, limits.n_claims)
            times = (least / loss) ** 2 * judged.variance_factor(loss)
            if times <= 1:
                continue
            # The square of the error goes by the sum of 1 / n.
            wanted = (1 / n_small + 1 / n_large) / times
            is_alone = 2 / wanted < n_large
            n = 1 / (wanted - 1 / n_large) if is_alone else 2 / wanted
            where = f"of {row[small]} (now {n_small:,})" if is_alone else "in each set"
            shown.append(f"of {_exact_points(loss)}, about {float(f'{n:.2g}'):,.0f} {where}")
        if not shown:
            return "Label more images: the difference is too near the margin to decide."
        losses = "; ".join(shown)
        return f"Label more images: to establish a loss {losses} ({_POWER} probability)."

    # --- numbers

    @property
    def _level(self) -> float:
        return self._judged.limits.level

    @cached_property
    def _digits(self) -> int:
        """Number of decimals that the widest interval of gap and parts supports."""
        shown = [evidence[0] for q, evidence in self._evidence.items() if q != "calibration"]
        ends = [(100 * e.low, 100 * e.high) for e in shown if e.is_defined]
        return min((supported_digits(*bounds) for bounds in ends), default=1)

    def _format_in_points(self, value: float) -> str:
        return signed(100 * value, self._digits)

    def _format_points(self, estimate: Evidence, *, unsigned: bool = False, sign: int = 1) -> str:
        """Format an estimate in points with its interval; without its sign if `unsigned`."""
        sign = -1 if unsigned and estimate.value < 0 else sign
        value = f"{self._format_in_points(sign * estimate.value)} points"
        if not estimate.is_defined:
            return value
        low, high = sorted((sign * estimate.low, sign * estimate.high))
        return f"{value} [{self._format_in_points(low)}, {self._format_in_points(high)}]"

    def _format_direction(self, estimate: Evidence, where: str = "") -> str:
        """Format a difference, such as `0.2 points higher [−2.9, 3.0]`: its sign in words."""
        points = self._format_points(estimate, unsigned=True)
        lower = "lower" if estimate.value > 0 else "higher"
        return points.replace(" points", f" points {lower}{where}", 1)

    def _format_change(self, estimate: Evidence) -> str:
        """Format a signed difference as a change, such as `gain of 0.2 points`."""
        change = "loss" if estimate.value > 0 else "gain"
        return f"{change} of {self._format_points(estimate, unsigned=True)}"

    @property
    def _accuracies(self) -> tuple[str, str]:
        """Accuracies on both sets in percent, rounded so that they differ by the shown gap."""
        values = [100 * self._judged.models[f"accuracy_{origin}"].mean() for origin in ORIGINS]
        gap = round(100 * self._evidence["accuracy"][0].value, self._digits)
        for digits in range(max(1, self._digits), 3):
            before, after = (round(value, digits) for value in values)
            if round(before - after - gap, self._digits) == 0:
                break
        return signed(before, digits), signed(after, digits)


def _exact_points(value: float) -> str:
    """Format a margin or a loss with all its digits, such as `1 point` or `0.5 points`."""
    text = f"{100 * value:g}"
    return f"{text} point{'s' * (text != '1')}"
