"""Rows that are copies of others, told by their scores, and what is no evidence of it."""

import warnings

import numpy as np
import pytest

import matcheval as me
from matcheval.predictions.copies import copied_rows, told_copies


def softmaxed(rng, n, n_classes=10, scale=1.0, dtype=np.float32):
    scores = np.exp(scale * rng.normal(size=(n, n_classes)))
    return (scores / scores.sum(axis=1, keepdims=True)).astype(dtype)


def test_copies_are_found():
    rng = np.random.default_rng(0)
    scores = np.repeat(softmaxed(rng, 500), 2, axis=0)
    first = copied_rows(scores, are_probabilities=True)
    assert (first == np.arange(1000) // 2 * 2).all()
    (text,) = told_copies(scores, are_probabilities=True)
    assert text.startswith("500 of 1,000 rows have the scores of an earlier one")
    (text,) = told_copies(np.repeat(rng.normal(size=(99, 3)), 5, axis=0), are_probabilities=False)
    assert text.startswith("396 of 495")


@pytest.mark.parametrize(
    "scores",
    [
        softmaxed(np.random.default_rng(1), 10_000),
        np.round(softmaxed(np.random.default_rng(2), 10_000, 3, 4.0, np.float64), 6),  # a CSV file
        softmaxed(np.random.default_rng(3), 10_000, 3, 4.0, np.float16),
        softmaxed(np.random.default_rng(4), 10_000, 10, 60.0),  # nearly all are 1 and 0
        np.repeat(softmaxed(np.random.default_rng(5), 5_000, 2), 2, axis=0),
        np.concatenate([softmaxed(np.random.default_rng(6), 9_990), np.full((10, 10), 0.1)]),
    ],
)
def test_what_is_no_evidence(scores):
    assert told_copies(scores, are_probabilities=True) == []


def test_half_of_10000_confidences_are_1():
    """Of these rows, only the confidence is known to be large: no groups, no warning."""
    rng = np.random.default_rng(7)
    scores = softmaxed(rng, 10_000)
    scores[::2] = np.eye(10, dtype=np.float32)[rng.integers(10, size=5_000)]
    assert (copied_rows(scores, are_probabilities=True) == np.arange(10_000)).all()


def test_a_file_of_copies_is_told():
    scores = [np.repeat(softmaxed(np.random.default_rng(n), 200), 2, axis=0) for n in (8, 9)]
    sets = [{"label": p.argmax(axis=1) // 2, "probabilities": p} for p in scores]
    with pytest.warns(me.InputWarning, match="200 of 400 rows have the scores of an earlier one"):
        me.compare(*sets, seeds=2)
    grouped = [one | {"group": np.arange(400) // 2} for one in sets]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        me.compare(*grouped, seeds=2)
    assert not any("earlier one" in str(one.message) for one in told)
