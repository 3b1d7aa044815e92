"""How often intervals from few labels hold the accuracy, and how wide they are, by simulation.

    python benchmarks/few_labels.py [repetitions]

Labels are drawn and evaluated by the library's own functions, 10,000 times for each method, number
of labels and set; confidence sequences, which count as missing if they miss at any time, 25 times
less often.
Sets have 2,000 datapoints. `calibrated` sets are as confidences say; the others are hostile.
"""

import sys
from collections.abc import Iterator

import numpy as np
from common import write_results

from matcheval.few_labels.accuracy import Question, choose_method, estimate_by, sequence_by
from matcheval.few_labels.draws import Draw, draw
from matcheval.few_labels.estimators import Estimate, disagreement_difference
from matcheval.few_labels.inputs import Sample

N, LABELS = 2000, (50, 100, 200)
RANDOM_METHODS = ("hypergeometric", "clopper_pearson", "difference_set", "auto")
FEWER = 25  # repetitions of sequences, each of which takes as many steps as there are labels
Set = tuple[np.ndarray, np.ndarray]


def draw_calibrated(accuracy: float, rng: np.random.Generator) -> Set:
    """Draw confidences with a mean near the accuracy, and whether predictions are right by them."""
    f = rng.beta(4 * accuracy, 4 * (1 - accuracy), N)
    return f, (rng.random(N) < f).astype(float)


def make_sets() -> dict[str, Set]:
    """Make the simulated sets by name: confidences, and whether each prediction is right."""
    rng = np.random.default_rng(0)
    sets = {f"calibrated {a}": draw_calibrated(a, rng) for a in (0.7, 0.85, 0.95, 0.99)}
    f, y = draw_calibrated(0.85, rng)
    by_confidence = np.argsort(f)
    fifth = by_confidence[-N // 5 :]
    sets["useless"] = f, rng.permutation(y)
    inverted = y.copy()
    inverted[by_confidence] = np.sort(y)[::-1]  # all errors are the most confident predictions
    sets["inverted"] = f, inverted
    half = y.copy()
    half[rng.choice(fifth, N // 10, replace=False)] = 0
    sets["half of the most confident fifth wrong"] = f, half
    missing = y.copy()
    missing[rng.choice(N, N // 10, replace=False)] = 0
    sets["one of 10 predicted classes never true"] = f, missing
    sets["overconfident"] = f**0.25, y
    return sets


def labelled_sample(drawn: Draw) -> Sample:
    """Make the sample of drawn datapoints, all of whose labels count."""
    return Sample(drawn.rows, drawn.rows, drawn.stratum, ())


def measure_random(f: np.ndarray, y: np.ndarray, n: int, repetitions: int) -> Iterator[dict]:
    """Measure coverage and width of the methods for random labels, all on the same draws."""
    low, high = np.empty((2, len(RANDOM_METHODS), repetitions))
    question = Question(f, None, "set", 0.95)
    known: dict[tuple[str, int], Estimate] = {}  # intervals of labels alone depend on counts only
    for seed in range(repetitions):
        drawn = draw("random", f, n, seed)
        right = y[drawn.rows]
        n_right = int(right.sum())
        for k, requested in enumerate(RANDOM_METHODS):
            method, _ = choose_method(requested, question, n, n_right)
            estimate = known.get((method, n_right))
            if estimate is None:
                estimate = estimate_by(method, right, labelled_sample(drawn), question)
                if method != "difference_set":
                    known[method, n_right] = estimate
            low[k, seed], high[k, seed] = estimate.lower, estimate.upper
    for k, method in enumerate(RANDOM_METHODS):
        yield {"design": "random", "method": method} | coverage_and_width(low[k], high[k], y.mean())


def measure_mixed(f: np.ndarray, y: np.ndarray, n: int, repetitions: int) -> dict:
    """Measure coverage and width of the stratified method on mixed draws."""
    low, high = np.empty((2, repetitions))
    for seed in range(repetitions):
        drawn = draw("mixed", f, n, seed)
        question = Question(f, drawn, "set", 0.95)
        estimate = estimate_by("stratified", y[drawn.rows], labelled_sample(drawn), question)
        low[seed], high[seed] = estimate.lower, estimate.upper
    return {"design": "mixed", "method": "stratified"} | coverage_and_width(low, high, y.mean())


def measure_sequence(f: np.ndarray, y: np.ndarray, n: int, method: str, repetitions: int) -> dict:
    """Measure a confidence sequence: coverage at all times, and its width at the end."""
    low, high = np.empty((2, repetitions))
    question = Question(f, None, "set", 0.95)
    for seed in range(repetitions):
        drawn = draw("random", f, n, seed)
        sequence = sequence_by(method, y[drawn.rows], labelled_sample(drawn), question)
        low[seed], high[seed] = sequence.lower[-1], sequence.upper[-1]  # the narrowest
    return {"design": "random", "method": method} | coverage_and_width(low, high, y.mean())


def measure_two_models(n: int, repetitions: int) -> dict:
    """Measure intervals of the difference of two models, from labels where they differ."""
    rng = np.random.default_rng(1)
    f, y = draw_calibrated(0.85, rng)
    other = y.copy()
    differs = rng.random(N) < 0.15
    other[differs] = np.where(rng.random(N) < 0.4, 1 - y, 0)[differs]
    difference = y - other
    low, high = np.empty((2, repetitions))
    for seed in range(repetitions):
        rows = draw("disagreement", f, n, seed, differs).rows
        found = disagreement_difference(difference[rows], int(differs.sum()), N)
        low[seed], high[seed] = found.lower, found.upper
    row = {"design": "disagreement", "method": "disagreement_difference"}
    return row | coverage_and_width(low, high, difference.mean())


def coverage_and_width(low: np.ndarray, high: np.ndarray, truth: float) -> dict:
    """Return the share of intervals that hold the truth, and their mean half-width."""
    holds = (low <= truth + 1e-9) & (truth - 1e-9 <= high)
    return {
        "repetitions": len(low), "coverage": f"{holds.mean():.4f}",
        "half_width": f"{((high - low) / 2).mean():.4f}", "truth": f"{truth:.4f}",
    }  # fmt: skip


def measure_all(repetitions: int) -> Iterator[dict]:
    """Measure all methods on all sets, a row for each."""
    few = max(1, repetitions // FEWER)
    for name, (f, y) in make_sets().items():
        for n in LABELS:
            row_of_set: dict = {"set": name, "n": n}
            yield from (row_of_set | row for row in measure_random(f, y, n, repetitions))
            yield row_of_set | measure_mixed(f, y, n, repetitions)
        for method in ("ppr_cs", "betting_cs"):
            yield {"set": name, "n": 100} | measure_sequence(f, y, 100, method, few)
    f, y = make_sets()["useless"]
    all_labelled = measure_mixed(f[:200], y[:200], 200, few)
    yield {"set": "useless, 200 datapoints", "n": 200} | all_labelled
    for n in LABELS:
        yield {"set": "two models", "n": n} | measure_two_models(n, repetitions)


if __name__ == "__main__":
    given = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    write_results("few_labels", measure_all(given), "numpy", "scipy")
