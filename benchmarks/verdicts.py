"""How often a report's verdicts are wrong: simulated sets of known truth, no timing.

    python benchmarks/verdicts.py [--reports 500] [--only TEXT | --intervals]

Confidences are Beta distributed. Models share how hard an image is, for confidence and for
correctness. Accuracy at a confidence is the confidence less `offset`, and in the replication less
a further `drop`; a change of confidence alone leaves the drop 0. Groups share a part of how hard
their images are. A report is `wrong` if any of its established claims is, of any pair, counts of
models that lose or gain included, and "all of this loss" where more than the margin is left.
`established` and `open` are shares of the claims on accuracy, `same` of those that established less
than the margin; `calibration`, `explained` and `left` are shares of established claims on the other
questions.
What a case does to confidences:

- `confident_errors`: a part of the replication becomes wrong with high confidence, so that mean
  confidence rises: it warns of nothing.
- `spans`: confidences are uniform between these bounds in each set, so that the part that goes with
  them is not known where one set has none.
- `stored`: confidences are rounded before anybody sees them; the model is
  overconfident (accuracy is that of a third of the `logits`), so that this hides more.
- `copies`: so often is each image there, and no group says so. Nothing tells that such a report is
  wrong too often: its rate is printed as a warning.

With `--intervals`: how often 95 % intervals hold the truth, where there are some, of one model.
"""

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from common import write_results
from scipy.special import expit, ndtr
from scipy.stats import beta

import matcheval as me
from matcheval.protocol.settings import MARGIN
from matcheval.protocol.verdicts import Verdict, verdicts, with_accuracies
from matcheval.statistics.claims import Strength

ALIKE = 0.6  # correlation of models, and of both sets of paired images
CRITERION = "label_probability"  # the first of a report, which is judged
LOGIT_SD = 2.5
CONFIDENT = (200.0, 1.0)  # shape of confidences of errors that nothing warns of


@dataclass(frozen=True)
class Case:
    """A case to simulate: sizes of sets, and changes of confidence and accuracy between them."""

    name: str
    sizes: tuple[int, int] = (2_000, 1_000)
    drops: tuple[float, ...] = (0.0,)  # by model
    shape: tuple[float, float] = (8.0, 0.5)  # of confidences of the replication
    offset: float = 0.03
    n_pairs: int = 1
    n_groups: tuple[int, int] = (0, 0)  # of each set
    correlation: float = 0.4  # of images of a group
    paired: bool = False
    original: tuple[float, float] = (8.0, 0.5)  # shape of confidences
    confident_errors: float = 0.0
    spans: tuple[tuple[float, float], ...] = ()
    logits: tuple[float, ...] = ()  # mean of those of each set, of a model of two classes
    stored: Callable[[np.ndarray], np.ndarray] | None = None
    copies: int = 1


def to_two_digits(p: np.ndarray) -> np.ndarray:
    """Round confidences to two digits."""
    return np.round(p, 2)


SHIFTED = (6.0, 0.6)
SURE = (60.0, 0.35)  # accuracy of about 99 % with an offset of 0.004
CASES = (
    Case("no change"),
    Case("no change, 10 pairs", n_pairs=10, sizes=(1_000, 500)),
    Case("no change, paired images", sizes=(1_500, 1_500), paired=True),
    Case("no change, 8 groups", n_groups=(8, 8)),
    Case("confidence alone", shape=SHIFTED),
    Case("at equal confidence alone, 3 points", drops=(0.03,)),
    Case("at equal confidence alone, 3 points, small sets", (400, 300), drops=(0.03,)),
    Case("at equal confidence, the margin, large sets", (20_000, 20_000), drops=(MARGIN,)),
    Case("a gain of 3 points at equal confidence", drops=(-0.03,)),
    Case("models that differ", (4_000, 2_000), drops=(0.04, -0.025, 0.0, 0.0)),
    Case("30 % become confident errors", (2_000, 2_000), confident_errors=0.3),
    Case("confidences do not overlap", spans=((0.8, 0.9), (0.6, 0.7))),
    Case("both, 2 points are left", (5_000, 5_000), drops=(0.02,), shape=(6.0, 0.9)),
    Case("confidence alone, two digits, large sets", (20_000, 20_000), logits=(7.0, 5.0),
         stored=to_two_digits),
    Case("no change, 99 %, 20 models", (5_000, 500), drops=(0.0,) * 20, original=SURE, shape=SURE,
         offset=0.004),
    Case("no change, 20 groups in one set", (2_000, 2_000), n_groups=(0, 20), correlation=0.3),
    Case("no change, every image twice", copies=2),
    Case("new calibrated, old underconfident", (5_000, 5_000), drops=(0.03,), offset=-0.03,
         original=(6.0, 2.0), shape=(5.0, 2.5)),
    Case("both overconfident by 11 points", (5_000, 5_000), offset=0.11, original=(9.0, 1.5),
         shape=(7.0, 2.0)),
    Case("new overconfident by 1 point, large sets", (20_000, 20_000), drops=(MARGIN,), offset=0.0,
         original=(9.0, 2.0), shape=(9.0, 2.0)),
)  # fmt: skip
LESS_SURE = {"original": SURE, "shape": (20.0, 0.4), "offset": 0.004}  # 99.0 and 97.6 %
INTERVALS = (
    Case("confidence alone", shape=SHIFTED),
    Case("confidence alone, small sets", (100, 100), shape=SHIFTED),
    Case("confidence alone, 99 %", **LESS_SURE),
    Case("confidence alone, 99 %, small sets", (500, 500), **LESS_SURE),
)


def draw_pair(case: Case, rng: np.random.Generator) -> list[dict[str, dict]]:
    """Draw both sets of a pair; return the arrays of each model's predictions for each set."""
    n_images = case.sizes[0]
    shared = rng.normal(size=(2, n_images))
    shapes = case.original, case.shape
    sets = []
    for i, (n, shape, n_groups) in enumerate(zip(case.sizes, shapes, case.n_groups, strict=True)):
        n //= case.copies
        group = np.arange(n) % n_groups if n_groups else np.arange(n)
        common = shared if case.paired else rng.normal(size=(2, n))
        if n_groups:
            by_group = rng.normal(size=(2, n_groups))[:, group]
            common = np.sqrt(case.correlation) * by_group + np.sqrt(1 - case.correlation) * common
        confident = rng.random(n) < case.confident_errors * i
        found = {}
        for number, drop in enumerate(case.drops):
            own = rng.normal(size=(2, n))
            hard = np.sqrt(ALIKE) * common + np.sqrt(1 - ALIKE) * own
            confidence = beta.ppf(ndtr(hard[0]), *shape)
            if case.spans:
                low, high = case.spans[i]
                confidence = low + (high - low) * ndtr(hard[0])
            accuracy = confidence - case.offset - drop * i
            if case.logits:
                logit = np.abs(case.logits[i] + LOGIT_SD * hard[0])
                confidence, accuracy = expit(logit), expit(logit / 3)
            right = ndtr(hard[1]) < accuracy
            confidence[confident] = beta.ppf(ndtr(hard[0][confident]), *CONFIDENT)
            right &= ~confident
            label = np.arange(n) % 10
            arrays = {
                "label": label,
                "prediction": np.where(right, label, (label + 1) % 10),
                "probability": case.stored(confidence) if case.stored else confidence,
            }
            arrays |= {"group": group} if any(case.n_groups) else {}
            found[f"m{number}"] = {k: np.repeat(v, case.copies) for k, v in arrays.items()}
        sets.append(found)
    return sets


@dataclass(frozen=True)
class Truth:
    """True mean differences over models, as fractions; NaN where nothing can be known."""

    accuracy: float
    calibration: float  # mean confidence minus accuracy, of the replication
    confidence: float  # part of the difference of accuracies
    left: float
    fall: float  # of mean confidence


def compute_truth(case: Case) -> Truth:
    """Compute the true differences between the sets of a case."""
    drop = float(np.mean(case.drops))
    if case.spans:
        before, after = (sum(span) / 2 for span in case.spans)
        nan = float("nan")
        return Truth(before - after, case.offset, nan, nan, before - after)
    if case.logits:
        z = np.linspace(-8, 8, 100_001)
        density = np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum()
        of_sets = (np.abs(mean + LOGIT_SD * z) for mean in case.logits)
        (a, p), (b, q) = (
            [float((expit(logit / k) * density).sum()) for k in (3, 1)] for logit in of_sets
        )
        return Truth(a - b, q - b, a - b, 0.0, p - q)
    before, after = beta(*case.original).mean(), beta(*case.shape).mean()
    if share := case.confident_errors:  # by numbers, in very narrow bins
        edges = np.append(1 - np.geomspace(1, 1e-12, 20_000), 1)
        w = np.diff(beta(*case.original).cdf(edges))
        of_others = (1 - share) * np.diff(beta(*case.shape).cdf(edges))
        v = of_others + share * np.diff(beta(*CONFIDENT).cdf(edges))
        a = np.maximum((edges[1:] + edges[:-1]) / 2 - case.offset, 0)
        b = np.where(v > 0, a * of_others / np.where(v > 0, v, 1), a)
        parts = ((w - v) * (a + b)).sum() / 2, ((a - b) * (w + v)).sum() / 2
        fall = before - (1 - share) * after - share * beta(*CONFIDENT).mean()
        return Truth(sum(parts), before - fall - (v * b).sum(), *parts, fall)
    fall = before - after
    return Truth(fall + drop, case.offset + drop, fall, drop, fall)


def judge_report(case: Case, rng: np.random.Generator) -> list[Verdict]:
    """Simulate and compare all pairs of a case, and judge them as one report."""
    means, models = [], {}
    for number in range(case.n_pairs):
        original, replication = draw_pair(case, rng)
        found = me.compare(
            original, replication, criteria=CRITERION, seeds=10, pair=f"p{number}",
            paired=case.paired,
        )  # fmt: skip
        means.append(found._estimates.means.iloc[0])
        of_models = found._estimates.models[CRITERION], *found._tables.values()
        models[f"p{number}", CRITERION] = with_accuracies(*of_models)
    return verdicts(means, models)


def is_wrong(verdict: Verdict, case: Case) -> bool:
    """Whether an established claim of a verdict contradicts the truth of its case."""
    truth = compute_truth(case)
    for claim in verdict.claims:
        if claim.strength is not Strength.ESTABLISHED:
            continue
        true, fall = getattr(truth, claim.question), truth.fall
        is_part = claim.question == "confidence"
        base = case.offset if claim.question == "calibration" else 0.0
        is_true = {
            "loss": true > 1e-12 and (not is_part or fall > 1e-12),
            "gain": true < -1e-12,
            "overconfident": true > 1e-12,
            "underconfident": true < -1e-12,
            "small": abs(true) < MARGIN - 1e-12,
            "mixed": min(case.drops) < -base < max(case.drops),
        }
        if not is_true[claim.finding]:
            return True
        if " all of this loss" in claim.text and not abs(truth.left) < MARGIN:
            return True
    shift = truth.accuracy - float(np.mean(case.drops))
    changes = {f"m{i}": shift + drop for i, drop in enumerate(case.drops)}
    counts = verdict.models
    return counts is not None and (
        any(changes[name] <= 1e-12 for name in counts.lost)
        or any(changes[name] >= -1e-12 for name in counts.gained)
    )


def measure_verdicts(case: Case, n_reports: int) -> dict:
    """Return a row: how many simulated reports and claims are wrong, established or open."""
    wrong, established, undecided, same, told = 0, 0, 0, 0, np.zeros(3)
    for report in range(n_reports):
        rng = np.random.default_rng([CASES.index(case), report])
        found = judge_report(case, rng)
        wrong += any(is_wrong(verdict, case) for verdict in found)
        of_accuracy = [verdict.claims[0].strength for verdict in found]
        told += np.mean(
            [[c.strength is Strength.ESTABLISHED for c in v.claims[1:]] for v in found], axis=0
        )
        same += sum(
            v.claims[0].finding == "small" and v.claims[0].strength is Strength.ESTABLISHED
            for v in found
        ) / len(found)
        established += of_accuracy.count(Strength.ESTABLISHED) / len(found)
        undecided += of_accuracy.count(Strength.OPEN) / len(found)
    shares = {"wrong": wrong, "established": established, "open": undecided, "same": same}
    shares |= dict(zip(("calibration", "explained", "left"), told, strict=True))
    truth = {f"true_{name}": round(100 * v, 2) for name, v in vars(compute_truth(case)).items()}
    return {
        "case": case.name, "n_original": case.sizes[0], "n_replication": case.sizes[1],
        "models": len(case.drops), "pairs": case.n_pairs,
        "groups": " and ".join(map(str, case.n_groups)) * any(case.n_groups),
        "reports": n_reports, **truth,
        **{name: round(100 * value / n_reports, 1) for name, value in shares.items()},
    }  # fmt: skip


def measure_intervals(case: Case, n_reports: int) -> dict:
    """Return a row: how often 95 % intervals of a case hold the truth."""
    found, true = [], compute_truth(case)
    for report in range(n_reports):
        sets = draw_pair(case, np.random.default_rng([INTERVALS.index(case), report]))
        found.append(me.compare(*sets, criteria=CRITERION, seeds=10)._estimates.means)
    table, row = pd.concat(found), {"case": case.name, "sizes": case.sizes, "reports": n_reports}
    parts = ("confidence_part", "confidence_part_wide", "conditional_part", "conditional_part_wide")
    for name in (*parts, "matched_gap"):
        value = true.confidence if name.startswith("confidence") else true.left
        low, high = table[f"{name}_low"].dropna(), table[f"{name}_high"].dropna()
        row[name] = round(100 * ((low <= value) & (value <= high)).mean(), 1)
    too_low = (table["confidence_part_high"] < true.confidence).mean()
    row["confidence_part_too_low"] = round(100 * too_low, 1)
    return row | {"with_matched_interval": len(low)}


if __name__ == "__main__":
    warnings.filterwarnings("ignore", category=me.InputWarning)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reports", type=int, default=500)
    parser.add_argument("--only", default="", help="cases whose names hold this; nothing is stored")
    parser.add_argument("--intervals", action="store_true", help="their coverage alone")
    given = parser.parse_args()
    cases = [case for case in CASES if given.only in case.name]
    if given.intervals:
        rows = [measure_intervals(case, given.reports) for case in INTERVALS]
        write_results("interval_coverage", rows, "numpy")
    elif given.only:
        for case in cases:
            print(measure_verdicts(case, given.reports))
    else:
        rows = [measure_verdicts(case, given.reports) for case in cases]
        write_results("verdicts", rows, "numpy")
