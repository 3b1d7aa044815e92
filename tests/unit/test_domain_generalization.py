"""Domain generalisation: plans, studies, selection by hand, comparisons, bad input."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel

from matcheval.domain_generalization import results as compared
from matcheval.domain_generalization import tables
from matcheval.domain_generalization.analysis import DomainGeneralization
from matcheval.domain_generalization.plan import (
    Block,
    build_groups,
    check_prepared_sets,
    make_plan,
    scaling,
)
from matcheval.domain_generalization.results import choose_groups, choose_runs, mean_over_runs
from matcheval.domain_generalization.tables import select_results
from matcheval.errors import InputError
from matcheval.training.options import ALGORITHMS
from studies import digit_domains, load
from trainings import a_set

RULES = ("source_validation", "leave_one_domain_out", "oracle")


def test_one_source_coincides_with_erm_or_is_refused():
    block = Block("one", "", ("a",), ("t",), ("t",))
    all_groups = [group for name in ALGORITHMS for group in build_groups(name, 3, {}, {})]
    plan = make_plan("s", [block], all_groups, 3, leave_one_out=True)
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


def test_blocks_of_the_same_sources_share_their_trainings():
    one, two = (Block(name, "", ("a", "b"), (name,), (name,)) for name in ("x", "y"))
    plan = make_plan("s", [one, two], build_groups("sd", 2, {}, {}), 2, leave_one_out=False)
    assert len(plan.trained) == 4
    assert set(plan.tested.values()) == {("x", "y")}


def test_burn_ins_and_late_rates_are_scaled_to_the_recipe():
    scale = scaling(500, 1e-3)
    (group,) = build_groups("eqrm", 1, {}, scale)
    assert group.options == {"burn_in_steps": 250, "late_learning_rate": 2e-5}
    drawn = build_groups("eqrm", 2, {}, {})[1].options
    scaled = build_groups("eqrm", 2, {}, scale)[1].options
    assert scaled["burn_in_steps"] == round(drawn["burn_in_steps"] * 500 / 5001)
    assert scaled["quantile"] == drawn["quantile"]


def test_given_options_are_neither_drawn_nor_scaled():
    groups = build_groups("sd", 3, {"weight": 0.2}, {})
    assert [group.options for group in groups] == [{"weight": 0.2}]  # all three coincide


SCORES = pd.DataFrame(
    [("a", g, s, score) for (g, s), score in {
        (0, 0): 0.5, (0, 1): 0.7, (1, 0): 0.68, (1, 1): 0.62, (2, 0): 0.6, (2, 1): 0.6,
    }.items()] + [("erm", 0, 0, 0.1), ("erm", 0, 1, 0.2)],
    columns=["algorithm", "group", "seed", "score"],
)  # fmt: skip


def test_the_group_of_the_best_mean_is_chosen():
    """Means of groups 0, 1 and 2: 0.6, 0.65, 0.6; the best runs, 0.7 and 0.62."""
    assert choose_groups(SCORES).group.tolist() == [1, 1, 0, 0]
    assert choose_groups(SCORES, per_run=True).group.tolist() == [1, 0, 0, 0]


@pytest.fixture(scope="module")
def worked():
    """Chosen runs and results of domains a, b, c, each left out; ERM, SD of two groups; two seeds.

    SD's group 1 is better by source validation, group 0 on the targets and on left-out sources.
    """
    blocks = [
        Block(name, "design", tuple("abc".replace(name, "")), (name,), (name,)) for name in "abc"
    ]
    groups = [*build_groups("erm", 1, {}, {}), *build_groups("sd", 2, {}, {})]
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
    accuracies = pd.DataFrame(accuracies, columns=tables.ACCURACIES.names)
    chosen = choose_runs(blocks, runs, accuracies, RULES)
    return chosen, compared.tabulate_results(chosen, 0.95)


def test_every_rule_selects_as_worked_out_by_hand(worked):
    chosen, _ = worked
    of_sd = chosen[chosen.algorithm == "sd"].groupby("selection")["group"].unique()
    assert {rule: found.tolist() for rule, found in of_sd.items()} == {
        "default": [0], "source_validation": [1], "source_validation_per_run": [1],
        "leave_one_domain_out": [0], "leave_one_domain_out_per_run": [0],
        "oracle": [0], "oracle_per_run": [0],
    }  # fmt: skip


def test_gains_are_paired_by_seed(worked):
    _, results = worked
    row = results[
        (results.block == "a") & (results.algorithm == "sd") & (results.selection == "default")
    ].iloc[0]
    assert (row["mean"], row.gain) == (pytest.approx(0.56), pytest.approx(0.05))
    assert row.sd == pytest.approx(np.std([0.54, 0.58], ddof=1))
    expected = ttest_rel([0.54, 0.58], [0.5, 0.52])
    interval = expected.confidence_interval(0.95)
    assert row.p == pytest.approx(expected.pvalue)
    assert (row.gain_low, row.gain_high) == pytest.approx((interval.low, interval.high))
    chosen = select_results(results, "source_validation", "design")
    assert chosen[chosen.algorithm == "sd"].gain.tolist() == pytest.approx([-0.02] * 4)


def test_one_run_and_equal_runs():
    one = mean_over_runs([0.3], 0.95)
    assert one.mean == 0.3
    assert all(map(math.isnan, (one.sd, one.low, one.p)))
    assert (mean_over_runs([0, 0], 0.95).p, mean_over_runs([0.5, 0.5], 0.95).p) == (1, 0)
    rows = pd.DataFrame({"mean": [0.3, 0.5], "sd": [one.sd, 0.012]})
    assert tables.format_mean_and_sd(rows) == ["30.0", "50.0 ± 1.2"]


def study_with(**changes):
    config = digit_domains()
    config["domain_generalization"] |= changes
    return load(config)


def block(*sources):
    return {"blocks": {"x": {"sources": sources, "targets": "shifted"}}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"algorithms": ["corall"]}, "unknown algorithm 'corall'.*coral"),
        (block("plain", "noisy"), "'noisy' is a source, and a target as well"),
        ({"blocks": {}, "leave_one_out": {}}, "give blocks or leave_one_out"),
        (block("plain") | {"leave_one_out": {}, "algorithms": ["eqrm"]},
         "eqrm needs two sources, and every.*single risk"),
    ],
)  # fmt: skip
def test_settings_that_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        study_with(**changes)


def test_sources_that_are_targets_too_are_refused():
    config = digit_domains()
    config["datasets"]["more"] = {"kind": "digits", "part": "new-writers"}
    config["domain_generalization"]["blocks"]["one"]["sources"] = ["more"]
    with pytest.raises(InputError, match=r"has the same images as .*'more'"):
        load(config)


def test_models_are_trained_on_parts_split_by_their_seed():
    study = study_with()
    models = [name for name in study.trained if name.endswith("erm-0.seed-1")]
    assert len(models) == 4
    trained = study.trained[next(name for name in models if ".plain.erm" in name)]
    assert trained.train == ("plain.without-1-of-5.seed-1",)
    assert trained.validation == ("plain.part-1-of-5.seed-1",)
    recipe = trained.model.recipe
    assert (recipe.keep, recipe.epochs, recipe.epoch_steps, recipe.seed) == ("best", 4, 40, 1)


def test_models_that_are_compared_start_from_the_same_weights():
    """Of the same sources and seed, whatever the algorithm; others differ."""
    trained = study_with().trained
    names = {}
    for one in trained.values():
        names.setdefault(one.train, set()).add(one.model.recipe.seeded_by)
    assert {len(each) for each in names.values()} == {1}
    assert len(set.union(*names.values())) == len(names) / 2 == 4  # of two seeds


def test_the_warehouse_is_planned_with_the_columns_of_the_paper():
    """Single sources: ERM and four algorithms of three groups; else eleven, three seeds each."""
    study = load(digit_domains("cifar10-warehouse-dg"))
    analysis = study.analysis(DomainGeneralization)
    assert len(study.trained) == (4 * 13 + 3 * 31) * 3
    assert [len(block.sources) for block in analysis.blocks] == [1, 1, 1, 1, 2, 3, 4]
    assert len(analysis.blocks[0].targets) == 180
    assert len(set(analysis.blocks[0].columns)) == 14
    recipe = next(iter(study.trained.values())).model.recipe
    assert (recipe.epochs * recipe.epoch_steps, recipe.learning_rate) == (5100, 5e-5)
    # Scored for Figure 5B: ERM and SD's three groups, three seeds each, in all seven blocks.
    assert len(analysis.scored) == (1 + 3) * 3 * 7
    # Jobs on parts of the sources: two algorithms, three seeds, seven blocks.
    assert len(analysis.tested_on_sources) == 2 * 3 * 7
    # Two parts of each of the four sources for every seed.
    assert len(analysis.derivations) == 2 * 3 * 4


def two_classes(name, labels, side=4):
    return a_set(name, len(labels), 0, 2, side, labels=np.array(labels), classes=("a", "b"))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (two_classes("other", [0] * 40), "images of class 'a' only"),
        (two_classes("other", [0, 1] * 5), r"recipe\.batch_size': is 16, but other"),
    ],
)
def test_prepared_sources_that_are_refused(other, message):
    good = two_classes("good", [0, 1] * 20)
    blocks = [Block("x", "", ("good", "other"), ("good",), ("good",))]
    with pytest.raises(InputError, match=message):
        check_prepared_sets(blocks, {"good": good, "other": other}, 16, 4)
    check_prepared_sets(blocks, {"good": good, "other": replace(good, name="other")}, 16, 4)
