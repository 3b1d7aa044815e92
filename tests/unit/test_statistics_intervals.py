"""Clopper-Pearson intervals, scales and ranks: by hand, by property, and against scipy."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from matcheval.errors import InputError
from matcheval.statistics.intervals import accuracy_columns, clopper_pearson
from matcheval.statistics.lines import Scale, clipped_accuracy, from_scale, to_scale
from matcheval.statistics.ranks import ordinal_ranks, rank_correlations


class TestClopperPearson:
    def test_published_values(self):
        """Recht et al. (2019): 1,800 of 2,000; at most ±1 point of 10,000 at 95 %."""
        interval = clopper_pearson(1800, 2000)
        assert (round(100 * interval.low, 1), round(100 * interval.high, 1)) == (88.6, 91.3)
        for level, width in ((0.95, 0.985), (0.9999, 1.95)):
            worst = clopper_pearson(5000, 10_000, level)
            assert 50 * (worst.high - worst.low) == pytest.approx(width, abs=5e-3)

    def test_nothing_and_everything_correct(self):
        interval = clopper_pearson([0, 10], 10)
        assert interval.low.tolist() == [0, pytest.approx(0.025**0.1)]
        assert interval.high.tolist() == [pytest.approx(1 - 0.025**0.1), 1]

    @given(st.integers(1, 5000), st.floats(0, 1), st.floats(0.5, 0.9999))
    def test_agrees_with_the_binomial_test(self, n, fraction, level):
        correct = round(fraction * n)
        interval = clopper_pearson(correct, n, level)
        expected = stats.binomtest(correct, n).proportion_ci(level, "exact")
        assert float(interval.low) == pytest.approx(expected.low, abs=1e-9)
        assert float(interval.high) == pytest.approx(expected.high, abs=1e-9)

    def test_agrees_with_beta_quantiles_for_all_counts(self):
        k = np.arange(1, 2021)
        interval = clopper_pearson(k, 2021)
        np.testing.assert_allclose(interval.low, stats.beta.ppf(0.025, k, 2021 - k + 1))
        np.testing.assert_allclose(interval.high, stats.beta.ppf(0.975, k + 1, 2021 - k))

    @pytest.mark.parametrize(
        ("correct", "n", "level", "message"),
        [
            (3, 2, 0.95, "3 correct of 2"),
            (-1, 2, 0.95, "-1 correct of 2"),
            ([1, 0], [2, 0], 0.95, "0 correct of 0"),
            (0.5, 2, 0.95, "'correct': has dtype float64"),
            (1, 2, 0, "confidence is 0"),
            (1, 2, 1, "confidence is 1"),
            (1, 2, float("nan"), "confidence is nan"),
        ],
    )
    def test_bad_counts(self, correct, n, level, message):
        with pytest.raises(InputError, match=message):
            clopper_pearson(correct, n, level)


def test_columns_of_a_subset():
    row = accuracy_columns("hard", np.array([True, True, True, False]), 0.9)
    interval = clopper_pearson(3, 4, 0.9)
    assert row == {
        "n_hard": 4, "n_correct_hard": 3, "accuracy_hard": 0.75,
        "accuracy_hard_low": interval.low, "accuracy_hard_high": interval.high,
    }  # fmt: skip
    n, n_correct, *rest = accuracy_columns("x", np.array([], bool), 0.9).values()
    assert (n, n_correct) == (0, 0)
    assert np.isnan(rest).all()


class TestScales:
    def test_by_hand(self):
        assert to_scale([0.5, 0.25], Scale.LINEAR).tolist() == [50, 25]
        quantiles = [0, stats.norm.ppf(0.25), np.inf, -np.inf]
        assert to_scale([0.5, 0.25, 1, 0], Scale.PROBIT).tolist() == pytest.approx(quantiles)
        assert from_scale([50, 25], Scale.LINEAR).tolist() == [0.5, 0.25]
        for scale, convert in itertools.product(Scale, (to_scale, from_scale)):
            assert convert(np.array([0.5], np.float32), scale).dtype == np.float64

    @given(st.floats(0.001, 0.999), st.sampled_from(Scale))
    def test_there_and_back(self, accuracy, scale):
        assert from_scale(to_scale(accuracy, scale), scale) == pytest.approx(accuracy)

    def test_clipped(self):
        n = 2**24 + 1  # which float32 cannot hold
        assert clipped_accuracy([0, n], [10, n]).tolist() == [0.5 / 11, (n + 0.5) / (n + 1)]


class TestRanks:
    def test_ties_are_broken_by_name(self):
        ranks = ordinal_ranks([0.5, 0.9, 0.5, 0.7], ["vgg", "a", "resnet", "z"])
        assert ranks.tolist() == [4, 1, 3, 2]

    @given(st.lists(st.sampled_from([0.1, 0.2, 0.3]), min_size=1, max_size=5))
    def test_do_not_depend_on_the_order_of_rows(self, accuracies):
        names = [f"m{i}" for i in range(len(accuracies))]
        ranks = dict(zip(names, ordinal_ranks(accuracies, names), strict=True))
        assert sorted(ranks.values()) == list(range(1, len(names) + 1))
        for order in itertools.permutations(range(len(names))):
            mixed = [names[i] for i in order]
            again = ordinal_ranks([accuracies[i] for i in order], mixed)
            assert dict(zip(mixed, again, strict=True)) == ranks

    @pytest.mark.filterwarnings("error")
    def test_correlations(self):
        assert rank_correlations([1, 2], [20, 19]) == pytest.approx((-1, -1))
        assert rank_correlations([1, 2, 3], [1, 3, 2]) == pytest.approx((0.5, 1 / 3))
        # Ties: of six pairs, four agree, and one is tied in each series (tau-c would be 0.75).
        assert rank_correlations([1, 1, 2, 3], [1, 2, 2, 3]) == pytest.approx((5 / 6, 4 / 5))
        for x, y in (([1, 1], [1, 2]), ([1, 2], [1, 1]), ([1], [1])):
            assert np.isnan(rank_correlations(x, y)).all()
