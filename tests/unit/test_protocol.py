"""The quantities of a run, computed by hand, and their table over seeds and models."""

import dataclasses
import math

import numpy as np
import pytest

from helpers import matched, predictions, simulate
from matcheval.datasets.suites import Pair
from matcheval.errors import InputError
from matcheval.protocol.compared_models import MatchedModel
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.jobs import tabulate_runs
from matcheval.protocol.schemas import COMPARISON_RUNS
from matcheval.protocol.settings import Criterion, MatchingMethod

LABEL, PROBABILITY = Criterion


def only_run(source, target, **options):
    """The quantities of a single run."""
    return dict(matched(source, target, seeds=[4], **options).runs().to_pandas().iloc[0])


def test_quantities_by_hand():
    """One matching is possible: targets 0, 1, 2 to sources 1, 0, 4; target 3 is unmatched."""
    # Correct are sources 0, 1 and 2, and targets 1 and 2.
    source = predictions([0.90, 0.70, 0.40, 0.20, 0.60], [0, 0, 1, 1, 2], label=[0, 0, 1, 0, 1])
    target = predictions([0.70, 0.90, 0.60, 0.99], [0, 0, 2, 2], label=[1, 0, 2, 0])
    run = only_run(source, target)
    expected = {
        "seed": 4, "n_source": 5, "n_target": 4, "n_matched": 3, "accuracy_source": 3 / 5,
        "accuracy_target": 2 / 4,
        "matched_accuracy_source": 2 / 3,  # sources 1 and 0 are correct, 4 is not
        "matched_accuracy_target": 2 / 3,  # targets 1 and 2 are correct, 0 is not
        "unmatched_accuracy_target": 0, "fraction_unmatched": 1 / 4,
    }  # fmt: skip
    assert {name: run[name] for name in expected} == expected
    confidences = {
        "confidence_source": 2.8 / 5, "confidence_target": 3.19 / 4,
        "matched_confidence_source": 2.2 / 3, "matched_confidence_target": 2.2 / 3,
        "unmatched_confidence_target": 0.99,
    }  # fmt: skip
    for name, value in confidences.items():
        assert run[name] == pytest.approx(value, abs=1e-7)


def test_pairs_contain_indices_not_rows():
    source = predictions([0.9, 0.5], index=np.array([70, 40]))  # sorted: 40 has 0.5, 70 has 0.9
    target = predictions([0.5, 0.1, 0.9], index=np.array([3, 4, 5]))
    assert matched(source, target, seeds=[2, 7]).pairs().to_pydict() == {
        "seed": [2, 2, 7, 7],
        "source_index": [40, 70, 40, 70],
        "target_index": [3, 5, 3, 5],
    }


@pytest.mark.parametrize("source_is_original", [True, False])
def test_runs_and_gaps_are_those_of_the_pairs(source_is_original):
    source, target = simulate(900, 4, 1), simulate(500, 4, 2, accuracy=0.7)
    sets = (source, target) if source_is_original else (target, source)
    comparison = Comparison("m", Pair("p", "o", "r"), *sets)
    one = MatchedModel.of(comparison, MatchingMethod(criterion=LABEL), range(4))
    pairs, gaps = one.pairs().to_pandas(), []
    for run in one.runs().to_pandas().itertuples():
        of_seed = pairs[pairs.seed == run.seed]
        assert len(of_seed) == run.n_matched
        right = source.correct[of_seed.source_index], target.correct[of_seed.target_index]
        assert right[0].mean() == pytest.approx(run.matched_accuracy_source)
        assert right[1].mean() == pytest.approx(run.matched_accuracy_target)
        gaps.append((right[0].mean() - right[1].mean()) * (1 if source_is_original else -1))
        confidence = source.probability[of_seed.source_index].astype(float).mean()
        assert run.matched_confidence_source == pytest.approx(confidence, rel=1e-12)  # not float32
    assert one.matched_gaps == pytest.approx(gaps)
    assert one.n_matched == len(pairs) / 4
    assert one.fractions_unmatched.mean() == pytest.approx(1 - len(pairs) / 4 / 500)


def test_nothing_or_everything_matched_is_undefined_not_a_crash():
    one = matched(predictions([0.1]), predictions([0.9, 0.8]), seeds=[4])
    nothing = dict(one.runs().to_pandas().iloc[0])
    everything = only_run(predictions([0.5] * 3), predictions([0.5] * 2))
    for run, share, part, role in ((nothing, 1, "", "source"), (everything, 0, "un", "target")):
        assert run["fraction_unmatched"] == share
        assert math.isnan(run[f"{part}matched_accuracy_{role}"])
        assert math.isnan(run[f"{part}matched_confidence_{role}"])
    assert nothing["unmatched_accuracy_target"] == 1
    assert one.pairs().num_rows == one.n_matched == 0
    assert np.isnan(one.matched_gaps).all()


class TestRoles:
    small, large = simulate(50, 3, 1), simulate(80, 3, 2)

    @pytest.mark.parametrize(
        ("original", "replication", "named", "source"),
        [
            (large, small, None, "old"),  # the larger set
            (small, large, None, "new"),
            (small, dataclasses.replace(small), None, "old"),  # of equal sizes, the original
            (large, small, "new", "new"),  # as the study says
        ],
    )
    def test_which_set_is_the_source(self, original, replication, named, source):
        found = Comparison("m", Pair("p", "old", "new", named), original, replication)
        sets = {"old": original, "new": replication}
        assert found.source_name == source
        assert found.source is sets.pop(source)
        assert found.target is sets[found.target_name]


class TestSameDatapoints:
    """All models of a study must predict the same datapoints and the same classes."""

    def runs(self, model, original, replication):
        comparison = Comparison(model, Pair("p", "old", "new"), original, replication)
        return MatchedModel.of(comparison, MatchingMethod(criterion=PROBABILITY), range(2)).runs()

    def test_other_labels_are_refused(self):
        fine = self.runs("m", predictions([0.5] * 3), predictions([0.5] * 2))
        odd = self.runs("n", predictions([0.5] * 3), predictions([0.5] * 2, label=[0, 1]))
        same = self.runs("k", predictions([0.7] * 3), predictions([0.5] * 2))
        assert len(tabulate_runs([fine, same])) == 2
        with pytest.raises(InputError, match="'n' has other indices or labels on 'new' than model"):
            tabulate_runs([fine, odd])


def runs_table(model, matched_source, matched_target, **override):
    """Runs with given matched accuracies per seed and plain ones of 0.9 and 0.7."""
    n = len(matched_source)
    columns = {
        "model": model, "pair": "p", "criterion": "probability", "original": "old",
        "replication": "new", "source": "old", "epsilon": 0.005, "seed": list(range(n)),
        "n_source": 100, "n_target": 50, "n_matched": 40, "accuracy_source": 0.9,
        "accuracy_target": 0.7, "unmatched_accuracy_target": 0.3, "fraction_unmatched": 0.2,
        "confidence_source": 0.95, "confidence_target": 0.85, "matched_confidence_source": 0.93,
        "matched_confidence_target": 0.93, "unmatched_confidence_target": 0.6,
        "matched_accuracy_source": matched_source, "matched_accuracy_target": matched_target,
    } | override  # fmt: skip
    filled = {k: v if isinstance(v, list) else [v] * n for k, v in columns.items()}
    return COMPARISON_RUNS.table(filled)


class TestTable:
    def test_statistics_over_seeds_by_hand(self):
        row = tabulate_runs([runs_table("m", [0.8, 0.9, 1.0], [0.8, 0.8, 0.8])]).iloc[0]
        assert row.n_seeds == 3
        assert row.gap == pytest.approx(0.2)
        assert row.matched_accuracy_original_mean == pytest.approx(0.9)
        assert row.matched_accuracy_original_std == pytest.approx(0.1)  # ddof = 1
        assert row.matched_accuracy_original_sem == pytest.approx(0.1 / math.sqrt(3))
        assert row.matched_gap_mean == pytest.approx(0.1)

    def test_undefined_seeds_are_left_out(self):
        table = runs_table("m", [0.8, 0.8], [0.7, math.nan])
        row = tabulate_runs([table]).iloc[0]
        assert (row.n_seeds, row.matched_gap_mean) == (2, pytest.approx(0.1))
        assert math.isnan(row.matched_gap_std)  # of a single one
        assert math.isnan(row.matched_gap_sem)

    def test_models_by_falling_original_accuracy(self):
        models = {"weak": 0.6, "strong": 0.8, "also-strong": 0.8}
        tables = [runs_table(m, [0.5], [0.5], accuracy_source=a) for m, a in models.items()]
        assert tabulate_runs(tables)["model"].tolist() == ["also-strong", "strong", "weak"]

    def test_runs_of_different_matchings_are_refused(self):
        others = runs_table("n", [1.0], [1.0], epsilon=0.1)
        with pytest.raises(InputError, match="'epsilon': the runs have different values"):
            tabulate_runs([runs_table("m", [1.0], [1.0]), others])
