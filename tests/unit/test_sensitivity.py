"""Matched gaps by ε: limits, and what stays the same."""

from dataclasses import replace

import numpy as np
import pytest

from compared import BOTH, compared, models, swapped
from helpers import matched_gap, predictions
from matcheval.analyses import epsilon_sweep as sweep
from matcheval.protocol.compared_models import MEAN
from matcheval.protocol.settings import MatchingMethod, Order

PROBABILITY = {"probability": BOTH["probability"]}


def of_models(table):
    return table[table.model != MEAN]


class TestLimit:
    def test_a_larger_source_is_a_random_sample(self):
        known = models(300, 120, methods=PROBABILITY, seeds=400)
        for each in (known, swapped(known)):
            table = of_models(sweep.tabulate(each, epsilons=[1.0]))
            np.testing.assert_allclose(table.limit, table.gap, atol=1e-12)
            error = table.limit_std / np.sqrt(400)
            assert (np.abs(table.matched_gap - table.limit) < 4 * error).all()
            # Relative error of a standard deviation of 400 values: 3.5 %.
            np.testing.assert_allclose(table.matched_gap_std, table.limit_std, rtol=0.15)

    @pytest.mark.parametrize("order", list(Order))
    def test_a_smaller_source(self, order):
        method = MatchingMethod(criterion="probability", order=order)
        known = models(100, 260, methods={"p": method}, n_models=1, seeds=300)
        pair = replace(known.pair, source="old")
        comparison = replace(known.comparisons[0], pair=pair)
        changed = replace(known, pair=pair, comparisons=(comparison,))
        row = sweep.tabulate(changed, epsilons=[1.0]).iloc[0]
        right = comparison.target.correct
        first = right[:100] if order is Order.DATASET else right
        assert row.limit == pytest.approx(comparison.source.correct.mean() - first.mean())
        if order is Order.DATASET:
            assert row.matched_gap == pytest.approx(row.limit, abs=1e-12)
            assert row.limit_std == 0
        else:
            assert abs(row.matched_gap - row.limit) < 4 * row.limit_std / np.sqrt(300)
            assert row.matched_gap_std == pytest.approx(row.limit_std, rel=0.2)

    def test_its_spread_by_hand(self):
        """Of 4 source points, 3 right, any 2 are matched with 2 targets, both right."""
        source = predictions([0.5] * 4, [0] * 4, [0, 0, 0, 1])
        target = predictions([0.5] * 2, [0, 0], [0, 0])
        (comparison,) = compared((source, target)).comparisons
        mean, std = sweep.limit_at_one(comparison, BOTH["probability"])
        assert mean == pytest.approx(-0.25)
        assert std == pytest.approx(np.std([1, 1, 1, 0.5, 0.5, 0.5]))


class TestSweep:
    def test_at_the_studys_epsilon_it_is_the_studys_gap(self):
        known = models(200, 150)
        table = sweep.tabulate(known, epsilons=[0.005, 0.05])
        for comparison in known.comparisons:
            for name, method in BOTH.items():
                gap = matched_gap(comparison, method, known.seeds)
                chosen = (table.model == comparison.model) & (table.matching == name)
                row = table[chosen & (table.epsilon == 0.005)].iloc[0]
                assert row.matched_gap == pytest.approx(gap.mean, abs=1e-12)
                assert row.matched_gap_std == pytest.approx(gap.std, abs=1e-12)
                assert row.fraction_unmatched == pytest.approx(1 - gap.share_matched)

    def test_table_and_figure(self):
        table = sweep.tabulate(models(80, 60))
        assert len(table) == 2 * 10 * 3
        assert (table.criterion == "label_probability").equals(table.limit.isna())
        means = table[table.model == MEAN].set_index(["matching", "epsilon"]).matched_gap
        expected = of_models(table).groupby(["matching", "epsilon"]).matched_gap.mean()
        np.testing.assert_allclose(means, expected[means.index])
        assert len(sweep.plot(sweep.SCHEMA.from_frame(table).to_pandas()).axes) == 4
