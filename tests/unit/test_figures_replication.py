"""What the plot of replication against original accuracy shows, on both scales."""

import numpy as np
import pandas as pd
import pytest
from test_replication import SETTINGS, results, settings_with

from drawings import draw
from matcheval.replication.figures import plot_replication
from matcheval.replication.fits import Extremes, fit_replication
from matcheval.statistics.lines import Scale


def table(n_models, *, n=2000, best=False):
    rng = np.random.default_rng(0)
    old = {f"m{i:03}": int(c) for i, c in enumerate(rng.integers(n // 2, n - 20, n_models))}
    new = {model: int(0.9 * c - rng.integers(0, n // 50)) for model, c in old.items()}
    if best:
        old["best"], new["best"] = n, n - 5
    return results(old, new, n, n)


def figure(models, scale, settings=SETTINGS):
    fit = fit_replication(models, scale, settings)
    return plot_replication(models, pd.Series(fit.row), fit.region, scale), fit


def points(axes):
    """Data of the error bars by label: x, y, and the ends of the bars."""
    found = {}
    for container in axes.containers:
        line, _, (horizontal, vertical) = container.lines
        found[container.get_label()] = (
            np.column_stack(line.get_data()),
            np.array([segment[:, 0] for segment in horizontal.get_segments()]),
            np.array([segment[:, 1] for segment in vertical.get_segments()]),
        )
    return found


@pytest.mark.parametrize("scale", Scale)
@pytest.mark.parametrize("n_models", [3, 300])
def test_shows_models_with_intervals_line_region_and_identity(n_models, scale):
    models = table(n_models)
    drawn, fit = figure(models, scale)
    draw(drawn)
    (axes,) = drawn.axes
    assert axes.get_aspect() == 1
    assert axes.get_xlim() == axes.get_ylim()
    (label, (center, horizontal, vertical)), = points(axes).items()  # fmt: skip
    assert label == "models"
    accuracies = models[["accuracy_original", "accuracy_replication"]]
    np.testing.assert_allclose(center, 100 * accuracies)
    for bars, origin in ((horizontal, "original"), (vertical, "replication")):
        ends = 100 * models[[f"accuracy_{origin}_low", f"accuracy_{origin}_high"]]
        np.testing.assert_allclose(bars, ends)
    lines = {line.get_label(): line for line in axes.lines}
    identity = lines["equal accuracy"]
    assert list(identity.get_xdata()) == list(identity.get_ydata()) == list(axes.get_xlim())
    line = lines[f"{scale.value} fit, slope {fit.row['slope']:.2f}"]
    np.testing.assert_allclose(line.get_xdata(), 100 * fit.region.accuracy_original)
    np.testing.assert_allclose(line.get_ydata(), 100 * fit.region.fit)
    (region,) = [c for c in axes.collections if c.get_label() == "95 % region of the line"]
    shaded = region.get_paths()[0].vertices[:, 1]
    assert shaded.min() == pytest.approx(100 * fit.region.low.min())
    assert shaded.max() == pytest.approx(100 * fit.region.high.max())


def test_a_probit_line_is_straight_on_probit_axes():
    drawn, _ = figure(table(20), Scale.PROBIT)
    (axes,) = drawn.axes
    (line,) = [line for line in axes.lines if "probit fit" in line.get_label()]
    x, y = axes.transData.transform(np.column_stack(line.get_data())).T
    np.testing.assert_allclose(np.diff(y) / np.diff(x), (y[-1] - y[0]) / (x[-1] - x[0]), rtol=1e-6)
    assert [axes.xaxis.get_major_formatter()(tick, 0) for tick in (50, 99.5)] == ["50", "99.5"]


def test_models_left_out_are_hollow_and_named():
    settings = settings_with(fit_without=("m001", "m004"))
    models = table(10)
    drawn, _ = figure(models, Scale.LINEAR, settings)
    draw(drawn)
    (axes,) = drawn.axes
    shown = points(axes)
    assert {label: len(of[0]) for label, of in shown.items()} == {"models": 8, "not in the fit": 2}
    assert "Fitted: 8 models, without m001, m004" in drawn.get_supxlabel().replace("\n", " ")


@pytest.mark.parametrize("extremes", Extremes)
def test_a_perfect_model_is_not_shown_on_probit_axes(extremes):
    settings = settings_with(extremes=extremes)
    models = table(10, best=True)
    drawn, _ = figure(models, Scale.PROBIT, settings)
    draw(drawn)
    assert sum(len(of[0]) for of in points(drawn.axes[0]).values()) == 10
    note = drawn.get_supxlabel().replace("\n", " ")
    is_clipped = extremes is Extremes.CLIP
    treatment = "clipped to (k + ½)/(n + 1)" if is_clipped else "left out of the fit"
    assert f"best, at 0 or 100 %, {treatment}, not shown" in note
