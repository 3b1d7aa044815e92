"""Matching against hand-worked cases and a transcription of the paper."""

import importlib.util

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import reference
from helpers import matched, predictions, simulate
from matcheval import jit as compiling
from matcheval.errors import InputError
from matcheval.protocol.matching import UNMATCHED, match, plan_matching, run_sequence
from matcheval.protocol.settings import (
    Criterion,
    MatchingMethod,
    MatchingSettings,
    Score,
    pooled_ranks,
)
from matcheval.settings import read_settings

BOTH = pytest.mark.parametrize("criterion", list(Criterion))
LABEL, PROBABILITY = Criterion


def plan(source, target, criterion=LABEL, epsilon=0.005):
    return plan_matching(source, target, MatchingMethod(criterion=criterion, epsilon=epsilon))


def picks_of(source, target, criterion=LABEL, epsilon=0.005, seed=0):
    return match(plan(source, target, criterion, epsilon), np.random.default_rng(seed))


def rows(source, target, criterion=LABEL, epsilon=0.005, seed=0):
    return picks_of(source, target, criterion, epsilon, seed).tolist()


@BOTH
def test_bounds_are_included(criterion):
    # 0.5 and 0.75 are exact in float32, and so is their difference in float64.
    source, target = predictions([0.5]), predictions([0.75])
    assert rows(source, target, criterion, 0.25) == [0]
    assert rows(target, source, criterion, 0.25) == [0]
    assert rows(source, target, criterion, np.nextafter(0.25, 0)) == [UNMATCHED]
    # In float64 0.505 - 0.5 exceeds 0.005 by rounding; the stored float32 values do not.
    assert rows(predictions([0.505]), predictions([0.5]), criterion) == [0]


# On a coarse grid, with epsilon a multiple of its step, bounds and ties are frequent.
GRID = st.integers(0, 16).map(lambda i: i / 16)


@st.composite
def prediction_sets(draw, largest=90):
    n = draw(st.integers(1, largest))
    n_classes = draw(st.integers(1, 4))
    probability = draw(st.lists(GRID, min_size=n, max_size=n))
    prediction = draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n))
    return predictions(probability, prediction)


class TestAgainstTheTranscription:
    @given(
        prediction_sets(),
        prediction_sets(),
        st.sampled_from(list(Criterion)),
        st.sampled_from([1 / 32, 1 / 16, 1 / 8, 1.0]),
        st.integers(0, 2**32),
    )
    @settings(max_examples=300, deadline=None)
    def test_same_picks_from_the_same_numbers(self, source, target, criterion, epsilon, seed):
        uniform = np.random.default_rng(seed).random(len(target))
        expected = reference.match_with_numbers(source, target, criterion, epsilon, uniform)
        assert rows(source, target, criterion, epsilon, seed) == expected.tolist()

    @BOTH
    @pytest.mark.parametrize("n_source", [1, 63, 64, 65, 128, 1025, 32_769])
    def test_sizes_around_words_and_blocks(self, criterion, n_source):
        source, target = simulate(n_source, 3, 1), simulate(700, 3, 2)
        uniform = np.random.default_rng(3).random(len(target))
        expected = reference.match_with_numbers(source, target, criterion, 0.005, uniform)
        np.testing.assert_array_equal(picks_of(source, target, criterion, seed=3), expected)

    @pytest.mark.parametrize("n_source", [1, 63, 64, 65, 128, 4096])
    def test_no_index_is_out_of_bounds(self, monkeypatch, n_source):
        """Without compilation NumPy checks every index, and the picks are the same."""
        monkeypatch.setattr(compiling, "compiled", lambda **_: lambda function: function)
        spec = importlib.util.find_spec("matcheval.protocol.kernel")
        plain = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(plain)
        found = plan(simulate(n_source, 3, 1), simulate(70, 3, 2), PROBABILITY, 1)
        with np.errstate(over="ignore"):  # counting bits multiplies modulo 2**64
            uniform = np.random.default_rng(3).random(70)
            picks = plain.match_targets(found.low, found.high, uniform, found.source_order)
        assert picks.tolist() == match(found, np.random.default_rng(3)).tolist()


def test_the_stream_of_a_run_stays_the_same():
    """Of child 3 of that SeedSequence: another value would change every published run."""
    names = {"pair": "digits", "criterion": LABEL, "model": "cnn"}
    assert np.random.default_rng(run_sequence(3, **names)).random() == 0.13071327080154482


def test_without_a_writable_cache_folder(monkeypatch):
    """A read-only installation works: every process compiles the functions again."""
    calls = []

    def njit(*, cache=False, **options):
        calls.append(cache)
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: function

    monkeypatch.setattr(compiling, "njit", njit)
    assert compiling.compiled()(len) is len
    assert calls == [True, False]


# Scores, orders of targets, and matchings as they are named in the configuration

P = {"criterion": "probability"}
NAMES = {"pair": "p", "criterion": LABEL, "model": "m"}

POINTS = st.lists(st.tuples(GRID, st.integers(0, 2)), min_size=1, max_size=60)
SETS = st.tuples(POINTS, POINTS).map(
    lambda sets: [predictions(*map(list, zip(*points, strict=True))) for points in sets]
)


def methods(**given):
    return read_settings(MatchingSettings, given).methods


class TestNamedMatchings:
    def test_the_defaults_are_the_paper_s(self):
        assert methods() == {
            "label_probability": MatchingMethod(criterion=LABEL, epsilon=0.005),
            "probability": MatchingMethod(criterion=PROBABILITY, epsilon=0.005),
        }
        wide = MatchingMethod(criterion=PROBABILITY, epsilon=0.01)  # and the short form
        assert methods(criteria=["probability"], epsilon=0.01) == {"probability": wide}

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"matchings": {"m": {}}}, "'matchings.m': criterion missing"),
            ({"matchings": {"m": P | {"score": "margin"}}}, "'margin' is none of confidence, conf"),
            ({"matchings": {"a/b": P}}, "'a/b' must be letters, digits"),
            ({"matchings": {"m": P}, "epsilon": 0.005}, "'matchings' and 'epsilon' are given"),
        ],
    )
    def test_bad_input(self, given, message):
        with pytest.raises(InputError, match=message):
            methods(**given)


class TestOrderOfTargets:
    @given(SETS, st.integers(0, 100))
    @settings(max_examples=100, deadline=None)
    def test_the_same_as_targets_in_that_order(self, sets, seed):
        source, target = sets
        order = np.random.default_rng(seed).permutation(len(target))
        method = MatchingMethod(criterion=LABEL, epsilon=1 / 16)
        plan = plan_matching(source, target, method)
        found = match(plan, np.random.default_rng(0), order)
        moved = predictions(target.probability[order], target.prediction[order])
        expected = match(plan_matching(source, moved, method), np.random.default_rng(0))
        np.testing.assert_array_equal(found[order], expected)

    def test_the_streams_stay_the_same(self):
        """Picks as in dataset order; the order from the first child of the run's own sequence."""
        source, target = simulate(300, 3, 1), simulate(200, 3, 2)
        found = matched(source, target, seeds=[4], order="random").rows
        order = np.random.default_rng(run_sequence(4, **NAMES).spawn(1)[0]).permutation(200)
        picks = np.random.default_rng(run_sequence(4, **NAMES))
        expected = match(
            plan_matching(source, target, MatchingMethod(criterion=LABEL)), picks, order
        )
        np.testing.assert_array_equal(found[4], expected)


class TestPooledRanks:
    @pytest.mark.parametrize(("n", "bound"), [(1_000, 10), (2_000, 10), (4_000, 20)])
    def test_the_bound_is_a_share_of_the_pooled_datapoints(self, n, bound):
        """Every difference up to the bound counts, also where the bound is not exact in binary."""
        values = np.arange(n) / n
        scores = predictions(values[: n // 2]), predictions(values[n // 2 :])
        method = MatchingMethod(criterion=PROBABILITY, score=Score.CONFIDENCE_RANK)
        plan = plan_matching(*scores, method)
        # The i-th target has rank n/2 + i + 1, and the source ranks end at n/2.
        assert (plan.high - plan.low).tolist() == [max(0, bound - i) for i in range(n // 2)]

    @given(SETS)
    @settings(max_examples=100, deadline=None)
    def test_average_ranks(self, sets):
        source, target = (s.probability for s in sets)
        measured = pooled_ranks(source, target, 0.005)
        expected = stats.rankdata(np.concatenate([source, target]), method="average")
        assert [*measured.source, *measured.target] == expected.tolist()
