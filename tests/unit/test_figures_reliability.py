"""Subsets, reliability bins and densities, by hand and by property, and the figure of them."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawings import PAIR, draw, lines_of, texts_of
from helpers import predictions, simulate
from matcheval.errors import InputError
from matcheval.io.tables import write_table
from matcheval.predictions.layout import Layout
from matcheval.predictions.records import write_predictions
from matcheval.protocol.analysis import draw_reliability
from matcheval.protocol.compared_models import MatchedModel, PairFiles
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


@given(
    st.lists(st.floats(0, 1, width=32), max_size=200),
    st.integers(1, 40),
    st.randoms(use_true_random=False),
)
def test_bins_hold_every_point_once(probability, bins, random):
    correct = [random.random() < 0.5 for _ in probability]
    curve = reliability_curve(probability, correct, bins)
    filled = curve.count > 0
    assert curve.count.sum() == len(probability)
    sums = [np.nansum(values * curve.count) for values in (curve.accuracy, curve.confidence)]
    np.testing.assert_allclose(sums, [sum(correct), sum(probability)], rtol=1e-9, atol=1e-9)
    assert (curve.confidence[filled] >= curve.edges[:-1][filled] - 1e-12).all()
    assert (curve.confidence[filled] <= curve.edges[1:][filled] + 1e-12).all()
    if probability:
        assert np.sum(curve.density * np.diff(curve.edges)) == pytest.approx(1)


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


def test_subsets_agree_with_the_runs_if_the_replication_is_larger():
    comparison = Comparison("net.a1", PAIR, simulate(150, 5, 0), simulate(400, 5, 1))
    one = MatchedModel.of(comparison, METHOD, [0, 3])
    data, runs = (
        data_of(comparison.original, comparison.replication, [0, 3]),
        one.runs().to_pandas(),
    )
    assert data.subsets[0].dataset == PAIR.replication
    sizes = [runs.n_source, runs.n_target, *[runs.n_matched] * 2, runs.n_target - runs.n_matched]
    columns = (
        "accuracy_source", "accuracy_target", "matched_accuracy_source", "matched_accuracy_target",
        "unmatched_accuracy_target",
    )  # fmt: skip
    for subset, n, column in zip(data.subsets, sizes, columns, strict=True):
        assert subset.n_per_seed == n.mean()
        assert subset.correct.mean() == pytest.approx((n * runs[column]).sum() / n.sum())


def test_reliability_labels():
    data = data_of(simulate(900, 10, 1), simulate(300, 10, 2, accuracy=0.6))
    figure = plot_reliability(data, bins=5)
    draw(figure)
    reliability, density = figure.axes
    assert reliability.get_xlabel() == density.get_xlabel() == "Confidence (predicted probability)"
    assert reliability.get_ylabel() == "Accuracy (fraction)"
    assert density.get_ylabel() == "Density (integrates to 1, log scale)"
    assert reliability.get_title(loc="left").endswith("bins of width 0.2")
    assert density.get_title(loc="left").endswith("bins of width 0.04")
    assert density.get_yscale() == "log"
    n = len(data.subsets[2].probability) / 3
    entries = texts_of(figure.legends[0])
    assert entries[:2] == ["source: Known (n = 900)", "target: New-Writers (n = 300)"]
    assert "confidence = accuracy" in entries[2:-3]
    assert entries[-3:] == [
        f"matched source: Known (n = {n:,.0f} per seed)",
        f"matched target: New-Writers (n = {n:,.0f} per seed)",
        f"unmatched target: New-Writers (n = {300 - n:,.0f} per seed)",
    ]
    for text in ("net.a1", "shift", "criterion 2", "ε = 0.005", "3 seeds pooled"):
        assert text in figure.get_suptitle()


def test_reliability_curves_by_hand_with_hollow_bins_of_few_points():
    label = [0] * 15 + [1] * 5 + [0] * 6 + [1] * 6 + [0] * 3 + [1] * 6
    source = predictions([0.9] * 20 + [0.7] * 12 + [0.2] * 9, [0] * 41, label)
    figure = plot_reliability(data_of(source, predictions([0.45])), bins=2)
    reliability, density = figure.axes
    line = lines_of(reliability)["source: Known (n = 41)"]
    assert line.get_xdata()[1] == pytest.approx((0.9 * 20 + 0.7 * 12) / 32)
    assert line.get_ydata()[1] == pytest.approx(21 / 32)
    assert np.isnan(line.get_ydata()[0])  # 9 points: a hollow marker
    hollow = reliability.lines[1]
    assert hollow.get_markerfacecolor() == "white"
    assert hollow.get_linestyle() == "None"
    assert hollow.get_markersize() < line.get_markersize() / 1.5
    assert hollow.get_alpha() < 1
    assert hollow.get_ydata().tolist() == pytest.approx([1 / 3])
    assert "fewer than 10 points in the bin" in texts_of(figure.legends[0])
    heights, edges, _ = density.patches[0].get_data()
    assert np.nansum(heights * np.diff(edges)) == pytest.approx(1)
    assert np.isnan(heights).sum() == 22  # three bins hold points; the others leave gaps
    assert heights[-3] == pytest.approx(20 / 41 / 0.04)  # 0.88 < 0.9 <= 0.92


def test_few_points_are_counted_per_seed():
    probability = [0.9] * 20 + [0.3] * 9
    same = data_of(predictions(probability), predictions(probability))
    reliability, _ = plot_reliability(same, bins=2).axes
    matched = lines_of(reliability)["matched source: Known (n = 29 per seed)"]
    assert np.isnan(matched.get_ydata()).tolist() == [True, False]  # 27 in total, 9 per seed


def test_reliability_without_unmatched_or_without_matched_points():
    everything = data_of(predictions([0.9] * 60), predictions([0.9] * 40))  # and a single class
    nothing = data_of(predictions([0.9] * 60), predictions([0.2] * 40))
    for data, n_curves, entries in (
        (everything, 4, ["unmatched target: New-Writers (n = 0: none)"]),
        (nothing, 3, ["matched source: Known (n = 0: none)",
                      "unmatched target: New-Writers (n = 40 per seed)"]),
    ):  # fmt: skip
        figure = plot_reliability(data)
        draw(figure)
        assert len(figure.axes[1].patches) == n_curves
        assert set(entries) <= set(texts_of(figure.legends[0]))


@pytest.mark.parametrize("sizes", [(500, 200), (200, 500)])
def test_order_and_colours_of_curves(sizes):
    """Subsets are in order of their roles; a set's colour does not depend on its role."""
    data = data_of(*(simulate(n, 3, n) for n in sizes))
    lines = lines_of(plot_reliability(data).axes[0])
    assert [label.split(":")[0] for label in list(lines)[:5]] == [role.value for role in Role]
    colors = {label.split(" (")[0]: line.get_color() for label, line in lines.items()}
    assert colors[f"{'source' if sizes[0] > sizes[1] else 'target'}: Known"] == "#0072B2"


def test_coincident_curves_remain_visible():
    """A curve below another one has wider lines or larger markers."""
    same = simulate(500, 3, 1)
    reliability, density = plot_reliability(data_of(same, same)).axes
    lines = dict(zip(Role, lines_of(reliability).values(), strict=False))
    steps = dict(zip(Role, density.patches, strict=False))
    pairs = [(Role.SOURCE, Role.TARGET), (Role.MATCHED_SOURCE, Role.MATCHED_TARGET)]
    for below, above in [*pairs, (Role.UNMATCHED_TARGET, Role.TARGET)]:
        assert lines[below].get_zorder() < lines[above].get_zorder()
        assert lines[below].get_markersize() > 1.4 * lines[above].get_markersize()
    for (below, above), drawn in itertools.product(pairs, (lines, steps)):
        assert drawn[below].get_zorder() < drawn[above].get_zorder()
        assert drawn[below].get_linewidth() > 1.5 * drawn[above].get_linewidth()


def test_script_of_reliability(tmp_path):
    comparison = Comparison("net.a1", PAIR, simulate(200, 3, 1), simulate(100, 3, 2))
    paths = [tmp_path / f"{name}.parquet" for name in ("original", "replication", "pairs")]
    write_predictions(comparison.original, paths[0])
    write_predictions(comparison.replication, paths[1])
    write_table(MatchedModel.of(comparison, METHOD, [0, 1]).pairs(), paths[2])
    layouts = {"original": Layout(), "replication": Layout()}
    files = PairFiles(PAIR, ["net.a1"], [paths[0]], [paths[1]], layouts, {"m": METHOD}, [0, 1])
    outputs = [tmp_path / "figure.png"]
    draw_reliability(files=files, pairs=paths[2], matching="m", title="", bins=10, outputs=outputs)
    assert outputs[0].read_bytes().startswith(b"\x89PNG")
