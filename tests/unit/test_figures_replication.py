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


@pytest.mark.parametrize("scale", Scale)
@pytest.mark.parametrize("n_models", [3, 300])
def test_shows_models_with_intervals_line_and_region(n_models, scale):
    models = table(n_models)
    drawn, fit = figure(models, scale)
    draw(drawn)
    (axes,) = drawn.axes
    (container,) = axes.containers
    points, _, (horizontal, vertical) = container.lines
    accuracies = models[["accuracy_original", "accuracy_replication"]]
    np.testing.assert_allclose(np.column_stack(points.get_data()), 100 * accuracies)
    for bars, origin, axis in ((horizontal, "original", 0), (vertical, "replication", 1)):
        ends = 100 * models[[f"accuracy_{origin}_low", f"accuracy_{origin}_high"]]
        found = [segment[:, axis] for segment in bars.get_segments()]
        np.testing.assert_allclose(found, ends)
    lines = {line.get_label(): line for line in axes.lines}
    line = lines[f"{scale.value} fit, slope {fit.row['slope']:.2f}"]
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


@pytest.mark.parametrize("extremes", Extremes)
def test_models_left_out_and_a_perfect_one(extremes):
    settings = settings_with(fit_without=("m001", "m004"), extremes=extremes)
    drawn, _ = figure(table(10, best=True), Scale.PROBIT, settings)
    draw(drawn)
    shown = {one.get_label(): len(one[0].get_xdata()) for one in drawn.axes[0].containers}
    assert shown == {"models": 8, "not in the fit": 2}  # at 100 %, none is on probit axes
