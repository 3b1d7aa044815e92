"""What the reliability figure shows: its subsets, sizes, units and values."""

import numpy as np
import pytest

from drawings import PAIR, draw, lines_of, texts_of
from helpers import predictions, simulate
from matcheval.io.tables import write_table
from matcheval.predictions.layout import Layout
from matcheval.predictions.records import write_predictions
from matcheval.protocol.analysis import draw_reliability
from matcheval.protocol.compared_models import MatchedModel
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.reliability import Role, plot_reliability, reliability_data
from matcheval.protocol.settings import Criterion, MatchingMethod


def comparison_of(original, replication):
    return Comparison("net.a1", PAIR, original, replication)


def data_of(comparison, seeds=(0, 1, 2), criterion=Criterion.PROBABILITY):
    method = MatchingMethod(criterion=criterion)
    pairs = MatchedModel.of(comparison, method, seeds).pairs()
    return reliability_data(comparison, pairs, method.title(), 0.005, seeds)


def test_reliability_labels():
    data = data_of(comparison_of(simulate(900, 10, 1), simulate(300, 10, 2, accuracy=0.6)))
    figure = plot_reliability(data, bins=5)
    draw(figure)
    reliability, density = figure.axes
    assert reliability.get_xlabel() == density.get_xlabel() == "Confidence (predicted probability)"
    assert reliability.get_ylabel() == "Accuracy (fraction)"
    assert density.get_ylabel() == "Density (integrates to 1, log scale)"
    assert reliability.get_title(loc="left").endswith("bins of width 0.2")
    assert density.get_title(loc="left").endswith("bins of width 0.04")
    assert density.get_yscale() == "log"
    (legend,) = figure.legends
    texts = set(texts_of(legend))
    matched = len(data.subsets[2].probability) / 3
    assert {
        "source: Known (n = 900)",
        "target: New-Writers (n = 300)",
        f"matched source: Known (n = {matched:,.0f} per seed)",
        f"matched target: New-Writers (n = {matched:,.0f} per seed)",
        f"unmatched target: New-Writers (n = {300 - matched:,.0f} per seed)",
        "confidence = accuracy",
    } <= texts
    for text in ("net.a1", "shift", "criterion 2", "ε = 0.005", "3 seeds pooled"):
        assert text in figure.get_suptitle()


def test_reliability_curves_by_hand_with_hollow_bins_of_few_points():
    probability = [0.9] * 20 + [0.7] * 12 + [0.2] * 9
    prediction = [0] * len(probability)
    label = [0] * 15 + [1] * 5 + [0] * 6 + [1] * 6 + [0] * 3 + [1] * 6
    source = predictions(probability, prediction, label)
    target = predictions([0.45], [0])
    figure = plot_reliability(data_of(comparison_of(source, target)), bins=2)
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
    same = comparison_of(predictions(probability), predictions(probability))
    reliability, _ = plot_reliability(data_of(same), bins=2).axes
    matched = lines_of(reliability)["matched source: Known (n = 29 per seed)"]
    assert np.isnan(matched.get_ydata()).tolist() == [True, False]  # 27 in total, 9 per seed


def test_reliability_without_unmatched_or_without_matched_points():
    everything = data_of(comparison_of(predictions([0.9] * 60), predictions([0.9] * 40)))
    figure = plot_reliability(everything)  # also with a single class
    draw(figure)
    assert "unmatched target: New-Writers (n = 0: none)" in texts_of(figure.legends[0])
    assert len(figure.axes[1].patches) == 4
    nothing = data_of(comparison_of(predictions([0.9] * 60), predictions([0.2] * 40)))
    figure = plot_reliability(nothing)
    draw(figure)
    assert "matched source: Known (n = 0: none)" in texts_of(figure.legends[0])
    assert "unmatched target: New-Writers (n = 40 per seed)" in texts_of(figure.legends[0])


def test_the_colour_of_a_set_does_not_depend_on_its_role():
    small, large = simulate(200, 3, 1), simulate(500, 3, 2)
    for original, replication, role in ((large, small, "source"), (small, large, "target")):
        figure = plot_reliability(data_of(comparison_of(original, replication)))
        (line,) = (
            line
            for label, line in lines_of(figure.axes[0]).items()
            if label.startswith(f"{role}: Known")
        )
        assert line.get_color() == "#0072B2"


def test_subsets_are_drawn_in_order_of_their_roles():
    data = data_of(comparison_of(simulate(500, 3, 1), simulate(200, 3, 2)))
    labels = list(lines_of(plot_reliability(data).axes[0]))
    assert [label.split(":")[0] for label in labels[:5]] == [role.value for role in Role]


def test_coincident_curves_remain_visible():
    """A curve below another one has wider lines or larger markers."""
    same = simulate(500, 3, 1)
    data = data_of(comparison_of(same, same))
    reliability, density = plot_reliability(data).axes
    lines = dict(zip(Role, lines_of(reliability).values(), strict=False))
    steps = dict(zip(Role, density.patches, strict=False))
    for below, above in (
        (Role.SOURCE, Role.TARGET),
        (Role.MATCHED_SOURCE, Role.MATCHED_TARGET),
        (Role.UNMATCHED_TARGET, Role.TARGET),
    ):
        assert lines[below].get_zorder() < lines[above].get_zorder()
        assert lines[below].get_markersize() > 1.4 * lines[above].get_markersize()
    for below, above in (
        (Role.SOURCE, Role.TARGET),
        (Role.MATCHED_SOURCE, Role.MATCHED_TARGET),
    ):
        for drawn in (lines, steps):
            assert drawn[below].get_zorder() < drawn[above].get_zorder()
            assert drawn[below].get_linewidth() > 1.5 * drawn[above].get_linewidth()


def test_script_of_reliability(tmp_path):
    comparison = comparison_of(simulate(200, 3, 1), simulate(100, 3, 2))
    original, replication = (tmp_path / f"{name}.parquet" for name in ("original", "replication"))
    write_predictions(comparison.original, original)
    write_predictions(comparison.replication, replication)
    seeds = [0, 1]
    pairs = MatchedModel.of(
        comparison, MatchingMethod(criterion=Criterion.PROBABILITY), seeds
    ).pairs()
    write_table(pairs, tmp_path / "pairs.parquet")
    draw_reliability(
        model="net.a1",
        pair=PAIR,
        original=[original],
        replication=[replication],
        layouts={"original": Layout(), "replication": Layout()},
        pairs=tmp_path / "pairs.parquet",
        title="criterion 2",
        epsilon=0.005,
        seeds=seeds,
        bins=10,
        outputs=[tmp_path / "figure.png"],
    )
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
