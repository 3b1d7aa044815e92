"""Subsets, reliability bins and densities behind the figures, by hand and by property."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import predictions, simulate
from matcheval.datasets.suites import Pair
from matcheval.errors import InputError
from matcheval.protocol.compared_models import MatchedModel
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.reliability import Role, reliability_curve, reliability_data
from matcheval.protocol.schemas import PAIRS
from matcheval.protocol.settings import Criterion, MatchingMethod

probabilities = st.lists(st.floats(0, 1, width=32), max_size=200)


def pairs_table(*rows):
    return PAIRS.table({name: [row[i] for row in rows] for i, name in enumerate(PAIRS.names)})


def test_bins_by_hand():
    curve = reliability_curve(
        [0.0, 0.25, 0.3, 0.5, 0.75, 0.8, 1.0, 1.0],
        [True, False, True, True, False, False, True, False],
        bins=4,
    )
    assert curve.edges.tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert curve.count.tolist() == [2, 2, 1, 3]  # closed on the right; 0 in the first bin
    assert curve.confidence.tolist() == pytest.approx([0.125, 0.4, 0.75, 2.8 / 3])
    assert curve.accuracy.tolist() == pytest.approx([0.5, 1.0, 0.0, 1 / 3])
    assert curve.density.tolist() == pytest.approx([1.0, 1.0, 0.5, 1.5])


def test_bins_compare_in_float64():
    just_above = np.float32(0.1)  # 0.100000001...
    assert reliability_curve(np.array([just_above]), [True], bins=10).count[:2].tolist() == [0, 1]
    assert reliability_curve([0.1, 0.3, 0.7], [True] * 3, bins=10).count.tolist() == [
        1, 0, 1, 0, 0, 0, 1, 0, 0, 0,
    ]  # fmt: skip


@pytest.mark.filterwarnings("error")
def test_empty_bins_and_empty_sets_are_nan():
    curve = reliability_curve([0.9], [True], bins=2)
    assert np.isnan(curve.accuracy).tolist() == [True, False]
    assert np.isnan(curve.confidence).tolist() == [True, False]
    empty = reliability_curve([], [], bins=3)
    assert empty.count.tolist() == [0, 0, 0]
    assert np.isnan(empty.accuracy).all()
    assert np.isnan(empty.density).all()


@given(probabilities, st.integers(1, 40), st.randoms(use_true_random=False))
def test_bins_hold_every_point_once(probability, bins, random):
    correct = [random.random() < 0.5 for _ in probability]
    curve = reliability_curve(probability, correct, bins)
    filled = curve.count > 0
    assert curve.count.sum() == len(probability)
    np.testing.assert_allclose(np.nansum(curve.accuracy * curve.count), sum(correct), atol=1e-9)
    np.testing.assert_allclose(
        np.nansum(curve.confidence * curve.count), sum(probability), rtol=1e-12, atol=1e-12
    )
    assert (curve.confidence[filled] >= curve.edges[:-1][filled] - 1e-12).all()
    assert (curve.confidence[filled] <= curve.edges[1:][filled] + 1e-12).all()
    if probability:
        assert np.sum(curve.density * np.diff(curve.edges)) == pytest.approx(1)


def subsets_of(source, target, pairs, seeds):
    comparison = Comparison("m", Pair("p", "s", "t", source="s"), source, target)
    return reliability_data(comparison, pairs, "", 0.005, seeds).subsets


def test_subsets_by_hand():
    source = predictions([0.9, 0.6, 0.3], [0, 1, 2], label=[0, 1, 0], index=np.array([7, 5, 9]))
    target = predictions([0.6, 0.9], [1, 0], label=[0, 0], index=np.array([3, 8]))
    pairs = pairs_table((4, 5, 3), (4, 7, 8), (6, 7, 8))  # no match with seed 2
    subsets = subsets_of(source, target, pairs, [2, 4, 6])
    assert [subset.role for subset in subsets] == list(Role)
    assert [subset.dataset for subset in subsets] == ["s", "t", "s", "t", "t"]
    assert [subset.n_seeds for subset in subsets] == [1, 1, 3, 3, 3]
    assert [subset.n_per_seed for subset in subsets] == [3, 2, 1, 1, 1]
    expected = [
        ([0.6, 0.9, 0.3], [True, True, False]),  # in order of index
        ([0.6, 0.9], [False, True]),
        ([0.6, 0.9, 0.9], [True, True, True]),
        ([0.6, 0.9, 0.9], [False, True, True]),
        ([0.6, 0.9, 0.6], [False, True, False]),  # both with seed 2, none with 4, one with 6
    ]
    for subset, (probability, correct) in zip(subsets, expected, strict=True):
        assert subset.probability.tolist() == pytest.approx(probability)
        assert subset.correct.tolist() == correct


def test_subsets_without_matched_and_without_unmatched_points():
    source, target = predictions([0.5, 0.6]), predictions([0.5])
    none = subsets_of(source, target, pairs_table(), [0, 1])
    assert [len(subset.probability) for subset in none] == [2, 1, 0, 0, 2]
    both = subsets_of(source, target, pairs_table((0, 0, 0)), [0])
    assert [len(subset.probability) for subset in both] == [2, 1, 1, 1, 0]


@pytest.mark.parametrize(("row", "datapoint"), [((0, 2, 0), 2), ((0, 0, 5), 5)])
def test_pairs_of_other_predictions(row, datapoint):
    with pytest.raises(InputError, match=f"datapoint {datapoint}, which has no"):
        subsets_of(predictions([0.5, 0.6]), predictions([0.5]), pairs_table(row), [0])


@pytest.mark.parametrize("replication_is_larger", [False, True])
def test_subsets_agree_with_the_runs(replication_is_larger):
    sizes = (150, 400) if replication_is_larger else (400, 150)
    original, replication = (simulate(n, 5, seed) for seed, n in enumerate(sizes))
    comparison = Comparison("m", Pair("p", "o", "r"), original, replication)
    seeds = [0, 3]
    method = MatchingMethod(criterion=Criterion.LABEL_PROBABILITY)
    matched = MatchedModel.of(comparison, method, seeds)
    data = reliability_data(comparison, matched.pairs(), method.title(), 0.005, seeds)
    assert data.subsets[0].dataset == ("r" if replication_is_larger else "o")
    runs = matched.runs().to_pandas()
    for role in Role:
        subset = data.subsets[list(Role).index(role)]
        name = role.value.replace(" ", "_")
        n = {
            "source": runs["n_source"],
            "target": runs["n_target"],
            "unmatched_target": runs["n_target"] - runs["n_matched"],
        }.get(name, runs["n_matched"])
        column = {
            "source": "accuracy_source",
            "target": "accuracy_target",
            "unmatched_target": "unmatched_accuracy_target",
        }.get(name, name.replace("matched_", "matched_accuracy_"))
        assert subset.n_per_seed == n.mean()
        assert subset.correct.mean() == pytest.approx((n * runs[column]).sum() / n.sum())
