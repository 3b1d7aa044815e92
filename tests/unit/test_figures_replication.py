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
def test_models_and_a_line_that_is_straight_on_its_scale(n_models, scale):
    models = table(n_models)
    drawn, fit = figure(models, scale)
    draw(drawn)
    (axes,) = drawn.axes
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
    drawn, _ = figure(table(10, best=True), Scale.PROBIT, settings)
    draw(drawn)
    shown = {one.get_label(): len(one[0].get_xdata()) for one in drawn.axes[0].containers}
    assert shown == {"models": 8, "not in the fit": 2}  # at 100 %, none is on probit axes
