"""Sizes of largest matchings against scipy's, and the table beside the protocol's."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from compared import models
from helpers import predictions
from matcheval.analyses.maximum_matching import SCHEMA, tabulate, text_columns
from matcheval.protocol.matching import MatchingPlan, maximum_size, plan_matching
from matcheval.protocol.settings import Criterion, MatchingMethod
from vectors import case


def by_scipy(plan):
    graph = np.zeros((len(plan.low), max(1, len(plan.source_order))), int)
    for target, (low, high) in enumerate(zip(plan.low, plan.high, strict=True)):
        graph[target, low:high] = 1
    return int((maximum_bipartite_matching(csr_array(graph), perm_type="column") >= 0).sum())


def test_known_case():
    vector = case("protocol_statistics", "A8.maximum_matching")
    given = vector["inputs"]
    low, high = np.array(given["low"]), np.array(given["high"])
    plan = MatchingPlan(np.arange(given["n_source"]), low, high)
    assert maximum_size(plan) == vector["expected"]["size"] == by_scipy(plan)


points = st.lists(
    st.tuples(st.sampled_from([0.5, 0.504, 0.508, 0.512, 0.6, 1.0]), st.integers(0, 2)),
    min_size=1, max_size=25,
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(points, points, st.sampled_from(list(Criterion)))
def test_as_large_as_scipys(source, target, criterion):
    sets = (predictions(*zip(*side, strict=True)) for side in (source, target))
    plan = plan_matching(*sets, MatchingMethod(criterion=criterion))
    assert maximum_size(plan) == by_scipy(plan)


def test_the_table_is_never_below_the_protocol():
    table = tabulate(models())
    SCHEMA.from_frame(table)
    assert (table.n_maximum >= table.n_matched_most).all()
    assert (table.n_matched_least <= table.n_matched).all()
    expected = (table.n_maximum - table.n_matched) / table.n_target
    assert table.fraction_lost.tolist() == pytest.approx(expected.tolist())
    assert (table.fraction_lost > 0).any()
    assert len(text_columns(table)[0].cells) == len(table) == 4


def test_a_million_points_take_seconds():
    rng, n = np.random.default_rng(0), 1_000_000
    low = rng.integers(0, n, n)
    plan = MatchingPlan(np.arange(n), low, np.minimum(n, low + rng.integers(0, 10_000, n)))
    maximum_size(MatchingPlan(np.arange(1), low[:0], low[:0]))  # compiles
    start = time.process_time()
    assert maximum_size(plan) > 0.9 * n
    assert time.process_time() - start < 5
