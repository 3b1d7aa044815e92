"""What the figures of result tables show: units, names, counts, and the values of the table."""

import itertools

import numpy as np
import pandas as pd
import pytest

from drawings import PAIR, draw, lines_of, texts_of
from matcheval.protocol.confidence import plot_confidence
from matcheval.protocol.gap_figures import plot_matched_accuracy, running_median, sampling_range
from matcheval.protocol.schemas import MODEL_TABLE

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


def series_of(axes):
    """The artists that show the values of the models: lines with markers, or only points."""
    return [line for line in axes.lines if line.get_marker() != "None"]


@pytest.mark.parametrize("n_models", [1, 60, 61])
def test_confidence_shows_every_model_on_both_sets(n_models):
    table = model_table(n_models)
    figure = plot_confidence(table)
    draw(figure)
    (axes,) = figure.axes
    expected = [
        100 * table[[f"confidence_{origin}", f"accuracy_{origin}"]].to_numpy() for origin in ORIGINS
    ]
    for points, values in zip(axes.collections, expected, strict=True):
        np.testing.assert_allclose(points.get_offsets(), values)
        assert (values >= axes.get_xlim()[0]).all()
        assert (values <= axes.get_ylim()[1]).all()
    *joins, identity = axes.lines
    if n_models <= 60:  # lines join a model's two points, with gaps between the models
        x, y = (np.reshape(data, (-1, 3)) for data in joins[0].get_data())
        gaps = np.full((n_models, 2), np.nan)
        np.testing.assert_allclose(np.stack([x, y], 2).swapaxes(0, 1), [*expected, gaps])
    assert texts_of(axes.get_legend()) == [
        "Known (n = 12,000)",
        "New-Writers (n = 3,000)",
        *(["the same model"] if n_models <= 60 else []),
        "confidence = accuracy (below it: overconfident)",
    ]
    assert list(identity.get_xdata()) == list(identity.get_ydata())
    box, size = figure.get_tightbbox(), figure.get_size_inches()  # no blank strip around
    assert max(box.min) < 0.1 > max(size - box.max)


@pytest.mark.parametrize("n_models", [2, 30])
def test_a_few_models_have_a_row_each(n_models):
    long = {"original": "o" * 40, "replication": "r" * 40, "source": "o" * 40}
    table = model_table(n_models).assign(**long)  # whose legends must not be cut
    figure = plotted(shuffled(table))
    draw(figure)
    whole, matched, unmatched = figure.axes
    rows = list(range(n_models))
    for axes, name in ((whole, "accuracy_{}"), (matched, "matched_accuracy_{}_mean")):
        values = [100 * table[name.format(origin)].to_numpy() for origin in ORIGINS]
        for (points, _, bars), value, origin in zip(axes.containers, values, ORIGINS, strict=True):
            np.testing.assert_allclose(points.get_xdata(), value)
            assert list(points.get_ydata()) == rows
            for bar in bars:  # of the random choices of the matching
                ends = np.array(bar.get_segments())[:, :, 0]
                spread = 100 * table[f"matched_accuracy_{origin}_std"]
                np.testing.assert_allclose(ends, np.stack([value - spread, value + spread], 1))
        joins = axes.collections[0].get_segments()  # each model's two points are joined
        np.testing.assert_allclose(np.array(joins)[:, :, 0], np.stack(values, 1))
    np.testing.assert_allclose(unmatched.lines[0].get_xdata(), 100 * table.fraction_unmatched_mean)
    labels = whole.get_yticklabels()
    assert [label.get_text() for label in labels] == table["model"].tolist()
    boxes = [label.get_window_extent() for label in labels]
    assert all(one.y1 <= other.y0 for one, other in itertools.pairwise(boxes))
    assert not any(label.get_visible() for label in unmatched.get_yticklabels())


def test_many_models_show_the_table():
    n_models = 278
    table = model_table(n_models)
    figure = plotted(shuffled(table))
    draw(figure)
    accuracies, gaps, unmatched = figure.axes
    for axes, columns in (
        (accuracies, [f"{of.format(o)}" for o in ORIGINS
                      for of in ("accuracy_{}", "matched_accuracy_{}_mean")]),
        (gaps, ["gap", "matched_gap_mean"]),
        (unmatched, ["fraction_unmatched_mean"]),
    ):  # fmt: skip
        for series, column in zip(series_of(axes), columns, strict=True):
            np.testing.assert_allclose(series.get_ydata(), 100 * table[column], err_msg=column)
            assert list(series.get_xdata()) == list(range(1, n_models + 1))
        for label, line in lines_of(axes).items():  # matched ones are dotted
            is_solid = not label.startswith("matched") and ", matched" not in label
            assert (line.get_linestyle() == "-") is is_solid
    assert any(list(line.get_ydata()) == [0, 0] for line in gaps.lines)  # the zero line
    (band,) = gaps.patches  # the sampling range is centred at zero and visible
    values, edges, baseline = band.get_data()
    np.testing.assert_allclose([values, -baseline], [100 * sampling_range(table)] * 2)
    assert edges.tolist() == [rank + 0.5 for rank in range(n_models + 1)]
    assert gaps.get_ylim()[0] < -values.max() < values.max() < gaps.get_ylim()[1]


def test_matched_accuracy_labels():
    table = model_table(4).assign(
        fraction_unmatched_mean=[0.1, 0.2, 0.5, 0.3], gap=[0.1, 0.2, -0.1, 0.1],
        matched_gap_mean=[0.1, -0.1, -0.1, 0.1],
    )  # fmt: skip
    figure = plotted(table)
    assert figure.get_suptitle() == (
        "3 of 4 models are less accurate on New-Writers, 2 on matched datapoints\n"
        "shift, criterion 1\nε = 0.005, 4 models, 10 seeds"
    )
    assert "±1 SD over the 10 seeds" in figure.get_supxlabel().replace("\n", " ")
    assert texts_of(figure.axes[0].get_legend()) == [
        "Known (n = 12,000)",
        "New-Writers (n = 3,000)",
    ]
    many = model_table(31).assign(fraction_unmatched_mean=np.linspace(0.1, 0.5, 31))
    swapped = many.assign(source=PAIR.replication)  # the target is then the original
    for drawn, roles, matched, target in (
        (plotted(many), ("source", "target"), "1,500 to 2,700", "New-Writers (n = 3,000)"),
        (plotted(swapped), ("target", "source"), "6,000 to 10,800",
         "Known (n = 12,000)"),
    ):  # fmt: skip
        accuracies, _, unmatched = drawn.axes
        assert texts_of(accuracies.get_legend()) == [
            f"Known ({roles[0]}), all (n = 12,000)",
            f"Known ({roles[0]}), matched (n = {matched})",
            f"New-Writers ({roles[1]}), all (n = 3,000)",
            f"New-Writers ({roles[1]}), matched (n = {matched})",
        ]
        assert texts_of(unmatched.get_legend()) == [f"unmatched of {target}"]


@pytest.mark.parametrize(("n", "ticks"), [(31, [1, 10, 20, 30]), (278, [1, *range(25, 276, 25)])])
def test_many_models_are_numbered(n, ticks):
    assert plotted(model_table(n)).axes[-1].get_xticks().tolist() == ticks


def test_many_models_are_points_around_a_running_median():
    table = model_table(100)
    figure = plotted(table)
    line = lines_of(figure.axes[1])["all points"]
    np.testing.assert_allclose(line.get_ydata(), running_median(100 * table["gap"].to_numpy(), 15))
    assert line.get_marker() == "None"
    assert "Lines: running medians of 15 models" in figure.get_supxlabel()


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


@pytest.mark.parametrize("highest", [0.0, 0.011, 0.36, 1.0])
def test_the_unmatched_axis_has_three_ticks_or_more(highest):
    table = model_table(31).assign(fraction_unmatched_mean=highest, fraction_unmatched_std=0.0)
    axes = plotted(table).axes[2]
    low, high = axes.get_ylim()
    assert sum(low <= tick <= high for tick in axes.get_yticks()) >= 3


def test_equal_accuracies_are_ranked_by_name_and_long_names_shortened():
    table = model_table(2).assign(accuracy_original=0.5, model=["z" * 50, "a" + "-" * 48 + "b"])
    axes = plotted(table).axes[0]
    first, second = (label.get_text() for label in axes.get_yticklabels())
    assert first == "a" + "-" * 15 + "…" + "-" * 16 + "b"
    assert len(second) == 34


def test_models_without_a_match_leave_gaps_and_a_note():
    n_models = 100
    table = model_table(n_models, unmatched=(1, 3))
    figure = plotted(table)
    draw(figure)
    accuracies, gaps, unmatched = figure.axes
    for label, line in (lines_of(accuracies) | lines_of(gaps)).items():
        is_gap = np.isnan(line.get_ydata())
        assert np.flatnonzero(is_gap).tolist() == ([1, 3] if "matched" in label else [])
    for series in [*series_of(accuracies)[1::2], series_of(gaps)[1]]:
        # The model between two gaps is visible by its marker.
        assert np.flatnonzero(np.isnan(series.get_ydata())).tolist() == [1, 3]
    assert not np.isnan(series_of(unmatched)[0].get_ydata()).any()
    note = figure.get_supxlabel().replace("\n", " ")
    assert f"2 of the {n_models} models" in note
    assert table["model"][1] in note
    alone = plotted(model_table(3, n_seeds=1))
    assert (alone.get_suptitle()[-6:], alone.get_supxlabel()) == ("1 seed", "")
    draw(plotted(model_table(3, unmatched=(0, 1, 2))))  # nothing matched at all


def test_bars_are_one_standard_deviation_over_seeds_or_the_interval():
    n_models = 100
    table = model_table(n_models)
    accuracies, gaps, _ = plotted(table).axes
    name = "matched_accuracy_original"
    spread = [table[f"{name}_mean"] + sign * table[f"{name}_std"] for sign in (-1, 1)]
    for panel, low, high in (
        (accuracies, *spread), (gaps, [-0.01] * n_models, [0.9] * n_models),
    ):  # fmt: skip
        segments = np.array(panel.collections[0].get_segments())
        ends = 100 * np.stack([low, high], axis=1)
        np.testing.assert_allclose(segments[:, :, 1], ends)
        np.testing.assert_array_equal(segments[:, 0, 0], np.arange(n_models) + 1)


class TestOneModel:
    """A model alone: two accuracies joined by a line, and gaps with their intervals."""

    def figure(self, *, matched=True, level=0.95):
        table = model_table(1, unmatched=() if matched else (0,))
        gaps = table[["model"]].copy()
        values = {"gap": 0.07, "confidence_part": 0.04, "conditional_part": 0.03}
        for name, value in (values | {"matched_gap": 0.05 if matched else np.nan}).items():
            gaps[[name, f"{name}_low", f"{name}_high"]] = value, value - 0.02, value + 0.03
        figure = plot_matched_accuracy(table, gaps, "t", level)
        draw(figure)
        return table.iloc[0], gaps.iloc[0], figure

    @pytest.mark.parametrize(("level", "factor"), [(0.95, 1.96), (0.9, 1.645)])
    def test_values_and_intervals(self, level, factor):
        row, gap, figure = self.figure(level=level)
        left, right = figure.axes
        points = {float(container[0].get_xdata()[0]) for container in left.containers}
        names = [f"{m}accuracy_{o}{s}" for m, s in (("", ""), ("matched_", "_mean"))
                 for o in ("original", "replication")]  # fmt: skip
        assert sorted(points) == pytest.approx(sorted(100 * row[name] for name in names))
        # From top to bottom; a Clopper-Pearson interval is a bit wider than the normal one.
        for container, name in zip(
            reversed(right.containers),
            ("gap", "confidence_part", "conditional_part", "matched_gap"), strict=True,
        ):  # fmt: skip
            (low, _), (high, _) = container[2][0].get_segments()[0]
            bounds = 100 * gap[f"{name}_low"], 100 * gap[f"{name}_high"]
            assert (low, high) == pytest.approx(bounds)
        (low, _), (high, _) = left.containers[0][2][0].get_segments()[0]
        p, n = row.accuracy_original, row.n_original
        assert high - low == pytest.approx(200 * factor * np.sqrt(p * (1 - p) / n), rel=0.03)
        assert f"{100 * level:g} % intervals" in figure.get_supxlabel()

    def test_what_is_not_defined_is_left_out(self):
        _, _, figure = self.figure(matched=False)
        left, right = figure.axes
        shown = [[float(c[0].get_xdata()[0]) for c in axes.containers] for axes in (left, right)]
        assert [int(np.isnan(values).sum()) for values in shown] == [2, 1]
