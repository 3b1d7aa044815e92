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
from matcheval.protocol.blocks import groups, paired_images
from matcheval.protocol.decomposition import Scored
from matcheval.protocol.gaps import gap_terms
from matcheval.protocol.matching import match, plan_matching
from matcheval.protocol.settings import Criterion, MatchingMethod
from matcheval.protocol.standard_errors import (
    ErrorTerms,
    error_interval,
    error_terms,
    isotonic_accuracy,
    mean_terms,
    one_run_error,
    pick_weights,
    standard_error,
)
from vectors import case

A3 = [f"A3.{name}" for name in ("standard_errors", "groups_within_sets", "groups_in_both_sets")]


def results(confidence, correct):
    """Predictions of given correctness; class 1 is predicted."""
    correct = np.asarray(correct, int)
    return predictions(confidence, np.ones(len(correct), int), correct)


def scored(of) -> Scored:
    return Scored(of.probability, of.correct)


def terms_of(source, target, rows, source_is_original=True):
    """Terms of runs, a seed each."""
    runs = replace(matched(source, target, seeds=[0]), rows=rows).measured
    names = ("accuracy_source", "matched_accuracy_source", "matched_accuracy_target",
             "unmatched_accuracy_target", "fraction_unmatched")  # fmt: skip
    columns = {name: runs[name] for name in names}
    return gap_terms(**columns, source_is_original=source_is_original)


def rows_of(given_rows):
    return {seed: np.array(row) for seed, row in enumerate(given_rows)}


class TestGapTerms:
    @pytest.mark.parametrize("is_original", [True, False])
    def test_known_case(self, is_original):
        known = case("protocol_statistics", "A1.decomposition")
        given_, expected = known["inputs"], known["expected"]
        source, target = (
            results(np.full(len(given_[f"correct_{role}"]), 0.5), given_[f"correct_{role}"])
            for role in ("source", "target")
        )
        rows = rows_of(given_["source_row_of_target"])
        terms = terms_of(source, target, rows, is_original)
        sign = 1 if is_original else -1
        for name in ("matched_gap", "source_selection", "dropped_targets"):
            mean = getattr(terms, name).mean()
            assert mean == pytest.approx(sign * expected[name], abs=known["tol"])

    @pytest.mark.parametrize("is_original", [True, False])
    def test_terms_add_up(self, is_original):
        source, target = simulate(900, 4, 1), simulate(700, 4, 2, accuracy=0.7)
        terms = terms_of(source, target, matched(source, target).rows, is_original)
        gap = (source.correct.mean() - target.correct.mean()) * (1 if is_original else -1)
        total = terms.matched_gap + terms.source_selection + terms.dropped_targets
        np.testing.assert_allclose(total, gap, atol=1e-12)

    def test_nothing_dropped_and_nothing_matched(self):
        source, target = results([0.5, 0.5, 0.9], [1, 0, 1]), results([0.5, 0.5], [1, 0])
        assert terms_of(source, target, rows_of([[0, 1]])).dropped_targets == 0
        terms = terms_of(source, target, rows_of([[-1, -1]]))
        for values in (terms.matched_gap, terms.source_selection, terms.dropped_targets):
            assert np.isnan(values).all()


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
        assert standard_error(mean_terms([terms] * 5)) == pytest.approx(standard_error(terms))
        assert standard_error(mean_terms([terms, opposite])) == 0

    def test_paired_images_are_added_before_squaring(self):
        one = simulate(50, 3, 1)
        terms = ErrorTerms(np.full(50, 0.01), np.full(50, -0.01))
        assert standard_error(terms, paired_images(one, one)) == pytest.approx(0, abs=1e-15)
        assert standard_error(terms) == pytest.approx(0.1)

    def test_terms_are_deviations_from_the_isotonic_fit(self):
        # Correctness by confidence is 0, 1, 0, 1: fitted 0, 1/2, 1/2, 1.
        one = Scored(np.array([0.1, 0.2, 0.3, 0.4]), np.array([False, True, False, True]))
        terms = error_terms(one, one, rows_of([range(4)]))
        np.testing.assert_allclose(terms.source, [0, 0.125, -0.125, 0])
        np.testing.assert_allclose(terms.target, [0, -0.125, 0.125, 0])

    def test_groups_by_hand(self):
        terms = ErrorTerms(np.array([1.0, 2, -1, 4]), np.array([3.0, 1, 2]))
        apart = groups(["a", "a", "b", "b"], ["a", "b", "c"])  # sums 3, 3 and 3, 1, 2
        assert standard_error(terms, apart) == pytest.approx(math.sqrt(2 * 18 + 3 / 2 * 14))
        together = groups(["a", "a", "b", "b"], ["a", "b", "c"], shared=True)  # sums 6, 4, 2
        assert standard_error(terms, together) == pytest.approx(math.sqrt(3 / 2 * 56))

    def test_intervals_and_single_groups(self):
        assert error_interval(0.1, 0.01) == pytest.approx((0.0804, 0.1196))
        blocks = groups([0, 0, 1, 2], ["a", "b", "a", "a"])
        _, high = error_interval(0.1, 0.01, blocks)  # t with one degree of freedom: 12.706
        assert high == pytest.approx(0.1 + 0.01 * 12.7062, abs=1e-6)
        single = groups([0, 0], [0, 1])
        assert math.isnan(standard_error(ErrorTerms(np.ones(2), np.ones(2)), single))
        assert math.isnan(error_interval(0.1, float("nan"), single)[0])
        assert math.isnan(one_run_error(np.ones(2, bool), np.ones(1, bool), np.array([0])))


# --- Coverage, by simulation with known truth


def accuracy_at(p):
    return 0.3 + 0.68 * p


def draw(rng, n, shift, *, n_groups=0, effect=0.0):
    """Confidences, of which a third are 1, correctness, its probability, and groups."""
    p = 1 / (1 + np.exp(-rng.normal(2.0 - shift, 1.5, n)))
    p = np.where(rng.random(n) < 0.33, 1.0, p).astype(np.float32)
    group = np.arange(n) % n_groups if n_groups else np.arange(n)
    common = rng.normal(0, effect, n_groups)[group] if n_groups else 0
    truth = np.clip(accuracy_at(p.astype(np.float64)), 0, 1)
    right = rng.random(n) < np.clip(truth + common, 0, 1)
    return SimpleNamespace(p=p, right=right, truth=truth, group=group)


def weights_of(source, target, rng, n_seeds):
    of = [results(side.p, side.right) for side in (source, target)]
    plan = plan_matching(*of, MatchingMethod(criterion=Criterion.PROBABILITY))
    rows = {seed: match(plan, rng) for seed in range(n_seeds)}
    return *pick_weights(rows, len(source.p)), rows


def coverage(n, draws, *, n_seeds=10, n_groups=0, effect=0.0, use_groups=True):
    """Share of intervals that hold the gap that the picks have in truth."""
    rng, hits = np.random.default_rng(5), 0
    for _ in range(draws):
        options = {"n_groups": n_groups, "effect": effect}
        source, target = draw(rng, n, 0, **options), draw(rng, n, 0.5, **options)
        of_source, of_target, rows = weights_of(source, target, rng, n_seeds)
        truth = of_source @ source.truth - of_target @ target.truth
        value = of_source @ source.right - of_target @ target.right
        blocks = groups(source.group, target.group) if n_groups and use_groups else None
        if n_seeds == 1:
            error = one_run_error(source.right, target.right, rows[0])
        else:
            sides = [Scored(side.p, side.right) for side in (source, target)]
            error = standard_error(error_terms(*sides, rows), blocks)
        low, high = error_interval(value, error, blocks)
        hits += low <= truth <= high
    return hits / draws


class TestCoverage:
    @pytest.mark.parametrize("n_seeds", [1, 10])
    def test_independent_datapoints(self, n_seeds):
        assert 0.90 <= coverage(500, 400, n_seeds=n_seeds) <= 0.99

    @pytest.mark.parametrize("n_groups", [4, 10])
    def test_groups_with_a_common_effect(self, n_groups):
        """Ignoring few groups with a strong effect covers far less often."""
        found = coverage(500, 400, n_groups=n_groups, effect=0.15)
        assert 0.90 <= found <= 0.99
        assert coverage(500, 400, n_groups=n_groups, effect=0.15, use_groups=False) < 0.8

    def test_models_that_err_together(self):
        """The standard error of a mean over models is the spread of that mean."""
        rng, means, errors, apart = np.random.default_rng(7), [], [], []
        for _ in range(400):
            source, target = draw(rng, 500, 0), draw(rng, 500, 0.5)
            models = []
            for _ in range(3):
                *weights, rows = weights_of(source, target, rng, 3)
                sides, deviations = [], []
                for side in (source, target):
                    right = side.right ^ (rng.random(500) < 0.05)
                    sides.append(Scored(side.p, right))
                    deviations.append(right - (0.95 * side.truth + 0.05 * (1 - side.truth)))
                value = weights[0] @ deviations[0] - weights[1] @ deviations[1]
                models.append((value, error_terms(*sides, rows)))
            means.append(np.mean([value for value, _ in models]))
            errors.append(standard_error(mean_terms([terms for _, terms in models])))
            apart.append(np.sqrt(sum(standard_error(t) ** 2 for _, t in models)) / 3)
        spread = np.std(means)
        assert np.mean(errors) == pytest.approx(spread, rel=0.12)
        assert np.mean(apart) < 0.8 * spread
