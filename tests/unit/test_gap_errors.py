"""Terms of a gap, and standard errors of matched gaps: known cases, identities, coverage."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from helpers import matched, predictions, simulate
from matcheval.protocol.comparisons import groups, paired_images
from matcheval.protocol.decomposition import Scored
from matcheval.protocol.gaps import gap_terms
from matcheval.protocol.matching import match, plan_matching
from matcheval.protocol.settings import Criterion, MatchingMethod
from matcheval.protocol.standard_errors import (
    ErrorTerms,
    TermsTotal,
    error_interval,
    error_terms,
    isotonic_accuracy,
    one_run_error,
    pick_weights,
    standard_error,
)
from vectors import case

A3 = [f"A3.{name}" for name in ("standard_errors", "groups_within_sets", "groups_in_both_sets")]
COVERAGE = 0.90, 0.99  # docs/protocol.md


def results(confidence, correct):
    """Predictions of given correctness; class 1 is predicted."""
    correct = np.asarray(correct, int)
    return predictions(confidence, np.ones(len(correct), int), correct)


def scored(of) -> Scored:
    return Scored(of.probability, of.correct)


def rows_of(given_rows):
    return {seed: np.array(row) for seed, row in enumerate(given_rows)}


@pytest.mark.parametrize("is_original", [True, False])
def test_known_terms(is_original):
    known = case("protocol_statistics", "A1.decomposition")
    given_, expected = known["inputs"], known["expected"]
    source, target = (
        results(np.full(len(given_[f"correct_{role}"]), 0.5), given_[f"correct_{role}"])
        for role in ("source", "target")
    )
    runs = replace(matched(source, target, seeds=[0]), rows=rows_of(given_["source_row_of_target"]))
    terms, sign = gap_terms(runs.measured, source_is_original=is_original), 1 if is_original else -1
    for name in ("matched_gap", "source_selection", "dropped_targets"):
        mean = getattr(terms, name).mean()
        assert mean == pytest.approx(sign * expected[name], abs=known["tol"])


class TestStandardErrors:
    @pytest.mark.parametrize("name", A3)
    def test_known_cases(self, name):
        known = case("protocol_statistics", name)
        given_, expected, tolerance = known["inputs"], known["expected"], known["tol"]
        source, target = (
            Scored(np.array(given_[f"p_{role}"]), np.array(given_[f"correct_{role}"], bool))
            for role in ("source", "target")
        )
        rows = rows_of(given_["source_row_of_target"])
        weights = pick_weights(rows, len(source))
        blocks = None
        if "group_source" in given_:
            blocks = groups(
                given_["group_source"], given_["group_target"], shared=given_["groups_shared"]
            )
        error = standard_error(error_terms(source, target, rows), blocks)
        assert error == pytest.approx(expected["se_mean_over_seeds"], abs=tolerance)
        if "matched_gap" in expected:
            gap = weights[0] @ source.correct - weights[1] @ target.correct
            assert gap == pytest.approx(expected["matched_gap"], abs=tolerance)
            first = one_run_error(source.correct, target.correct, rows[0])
            assert first == pytest.approx(expected["se_first_seed"], abs=tolerance)

    def test_seeds_without_pairs_are_left_out(self):
        weights = pick_weights(rows_of([[0, -1, 2], [-1, -1, -1], [1, 0, -1]]), 4)
        np.testing.assert_allclose(weights[0], [0.5, 0.25, 0.25, 0])
        np.testing.assert_allclose(weights[1], [0.5, 0.25, 0.25])
        assert pick_weights(rows_of([[-1, -1]]), 3)[0].sum() == 0

    @given(st.lists(st.tuples(st.sampled_from(np.arange(11) / 10), st.booleans()), min_size=1))
    def test_the_fit_is_the_isotonic_regression_of_scikit_learn(self, points):
        p, y = map(np.array, zip(*points, strict=True))
        theirs = IsotonicRegression().fit(p, y.astype(float)).predict(p)
        np.testing.assert_allclose(isotonic_accuracy(Scored(p, y)), theirs, atol=1e-12)

    def test_confidences_are_not_merged_near_one(self):
        """In float32, scikit-learn takes values within 1e-6 for equal; these are four float32."""
        p = np.float32(1) - np.float32(2.0**-24) * np.arange(4, dtype=np.float32)[::-1]
        y = np.array([False, True, False, True])
        np.testing.assert_allclose(isotonic_accuracy(Scored(p, y)), [0, 0.5, 0.5, 1])

    def test_the_mean_over_models_keeps_what_they_share(self):
        terms = ErrorTerms(np.array([0.1, -0.2]), np.array([0.05]))
        opposite = ErrorTerms(-terms.source, -terms.target)
        same, total = TermsTotal(), TermsTotal()
        for one, other in zip([terms] * 2, [terms, opposite], strict=True):
            same.add(one)
            total.add(other)
        np.testing.assert_allclose(same.mean.source, terms.source)
        np.testing.assert_allclose(same.mean.target, terms.target)
        assert standard_error(total.mean) == 0

    def test_paired_images_are_added_before_squaring(self):
        one = simulate(50, 3, 1)
        terms = ErrorTerms(np.full(50, 0.01), np.full(50, -0.01))
        assert standard_error(terms, paired_images(one, one)) == pytest.approx(0, abs=1e-15)
        assert standard_error(terms) == pytest.approx(0.1)

    def test_groups_by_hand(self):
        terms = ErrorTerms(np.array([1.0, 2, -1, 4]), np.array([3.0, 1, 2]))
        apart = groups(["a", "a", "b", "b"], ["a", "b", "c"])  # sums 3, 3 and 3, 1, 2
        assert standard_error(terms, apart) == pytest.approx(math.sqrt(2 * 18 + 3 / 2 * 14))
        together = groups(["a", "a", "b", "b"], ["a", "b", "c"], shared=True)  # sums 6, 4, 2
        assert standard_error(terms, together) == pytest.approx(math.sqrt(3 / 2 * 56))

    def test_intervals_and_single_groups(self):
        assert error_interval(0.1, 0.01) == (0.1 - 1.96 * 0.01, 0.1 + 1.96 * 0.01)
        assert error_interval(0, 1, level=0.9)[1] == pytest.approx(1.644854)
        blocks = groups([0, 0, 1, 2], ["a", "b", "a", "a"])
        assert error_interval(0, 1, blocks, 0.9)[1] == pytest.approx(6.313752)
        _, high = error_interval(0.1, 0.01, blocks)  # t with one degree of freedom: 12.706
        assert high == pytest.approx(0.1 + 0.01 * 12.7062, abs=1e-6)
        assert math.isnan(one_run_error(np.ones(2, bool), np.ones(1, bool), np.array([0])))


# --- Coverage, by simulation with known truth


def draw(rng, shift, n_groups, n=500):
    """Confidences, of which a third are 1, correctness, its probability, and groups."""
    p = 1 / (1 + np.exp(-rng.normal(2.0 - shift, 1.5, n)))
    p = np.where(rng.random(n) < 0.33, 1.0, p).astype(np.float32)
    group = np.arange(n) % (n_groups or n)
    common = rng.normal(0, 0.15, n_groups)[group] if n_groups else 0
    truth = 0.3 + 0.68 * p.astype(np.float64)
    right = rng.random(n) < np.clip(truth + common, 0, 1)
    return SimpleNamespace(p=p, right=right, truth=truth, group=group)


def coverage(n_groups, *, use_groups=True, n_draws=400):
    """Share of intervals that hold the gap that the picks have in truth."""
    rng, hits = np.random.default_rng(5), 0
    for _ in range(n_draws):
        sides = source, target = draw(rng, 0, n_groups), draw(rng, 0.5, n_groups)
        sets = [results(side.p, side.right) for side in sides]
        plan = plan_matching(*sets, MatchingMethod(criterion=Criterion.PROBABILITY))
        rows = {seed: match(plan, rng) for seed in range(10)}
        of_source, of_target = pick_weights(rows, len(source.p))
        truth = of_source @ source.truth - of_target @ target.truth
        value = of_source @ source.right - of_target @ target.right
        blocks = groups(source.group, target.group) if n_groups and use_groups else None
        error = standard_error(error_terms(*map(scored, sets), rows), blocks)
        low, high = error_interval(value, error, blocks)
        hits += low <= truth <= high
    return hits / n_draws


@pytest.mark.parametrize("n_groups", [0, 4, 10])
def test_intervals_cover_the_truth(n_groups):
    """With groups of a common effect, too; ignoring few of them covers far less often."""
    assert COVERAGE[0] <= coverage(n_groups) <= COVERAGE[1]
    assert n_groups == 0 or coverage(n_groups, use_groups=False) < 0.8
