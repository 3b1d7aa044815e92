"""What figures show: units, counts, and the values of tables; files depend on the figure only."""

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from test_replication import SETTINGS, results, settings_with

from drawings import PAIR, draw, lines_of
from helpers import predictions
from matcheval.figures import style as look
from matcheval.figures.forms import draw_curves, draw_rows, running_median
from matcheval.figures.style import save_figure
from matcheval.protocol.compared_models import MatchedModel
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.figures import plot_gaps, plot_matched_accuracy, sampling_range
from matcheval.protocol.reliability import Role, plot_reliability, reliability_curve, subsets_of
from matcheval.protocol.schemas import GAPS, MODEL_TABLE
from matcheval.protocol.settings import MatchingMethod
from matcheval.replication.figures import plot_replication
from matcheval.replication.fits import Extremes, fit_replication
from matcheval.statistics.lines import Scale

ORIGINS = ("original", "replication")


def model_table(n_models, *, unmatched=()):
    """Models by rising accuracy on the original; those at positions `unmatched` have no match."""
    rng = np.random.default_rng(0)
    values = {name: rng.uniform(0.3, 0.9, n_models) for name in MODEL_TABLE.names}
    values["accuracy_original"].sort()
    for name in MODEL_TABLE.names:
        if name.endswith(("_std", "_sem")):
            values[name] *= 0.01
        if name.startswith("matched"):
            values[name][list(unmatched)] = np.nan
    values["fraction_unmatched_mean"][list(unmatched)] = 1.0
    table = pd.DataFrame(values).assign(
        model=[f"deit_tiny_distilled_{i}.in1k" for i in range(n_models)], pair=PAIR.name,
        criterion="label_probability", original=PAIR.original, replication=PAIR.replication,
        source=PAIR.original, epsilon=0.005, n_seeds=10, n_original=12000, n_replication=3000,
    )[MODEL_TABLE.names]  # fmt: skip
    MODEL_TABLE.from_frame(table)  # checks the schema
    return table


def shuffled(table):
    return table.sample(frac=1, random_state=0)


def plotted(table):
    """Accuracies and gaps, the latter with intervals from -1 to 90 points."""
    gaps = table[["model"]].iloc[::-1].assign(matched_gap_low=-0.01, matched_gap_high=0.9)
    return plot_matched_accuracy(table, gaps, "criterion 1")


@pytest.mark.parametrize("n_models", [1, 30])
def test_a_few_models_have_a_row_each(n_models):
    long = {"original": "o" * 40, "replication": "r" * 40, "source": "o" * 40}
    table = model_table(n_models).assign(**long)  # whose legends must not be cut
    figure = plotted(shuffled(table))
    draw(figure)
    whole, matched, _ = figure.axes
    for axes, name in ((whole, "accuracy_{}"), (matched, "matched_accuracy_{}_mean")):
        for (points, _, _), origin in zip(axes.containers, ORIGINS, strict=True):
            value = 100 * table[name.format(origin)].to_numpy()[::-1]
            np.testing.assert_allclose(points.get_xdata(), value)


def test_many_models_are_points_around_running_medians():
    table = model_table(278, unmatched=(1, 3))
    figure = plotted(shuffled(table))
    draw(figure)
    gaps = figure.axes[1]
    line = lines_of(gaps)["matched points, 95 % intervals"]
    expected = running_median(100 * table["matched_gap_mean"].to_numpy(), 15)
    np.testing.assert_allclose(line.get_ydata(), expected)
    (band,) = gaps.patches  # the sampling range is centred at zero
    np.testing.assert_allclose(band.get_data()[0], 100 * sampling_range(table))
    assert "2 of the 278 models" in figure.get_supxlabel().replace("\n", " ")


def test_nothing_is_matched_at_all():
    draw(plotted(model_table(3, unmatched=(0, 1, 2))))


def test_gaps_of_many_models_are_drawn():
    table = model_table(40)
    rng = np.random.default_rng(0)
    gaps = pd.DataFrame({name: rng.uniform(0.01, 0.2, 40) for name in GAPS.names})
    same = {"original": "o", "replication": "r", "epsilon": 0.005, "paired": False, "n_groups": 0}
    gaps = gaps.assign(model=table["model"], **same)
    reference = {"n_reference_original": 9, "n_reference_replication": 8}
    mean = pd.Series({**gaps.mean(numeric_only=True), **reference, **same}, dtype=object)
    draw(plot_gaps(shuffled(table), gaps, mean, "criterion 1"))


def test_running_median_by_hand():
    value = np.array([5.0, 1.0, 2.0, np.nan, 9.0, 4.0])
    np.testing.assert_array_equal(running_median(value, 3), [5, 2, 1.5, np.nan, 6.5, 4])
    np.testing.assert_array_equal(running_median(value, 1), value)
    np.testing.assert_array_equal(running_median(value, 99)[2], np.median([5, 1, 2, 9]))


def test_sampling_range_by_hand():
    table = model_table(2).assign(accuracy_original=[0.8, 1], accuracy_replication=[0.9, 1])
    expected = 1.96 * np.sqrt(0.8 * 0.2 / 400 + 0.9 * 0.1 / 100)
    found = sampling_range(table.assign(n_original=400, n_replication=100))
    assert found == pytest.approx([expected, 0], rel=1e-12)


# Reliability diagrams

METHOD = MatchingMethod(criterion="probability")


def matched(original, replication):
    return MatchedModel.of(Comparison("net.a1", PAIR, original, replication), METHOD, range(3))


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
    rows = {2: [-1, -1], 4: [0, 1], 6: [-1, 1]}  # no match with seed 2
    picked = {seed: np.array(of_targets) for seed, of_targets in rows.items()}
    subsets = subsets_of(replace(matched(source, target), rows=picked))
    expected = [
        ("Known", 1, 3, [0.6, 0.9, 0.3], [True, True, False]),  # in order of index
        ("New-Writers", 1, 2, [0.6, 0.9], [False, True]),
        ("Known", 3, 1, [0.6, 0.9, 0.9], [True, True, True]),
        ("New-Writers", 3, 1, [0.6, 0.9, 0.9], [False, True, True]),
        # Both with seed 2, none with 4, one with 6.
        ("New-Writers", 3, 1, [0.6, 0.9, 0.6], [False, True, False]),
    ]
    assert [subset.role for subset in subsets] == list(Role)
    for subset, (*names, n, probability, correct) in zip(subsets, expected, strict=True):
        assert [subset.dataset, subset.n_seeds] == names
        assert f"(n = {n}{' per seed' * (subset.n_seeds > 1)})" in subset.label
        assert subset.probability.tolist() == pytest.approx(probability)
        assert subset.correct.tolist() == correct


@pytest.mark.parametrize("target", [[0.9] * 40, [0.2] * 40], ids=["all matched", "none"])
def test_reliability_without_unmatched_or_without_matched_points(target):
    draw(plot_reliability(matched(predictions([0.9] * 60), predictions(target))))


# Replication against original accuracy


def replication_figure(scale, settings=SETTINGS, **further):
    """Of 100 models, and further ones by their numbers of right predictions of 2,000."""
    rng, n = np.random.default_rng(0), 2000
    old = {f"m{i:03}": int(c) for i, c in enumerate(rng.integers(n // 2, n - 20, 100))} | further
    new = {model: int(0.9 * c - rng.integers(0, n // 50)) for model, c in old.items()}
    models = results(old, new, n, n)
    fit = fit_replication(models, scale, settings)
    shown = plot_replication(models, pd.Series(fit.row), fit.region, scale)
    draw(shown)
    return models, fit, shown


@pytest.mark.parametrize("scale", Scale)
def test_models_and_a_line_that_is_straight_on_its_scale(scale):
    models, fit, shown = replication_figure(scale)
    (axes,) = shown.axes
    points = axes.containers[0].lines[0].get_data()
    accuracies = models[["accuracy_original", "accuracy_replication"]]
    np.testing.assert_allclose(np.column_stack(points), 100 * accuracies)
    name = f"{scale.value} fit, slope {fit.row['slope']:.2f}"
    (line,) = [line for line in axes.lines if line.get_label() == name]
    x, y = axes.transData.transform(np.column_stack(line.get_data())).T
    np.testing.assert_allclose(np.diff(y) / np.diff(x), (y[-1] - y[0]) / (x[-1] - x[0]), rtol=1e-6)


@pytest.mark.parametrize("extremes", Extremes)
def test_models_left_out_and_a_perfect_one(extremes):
    settings = settings_with(fit_without=("m001", "m004"), extremes=extremes)
    *_, figure = replication_figure(Scale.PROBIT, settings, best=2000)
    counts = {one.get_label(): len(one[0].get_xdata()) for one in figure.axes[0].containers}
    assert counts == {"models": 98, "not in the fit": 2}  # at 100 %, none is on probit axes


# What all figures share


def small_figure():
    with look.style():
        figure = look.new_figure(2.0, 1.5)
        axes = figure.add_subplot()
        axes.plot([0, 1], [0, 1], label="ε − é")
        axes.set(xlabel="x (%)", ylabel="cost$_$ of $\\x$")  # no formula
        look.legend_above(axes)
    return figure


@pytest.mark.parametrize("n", [30, 31])
def test_many_models_are_half_and_90_percent_of_them(n):
    values = np.linspace(0, 100, n)
    with look.style():
        rows, curves = look.new_figure(2, 2).subplots(1, 2)
        draw_rows(rows, {0: values, 1: np.full(n, np.nan)}, "k")
        draw_curves(curves, np.arange(2.0), np.stack([values, values], axis=1), "k")
    if n == 30:
        assert rows.lines[0].get_xdata().tolist() == values.tolist()
        assert len(curves.lines) == n
        return
    ends = [c.get_segments()[0][:, 0].tolist() for c in rows.collections]
    np.testing.assert_allclose(ends, [[5, 95], [25, 75]])
    bands = [c.get_paths()[0].vertices[:, 1] for c in curves.collections]
    np.testing.assert_allclose([(b.min(), b.max()) for b in bands], [[5, 95], [25, 75]])


@pytest.mark.parametrize("suffix", [".pdf", ".png"])
def test_files_are_the_same_every_time(tmp_path, suffix):
    figure = small_figure()
    first, again, other = (tmp_path / "new" / f"{name}{suffix}" for name in ("a", "b", "c"))
    save_figure(figure, first)
    save_figure(figure, again)  # saving does not change the figure
    with mpl.rc_context({"font.size": 20, "axes.facecolor": "red", "savefig.dpi": 10}):
        save_figure(small_figure(), other)
    assert first.read_bytes() == again.read_bytes() == other.read_bytes()
    assert {path.name for path in first.parent.iterdir()} == {f"{name}{suffix}" for name in "abc"}
