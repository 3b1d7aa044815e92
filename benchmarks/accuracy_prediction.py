"""Accuracy prediction: all scores of one model on 180 sets, and the agreement of 70 models on them.

    python benchmarks/accuracy_prediction.py

The size of CIFAR-10-Warehouse: 180 sets of 3,400 images of 10 classes, a base of 8,000. Logits,
labels and predictions are drawn at random. Per score: the seconds for all sets, what it fits
included, and `outputs` for what the scores share (softmax, prediction, entropies). Agreements are
compared with a NumPy loop over models on some of the sets, and have to be equal.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when NumPy is imported

import time

import numpy as np
from common import peak_mib, write_results

from matcheval.accuracy_prediction.scores import SCORES
from matcheval.accuracy_prediction.scores.agreement import (
    POOL_SCORES,
    Agreements,
    agreement,
)
from matcheval.accuracy_prediction.scores.outputs import class_rule, from_logits, restrict
from matcheval.accuracy_prediction.scores.score import Sides, Sources, missing_inputs

SETS, IMAGES, BASE, CLASSES, MODELS = 180, 3_400, 8_000, 10, 70
COMPARED = 5  # sets of the NumPy loop


def timing_row(what: str, start: float, **more: object) -> dict[str, object]:
    """Return a row of results, with the seconds that have passed since `start`."""
    return {"what": what, "sets": SETS, "seconds": round(time.perf_counter() - start, 3), **more}


def draw_logits(generator: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw logits in single precision, and labels that are often their argmax."""
    logits = generator.normal(0, 2, (n, CLASSES)).astype(np.float32)
    labels = np.where(
        generator.random(n) < 0.7, logits.argmax(axis=1), generator.integers(0, CLASSES, n)
    )
    return logits, labels


def time_scores(generator: np.random.Generator) -> list[dict[str, object]]:
    """Time all scores of one model, over all classes and over half of them."""
    base_drawn = draw_logits(generator, BASE)
    sets = [draw_logits(generator, IMAGES) for _ in range(SETS)]
    names = [str(k) for k in range(CLASSES)]
    rows = []
    for classes in (names, names[::2]):
        rule, part = class_rule(names, classes), f" of {len(classes)} classes"
        start = first = time.perf_counter()
        whole = from_logits(*base_drawn)
        base = restrict(whole, rule, is_base=True)
        targets = [restrict(from_logits(*drawn), rule, is_base=False) for drawn in sets]
        for outputs in (base, *targets):
            _ = (outputs.entropies, outputs.correct)
        rows.append(timing_row("outputs" + part, start, images=IMAGES))
        for score in SCORES.values():
            if missing_inputs(score, Sources(whole), targets[0]):
                continue
            start = time.perf_counter()
            fitted = score.fitted(Sources(whole))
            for target in targets:
                score.compute(fitted, Sides(base, target))
            if classes == names:
                rows.append(timing_row(score.name, start, images=IMAGES))
        rows.append(timing_row("all scores" + part, first, images=IMAGES, peak_mib=peak_mib()))
    return rows


def time_pool(generator: np.random.Generator) -> list[dict[str, object]]:
    """Time the agreement of a pool of models and its scores, and compare it with NumPy."""

    def draw_predictions(n: int, labels: np.ndarray) -> np.ndarray:
        wrong = generator.integers(0, CLASSES, (MODELS, n))
        share = generator.uniform(0.4, 0.9, (MODELS, 1))
        return np.where(generator.random((MODELS, n)) < share, labels, wrong).astype(np.int16)

    labels = generator.integers(0, CLASSES, BASE)
    base = draw_predictions(BASE, labels)
    sets = [draw_predictions(IMAGES, generator.integers(0, CLASSES, IMAGES)) for _ in range(SETS)]
    agreement(base[:2, :10])  # compiles
    start = first = time.perf_counter()
    on_base, on_sets = agreement(base), [agreement(predictions) for predictions in sets]
    rows = [timing_row("agreement", start, images=IMAGES, models=MODELS)]
    known = (base == labels).mean(axis=1)
    for score in POOL_SCORES.values():
        start = time.perf_counter()
        for on_set in on_sets:
            score.compute(Agreements(on_set, on_base, known))
        rows.append(timing_row(score.name, start, images=IMAGES, models=MODELS))
    rows.append(
        timing_row("all of a pool", first, images=IMAGES, models=MODELS, peak_mib=peak_mib())
    )
    start = time.perf_counter()
    for predictions, on_set in zip(sets[:COMPARED], on_sets, strict=False):
        by_numpy = np.array([(predictions == model).mean(axis=1) for model in predictions])
        assert np.array_equal(by_numpy, on_set)
    taken = (time.perf_counter() - start) * SETS / COMPARED
    rows[0]["numpy_ratio"] = round(taken / float(str(rows[0]["seconds"])))
    return rows


if __name__ == "__main__":
    columns = ("what", "sets", "images", "models", "seconds", "numpy_ratio", "peak_mib")
    rows = time_scores(np.random.default_rng(0)) + time_pool(np.random.default_rng(1))
    write_results(
        "accuracy_prediction", [{c: r.get(c, "") for c in columns} for r in rows], "numpy", "numba"
    )
