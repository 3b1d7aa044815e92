"""Linear fits and their bootstrap, against polyfit, a plain loop, and known probabilities."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matcheval.errors import InputError
from matcheval.statistics.lines import (
    bootstrap_lines,
    confidence_region,
    fit_line,
    percentile_interval,
)


def models(n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(50, 90, n)
    return x, 1.1 * x - 20 + rng.normal(0, 1, n)


def naive(x, y, resamples, seed):
    """The published procedure: draw, fit, repeat; without resamples that have a single x."""
    generator = np.random.RandomState(seed)
    fits = []
    for _ in range(resamples):
        drawn = generator.choice(len(x), len(x))
        if len(set(x[drawn])) > 1:
            fits.append(np.polyfit(x[drawn], y[drawn], 1))
    return np.array(fits).T


def test_a_line_by_hand():
    line = fit_line([0, 1, 2], [1, 2, 6])
    assert (line.slope, line.offset) == pytest.approx((2.5, 0.5))
    assert line.r_squared == pytest.approx(1 - 1.5 / 14)
    assert line.at([2, 4]).tolist() == pytest.approx([5.5, 10.5])
    flat = fit_line([0, 1, 2], [0.1, 0.1, 0.1])  # whose mean is rounded
    assert (flat.slope, flat.offset) == pytest.approx((0, 0.1))
    assert np.isnan(flat.r_squared)


@given(st.integers(3, 80), st.integers(0, 1000))
def test_a_line_agrees_with_polyfit(n, seed):
    x, y = models(n, seed)
    line = fit_line(x, y)
    assert (line.slope, line.offset) == pytest.approx(tuple(np.polyfit(x, y, 1)), rel=1e-6)


@pytest.mark.parametrize("n", [3, 4, 20])
def test_the_bootstrap_agrees_with_a_plain_loop(n):
    x, y = models(n)
    slope, offset = naive(x, y, 300, seed=7)
    boot = bootstrap_lines(x, y, 300, seed=7)
    np.testing.assert_allclose(boot.slope, slope, rtol=1e-7)
    np.testing.assert_allclose(boot.offset, offset, rtol=1e-7)
    assert boot.n_degenerate == 300 - len(slope)


@pytest.mark.parametrize("n", [64, 65, 700])
@pytest.mark.parametrize("seed", [0, 720257663, 2**32 - 1])
def test_models_are_drawn_as_numpy_draws_them(n, seed):
    """Also for more models than the generator's 624 words of state, and for powers of two."""
    x, y = models(n)
    drawn = np.random.RandomState(seed).randint(0, n, (40, n))
    slope = [np.polyfit(x[row], y[row], 1)[0] for row in drawn]
    np.testing.assert_allclose(bootstrap_lines(x, y, 40, seed).slope, slope, rtol=1e-7)


def test_one_in_nine_resamples_of_three_models_is_degenerate():
    boot = bootstrap_lines([0.1, 0.2, 0.3], [1, 2, 4], 20_000, seed=0)
    assert boot.n_degenerate / 20_000 == pytest.approx(1 / 9, abs=0.01)
    assert len(boot.slope) + boot.n_degenerate == 20_000
    assert np.isfinite(boot.slope).all()


@pytest.mark.parametrize("step", [2e-3, 1e-6])
def test_nearly_equal_models_determine_an_accurate_line(step):
    """Two accuracies that differ by one datapoint in 50,000, or by less, determine a line."""
    boot = bootstrap_lines([50, 50 + step, 80], [40, 40 + 3 * step, 70], 2000, seed=0)
    assert boot.n_degenerate / 2000 == pytest.approx(1 / 9, abs=0.03)
    near = boot.slope[boot.slope > 2]  # both near models, and not the third: 2**3 - 2 draws
    assert len(near) / 2000 == pytest.approx(6 / 27, abs=0.03)
    np.testing.assert_allclose(near, 3, rtol=1e-12 / step)  # rounding of the accuracies


def test_equal_models_count_as_one_x():
    boot = bootstrap_lines([1, 1, 2], [0, 1, 2], 5000, seed=0)
    assert boot.n_degenerate / 5000 == pytest.approx(8 / 27 + 1 / 27, abs=0.03)


def test_intervals_contain_the_estimate_and_usually_the_true_slope():
    n_covered = 0
    for seed in range(100):
        x, y = models(40, seed)
        low, high = percentile_interval(bootstrap_lines(x, y, 500, seed).slope)
        assert low <= fit_line(x, y).slope <= high
        n_covered += low <= 1.1 <= high
    assert n_covered >= 85  # 95 expected, slightly fewer for a percentile bootstrap


def test_percentiles_are_values_that_occur():
    values = np.arange(10.0)[::-1]
    assert percentile_interval(values, 0.5) == (2, 7)
    assert percentile_interval(np.array([3.0])) == (3, 3)
    assert percentile_interval(np.arange(101.0), 0.95) == (2, 98)


def test_the_region_is_pointwise():
    boot = bootstrap_lines(*models(12), 400, seed=3)
    region = confidence_region(boot, np.array([0.0, 60.0]))
    assert (region.low[0], region.high[0]) == percentile_interval(boot.offset)
    at = boot.offset + 60 * boot.slope
    assert (region.low[1], region.high[1]) == percentile_interval(at)
    empty = confidence_region(boot, np.array([]))
    assert empty.low.shape == (0,)


def test_memory_stays_small_for_many_models():
    x, y = models(1556)
    tracemalloc.start()
    bootstrap_lines(x, y, 10)  # compiled by now
    tracemalloc.reset_peak()
    bootstrap_lines(x, y, 2000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2e6  # all resamples at once would take 100 MB


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1, 2], [1, 2], "2 models, but a line needs at least 3"),
        ([1], [1], "1 model, but a line"),
        ([], [], "0 models, but a line"),
        ([1, 2, 3], [1, 2], r"x has shape \(3,\), y \(2,\)"),
        ([1, 1, 1], [1, 2, 3], "all 3 models have the same accuracy"),
        ([1, 2, np.inf], [1, 2, 3], "not finite"),
        ([1, 2, 3], [1, np.nan, 3], "not finite"),
    ],
)
def test_values_that_determine_no_line(x, y, message):
    for function in (fit_line, bootstrap_lines):
        with pytest.raises(InputError, match=message):
            function(x, y)


def test_no_resamples():
    with pytest.raises(InputError, match="0 resamples"):
        bootstrap_lines([1, 2, 3], [1, 2, 3], 0)
    with pytest.raises(InputError, match="no resample of the models determines a line"):
        next(s for s in range(100) if bootstrap_lines([1, 2, 3], [1, 2, 3], 1, seed=s) is None)
