"""The protocol, transcribed literally from the paper's pseudo-code; slow.

The reference for the tests and for `benchmarks/matching.py`; it shares nothing with the library but
the names of the criteria.
"""

import numpy as np


def in_float64(source, target):
    """Probabilities of both sets, in which the protocol compares them."""
    return source.probability.astype(np.float64), target.probability.astype(np.float64)


def candidates(source, target, i, free, criterion, epsilon, probabilities=None):
    """Rows of the source that target row `i` may be matched to."""
    p_source, p_target = probabilities or in_float64(source, target)
    close = free & (np.abs(p_source - p_target[i]) <= epsilon)
    if criterion == "label_probability":
        close &= source.prediction == target.prediction[i]
    return np.flatnonzero(close)


def match(source, target, criterion, epsilon, generator):
    """Algorithm 1 or 2: the source row of every target row, or -1."""
    free = np.ones(len(source), bool)
    picks = np.full(len(target), -1)
    probabilities = in_float64(source, target)
    for i in range(len(target)):
        rows = candidates(source, target, i, free, criterion, epsilon, probabilities)
        if len(rows):
            picks[i] = generator.choice(rows)
            free[picks[i]] = False
    return picks


def match_with_numbers(source, target, criterion, epsilon, uniform):
    """The same with given random numbers: candidate floor(u * count) by rising probability."""
    free = np.ones(len(source), bool)
    picks = np.full(len(target), -1)
    for i in range(len(target)):
        rows = candidates(source, target, i, free, criterion, epsilon)
        if len(rows):
            ranked = rows[np.argsort(source.probability[rows], kind="stable")]
            picks[i] = ranked[int(uniform[i] * len(ranked))]
            free[picks[i]] = False
    return picks
