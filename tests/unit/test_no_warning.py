"""The no-warning reference: known cases, its equation, its gap, and where there is none."""

import math
from dataclasses import replace

import numpy as np
import pytest

from helpers import simulate
from matcheval.datasets.suites import Pair
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.decomposition import Scored
from matcheval.protocol.matching import named_sequence
from matcheval.protocol.no_warning import (
    N_SPLITS,
    cross_fitted,
    error_ratio,
    flip_probability,
    no_warning_reference,
    split_sizes,
)
from matcheval.protocol.settings import MatchingMethod
from matcheval.protocol.standard_errors import isotonic_accuracy
from vectors import case

METHOD = MatchingMethod(criterion="probability")


def reference(original, replication, method=METHOD, model="m", **pair):
    comparison = Comparison(model, Pair("p", "o", "r", **pair), original, replication)
    return no_warning_reference(comparison, method)


def test_known_ratios():
    known = case("protocol_statistics", "A6.error_ratio")
    errors = np.array(known["inputs"]["e"])
    for gap, expected in zip(known["inputs"]["gaps"], known["expected"], strict=True):
        found = error_ratio(errors, gap)
        if expected["r"] is None:
            assert math.isnan(found)
            continue
        assert found == pytest.approx(expected["r"], abs=known["tol"])
        np.testing.assert_allclose(
            flip_probability(errors, found), expected["q"], atol=known["tol"]
        )
        assert (errors > 0).mean() - errors.mean() == pytest.approx(expected["largest_gap"])


class TestReference:
    def test_what_it_reports(self):
        sets = simulate(2_000, 5, 1), simulate(1_000, 5, 2, accuracy=0.8)
        found = reference(*sets)
        one, gap = found.columns, sets[0].correct.mean() - sets[1].correct.mean()
        assert (one["n_reference_original"], one["n_reference_replication"]) == (1_334, 666)
        assert (split_sizes(3, 1_000_000), split_sizes(1_000, 1)) == ((1, 2), (999, 1))
        for kind in ("reference", "same_size"):
            assert one[f"{kind}_gap"] == pytest.approx(gap, abs=0.015)
            narrowing = 1 - one[f"{kind}_matched_gap"] / one[f"{kind}_gap"]
            assert one[f"{kind}_narrowing"] == pytest.approx(narrowing)
        excess = one["same_size_narrowing"] - one["reference_narrowing"]
        assert one["excess_narrowing"] == excess
        # Names, the criterion and the order seed the picks, and the pair alone the splits.
        assert reference(*sets) == found
        others = [
            reference(*sets, MatchingMethod(criterion="label_probability")),
            reference(*sets, MatchingMethod(criterion="probability", order="random")),
            reference(*sets, model="n"),
        ]
        assert {other.same_size_gap for other in others} == {found.same_size_gap}
        assert len({other.same_size_matched_gap for other in (found, *others)}) == 4

    def test_a_fit_on_the_other_half_is_chosen_by_name(self):
        sets = simulate(600, 3, 1), simulate(400, 3, 2, accuracy=0.75)
        scored = Scored(sets[0].probability, sets[0].correct)
        pair = Comparison("m", Pair("p", "o", "r"), *sets)
        method = MatchingMethod(criterion="probability", no_warning_fit="cross")
        rng = np.random.default_rng(named_sequence("p", "no-warning reference", child=N_SPLITS))
        crossed = cross_fitted(scored, rng)
        found = no_warning_reference(pair, method, isotonic_accuracy(scored))
        assert found == reference(*sets, method) == no_warning_reference(pair, METHOD, crossed)
        whole = reference(*sets)
        assert found.same_size_matched_gap == whole.same_size_matched_gap
        assert found.reference_matched_gap != whole.reference_matched_gap
        other = scored.correct.copy()
        other[3] = not other[3]  # which does not change its own fit
        again, first = (
            cross_fitted(Scored(scored.confidence, correct), np.random.default_rng(0))
            for correct in (other, scored.correct)
        )
        assert again[3] == first[3]
        assert (again != first).any()

    def test_a_real_pair_without_warning_has_no_excess(self):
        """The replication is a degraded draw of the original's population."""
        excess = []
        for seed in range(8):
            original, base = simulate(4_000, 4, 2 * seed), simulate(4_000, 4, 2 * seed + 1)
            errors = 1 - isotonic_accuracy(Scored(base.probability, base.correct))
            flip = np.random.default_rng(seed).random(4_000) < flip_probability(errors, 1.6)
            label = np.where(base.correct & flip, (base.label + 1) % 4, base.label)
            worse = replace(base, label=label.astype(np.int16))
            excess.append(reference(original, worse).columns["excess_narrowing"])
        assert abs(np.mean(excess)) < 4 * np.std(excess, ddof=1) / math.sqrt(8)

    def test_its_spread_is_that_over_names_of_the_pair(self):
        """Names seed the splits: other ones are other draws."""
        sets = simulate(1_000, 3, 1), simulate(500, 3, 2, accuracy=0.75)
        pairs = [Comparison("m", Pair(f"p{i}", "o", "r"), *sets) for i in range(15)]
        found = [no_warning_reference(one, METHOD).columns for one in pairs]
        excess, spread = ([one[f"excess_{n}"] for one in found] for n in ("narrowing", "spread"))
        assert np.std(excess, ddof=1) > 0.01
        assert 0.6 < np.std(excess, ddof=1) / np.mean(spread) < 1.6

    def test_roles_are_those_of_the_pair(self):
        """With the replication as source, and larger, the degraded half is the source."""
        sets = simulate(800, 3, 1), simulate(1_600, 3, 2, accuracy=0.75)
        found, named = reference(*sets), reference(*sets, source="o")
        assert (found.n_reference_original, found.n_reference_replication) == (267, 533)
        assert named.reference_gap == found.reference_gap > 0.05
        assert named.reference_matched_gap != found.reference_matched_gap

    def test_no_reference(self):
        original, other = simulate(200, 3, 1), simulate(100, 3, 2, accuracy=0.75)
        for sets, why in (
            ((other, original), "not positive"),
            ((simulate(200, 3, 1, accuracy=1), other), "no factor"),
            ((original, replace(other, probability=np.zeros(100, np.float32))), "no target is"),
        ):
            found = reference(*sets)
            assert why in found.reason
            for name in ("excess_narrowing", "error_ratio", "reference_gap"):
                assert math.isnan(found.columns[name])
