"""How often a report's verdicts are wrong: simulated sets of known truth, no timing.

    python benchmarks/verdicts.py [--reports 1000]

Confidences are Beta distributed. Models share how hard an image is, for confidence and for
correctness. Accuracy at a confidence is the confidence less 3 points, and in the replication less
a further `drop`; a change of confidence alone leaves the drop 0. Groups share a part of how hard
their images are. A report is `wrong` if any of its established claims is, of any pair, counts of
models that lose or gain included. `established` and `open` are shares of the claims on accuracy.
"""

import argparse
from dataclasses import dataclass

import numpy as np
from common import write_results
from scipy.special import ndtr
from scipy.stats import beta

import matcheval as me
from matcheval.protocol.verdicts import MARGIN, Verdict, verdicts, with_accuracies
from matcheval.statistics.claims import Strength

ALIKE = 0.6  # correlation of models, and of both sets of paired images
OF_GROUPS = 0.4  # correlation of images of a group


@dataclass(frozen=True)
class Case:
    """Pairs of sets, and how each model's confidence and accuracy change on the replication."""

    name: str
    sizes: tuple[int, int] = (2_000, 1_000)
    drops: tuple[float, ...] = (0.0,)  # by model
    shape: tuple[float, float] = (8.0, 0.5)  # of confidences of the replication
    n_pairs: int = 1
    n_groups: int = 0  # of each set
    paired: bool = False


SHIFTED = (6.0, 0.6)
CASES = (
    Case("no change"),
    Case("no change, 5 models, 2 pairs", drops=(0.0,) * 5, n_pairs=2),
    Case("no change, 10 pairs", n_pairs=10, sizes=(1_000, 500)),
    Case("no change, paired images", sizes=(1_500, 1_500), paired=True),
    Case("no change, 8 groups", n_groups=8),
    Case("no change, 12 groups", n_groups=12),
    Case("no change, 40 groups", n_groups=40),
    Case("confidence alone", shape=SHIFTED),
    Case("confidence alone, large sets", sizes=(20_000, 10_000), shape=SHIFTED),
    Case("at equal confidence alone, 3 points", drops=(0.03,)),
    Case("at equal confidence alone, 3 points, small sets", (400, 300), drops=(0.03,)),
    Case("both, 3 points", drops=(0.03,), shape=SHIFTED),
    Case("at equal confidence, the margin, large sets", (20_000, 20_000), drops=(MARGIN,)),
    Case("models that differ", (4_000, 2_000), drops=(0.04, -0.025, 0.0, 0.0)),
)
ORIGINAL = (8.0, 0.5)


def predictions(case: Case, rng: np.random.Generator) -> list[dict[str, dict]]:
    """Draw both sets of a pair: for each, arrays by model."""
    n_images = case.sizes[0]
    shared = rng.normal(size=(2, n_images))
    sets = []
    for n, shape, is_new in zip(case.sizes, (ORIGINAL, case.shape), (False, True), strict=True):
        group = np.arange(n) % case.n_groups if case.n_groups else np.arange(n)
        common = shared if case.paired else rng.normal(size=(2, n))
        if case.n_groups:
            of_group = rng.normal(size=(2, case.n_groups))[:, group]
            common = np.sqrt(OF_GROUPS) * of_group + np.sqrt(1 - OF_GROUPS) * common
        found = {}
        for number, drop in enumerate(case.drops):
            own = rng.normal(size=(2, n))
            hard = np.sqrt(ALIKE) * common + np.sqrt(1 - ALIKE) * own
            confidence = beta.ppf(ndtr(hard[0]), *shape)
            right = ndtr(hard[1]) < confidence - 0.03 - drop * is_new
            label = np.arange(n) % 10
            arrays = {
                "label": label,
                "prediction": np.where(right, label, (label + 1) % 10),
                "probability": confidence,
            }
            found[f"m{number}"] = arrays | ({"group": group} if case.n_groups else {})
        sets.append(found)
    return sets


def truths(case: Case) -> dict[str, float]:
    """Mean differences over models: of accuracy, its part with confidence, and what is left."""
    drop = float(np.mean(case.drops))
    shift = beta(*ORIGINAL).mean() - beta(*case.shape).mean()
    return {"accuracy": shift + drop, "confidence": shift, "left": drop}


def judged(case: Case, rng: np.random.Generator) -> list[Verdict]:
    """Compare all pairs, and judge them as one report."""
    means, models = [], {}
    for number in range(case.n_pairs):
        original, replication = predictions(case, rng)
        found = me.compare(
            original, replication, criteria="probability", seeds=10, pair=f"p{number}",
            paired=case.paired,
        )._compared  # fmt: skip
        means.append(found.gaps.means.iloc[0])
        of_models = found.gaps.models["probability"], *found.tables.values()
        models[f"p{number}", "probability"] = with_accuracies(*of_models)
    return verdicts(means, models)


def is_wrong(verdict: Verdict, case: Case) -> bool:
    """Whether an established claim is wrong."""
    truth = truths(case)
    n_losing = sum(truth["confidence"] + drop > 0 for drop in case.drops)
    n_gaining = sum(truth["confidence"] + drop < 0 for drop in case.drops)
    for claim in verdict.claims:
        if claim.strength is not Strength.ESTABLISHED:
            continue
        of_truth = {
            "loss": truth[claim.question] > 1e-12,
            "gain": truth[claim.question] < -1e-12,
            "small": abs(truth[claim.question]) < MARGIN - 1e-12,
            "mixed": min(case.drops) < 0 < max(case.drops),
        }
        if not of_truth[claim.finding]:
            return True
    counts = verdict.models
    return counts is not None and (counts.lost > n_losing or counts.gained > n_gaining)


def measure(case: Case, n_reports: int) -> dict:
    """A row: shares of reports and claims."""
    wrong, established, undecided = 0, 0, 0
    for report in range(n_reports):
        rng = np.random.default_rng([CASES.index(case), report])
        found = judged(case, rng)
        wrong += any(is_wrong(verdict, case) for verdict in found)
        of_accuracy = [verdict.claims[0].strength for verdict in found]
        established += of_accuracy.count(Strength.ESTABLISHED) / len(found)
        undecided += of_accuracy.count(Strength.OPEN) / len(found)
    shares = {"wrong": wrong, "established": established, "open": undecided}
    truth = {f"true_{name}": round(100 * value, 2) for name, value in truths(case).items()}
    return {
        "case": case.name, "n_original": case.sizes[0], "n_replication": case.sizes[1],
        "models": len(case.drops), "pairs": case.n_pairs, "groups": case.n_groups,
        "reports": n_reports, **truth,
        **{name: round(100 * value / n_reports, 1) for name, value in shares.items()},
    }  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reports", type=int, default=1_000)
    n = parser.parse_args().reports
    write_results("verdicts", [measure(case, n) for case in CASES], "numpy")
