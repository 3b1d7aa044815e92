"""Rows that are copies of others, told by their scores: one group; and what is no evidence."""

import numpy as np
import pandas as pd
import pytest

import matcheval as me
from helpers import written
from matcheval.api.pairs import PairOptions, read_pair
from matcheval.datasets.suites import Pair
from matcheval.predictions.datapoints import copied_rows, copies_warning
from matcheval.predictions.layout import Layout
from matcheval.protocol.compared_models import PairFiles
from matcheval.protocol.comparisons import GroupSource
from matcheval.protocol.criteria import Criterion
from matcheval.protocol.gaps import gaps_of_models
from matcheval.protocol.settings import MatchingMethod


def softmaxed(rng, n, n_classes=10, scale=1.0, dtype=np.float32):
    scores = np.exp(scale * rng.normal(size=(n, n_classes)))
    return (scores / scores.sum(axis=1, keepdims=True)).astype(dtype)


def test_copies_are_found():
    rng = np.random.default_rng(0)
    scores = np.repeat(softmaxed(rng, 500), 2, axis=0)
    first = copied_rows(scores, are_probabilities=True)
    assert (first == np.arange(1000) // 2 * 2).all()
    (text,) = copies_warning(first)
    assert text.startswith("500 of 1,000 rows have the scores of an earlier one")


HALF_ARE_1 = softmaxed(np.random.default_rng(7), 10_000)
HALF_ARE_1[::2] = np.eye(10, dtype=np.float32)[np.random.default_rng(7).integers(10, size=5_000)]


@pytest.mark.parametrize(
    "scores",
    [
        HALF_ARE_1,
        softmaxed(np.random.default_rng(3), 10_000, 3, 4.0, np.float16),
        np.concatenate([softmaxed(np.random.default_rng(6), 9_990), np.full((10, 10), 0.1)]),
        np.round(softmaxed(np.random.default_rng(2), 10_000, 3, 4.0, np.float64), 6),  # a CSV file
        softmaxed(np.random.default_rng(4), 10_000, 10, 60.0),  # nearly all are 1 and 0
        np.repeat(softmaxed(np.random.default_rng(5), 5_000, 2), 2, axis=0),
    ],
)
def test_what_is_no_evidence(scores):
    copies = copied_rows(scores, are_probabilities=True)
    assert copies is None or (not copies_warning(copies) and (copies < 0).all())


N = 300
ORIGINS = ("original", "replication")
METHODS = {"probability": MatchingMethod(criterion=Criterion.PROBABILITY)}


def by_model(seeds, n=N):
    """A table of each model, of logits of a set in which every image stands twice."""
    found, labels = {}, np.random.default_rng(0).integers(0, 5, n)
    for model, seed in zip("ab", seeds, strict=True):
        logits = np.random.default_rng(seed).normal(size=(n, 5)) + 2 * np.eye(5)[labels]
        found[model] = {"label": np.repeat(labels, 2), "logits": np.repeat(logits, 2, axis=0)}
    return found


def gaps(original, replication, **options):
    """Means over models with their intervals, as of `compare`."""
    asked = PairOptions("probability", 0.005, 2, names=("old", "new"), **options)
    compared = read_pair(original, replication, asked, None, None, 0, False)
    table = gaps_of_models(compared.comparisons, METHODS, range(2), compared.blocks)
    return table.means, compared.blocks


def grouped(models):
    names = [f"{row // 2:04d}" for row in range(2 * N)]
    return {m: one | {"group": names[: len(one["label"])]} for m, one in models.items()}


OLD, NEW = by_model((1, 2)), by_model((3, 4), n=200)


def test_copies_are_one_group_in_intervals():
    found, blocks = gaps(OLD, NEW)
    assert (blocks.n_source, blocks.n_target) == (N, 200)
    expected, _ = gaps(grouped(OLD), grouped(NEW))
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


def test_of_models_that_differ_only_common_copies_are_groups():
    other = OLD["b"] | {"logits": OLD["b"]["logits"].copy()}
    other["logits"][: N // 2] += np.random.default_rng(5).normal(0, 0.1, (N // 2, 5))
    blocks = gaps(OLD | {"b": other}, NEW)[1]
    assert (blocks.n_source, blocks.n_target) == (N + N // 4, 200)
    sure = OLD["b"] | {"logits": OLD["b"]["logits"] * np.float64(200)}  # no evidence, but equal
    sure["probabilities"] = np.exp(sure["logits"] - sure.pop("logits").max(axis=1, keepdims=True))
    sure["probabilities"] /= sure["probabilities"].sum(axis=1, keepdims=True)
    assert gaps(OLD | {"b": sure}, NEW)[1].n_source == N
    # Without scores, a model may only tell apart what others show to be copies.
    p = np.random.default_rng(6).uniform(0.3, 1, N)
    plain = {"label": OLD["b"]["label"], "prediction": OLD["b"]["label"] // 2 * 2}
    for unlike, n in ((0, N), (2 * N, 2 * N)):
        confidence = np.repeat(p, 2)
        confidence[:unlike:2] -= 0.01
        assert gaps(OLD | {"b": plain | {"probability": confidence}}, NEW)[1].n_source == n


def test_paired_copies_are_copies_in_both_sets():
    noisy = by_model((3, 4))
    assert gaps(OLD, noisy, paired=True)[1].n == N
    for one in noisy.values():
        one["logits"] = np.random.default_rng(7).normal(size=one["logits"].shape)
    assert gaps(OLD, noisy, paired=True)[1].n == 2 * N


def test_copies_are_groups_in_studies(tmp_path):
    """Files in another order, too; and without scores, nothing is a copy."""
    paths = {}
    for origin, models in zip(ORIGINS, (OLD, NEW), strict=True):
        (tmp_path / origin).mkdir()
        order = np.random.default_rng(8).permutation(len(models["a"]["label"]))
        paths[origin] = []
        for m, one in models.items():
            table = {"index": order, "label": one["label"][order]}
            table["logits"] = list(one["logits"][order])
            paths[origin].append(written(tmp_path / origin / f"{m}.parquet", table))
    files = PairFiles(
        Pair("pair", "old", "new"), "ab", **paths, layouts=dict.fromkeys(ORIGINS, Layout()),
        matchings=METHODS, seeds=range(2), groups=dict.fromkeys(ORIGINS, GroupSource()),
    )  # fmt: skip
    comparisons, blocks = files.streamed()
    found = gaps_of_models(comparisons, METHODS, range(2), blocks).means
    expected = gaps(grouped(OLD), grouped(NEW))[0]
    assert (blocks.n_source, blocks.n_target) == (N, 200)
    pd.testing.assert_frame_equal(found, expected)


def test_copies_in_two_models_on_one_set():
    found, expected = (me.compare_models(one["a"], one["b"]) for one in (OLD, grouped(OLD)))
    assert found._n_groups == expected._n_groups == N
    assert found.difference == expected.difference
