"""Calibration of matched subsets: by hand, by loops, and where truth is known."""

import numpy as np
import pytest

from compared import compared, models, swapped
from helpers import predictions
from matcheval.analyses.calibration import SCHEMA, brier_parts, plot, tabulate
from matcheval.protocol.matching import UNMATCHED

KNOWN = models(900, 700)


@pytest.fixture(scope="module")
def table():
    return tabulate(KNOWN)


@pytest.mark.parametrize(("n", "decimals"), [(1, 1), (7, 15), (200, 2)])
def test_by_loops(n, decimals):
    rng = np.random.default_rng(n)
    p = rng.uniform(size=n).round(decimals)
    right = rng.random(n) < p**2
    ordered, bins = sorted(p.tolist()), {}
    starts = [ordered[n * j // 15] for j in range(1, 15)]
    for confidence, correct in zip(p.tolist(), right.tolist(), strict=True):
        key = max([s for s in starts if s <= confidence], default=ordered[0])
        bins.setdefault(key, []).append((confidence, correct))
    binned = debiased = 0.0
    for some in bins.values():
        centre, accuracy = (sum(values) / len(some) for values in zip(*some, strict=True))
        binned += sum((centre - correct) ** 2 for _, correct in some)
        if len(some) > 1:
            noise = accuracy * (1 - accuracy) / (len(some) - 1)
            debiased += len(some) * ((centre - accuracy) ** 2 - noise)
    found = brier_parts(p, right)
    assert found.calibration + found.refinement == pytest.approx(binned / n)
    assert found.debiased == pytest.approx(debiased / n)


class TestTable:
    def test_the_matched_gap_is_a_difference_of_overconfidences(self, table):
        assert len(plot(SCHEMA.from_frame(table).to_pandas()).axes) == 2
        assert len(table) == 2 * (2 + 2 * 2)
        for one in KNOWN.matched():
            rows = table[(table.model == one.comparison.model) & (table.matching == one.name)]
            original, replication = (row for _, row in rows.iterrows())
            change = replication.overconfidence - original.overconfidence
            shift = replication.mean_confidence - original.mean_confidence
            assert one.matched_gaps.mean() == pytest.approx(change - shift)
            assert abs(shift) < one.method.epsilon
            assert original.n == replication.n == one.n_matched

    def test_by_loops(self, table):
        one = next(KNOWN.matched())
        found = table[(table.model == "m0") & (table.matching == one.name)].iloc[1]
        target, briers, parts = one.comparison.target, [], []
        by_class = {k: [] for k in range(4)}
        for row in one.rows.values():
            hit = row != UNMATCHED
            p, right = target.probability[hit].astype(float), target.correct[hit]
            briers.append(np.mean((p - right) ** 2))
            parts.append(brier_parts(p, right))
            for k, difference in zip(target.prediction[hit], p - right, strict=True):
                by_class[k].append(difference)
        assert found.brier == pytest.approx(np.mean(briers))
        for name in ("calibration", "refinement"):
            assert found[name] == pytest.approx(np.mean([getattr(part, name) for part in parts]))
        debiased = np.mean([part.debiased for part in parts])
        assert found.squared_calibration_error == pytest.approx(debiased)
        assert found.calibration_error == pytest.approx(debiased**0.5)
        means = [np.mean(values) for values in by_class.values()]
        assert found.class_overconfidence == pytest.approx(np.mean(means))
        assert found.largest_class == np.argmax(np.abs(means))
        assert found.largest_class_overconfidence == pytest.approx(means[found.largest_class])

    def test_origins_keep_their_rows_whatever_their_role(self, table):
        other = tabulate(swapped(KNOWN))  # which calls the replication the original
        order = [row + change for row in range(0, len(table), 2) for change in (1, 0)]
        for name in ("n", "accuracy", "calibration", "largest_class"):
            assert other[name].tolist() == table[name].iloc[order].tolist()
        whole = table[table.matching == ""]
        assert whole.origin.tolist() == ["original", "replication"] * 2
        sides = [side for one in KNOWN.comparisons for side in (one.original, one.replication)]
        assert whole.accuracy.tolist() == [side.correct.mean() for side in sides]
        assert whole.n.tolist() == [900, 700] * 2

    def test_few_datapoints_have_no_error(self):
        few = predictions([0.7] * 5, [0, 1, 0, 1, 1])
        many = predictions(np.linspace(0.1, 0.5, 40), np.arange(40) % 2)
        table = tabulate(compared((few, many)))
        whole = table[table.matching == ""]
        reasons = ["fewer than 30 datapoints", "no class is predicted 30 times"]
        assert whole.reason.tolist() == reasons
        assert whole.overconfidence.tolist() == pytest.approx([-0.3, -0.7])
        assert whole.calibration_error.isna().tolist() == [True, False]
        matched = table[table.matching != ""]
        assert (matched.n == 0).all()
        assert matched.overconfidence.isna().all()
        assert plot(table).axes
