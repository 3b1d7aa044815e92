"""Null distributions by divisions of the datapoints: listed, drawn, uniform p-values."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from compared import BOTH, compared, models, swapped
from helpers import predictions, simulate
from matcheval.analyses import permutation_null as null
from matcheval.analyses.permutation_null import Arrangements, Statistic, summarise, tabulate
from matcheval.datasets.suites import Pair
from matcheval.protocol.blocks import groups, paired_images
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.matching import DividedPlans, plan_matching
from matcheval.protocol.settings import Criterion, MatchingMethod, Score
from vectors import case

PROBABILITY = {"probability": BOTH["probability"]}


def right_or_wrong(correct) -> object:
    """Predictions that are right as told, all of one confidence."""
    label = np.where(np.asarray(correct, bool), 0, 1)
    return predictions(np.full(len(label), 0.5), np.zeros(len(label), int), label)


def of(source, target, name="p"):
    """A comparison of model "m"."""
    return Comparison("m", Pair(name, "a", "b"), source, target)


class TestGroups:
    def test_known_case(self):
        vector = case("protocol_statistics", "A5.four_groups_enumerated")
        given, expected = vector["inputs"], vector["expected"]
        n, every = given["n_source_groups"], given["correct_of_groups"]
        sides = every[:n], every[n:]
        names = [np.repeat(np.arange(len(side)), [len(g) for g in side]) for side in sides]
        comparison = of(*(right_or_wrong(list(itertools.chain(*side))) for side in sides))
        sizes = len(comparison.source), len(comparison.target)
        arrangements = Arrangements(*sizes, groups(*names), 999)
        assert (arrangements.n, arrangements.is_exact) == (expected["n_arrangements"], True)
        found = null.permuted_statistics(comparison, PROBABILITY, arrangements, 0)
        found = summarise(found[Statistic.GAP, ""], Statistic.GAP, arrangements)
        assert found["observed"] == pytest.approx(expected["gap"])
        assert found["p"] == pytest.approx(expected["p"]) == found["smallest_p"]
        assert found["null_mean"] == pytest.approx(expected["null_mean"])

    @pytest.mark.parametrize(
        ("n_source", "n_target", "smallest"),
        [(2, 2, 1 / 3), (3, 3, 1 / 10), (4, 4, 2 / 70), (2, 3, 1 / 10)],
    )
    def test_the_smallest_p(self, n_source, n_target, smallest):
        names = np.arange(n_source), np.arange(n_target)
        arrangements = Arrangements(n_source, n_target, groups(*names), 999)
        assert arrangements.smallest_p(mirrored=True) == pytest.approx(smallest)
        divisions = list(arrangements.draw(np.random.default_rng(0)))
        assert len({tuple(one) for one in divisions}) == len(divisions) == arrangements.n
        assert all(one.sum() == n_source for one in divisions)
        assert divisions[0].tolist() == [True] * n_source + [False] * n_target


class TestPaired:
    def test_every_image_is_exchanged_in_half_of_the_divisions(self):
        one = right_or_wrong([1] * 40)
        some = Arrangements(40, 40, paired_images(one, one), 400)
        divisions = np.array(list(some.draw(np.random.default_rng(0)))[1:])
        assert (divisions[:, :40] ^ divisions[:, 40:]).all()  # each image once in each set
        # 16,000 draws: the standard deviation of their mean is 0.004.
        assert divisions[:, :40].mean() == pytest.approx(0.5, abs=0.016)
        assert (abs(divisions[:, :40].mean(axis=0) - 0.5) < 4.5 * 0.025).all()

    def test_p_is_that_of_mcnemar(self):
        # Six images right on the first side only, none on the other: 2 of 2^6 are as extreme.
        label = np.zeros(10, int)
        source = predictions(np.full(10, 0.5), np.zeros(10, int), label)
        target = predictions(np.full(10, 0.5), [1] * 6 + [0] * 4, label)
        comparison = of(source, target)
        arrangements = Arrangements(10, 10, paired_images(source, target), 1023)
        assert (arrangements.n, arrangements.smallest_p(mirrored=True)) == (1024, 1 / 512)
        found = null.permuted_statistics(comparison, PROBABILITY, arrangements, 0)
        found = summarise(found[Statistic.GAP, ""], Statistic.GAP, arrangements)
        assert found["p"] == pytest.approx(2 / 2**6)

    def test_groups_of_both_sets(self):
        blocks = groups(["x", "x", "y"], ["y", "x"], shared=True)
        divisions = Arrangements(3, 2, blocks, 99).draw(np.random.default_rng(0))
        in_which = ["".join("ts"[int(in_source)] for in_source in one) for one in divisions]
        assert in_which == ["ssstt", "sstst", "ttsts", "tttss"]  # none, y, x, both exchanged


class TestDatapoints:
    @pytest.mark.parametrize("criterion", list(Criterion))
    @pytest.mark.parametrize("score", list(Score))
    def test_divided_plans_are_those_of_the_kernel(self, criterion, score):
        source, target = simulate(300, 4, 1), simulate(200, 4, 2)
        method = MatchingMethod(criterion=criterion, score=score)
        plans = DividedPlans(source, target, method)
        rng = np.random.default_rng(0)
        pool = [np.concatenate([getattr(s, n) for s in (source, target)])
                for n in ("probability", "prediction", "label")]  # fmt: skip
        for n_source in (300, 200, 1, 499):
            rows = np.split(rng.permutation(500), [n_source])
            divided = (predictions(*(column[r] for column in pool)) for r in rows)
            direct, found = plan_matching(*divided, method), plans.plan(*rows)
            for name in ("source_order", "low", "high"):
                np.testing.assert_array_equal(getattr(found, name), getattr(direct, name))

    def test_points_come_in_random_order_in_the_observed_division_too(self):
        """Two targets want the one source point; the right one comes first in the dataset."""
        source = predictions([0.5, 0.9])
        target = predictions([0.5, 0.5], [0, 0], [0, 1])
        comparison = of(source, target)
        arrangements = Arrangements(2, 2, None, 0)
        runs = (
            null.permuted_statistics(comparison, PROBABILITY, arrangements, s) for s in range(40)
        )
        gaps = [run[Statistic.MATCHED_GAP, "probability"][0] for run in runs]
        assert 0.2 < np.mean(gaps) < 0.8  # in dataset order, all would be 0

    def test_divisions_are_the_same_for_all_models(self):
        known = models(60, 40)
        arrangements = Arrangements(60, 40, None, 20)
        one, other = (
            null.permuted_statistics(comparison, BOTH, arrangements, 0)
            for comparison in known.comparisons
        )
        same = replace(known.comparisons[0], model="m1")
        again = null.permuted_statistics(same, PROBABILITY, arrangements, 0)
        gap = Statistic.GAP, ""
        assert one[gap].tolist() == again[gap].tolist() != other[gap].tolist()
        matched = Statistic.MATCHED_GAP, "probability"
        assert one[matched].tolist() != again[matched].tolist()  # picks are the model's own
        reseeded = null.permuted_statistics(same, BOTH, arrangements, 1)
        assert reseeded[gap].tolist() != again[gap].tolist()

    def test_p_by_hand(self):
        arrangements = Arrangements(10, 5, None, 4)
        values = np.array([0.2, -0.2 + 1e-14, 0.1, 0.3, np.nan])
        two_sided = summarise(values, Statistic.GAP, arrangements)
        assert two_sided["p"] == 4 / 5  # the undefined one counts as extreme
        assert two_sided["n_undefined"] == 1
        upwards = summarise(values, Statistic.UNMATCHED, arrangements)
        assert upwards["p"] == 3 / 5
        assert upwards["null_mean"] == pytest.approx((-0.2 + 0.1 + 0.3) / 3)
        assert (upwards["null_least"], upwards["null_most"]) == (pytest.approx(-0.2), 0.3)

    def test_p_is_uniform_under_one_population(self):
        rng, n_draws, arrangements = np.random.default_rng(3), 300, Arrangements(60, 40, None, 39)
        p = {statistic: [] for statistic in Statistic}
        for draw in range(n_draws):
            sets = []
            for n in (60, 40):
                confidence = rng.beta(3, 1, n)
                label = np.where(rng.random(n) < confidence, 0, 1)
                sets.append(predictions(confidence, np.zeros(n, int), label))
            comparison = of(*sets, f"p{draw}")
            found = null.permuted_statistics(comparison, PROBABILITY, arrangements, 0)
            for (statistic, _), values in found.items():
                p[statistic].append(summarise(values, statistic, arrangements)["p"])
        for values in p.values():
            for level in (0.05, 0.1, 0.25, 0.5):
                # 4 standard deviations; ties make p larger, never smaller.
                slack = 4 * np.sqrt(level * (1 - level) / n_draws)
                assert level - slack - 0.03 < np.mean(np.array(values) <= level) < level + slack


class TestTable:
    def test_a_row_per_quantity(self):
        known = models(80, 60)
        table = tabulate(known, permutations=9)
        assert len(table) == 2 * 5
        gap = table[table.statistic == "gap"].iloc[0]
        assert gap.mean_over_seeds == pytest.approx(known.comparisons[0].gap) == gap.observed
        null.SCHEMA.from_frame(table)
        assert len(null.text_columns(table)[0].cells) == 10
        panels = null.plot(table).axes
        assert len(panels) == 5
        (line,) = [each for each in panels[0].lines if each.get_label() == "mean over seeds"]
        assert line.get_xdata()[0] == pytest.approx(100 * gap.mean_over_seeds)

    def test_the_sign_is_that_of_the_original(self):
        known = models(80, 60)
        table, other = (tabulate(k, permutations=9) for k in (known, swapped(known)))
        signed = table.statistic != "fraction_unmatched"
        for column in ("observed", "null_mean"):
            np.testing.assert_allclose(other[column][signed], -table[column][signed], atol=1e-15)
        assert other.p.tolist() == table.p.tolist()

    def test_no_test_of_few_groups(self):
        blocks = groups(np.arange(40) % 2, np.arange(30) % 2)
        table = tabulate(replace(models(40, 30, n_classes=2), blocks=blocks))
        assert table.p.isna().all()
        assert table.reason.str.contains("no test: of 6 divisions").all()
        assert table.observed.between(table.null_least, table.null_most).all()

    def test_nothing_matched(self):
        method = {"probability": MatchingMethod(criterion="probability", epsilon=1e-9)}
        sets = predictions([0.1, 0.2, 0.3]), predictions([0.7, 0.8])
        table = tabulate(compared(sets, methods=method), permutations=9)
        matched = table[table.statistic == "matched_gap"].iloc[0]
        assert np.isnan(matched.p)
        assert "no target was matched" in matched.reason
