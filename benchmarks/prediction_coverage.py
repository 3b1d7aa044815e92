"""How often the interval of a recommended accuracy without labels holds it: simulated, no timing.

    python benchmarks/prediction_coverage.py

Labels are drawn from the softmax of logits, on the base (2,000 images) and the target: the model is
calibrated on both. A `shift` lowers the logit of one class, and so confidence and accuracy; or a
share of the target's labels is `changed`, whatever the confidence. The truth is the accuracy of the
population; all but `recommended` is of the reports that recommend a prediction.
"""

import numpy as np
from common import write_results
from scipy.special import softmax

import matcheval as me

REPORTS, CLASSES, N_BASE = 200, 10, 2_000
METHODS = ["atc_mc", "cott", "ac_temperature"]  # all that the recommendation reads
CASES = {  # images of the target, shift, share changed
    "no change": (1_000, 0, 0), "mild shift": (1_000, 0.25, 0),
    "mild shift, more images": (10_000, 0.25, 0), "stronger shift": (1_000, 0.5, 0),
    "10 % of labels change": (1_000, 0, 0.1),
}  # fmt: skip


def draw(rng: np.random.Generator, n: int, shift: float, changed: float) -> dict[str, np.ndarray]:
    """Draw logits and labels of a set, with a shift of one class or a share of labels changed."""
    logits = 1.5 * rng.normal(size=(n, CLASSES))
    logits[np.arange(n), rng.integers(0, CLASSES, n)] += 6 - shift
    labels = (softmax(logits, axis=1).cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    labels += (rng.random(n) < changed) * rng.integers(1, CLASSES, n)
    return {"logits": logits, "labels": labels % CLASSES}


def measure_coverage(seed: int, name: str, n: int, *change: float) -> dict[str, object]:
    """Return how often intervals of recommended predictions hold the accuracy in one case."""
    many = draw(np.random.default_rng(seed), 1_000_000, *change)
    true = (many["logits"].argmax(axis=1) == many["labels"]).mean()
    results = []
    for report in range(REPORTS):
        rng = np.random.default_rng([seed, report])
        base, target = draw(rng, N_BASE, 0, 0), draw(rng, n, *change)["logits"]
        predicted = me.predict_accuracy(base, {"target": {"logits": target}}, methods=METHODS)
        (advice,) = predicted.recommendations
        if advice.method:
            held = 100 * (advice.low <= true <= advice.high)
            width = advice.high - advice.low
            results.append((held, 100 * abs(advice.predicted - true), 50 * width))
    values = *np.mean(results, axis=0), np.std(results, axis=0)[0] / len(results) ** 0.5
    shares = {"accuracy": 100 * true, "recommended": 100 * len(results) / REPORTS}
    shares |= zip(("coverage", "error", "half_width", "coverage_se"), values, strict=True)
    return {"case": name, "n": n, "reports": REPORTS} | {k: round(v, 1) for k, v in shares.items()}


if __name__ == "__main__":
    rows = [measure_coverage(seed, name, *case) for seed, (name, case) in enumerate(CASES.items())]
    write_results("prediction_coverage", rows, "numpy")
