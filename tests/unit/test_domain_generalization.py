"""Domain generalisation: plans, selection on hand-worked tables, comparisons, bad input."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel

from matcheval.domain_generalization import results as compared
from matcheval.domain_generalization import tables
from matcheval.domain_generalization.plan import Block, groups_of, make_plan, scaling
from matcheval.domain_generalization.results import choose, chosen_runs, mean_over_runs
from matcheval.domain_generalization.tables import only
from matcheval.training.options import ALGORITHMS

RULES = ("source_validation", "leave_one_domain_out", "oracle")


def all_groups(n=3):
    return [group for name in ALGORITHMS for group in groups_of(name, n, {}, {})]


def left_out(*domains):
    return [
        Block(name, "design", tuple(d for d in domains if d != name), (name,), (name,))
        for name in domains
    ]


class TestPlan:
    def test_one_source_coincides_with_erm_or_is_refused(self):
        block = Block("one", "", ("a",), ("t",), ("t",))
        plan = make_plan("s", [block], all_groups(), 3, leave_one_out=True)
        states = {}
        for run in plan.runs["a",]:
            states.setdefault(run.state, set()).add(run.group.algorithm)
        assert states == {
            "trained": {"erm", "sd", "sagnet", "selfreg", "vne"},
            "= ERM": {"vrex", "group_dro", "coral", "fishr"},
            "refused": {"eqrm", "rcs"},
        }
        assert len(plan.trained) == (1 + 4 * 3) * 3
        models = {run.model for run in plan.runs["a",] if run.state == "= ERM"}
        assert models == {run.model for run in plan.runs["a",] if run.group.algorithm == "erm"}
        table = pd.DataFrame(plan.rows)
        assert set(table[table.state == "refused"].model) == {""}
        assert "single risk" in table[table.algorithm == "eqrm"].note.iloc[0]

    def test_blocks_of_the_same_sources_share_their_trainings(self):
        one, two = (Block(name, "", ("a", "b"), (name,), (name,)) for name in ("x", "y"))
        plan = make_plan("s", [one, two], groups_of("sd", 2, {}, {}), 2, leave_one_out=False)
        assert len(plan.trained) == 4
        assert set(plan.tested.values()) == {("x", "y")}


class TestGroups:
    def test_burn_ins_and_late_rates_are_scaled_to_the_recipe(self):
        scale = scaling(500, 1e-3)
        (group,) = groups_of("eqrm", 1, {}, scale)
        assert group.options == {"burn_in_steps": 250, "late_learning_rate": 2e-5}
        drawn = groups_of("eqrm", 2, {}, {})[1].options
        scaled = groups_of("eqrm", 2, {}, scale)[1].options
        assert scaled["burn_in_steps"] == round(drawn["burn_in_steps"] * 500 / 5001)
        assert scaled["quantile"] == drawn["quantile"]

    def test_given_options_are_neither_drawn_nor_scaled(self):
        groups = groups_of("sd", 3, {"weight": 0.2}, {})
        assert [group.options for group in groups] == [{"weight": 0.2}]  # all three coincide


SCORES = pd.DataFrame(
    [("a", g, s, score) for (g, s), score in {
        (0, 0): 0.5, (0, 1): 0.7, (1, 0): 0.68, (1, 1): 0.62, (2, 0): 0.6, (2, 1): 0.6,
    }.items()] + [("erm", 0, 0, 0.1), ("erm", 0, 1, 0.2)],
    columns=["algorithm", "group", "seed", "score"],
)  # fmt: skip


class TestSelection:
    """Means of groups 0, 1 and 2: 0.6, 0.65, 0.6."""

    def test_the_group_of_the_best_mean(self):
        """Not the one of the best run, 0.7."""
        assert choose(SCORES).group.tolist() == [1, 1, 0, 0]

    def test_the_best_group_of_each_run(self):
        assert choose(SCORES, per_run=True).group.tolist() == [1, 0, 0, 0]


def worked_example():
    """Domains a, b, c, each left out once; ERM and SD with two groups; two seeds.

    SD's group 1 is better by source validation, group 0 on the targets and on left-out sources.
    """
    blocks = left_out("a", "b", "c")
    groups = [*groups_of("erm", 1, {}, {}), *groups_of("sd", 2, {}, {})]
    plan = make_plan("s", blocks, groups, 2, leave_one_out=True)
    curves, accuracies = [], []
    for name, run in plan.trained.items():
        sd, group, seed = run.group.algorithm == "sd", run.group.number, run.seed
        best = 0.8 + 0.1 * (sd and group == 1)
        curves += [
            (name, 10, 1.0, 0.5, 0.4),
            (name, 20, 0.9, 0.6, best),
            (name, 30, 0.8, 0.7, best),
        ]
        for target in plan.tested[run.sources]:
            on_target = 0.5 + 0.1 * "abc".index(target) + 0.02 * seed
            gain = {0: 0.04 + 0.02 * seed, 1: -0.02}[group] if sd else 0.0
            accuracies.append(
                (name, target, 1000, round(1000 * (on_target + gain)), on_target + gain)
            )
    curves = pd.DataFrame(curves, columns=tables.CURVES.names)
    runs = compared.tabulate_runs(pd.DataFrame(plan.rows), curves)
    return blocks, runs, curves, pd.DataFrame(accuracies, columns=tables.ACCURACIES.names)


@pytest.fixture(scope="module")
def worked():
    blocks, runs, curves, accuracies = worked_example()
    chosen = chosen_runs(blocks, runs, accuracies, RULES)
    return blocks, runs, curves, chosen, compared.tabulate_results(chosen, 0.95)


class TestResults:
    def test_every_rule_selects_as_worked_out_by_hand(self, worked):
        chosen = worked[3]
        order = list(dict.fromkeys(chosen["selection"]))
        assert order.index("oracle_per_run") < order.index("oracle")
        of_sd = chosen[chosen.algorithm == "sd"].groupby("selection")["group"].unique()
        assert {rule: found.tolist() for rule, found in of_sd.items()} == {
            "default": [0], "source_validation": [1], "source_validation_per_run": [1],
            "leave_one_domain_out": [0], "leave_one_domain_out_per_run": [0],
            "oracle": [0], "oracle_per_run": [0],
        }  # fmt: skip

    def test_gains_are_paired_by_seed(self, worked):
        results = worked[4]
        row = results[
            (results.block == "a") & (results.algorithm == "sd") & (results.selection == "default")
        ].iloc[0]
        assert (row["mean"], row.gain) == (pytest.approx(0.56), pytest.approx(0.05))
        assert row.sd == pytest.approx(np.std([0.54, 0.58], ddof=1))
        expected = ttest_rel([0.54, 0.58], [0.5, 0.52])
        interval = expected.confidence_interval(0.95)
        assert row.p == pytest.approx(expected.pvalue)
        assert (row.gain_low, row.gain_high) == pytest.approx((interval.low, interval.high))
        chosen = only(results, "source_validation", "design")
        assert chosen[chosen.algorithm == "sd"].gain.tolist() == pytest.approx([-0.02] * 4)


def test_one_run_and_equal_runs():
    one = mean_over_runs([0.3], 0.95)
    assert one.mean == 0.3
    assert all(map(math.isnan, (one.sd, one.low, one.p)))
    assert (mean_over_runs([0, 0], 0.95).p, mean_over_runs([0.5, 0.5], 0.95).p) == (1, 0)
