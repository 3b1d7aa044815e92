"""Subsets, reliability bins and densities, by hand and by property, and the figure of them."""

import numpy as np
import pytest

from drawings import PAIR, draw, lines_of
from helpers import predictions
from matcheval.errors import InputError
from matcheval.protocol.compared_models import MatchedModel
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.reliability import (
    Role,
    plot_reliability,
    reliability_curve,
    reliability_data,
)  # fmt: skip
from matcheval.protocol.schemas import PAIRS
from matcheval.protocol.settings import MatchingMethod

METHOD = MatchingMethod(criterion="probability")


def data_of(original, replication, seeds=(0, 1, 2), pairs=None):
    """Matched by `METHOD`, or by the rows (seed, source, target) of a table of pairs."""
    comparison = Comparison("net.a1", PAIR, original, replication)
    if pairs is None:
        table = MatchedModel.of(comparison, METHOD, seeds).pairs()
    else:
        table = PAIRS.table({name: [row[i] for row in pairs] for i, name in enumerate(PAIRS.names)})
    return reliability_data(comparison, table, METHOD.title(), 0.005, seeds)


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
    curve, empty = reliability_curve([0.9], [True], bins=2), reliability_curve([], [], bins=2)
    for values in (curve.accuracy, curve.confidence):
        assert np.isnan(values).tolist() == [True, False]
    assert empty.count.tolist() == [0, 0]
    assert np.isnan([empty.accuracy, empty.density]).all()


def test_subsets_by_hand():
    source = predictions([0.9, 0.6, 0.3], [0, 1, 2], label=[0, 1, 0], index=np.array([7, 5, 9]))
    target = predictions([0.6, 0.9], [1, 0], label=[0, 0], index=np.array([3, 8]))
    pairs = [(4, 5, 3), (4, 7, 8), (6, 7, 8)]  # no match with seed 2
    subsets = data_of(source, target, [2, 4, 6], pairs).subsets
    expected = [
        ("Known", 1, 3, [0.6, 0.9, 0.3], [True, True, False]),  # in order of index
        ("New-Writers", 1, 2, [0.6, 0.9], [False, True]),
        ("Known", 3, 1, [0.6, 0.9, 0.9], [True, True, True]),
        ("New-Writers", 3, 1, [0.6, 0.9, 0.9], [False, True, True]),
        # Both with seed 2, none with 4, one with 6.
        ("New-Writers", 3, 1, [0.6, 0.9, 0.6], [False, True, False]),
    ]
    assert [subset.role for subset in subsets] == list(Role)
    for subset, (*names, probability, correct) in zip(subsets, expected, strict=True):
        assert [subset.dataset, subset.n_seeds, subset.n_per_seed] == names
        assert subset.probability.tolist() == pytest.approx(probability)
        assert subset.correct.tolist() == correct


@pytest.mark.parametrize(("row", "datapoint"), [((0, 2, 0), 2), ((0, 0, 5), 5)])
def test_pairs_of_other_predictions(row, datapoint):
    with pytest.raises(InputError, match=f"datapoint {datapoint}, which has no"):
        data_of(predictions([0.5, 0.6]), predictions([0.5]), [0], [row])


def test_reliability_curves_by_hand_with_hollow_bins_of_few_points():
    label = [0] * 15 + [1] * 5 + [0] * 6 + [1] * 6 + [0] * 3 + [1] * 6
    source = predictions([0.9] * 20 + [0.7] * 12 + [0.2] * 9, [0] * 41, label)
    figure = plot_reliability(data_of(source, predictions([0.45])), bins=2)
    reliability, density = figure.axes
    line = lines_of(reliability)["source: Known (n = 41)"]
    assert line.get_xdata()[1] == pytest.approx((0.9 * 20 + 0.7 * 12) / 32)
    assert line.get_ydata()[1] == pytest.approx(21 / 32)
    assert np.isnan(line.get_ydata()[0])  # 9 points: a hollow marker
    assert reliability.lines[1].get_ydata().tolist() == pytest.approx([1 / 3])
    heights, edges, _ = density.patches[0].get_data()
    assert np.nansum(heights * np.diff(edges)) == pytest.approx(1)
    assert heights[-3] == pytest.approx(20 / 41 / 0.04)  # 0.88 < 0.9 <= 0.92


@pytest.mark.parametrize("target", [[0.9] * 40, [0.2] * 40], ids=["all matched", "none"])
def test_reliability_without_unmatched_or_without_matched_points(target):
    draw(plot_reliability(data_of(predictions([0.9] * 60), predictions(target))))
