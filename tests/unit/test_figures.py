"""What the figures of result tables show: units, names, counts, and the values of the table."""

import numpy as np
import pandas as pd
import pytest

from drawings import PAIR, draw, lines_of
from matcheval.figures.forms import running_median
from matcheval.protocol.gap_figures import plot_gaps, plot_matched_accuracy, sampling_range
from matcheval.protocol.reliability import plot_confidence
from matcheval.protocol.schemas import GAPS, MODEL_TABLE

ORIGINS = ("original", "replication")


def model_table(n_models, *, unmatched=(), n_seeds=10, seed=0):
    """Models by rising accuracy on the original; those at positions `unmatched` have no match."""
    rng = np.random.default_rng(seed)
    values = {name: rng.uniform(0.3, 0.9, n_models) for name in MODEL_TABLE.names}
    values["accuracy_original"].sort()
    for name in MODEL_TABLE.names:
        if name.endswith(("_std", "_sem")):
            values[name] *= 0.01 if n_seeds > 1 else np.nan
        if name.startswith("matched"):
            values[name][list(unmatched)] = np.nan
    values["fraction_unmatched_mean"][list(unmatched)] = 1.0
    table = pd.DataFrame(values).assign(
        model=[f"deit_tiny_distilled_{i}.in1k" for i in range(n_models)], pair=PAIR.name,
        criterion="label_probability", original=PAIR.original, replication=PAIR.replication,
        source=PAIR.original, epsilon=0.005, n_seeds=n_seeds, n_original=12000, n_replication=3000,
    )[MODEL_TABLE.names]  # fmt: skip
    MODEL_TABLE.from_frame(table)  # checks the schema
    return table


def shuffled(table):
    return table.sample(frac=1, random_state=0)


def plotted(table):
    """Accuracies and gaps, the latter with intervals from -1 to 90 points."""
    gaps = table[["model"]].iloc[::-1].assign(matched_gap_low=-0.01, matched_gap_high=0.9)
    return plot_matched_accuracy(table, gaps, "criterion 1")


def drawn(axes, label):
    """The values, x and y, of what has a label: a line, or points with bars."""
    return np.stack(lines_of(axes)[label].get_data())


@pytest.mark.parametrize("n_models", [1, 61])
def test_confidence_shows_every_model_on_both_sets(n_models):
    table = model_table(n_models)
    figure = plot_confidence(table)
    draw(figure)
    (axes,) = figure.axes
    labels = ("Known (n = 12,000)", "New-Writers (n = 3,000)")
    for origin, label in zip(ORIGINS, labels, strict=True):
        expected = 100 * table[[f"confidence_{origin}", f"accuracy_{origin}"]].to_numpy().T
        np.testing.assert_allclose(drawn(axes, label), expected)


@pytest.mark.parametrize("n_models", [1, 30])
def test_a_few_models_have_a_row_each(n_models):
    long = {"original": "o" * 40, "replication": "r" * 40, "source": "o" * 40}
    table = model_table(n_models).assign(**long)  # whose legends must not be cut
    figure = plotted(shuffled(table))
    draw(figure)
    whole, matched, unmatched = figure.axes
    for axes, name in ((whole, "accuracy_{}"), (matched, "matched_accuracy_{}_mean")):
        for (points, _, _), origin in zip(axes.containers, ORIGINS, strict=True):
            value = 100 * table[name.format(origin)].to_numpy()[::-1]
            np.testing.assert_allclose(points.get_xdata(), value)
    share = unmatched.lines[0].get_xdata()
    np.testing.assert_allclose(share, 100 * table.fraction_unmatched_mean[::-1])
    names = [label.get_text() for label in whole.get_yticklabels()]
    assert names == table["model"].tolist()[::-1]  # the most accurate one is above


def test_many_models_are_points_around_running_medians():
    table = model_table(278, unmatched=(1, 3))
    figure = plotted(shuffled(table))
    draw(figure)
    gaps = figure.axes[1]
    for label, column in (
        ("all points", "gap"), ("matched points, 95 % intervals", "matched_gap_mean"),
    ):  # fmt: skip
        _, y = drawn(gaps, label)
        np.testing.assert_allclose(y, running_median(100 * table[column].to_numpy(), 15))
    bars = [bar[:, 1] for bar in gaps.containers[1][2][0].get_segments() if len(bar)]
    np.testing.assert_allclose(bars, [[-1, 90]] * 276)
    (band,) = gaps.patches  # the sampling range is centred at zero
    values, _, baseline = band.get_data()
    np.testing.assert_allclose([values, -baseline], [100 * sampling_range(table)] * 2)
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
