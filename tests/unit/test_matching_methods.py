"""Scores, orders of targets, and matchings as they are named in the configuration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from helpers import matched, predictions, simulate
from matcheval.errors import InputError
from matcheval.protocol.matching import match, plan_matching, run_sequence
from matcheval.protocol.settings import (
    Criterion,
    MatchingMethod,
    MatchingSettings,
    Score,
    pooled_ranks,
)  # fmt: skip
from matcheval.settings import read_settings
from studies import configuration, load

LABEL, PROBABILITY = Criterion
NAMES = {"pair": "p", "criterion": LABEL, "model": "m"}

# On a coarse grid, so that ties and bounds are frequent.
POINTS = st.lists(
    st.tuples(st.integers(0, 16).map(lambda i: i / 16), st.integers(0, 2)), min_size=1, max_size=60
)
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

    def test_names_and_their_order_are_the_configuration_s(self):
        found = methods(
            matchings={
                "wide": {"criterion": "probability", "epsilon": 0.1},
                "ranks": {
                    "criterion": "label_probability", "score": "confidence_rank", "order": "random",
                },
            }
        )  # fmt: skip
        assert list(found) == ["wide", "ranks"]
        assert (found["ranks"].epsilon, found["wide"].order) == (0.005, "dataset")

    def test_jobs_are_repeated_for_the_reference_only_where_its_fit_changes(self):
        def files(fit=None, **options):
            given = {} if fit is None else {"no_warning_fit": fit}
            named = {c.value: {"criterion": c.value, **given} for c in Criterion}
            config = configuration("digits") | {"matching": {"matchings": named}}
            study = load(config if fit else config | {"matching": {}})
            return study.analyses["matching"].files("new-writers", list(study.models), **options)

        assert files() == files("whole") != files("cross")
        assert files(groups=False) == files("cross", groups=False)

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"m": {}}, "'matchings.m': criterion missing"),
            ({"m": {"criterion": "probability", "score": "margin"}},
             "'matchings.m.score': 'margin' is none of confidence, confidence_rank"),
            ({"m": {"criterion": "probability", "epsilon": 0}},
             "'matchings.m.epsilon': 0 must be above 0"),
            ({"a/b": {"criterion": "probability"}}, "'a/b' must be letters, digits"),
            ({"M": {"criterion": "probability"}, "m": {"criterion": "probability"}},
             "'M' and 'm' differ only in upper and lower case"),
            ({}, "'matchings': is empty"),
        ],
    )  # fmt: skip
    def test_bad_input(self, given, message):
        with pytest.raises(InputError) as caught:
            methods(matchings=given)
        assert message in str(caught.value)

    def test_both_forms(self):
        with pytest.raises(InputError, match="'matchings' and 'epsilon' are given"):
            methods(matchings={"m": {"criterion": "probability"}}, epsilon=0.005)

    @pytest.mark.parametrize(
        ("name", "given", "title"),
        [
            ("probability", {}, "criterion 2 (probability)"),
            ("wide", {}, "wide: criterion 2 (probability)"),
            ("probability", {"score": "confidence_rank", "order": "random"},
             "criterion 2 (probability) on pooled ranks of the confidence, "
             "targets in random order"),
            ("probability", {"no_warning_fit": "cross"},
             "criterion 2 (probability), reference fitted crosswise"),
        ],
    )  # fmt: skip
    def test_titles(self, name, given, title):
        assert MatchingMethod(criterion="probability", **given).title(name) == title


def test_runs_record_what_is_not_the_paper_s():
    sets, recorded = (simulate(90, 3, 1), simulate(60, 3, 2)), []
    for options in ({}, {"score": "confidence_rank", "order": "random"}):
        metadata = matched(*sets, seeds=[0], **options).runs().schema.metadata
        recorded.append({key: metadata.get(key) for key in (b"score", b"order")})
    assert recorded == [
        {b"score": None, b"order": None},
        {b"score": b"confidence_rank", b"order": b"random"},
    ]


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
