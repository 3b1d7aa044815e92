"""Matched gaps without a standard error: the same rules in every table, in words."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from compared import BOTH, compared, models, swapped
from helpers import matched_gap, predictions, simulate
from matcheval.analyses import class_gaps, severity
from matcheval.analyses import epsilon_sweep as sweep
from matcheval.datasets.suites import Member, Pair, Suite
from matcheval.errors import InputError
from matcheval.protocol.compared_models import MEAN, ComparedModels, error_of_mean, error_of_model
from matcheval.protocol.comparisons import Comparison, groups, paired_images
from matcheval.protocol.decomposition import decompose, scored
from matcheval.protocol.settings import MatchingMethod, Order
from matcheval.protocol.standard_errors import standard_error

PROBABILITY = {"probability": BOTH["probability"]}


def wrong(known: ComparedModels, models_of=slice(None)) -> ComparedModels:
    """All predictions of some models on the new set are wrong."""
    changed = list(known.comparisons)
    for i in range(len(changed))[models_of]:
        old = changed[i].replication
        others = ((old.label.astype(int) + 1) % 4).tolist()
        label = old.label.astype(int).tolist()
        changed[i] = replace(changed[i], replication=predictions(old.probability, others, label))
    return replace(known, comparisons=tuple(changed))


CASES = {
    "fewer than 30 matched pairs": models(60, 20, methods=PROBABILITY),
    "all predictions on new are right or wrong": wrong(models(200, 150, methods=PROBABILITY)),
    "a set is a single group": replace(
        models(200, 150, methods=PROBABILITY), blocks=groups(np.zeros(200), np.arange(150) % 5)
    ),
}


def by_severity(known):
    """The rows of the new set as the only one of a suite, compared with the old one."""
    sets = {
        name: [getattr(one, origin) for one in known.comparisons]
        for origin, name in known.pair.datasets.items()
    }
    suite = Suite("s", (Member("new", severity=1.0),))
    files = SimpleNamespace(suite=suite, base="old", models=["m0", "m1"], read=sets.get)
    table = severity.tabulate(files, matchings=known.methods, seeds=known.seeds, paired=False)
    return table[table.dataset == "new"]


@pytest.mark.parametrize("why", CASES)
def test_tables_say_why_there_is_none(why):
    known = CASES[why]
    tables = [sweep.tabulate(known, epsilons=[0.005])]
    if known.blocks is None:
        tables.append(by_severity(known))
    if "30" not in why:  # classes with fewer points have no estimates at all
        tables.append(class_gaps.tabulate(known).query("`class` == -1"))
    for table in tables:
        assert table.matched_gap.notna().all()
        assert table.matched_gap_se.isna().all()
        assert table.reason.str.contains(why).all()


def test_a_mean_has_an_error_where_one_model_has():
    """All predictions of one model being wrong do not make the mean one-sided."""
    known = wrong(models(200, 150, methods=PROBABILITY), slice(1))
    matched = list(known.matched())
    assert error_of_model(matched[0], None).reason
    fine, mean = error_of_model(matched[1], None), error_of_mean(matched, None)
    assert (fine.reason, mean.reason) == ("", "")
    assert fine.matched_gap_se == pytest.approx(standard_error(matched[1].error_terms))
    assert mean.matched_gap == pytest.approx(np.mean([one.matched_gaps.mean() for one in matched]))
    assert mean.matched_gap_low < mean.matched_gap < mean.matched_gap_high


# Matched gaps by ε: limits, and what stays the same


def of_models(table):
    return table[table.model != MEAN]


class TestLimit:
    def test_a_larger_source_is_a_random_sample(self):
        known = models(300, 120, methods=PROBABILITY)
        for each in (known, swapped(known)):
            table = of_models(sweep.tabulate(each, epsilons=[1.0]))
            np.testing.assert_allclose(table.limit, table.gap, atol=1e-12)

    @pytest.mark.parametrize("order", list(Order))
    def test_a_smaller_source(self, order):
        method = MatchingMethod(criterion="probability", order=order)
        known = models(100, 260, methods={"p": method}, n_models=1)
        pair = replace(known.pair, source="old")
        comparison = replace(known.comparisons[0], pair=pair)
        changed = replace(known, pair=pair, comparisons=(comparison,))
        row = sweep.tabulate(changed, epsilons=[1.0]).iloc[0]
        right = comparison.target.correct
        first = right[:100] if order is Order.DATASET else right
        assert row.limit == pytest.approx(comparison.source.correct.mean() - first.mean())
        if order is Order.DATASET:
            assert row.matched_gap == pytest.approx(row.limit, abs=1e-12)
            assert row.limit_std == 0

    def test_its_spread_by_hand(self):
        """Of 4 source points, 3 right, any 2 are matched with 2 targets, both right."""
        source = predictions([0.5] * 4, [0] * 4, [0, 0, 0, 1])
        target = predictions([0.5] * 2, [0, 0], [0, 0])
        (comparison,) = compared((source, target)).comparisons
        mean, std = sweep.matched_gap_limit(comparison, BOTH["probability"])
        assert mean == pytest.approx(-0.25)
        assert std == pytest.approx(np.std([1, 1, 1, 0.5, 0.5, 0.5]))


def test_a_sweep_has_the_studys_gap_at_its_epsilon():
    known = models(200, 150)
    table = sweep.tabulate(known, epsilons=[0.005, 0.05])
    for comparison in known.comparisons:
        for name, method in BOTH.items():
            gap = matched_gap(comparison, method, known.seeds)
            chosen = (table.model == comparison.model) & (table.matching == name)
            row = table[chosen & (table.epsilon == 0.005)].iloc[0]
            assert row.matched_gap == pytest.approx(gap.mean, abs=1e-12)
            assert row.matched_gap_std == pytest.approx(gap.std, abs=1e-12)
            assert row.fraction_unmatched == pytest.approx(1 - gap.share_matched)

    means = table[table.model == MEAN].set_index(["matching", "epsilon"]).matched_gap
    expected = of_models(table).groupby(["matching", "epsilon"]).matched_gap.mean()
    np.testing.assert_allclose(means, expected[means.index])
    assert (table.criterion == "label_probability").equals(table.limit.isna())
    assert sweep.plot(sweep.SCHEMA.from_frame(table).to_pandas()).axes


# Gaps along severities: severity 0, paired sets, and means over models

LABEL = np.random.default_rng(0).integers(0, 3, 400)


BASE = [simulate(400, 3, seed, accuracy=0.9, label=LABEL) for seed in (1, 2)]


def read(name):
    """Sets whose errors rise with severity, at unchanged confidence."""
    if name == "clean":
        return BASE
    rng, strength = np.random.default_rng(len(name)), int(name[-1])
    sets = []
    for one in BASE:
        wrong = rng.random(400) < 0.08 * strength
        sets.append(predictions(one.probability, (one.prediction + wrong) % 3, LABEL))
    return sets


SHIFTS = [(kind, n) for kind in ("fog", "blur") for n in (1.0, 2.0)]
SUITE = Suite(
    "s", (*(Member(f"{c}-{n:.0f}", subgroup=c, severity=n) for c, n in SHIFTS), Member("other-3"))
)


def tabulated(read=read, **options):
    files = SimpleNamespace(suite=SUITE, base="clean", models=("one", "two"), read=read)
    return severity.tabulate(files, matchings=BOTH, seeds=range(3), **options)


@pytest.fixture(scope="module")
def table():
    return tabulated()


def test_rows_and_severity_0(table):
    severity.SCHEMA.from_frame(table)
    assert len(table) == 6 * 2 * 3
    first = table[table.severity == 0]
    assert set(first.dataset) == {"clean"}
    for column in ("gap", "gap_se", "confidence_part", "conditional_part"):
        assert (first[column].abs() < 1e-15).all()
    assert table[table.dataset == "other-3"].severity.isna().all()
    assert [axes.get_title() for axes in severity.plot(table).axes] == ["fog", "blur"]


def test_a_row_is_what_the_protocol_says_of_the_pair(table):
    comparison = Comparison("two", Pair("fog-2", "clean", "fog-2"), BASE[1], read("fog-2")[1])
    row = table[(table.dataset == "fog-2") & (table.model == "two")].iloc[1]
    gap = matched_gap(comparison, BOTH["probability"], range(3))
    assert row.matched_gap == pytest.approx(gap.mean)
    assert row.fraction_unmatched == pytest.approx(1 - gap.share_matched)
    blocks = paired_images(comparison.source, comparison.target)
    parts = decompose(*scored(comparison), blocks=blocks)
    assert row.conditional_part == pytest.approx(parts.conditional_part)
    assert row.gap > 0.1
    assert row.gap == pytest.approx(parts.gap)
    apart = tabulated(paired=False)
    assert (table.gap_se < apart.gap_se)[table.severity > 0].all()


def test_errors_without_a_warning_are_in_the_conditional_part(table):
    means = table[(table.model == MEAN) & (table.matching == "probability")].set_index("dataset")
    assert means.gap["fog-1"] < means.gap["fog-2"]
    assert (means.confidence_part.abs() < 1e-12).all()  # confidences are the same images'


def test_sets_that_are_not_paired_are_refused():
    def other(name):
        found = read(name)
        return found if name != "fog-2" else [replace(p, label=(p.label + 1) % 3) for p in found]

    with pytest.raises(InputError, match="'fog-2' and the base 'clean'"):
        tabulated(other)
