"""Intervals, scales, ranks, linear fits and their bootstrap: by hand, property and SciPy."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import isotonic_regression

from matcheval.errors import InputError
from matcheval.protocol.kernel import isotonic_fit
from matcheval.statistics.intervals import at_level, clopper_pearson, normal_factor, percentiles
from matcheval.statistics.lines import (
    Scale,
    bootstrap_lines,
    clipped_accuracy,
    confidence_region,
    fit_line,
    from_scale,
    ordinal_ranks,
    percentile_interval,
    rank_correlations,
    to_scale,
)


class TestClopperPearson:
    def test_published_values(self):
        """Recht et al. (2019): 1,800 of 2,000; of 10,000 ±1 point at most, ±0.6, ±0.3 (B.2.1)."""
        interval = clopper_pearson(1800, 2000)
        assert (round(100 * interval.low, 1), round(100 * interval.high, 1)) == (88.6, 91.3)
        for level, width in ((0.95, 0.985), (0.9999, 1.95)):
            worst = clopper_pearson(5000, 10_000, level)
            assert 50 * (worst.high - worst.low) == pytest.approx(width, abs=5e-3)
        for percent, half in ((90, 0.6), (97, 0.3)):
            of = clopper_pearson(100 * percent, 10_000)
            assert round(50 * (of.high - of.low), 1) == half

    @given(st.integers(1, 5000), st.floats(0, 1), st.floats(0.5, 0.9999))
    def test_agrees_with_the_binomial_test(self, n, fraction, level):
        correct = round(fraction * n)
        interval = clopper_pearson(correct, n, level)
        expected = stats.binomtest(correct, n).proportion_ci(level, "exact")
        assert float(interval.low) == pytest.approx(expected.low, abs=1e-9)
        assert float(interval.high) == pytest.approx(expected.high, abs=1e-9)

    def test_bad_counts(self):
        with pytest.raises(InputError, match="3 correct of 2"):
            clopper_pearson(3, 2)


def test_levels_in_numbers_and_words():
    assert (normal_factor(0.95), percentiles(0.95)) == (1.96, (2.5, 97.5))  # to the bit
    assert normal_factor(0.99) == pytest.approx(2.575829)
    assert percentiles(0.9) == (5, 95)
    text = "bars of {level}, ±{factor} · √v; {{ x }}"
    assert at_level(text, 0.95) == "bars of 95 %, ±1.96 · √v; {{ x }}"


class TestScales:
    def test_by_hand(self):
        assert to_scale([0.5, 0.25], Scale.LINEAR).tolist() == [50, 25]
        quantiles = [0, stats.norm.ppf(0.25), np.inf, -np.inf]
        assert to_scale([0.5, 0.25, 1, 0], Scale.PROBIT).tolist() == pytest.approx(quantiles)
        assert from_scale([50, 25], Scale.LINEAR).tolist() == [0.5, 0.25]
        for scale, convert in itertools.product(Scale, (to_scale, from_scale)):
            assert convert(np.array([0.5], np.float32), scale).dtype == np.float64

    def test_clipped(self):
        n = 2**24 + 1  # which float32 cannot hold
        assert clipped_accuracy([0, n], [10, n]).tolist() == [0.5 / 11, (n + 0.5) / (n + 1)]


class TestRanks:
    def test_ties_are_broken_by_name(self):
        ranks = ordinal_ranks([0.5, 0.9, 0.5, 0.7], ["vgg", "a", "resnet", "z"])
        assert ranks.tolist() == [4, 1, 3, 2]

    @pytest.mark.filterwarnings("error")
    def test_correlations(self):
        assert rank_correlations([1, 2], [20, 19]) == pytest.approx((-1, -1))
        assert rank_correlations([1, 2, 3], [1, 3, 2]) == pytest.approx((0.5, 1 / 3))
        # Ties: of six pairs, four agree, and one is tied in each series (tau-c would be 0.75).
        assert rank_correlations([1, 1, 2, 3], [1, 2, 2, 3]) == pytest.approx((5 / 6, 4 / 5))
        for x, y in (([1, 1], [1, 2]), ([1, 2], [1, 1]), ([1], [1])):
            assert np.isnan(rank_correlations(x, y)).all()


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


@pytest.mark.parametrize(
    ("n", "seed"), [(3, 7), (4, 0), (20, 720257663), (64, 2**32 - 1), (65, 7), (700, 7)]
)
def test_the_bootstrap_agrees_with_a_plain_loop(n, seed):
    """Also for more models than the generator's 624 words of state, and for powers of two."""
    x, y = models(n)
    slope, offset = naive(x, y, 300, seed)
    boot = bootstrap_lines(x, y, 300, seed)
    np.testing.assert_allclose(boot.slope, slope, rtol=1e-7)
    np.testing.assert_allclose(boot.offset, offset, rtol=1e-7)
    assert boot.n_degenerate == 300 - len(slope)


def test_nearly_equal_models_determine_an_accurate_line():
    """Two accuracies that differ by one datapoint in 50,000 determine a line."""
    step = 2e-3
    boot = bootstrap_lines([50, 50 + step, 80], [40, 40 + 3 * step, 70], 2000, seed=0)
    assert boot.n_degenerate / 2000 == pytest.approx(1 / 9, abs=0.03)
    near = boot.slope[boot.slope > 2]  # both near models, and not the third: 2**3 - 2 draws
    assert len(near) / 2000 == pytest.approx(6 / 27, abs=0.03)
    np.testing.assert_allclose(near, 3, rtol=1e-12 / step)  # rounding of the accuracies


def test_percentiles_are_values_that_occur():
    assert percentile_interval(np.arange(10.0)[::-1], 0.5) == (2, 7)
    assert percentile_interval(np.arange(101.0), 0.95) == (2, 98)


def test_the_region_is_pointwise():
    boot = bootstrap_lines(*models(12), 400, seed=3)
    region = confidence_region(boot, np.array([0.0, 60.0]))
    assert (region.low[0], region.high[0]) == percentile_interval(boot.offset)
    at = boot.offset + 60 * boot.slope
    assert (region.low[1], region.high[1]) == percentile_interval(at)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([1, 2], "2 models, but a line needs at least 3"),
        ([1, 1, 1], "all 3 models have the same accuracy"),
    ],
)
def test_values_that_determine_no_line(x, message):
    for function in (fit_line, bootstrap_lines):
        with pytest.raises(InputError, match=message):
            function(x, x)
    with pytest.raises(InputError, match="no resample of the models determines a line"):
        next(s for s in range(100) if bootstrap_lines([1, 2, 3], [1, 2, 3], 1, seed=s) is None)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=1, max_size=60))
def test_the_isotonic_fit_is_that_of_scipy_to_the_bit(pools):
    numbers, weights = np.array(pools, np.float64).T
    theirs = isotonic_regression(numbers / weights, weights=weights).x
    np.testing.assert_array_equal(isotonic_fit(numbers / weights, weights), theirs)
