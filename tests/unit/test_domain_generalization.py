"""Domain generalisation: plans, selection on hand-worked tables, comparisons, bad input."""

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.stats import ttest_rel

from matcheval.datasets.build import build_dataset
from matcheval.datasets.dataset import make_dataset
from matcheval.datasets.restyled import over_backgrounds
from matcheval.domain_generalization.analysis import DomainGeneralization
from matcheval.domain_generalization.chosen import chosen_runs
from matcheval.domain_generalization.comparison import mean_over_runs
from matcheval.domain_generalization.designs import Block, make_plan
from matcheval.domain_generalization.figures import KINDS, Tables, draw
from matcheval.domain_generalization.groups import groups_of, scaling
from matcheval.domain_generalization.image_checks import check_images
from matcheval.domain_generalization.layout import by_domain, by_group, plan_columns
from matcheval.domain_generalization.results import (
    only,
    tabulate_gains,
    tabulate_results,
    tabulate_spread,
)
from matcheval.domain_generalization.runs import tabulate_plan, tabulate_runs
from matcheval.domain_generalization.schemas import (
    ACCURACIES,
    CURVES,
    GAINS,
    PLAN,
    RESULTS,
    RUNS,
    SPREAD,
)
from matcheval.domain_generalization.selection import choose
from matcheval.errors import InputError
from matcheval.io.text_tables import markdown
from matcheval.statistics.multiple_tests import holm
from matcheval.training.engine import Engine
from matcheval.training.loop import train
from matcheval.training.options import ALGORITHMS
from matcheval.training.recipe import Recipe
from studies import ROOT, load

RULES = ("source_validation", "leave_one_domain_out", "oracle")


def all_groups(n=3):
    return [group for name in ALGORITHMS for group in groups_of(name, n, 0, {}, {})]


def left_out(*domains):
    return [
        Block(name, "design", tuple(d for d in domains if d != name), (name,), (name,))
        for name in domains
    ]


class TestPlan:
    def test_eleven_algorithms_on_four_domains(self):
        """ERM has one group, the ten others three; each on three sources, for three seeds."""
        plan = make_plan("s", left_out(*"abcd"), all_groups(), 3, leave_one_out=False)
        assert len(plan.trained) == (1 + 10 * 3) * 3 * 4 == 372

    def test_selection_by_leaving_one_out_adds_every_pair_once(self):
        plan = make_plan("s", left_out(*"abcd"), all_groups(), 3, leave_one_out=True)
        assert len(plan.trained) == 372 + 6 * 31 * 3
        pair = next(name for name, run in plan.trained.items() if run.sources == ("a", "b"))
        assert set(plan.tested[pair]) == {"c", "d"}

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
        table = tabulate_plan(plan)
        assert set(table[table.state == "refused"].model) == {""}
        assert "single risk" in table[table.algorithm == "eqrm"].note.iloc[0]
        assert "= ERM" in markdown(plan_columns(table))

    def test_blocks_of_the_same_sources_share_their_trainings(self):
        one, two = (Block(name, "", ("a", "b"), (name,), (name,)) for name in ("x", "y"))
        plan = make_plan("s", [one, two], groups_of("sd", 2, 0, {}, {}), 2, leave_one_out=False)
        assert len(plan.trained) == 4
        assert set(plan.tested.values()) == {("x", "y")}


class TestGroups:
    def test_the_first_has_the_defaults_and_the_others_are_drawn(self):
        first, *others = groups_of("fishr", 3, 0, {}, {})
        assert first.options == {}
        assert len(others) == 2
        assert {"weight", "burn_in_steps", "decay"} >= set(others[0].options)

    def test_burn_ins_and_late_rates_are_scaled_to_the_recipe(self):
        scale = scaling(500, 1e-3)
        (group,) = groups_of("eqrm", 1, 0, {}, scale)
        assert group.options == {"burn_in_steps": 250, "late_learning_rate": 2e-5}
        drawn = groups_of("eqrm", 2, 0, {}, {})[1].options
        scaled = groups_of("eqrm", 2, 0, {}, scale)[1].options
        assert scaled["burn_in_steps"] == round(drawn["burn_in_steps"] * 500 / 5001)
        assert scaled["quantile"] == drawn["quantile"]

    def test_given_options_are_neither_drawn_nor_scaled(self):
        groups = groups_of("sd", 3, 0, {"weight": 0.2}, {})
        assert [group.options for group in groups] == [{"weight": 0.2}]  # all three coincide

    def test_algorithms_with_fixed_groups_have_no_more(self):
        assert len(groups_of("selfreg", 5, 0, {}, {})) == 3

    def test_an_unknown_option_is_refused(self):
        with pytest.raises(InputError, match=r"'wieght'.*weight"):
            groups_of("sd", 1, 0, {"wieght": 1}, {})


SCORES = pd.DataFrame(
    [("a", g, s, score) for (g, s), score in {
        (0, 0): 0.5, (0, 1): 0.7, (1, 0): 0.8, (1, 1): 0.5, (2, 0): 0.6, (2, 1): 0.6,
    }.items()] + [("erm", 0, 0, 0.1), ("erm", 0, 1, 0.2)],
    columns=["algorithm", "group", "seed", "score"],
)  # fmt: skip


class TestSelection:
    """Means of groups 0, 1 and 2: 0.6, 0.65, 0.6."""

    def test_the_group_with_the_highest_mean_over_runs(self):
        chosen = choose(SCORES)
        assert chosen.values.tolist() == [
            ["a", 0, 1], ["a", 1, 1], ["erm", 0, 0], ["erm", 1, 0],
        ]  # fmt: skip

    def test_the_best_group_of_each_run(self):
        assert choose(SCORES, per_run=True).group.tolist() == [1, 0, 0, 0]

    def test_of_equal_scores_the_lowest_group(self):
        equal = SCORES.assign(score=0.5).iloc[::-1]
        for per_run in (False, True):
            assert choose(equal, per_run=per_run).group.tolist() == [0, 0, 0, 0]


def worked_example():
    """Domains a, b, c, each left out once; ERM and SD with two groups; two seeds.

    SD's group 1 is better by source validation, group 0 on the targets and on left-out sources.
    """
    blocks = left_out("a", "b", "c")
    groups = [*groups_of("erm", 1, 0, {}, {}), *groups_of("sd", 2, 0, {}, {})]
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
        for target in plan.tested[name]:
            on_target = 0.5 + 0.1 * "abc".index(target) + 0.02 * seed
            gain = {0: 0.04 + 0.02 * seed, 1: -0.02}[group] if sd else 0.0
            accuracies.append(
                (name, target, 1000, round(1000 * (on_target + gain)), on_target + gain)
            )
    curves = pd.DataFrame(curves, columns=CURVES.names)
    runs = tabulate_runs(tabulate_plan(plan), curves)
    return blocks, runs, curves, pd.DataFrame(accuracies, columns=ACCURACIES.names)


@pytest.fixture(scope="module")
def worked():
    blocks, runs, curves, accuracies = worked_example()
    chosen = chosen_runs(blocks, runs, accuracies, RULES)
    return blocks, runs, curves, chosen, tabulate_results(chosen, 0.95)


class TestResults:
    def test_the_first_of_the_best_evaluations_is_kept(self, worked):
        assert set(worked[1].best_step) == {20}
        assert RUNS.from_frame(worked[1]).num_rows == len(worked[1])

    def test_every_rule_selects_as_worked_out_by_hand(self, worked):
        chosen = worked[3]
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

    def test_the_average_of_a_design_counts_every_domain_once(self, worked):
        results = worked[4]
        row = results[
            (results.block == "average") & (results.algorithm == "erm")
            & (results.selection == "default")
        ].iloc[0]  # fmt: skip
        assert row["mean"] == pytest.approx(np.mean([0.51, 0.61, 0.71]))
        assert (row.n_sets, row.n_runs, row.gain) == (3, 2, 0)
        assert math.isnan(row.p)

    def test_tables_have_their_columns_and_layouts(self, worked):
        _, _, _, chosen, results = worked
        assert RESULTS.from_frame(results).num_rows == len(results)
        gains, spread = tabulate_gains(chosen), tabulate_spread(results)
        assert GAINS.from_frame(gains).num_rows == 7 * 3
        assert SPREAD.from_frame(spread).num_rows == 7 * 4
        page = markdown(by_domain(only(results, "default", "design")))
        assert page.splitlines()[0] == "| Algorithm | a | b | c | average |"
        assert "| SD | 56.0 ± 2.8 | 66.0 ± 2.8 | 76.0 ± 2.8 | 66.0 ± 2.8 |" in page

    def test_groups_of_a_suite_are_columns(self):
        _, runs, _, accuracies = worked_example()
        block = Block("both", "", ("a", "b"), ("c", "d"), ("near", "far"))
        further = accuracies[accuracies.dataset == "c"].assign(dataset="d", accuracy=0.9)
        chosen = chosen_runs([block], runs, pd.concat([accuracies, further]), ["oracle"])
        results = tabulate_results(chosen, 0.95)
        lines = markdown(by_group(only(results, "default", ""))).splitlines()
        assert lines[0] == "| Block (sources) | Algorithm | near | far | Mean ± SD |"
        assert lines[2] == "| both (2) | ERM | 71.0 | 90.0 | 80.5 ± 0.7 |"

    @pytest.mark.parametrize("kind", KINDS)
    def test_every_figure_is_drawn(self, kind, worked):
        _, runs, curves, chosen, results = worked
        tables = Tables(runs, curves, results, tabulate_gains(chosen), "source_validation")
        axes = [axes for axes in draw(kind, tables, "sd").findobj() if hasattr(axes, "lines")]
        assert sum(len(each.lines) for each in axes) > 0


class TestComparison:
    def test_student_s_interval_and_test(self):
        values = [0.01, 0.03, 0.02]
        found = mean_over_runs(values, 0.9)
        expected = ttest_rel(values, [0, 0, 0])
        assert found.p == pytest.approx(expected.pvalue)
        assert found.low == pytest.approx(expected.confidence_interval(0.9).low)
        assert found.sd == pytest.approx(0.01)

    def test_one_run_has_no_spread(self):
        found = mean_over_runs([0.3], 0.95)
        assert found.mean == 0.3
        assert all(map(math.isnan, (found.sd, found.low, found.p)))

    def test_equal_runs(self):
        assert mean_over_runs([0, 0], 0.95).p == 1
        assert mean_over_runs([0.5, 0.5], 0.95).p == 0

    def test_holm_worked_out_by_hand(self):
        adjusted = holm([0.01, math.nan, 0.04, 0.03])
        assert adjusted[0] == pytest.approx(0.03)
        assert math.isnan(adjusted[1])
        assert adjusted[2:] == pytest.approx([0.06, 0.06])


# --- the embedded study, and what is refused before any training


def study_with(**changes):
    config = configuration_of_domains()
    config["domain_generalization"] |= changes
    return load(config)


def configuration_of_domains():
    return yaml.safe_load((ROOT / "studies" / "digit-domains.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"algorithms": ["corall"]}, "unknown algorithm 'corall'.*coral"),
        ({"options": {"coral": {"wieght": 1}}}, "unknown option 'wieght'.*weight"),
        ({"options": {"sd": {"weight": 1}}}, "'domain_generalization.options.sd': unknown"),
        ({"recipe": {"architecture": "cnn"}}, "missing: width, depth"),
        ({"recipe": {"epochs": 3}}, "'epochs' is determined by the protocol"),
        (
            {
                "blocks": {
                    "x": {"sources": ["plain", "new-writers"], "targets": "new-writers-shifted"}
                }
            },
            "'new-writers' is a source, and a target as well",
        ),
        ({"blocks": {"x": {"sources": ["plain"], "targets": "nope"}}}, "unknown suite 'nope'"),
        ({"blocks": {"x": {"sources": ["plan"], "targets": "domains"}}}, "unknown dataset 'plan'"),
        ({"leave_one_out": {"three": "domains"}}, "name of blocks as well"),
        ({"figure_algorithm": "mixup"}, "unknown algorithm 'mixup'"),
    ],
)
def test_settings_that_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        study_with(**changes)


def test_sources_of_different_label_spaces_are_refused():
    config = configuration_of_domains()
    config["datasets"]["photos"] = {"kind": "cifar10", "part": "test"}
    config["domain_generalization"]["blocks"]["three"]["sources"] = ["plain", "photos"]
    with pytest.raises(InputError, match="'photos' has, against 'plain', different classes"):
        load(config)


def test_a_study_without_models_and_without_trainings_is_refused():
    config = configuration_of_domains()
    del config["domain_generalization"]
    with pytest.raises(InputError, match=r"models.*catalogue"):
        load(config)


def test_models_are_trained_on_parts_split_by_their_seed():
    study = study_with()
    analysis = study.analysis(DomainGeneralization)
    models = [name for name in study.trained if name.endswith("erm-0.seed-1")]
    assert len(models) == 5
    trained = study.trained[next(name for name in models if ".plain.erm" in name)]
    assert trained.train == ("plain.without-1-of-5.seed-1",)
    assert trained.validation == ("plain.part-1-of-5.seed-1",)
    recipe = trained.model.recipe
    assert (recipe.keep, recipe.epochs, recipe.epoch_steps, recipe.seed) == ("best", 6, 25, 1)
    assert set(analysis.derivations) >= {*trained.train, *trained.validation}
    assert study.runnable[models[0]].source is not None


def test_the_warehouse_is_planned_with_the_columns_of_the_paper():
    """One source: ERM and four algorithms of three groups; else eleven, with three seeds each."""
    path = ROOT / "studies" / "cifar10-warehouse-dg.yaml"
    study = load(yaml.safe_load(path.read_text(encoding="utf-8")))
    analysis = study.analysis(DomainGeneralization)
    assert len(study.trained) == (13 + 3 * 31) * 3
    assert [len(block.sources) for block in analysis.expansion.blocks] == [1, 2, 3, 4]
    assert len(analysis.expansion.blocks[0].targets) == 180
    assert len(set(analysis.expansion.blocks[0].columns)) == 14
    recipe = next(iter(study.trained.values())).model.recipe
    assert (recipe.epochs * recipe.epoch_steps, recipe.learning_rate) == (5000, 5e-5)


def test_the_real_digits_are_selected_by_leaving_one_domain_out_too():
    path = ROOT / "studies" / "digit-domains-real.yaml"
    study = load(yaml.safe_load(path.read_text(encoding="utf-8")))
    assert len(study.trained) == 372 + 558
    # Every model of three sources is tested on the fourth, those of two on both others.
    tested = [len(batch.datasets) for batch in study.tested.values()]
    assert sorted(set(tested)) == [1, 2]
    assert len(tested) == (4 + 6) * 11


def a_set(name, labels, *, classes=("a", "b"), side=4, max_value=255):
    images = np.zeros((len(labels), side, side, 1), np.uint8)
    return make_dataset(
        name, images, np.asarray(labels), classes=classes, max_value=max_value, source="made up"
    )


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (a_set("other", [0] * 40), "images of class 'a' only"),
        (a_set("other", [0, 1] * 5), "'domain_generalization.recipe.batch_size': is 16, but other"),
        (a_set("other", [0] * 40 + [1]), "1 images of class 'b', fewer than 4 parts"),
        (a_set("other", [0, 1] * 20, classes=("a", "c")), "classes"),
        (a_set("other", [0, 1] * 20, side=5), "image_shape"),
        (a_set("other", [0, 1] * 20, max_value=16), "max_value"),
    ],
)
def test_prepared_sources_that_are_refused(other, message):
    good = a_set("good", [0, 1] * 20)
    blocks = [Block("x", "", ("good", "other"), ("good",), ("good",))]
    with pytest.raises(InputError, match=message):
        check_images(blocks, {"good": good, "other": other}, 16, 4)
    check_images(blocks, {"good": good, "other": replace(good, name="other")}, 16, 4)


def test_backgrounds_are_differences_and_differ_between_images():
    blank = np.zeros((3, 8, 8, 1), np.uint8)
    backgrounds = over_backgrounds(blank, 16, 5).astype(int)
    assert backgrounds.max() <= 16
    assert not np.array_equal(backgrounds[0], backgrounds[1])
    full = over_backgrounds(np.full_like(blank, 16), 16, 5)
    assert np.array_equal(full, 16 - backgrounds)
    assert np.array_equal(over_backgrounds(blank, 16, 5), backgrounds)


# --- training: the best of several evaluations, epochs of a number of steps


RECIPE = Recipe(
    architecture="linear", width=0, depth=0, loss="cross_entropy", loss_parameter=None,
    augmentation="none", schedule="constant", epochs=6, batch_size=8, learning_rate=0.5,
    weight_decay=0.0, train_fraction=1.0, seed=0, optimizer="adam", epoch_steps=3, keep="best",
)  # fmt: skip


def noisy_sets(seed=3):
    rng = np.random.default_rng(seed)
    return [
        make_dataset(
            f"set-{i}", rng.integers(0, 200, (40, 4, 4, 1)).astype(np.uint8), np.arange(40) % 3,
            classes=("a", "b", "c"), max_value=255, source="",
        )
        for i in range(4)
    ]  # fmt: skip


def same(one, other):
    return all(np.array_equal(one.state[key], other.state[key]) for key in one.state)


def test_the_weights_of_the_best_evaluation_are_kept():
    """A training that ends with the best epoch has the same weights."""
    first, second, *validation = noisy_sets()
    run = train("m", RECIPE, [first, second], validation)
    accuracies = [epoch.validation_accuracy for epoch in run.history]
    best = accuracies.index(max(accuracies))
    assert len(accuracies) - 1 - best > 0  # else the last would do, too
    shorter = replace(RECIPE, epochs=best + 1, keep="last")
    assert same(run, train("m", shorter, [first, second], validation))
    assert not same(run, train("m", replace(RECIPE, keep="last"), [first, second], validation))


def test_several_validation_sets_count_the_same():
    first, *validation = noisy_sets()[:3]
    both = train("m", RECIPE, [first], validation).history
    each = [train("m", RECIPE, [first], one).history for one in validation]
    for epoch, one, two in zip(both, *each, strict=True):
        assert epoch.validation_accuracy == pytest.approx(
            (one.validation_accuracy + two.validation_accuracy) / 2
        )


def test_a_killed_training_keeps_the_best_weights_from_before(tmp_path):
    first, second, *validation = noisy_sets()
    whole = train("m", RECIPE, [first, second], validation)

    def kill(history):
        if len(history) == RECIPE.epochs - 1:
            raise KeyboardInterrupt

    path, sets = tmp_path / "m.partial", ([first, second], validation)
    engine = Engine(save_minutes=0)
    with pytest.raises(KeyboardInterrupt):
        train("m", RECIPE, *sets, engine=engine, resume_file=path, on_epoch=kill)
    resumed = train("m", RECIPE, *sets, engine=engine, resume_file=path)
    assert same(whole, resumed)
    assert resumed.history == whole.history


def test_epoch_steps_and_keep_are_checked():
    for field, value in (("epoch_steps", -1), ("keep", "first")):
        with pytest.raises(InputError, match=field):
            replace(RECIPE, **{field: value})


def test_recipes_of_earlier_versions_are_recorded_as_before():
    record = replace(RECIPE, epoch_steps=0, keep="last").to_record()
    assert not {"epoch_steps", "keep"} & set(record)


def test_the_plan_is_a_table_that_a_person_can_read():
    plan = tabulate_plan(
        make_plan("s", left_out("a", "b", "c"), all_groups(2), 1, leave_one_out=False)
    )
    assert PLAN.from_frame(plan).num_rows == len(plan)
    drawn = plan[(plan.algorithm == "sd") & (plan.group == 1)].options.unique()
    assert len(drawn) == 1
    assert set(json.loads(drawn[0])) == {"weight"}


def test_training_on_the_shift_beats_training_without_it():
    """The embedded study's ERM: above chance, and above the model that knows plain scans only."""

    def digits(name, part, rows, style=""):
        found = build_dataset(name, "digits", {"part": part, "rows": rows})
        pixels = np.asarray(found.pixels)
        pixels = 16 - pixels if style == "inverted" else pixels
        return make_dataset(
            name, pixels, found.labels, classes=found.classes, max_value=16, source=style
        )

    plain = digits("plain", "train", [0, 300])
    inverted = digits("inverted", "train", [300, 600], "inverted")
    new = digits("new", "new-writers", [0, 200], "inverted")
    recipe = replace(
        RECIPE, architecture="cnn", width=8, depth=2, batch_size=16, learning_rate=3e-3, epochs=1,
        epoch_steps=150, keep="last", normalization="channels",
    )  # fmt: skip
    alone, both = (
        train("m", recipe, sets, new).history[-1].validation_accuracy
        for sets in ([plain], [plain, inverted])
    )
    assert both > 0.5
    assert both > alone + 0.3
