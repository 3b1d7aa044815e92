"""Gaps of paired images against direct formulas, and McNemar's test of matched pairs."""

from dataclasses import replace

import numpy as np
import pytest

from compared import compared, models, swapped
from helpers import predictions, simulate
from matcheval.analyses import mcnemar as analysis
from matcheval.analyses.paired_gaps import SCHEMA, tabulate
from matcheval.errors import InputError
from matcheval.protocol.compared_models import MEAN, ComparedModels
from matcheval.protocol.comparisons import groups
from matcheval.statistics.intervals import mcnemar
from vectors import case


def paired(n=300, n_models=2, **changes) -> ComparedModels:
    """Models whose errors on the second set contain most of those on the first."""
    label, sets = np.random.default_rng(0).integers(0, 3, n), []
    for i in range(n_models):
        first = simulate(n, 3, i, accuracy=0.8, label=label)
        spoiled = np.random.default_rng(50 + i).random(n) < 0.1
        second = np.where(spoiled, (first.prediction + 1) % 3, first.prediction)
        sets.append((first, predictions(first.probability, second, label)))
    return compared(*sets, **{"paired": True, **changes})


def difference(comparison):
    """By image, what is right on the original only, less what is right on the replication only."""
    return comparison.original.correct - comparison.replication.correct.astype(float)


def test_errors_are_over_images():
    known = paired()
    table = tabulate(known)
    SCHEMA.from_frame(table)
    assert table.model.tolist() == ["m0", "m1", MEAN]
    of_models = [difference(one) for one in known.comparisons]
    of_rows = [*of_models, np.mean(of_models, axis=0)]
    for row, expected in zip(table.itertuples(), of_rows, strict=True):
        assert row.gap == pytest.approx(expected.mean())
        assert row.gap_se == pytest.approx(expected.std(ddof=1) / np.sqrt(300))
        assert row.gap_high - row.gap == pytest.approx(1.96 * row.gap_se)
        assert row.gap_se < row.unpaired_se
    one = known.comparisons[0]
    accuracies = [side.correct.mean() for side in (one.original, one.replication)]
    expected = np.sqrt(sum(a * (1 - a) / 300 for a in accuracies))
    assert table.unpaired_se[0] == pytest.approx(expected)
    b, c = (of_models[0] == 1).sum(), (of_models[0] == -1).sum()
    assert (table.only_original[0], table.only_replication[0]) == (b, c)
    assert table.p[0] == mcnemar(b, c)


def test_groups_are_summed_before_squaring():
    known, names = paired(n_models=1), np.arange(300) // 30
    row = tabulate(replace(known, blocks=groups(names, names, shared=True))).iloc[0]
    of_images = difference(known.comparisons[0])
    sums = (of_images - of_images.mean()).reshape(10, 30).sum(axis=1) / 300
    assert row.gap_se == pytest.approx(np.sqrt(10 / 9 * (sums**2).sum()))


KNOWN = paired()
EQUAL = tuple(replace(one, replication=one.original) for one in KNOWN.comparisons)


@pytest.mark.parametrize(
    ("known", "blocks", "why"),
    [
        (KNOWN, groups([0] * 300, [0] * 300, shared=True), "a single group"),
        (replace(KNOWN, comparisons=EQUAL), None, "differ by the same"),
    ],
)
def test_no_error_is_said_in_words(known, blocks, why):
    table = tabulate(replace(known, blocks=blocks))
    assert table[["gap_se", "gap_low", "gap_high"]].isna().all(axis=None)
    assert table.reason.str.contains(why).all()


def test_it_must_be_declared_and_agree():
    with pytest.raises(InputError, match="not declared as paired"):
        tabulate(paired(paired=False))
    known = paired()
    one = known.comparisons[0]
    other = replace(one.replication, label=(one.replication.label + 1) % 3)
    broken = (replace(one, replication=other),)
    with pytest.raises(InputError, match="differ in size, indices or labels"):
        tabulate(replace(known, comparisons=broken))


# McNemar's test of matched pairs


def test_known_values():
    vector = case("protocol_statistics", "A4.mcnemar")
    found = mcnemar(*np.transpose(vector["inputs"]["b_c"]))
    np.testing.assert_allclose(found, vector["expected"]["p"], atol=vector["tol"])
    assert np.median(found) == pytest.approx(vector["expected"]["median"])
    assert mcnemar([5, 0, 6], [5, 0, 0]).tolist() == [1, 1, 2 / 2**6]


class TestMcNemar:
    def test_the_gap_is_the_difference_of_discordant_pairs(self):
        known = models()
        table = analysis.tabulate(known)
        analysis.SCHEMA.from_frame(table)
        assert len(table) == 2 * 2 * 3
        for one in known.matched():
            rows = table[(table.model == one.comparison.model) & (table.matching == one.name)]
            for seed, row in one.rows.items():
                found, hit = rows[rows.seed == seed].iloc[0], row >= 0
                right = one.comparison.source.correct[row[hit]]
                gap = right.mean() - one.comparison.target.correct[hit].mean()
                b, c, n = found.only_original, found.only_replication, found.n_pairs
                assert found.matched_gap == pytest.approx(gap) == (b - c) / n
                variance = ((b + c) - (b - c) ** 2 / n) / (n - 1)  # of the pairs' differences
                assert found.matched_gap_se == pytest.approx(np.sqrt(variance / n))
            assert rows.median_p.nunique() == 1
            assert rows.median_p.iloc[0] == np.median(rows.p)
            assert rows.bound_p.iloc[0] == min(1, 2 * np.median(rows.p))

    def test_the_original_is_counted_whatever_its_role(self):
        table, other = analysis.tabulate(models()), analysis.tabulate(swapped(models()))
        assert other.only_original.tolist() == table.only_replication.tolist()
        assert other.p.tolist() == table.p.tolist()


def test_models_must_be_of_the_same_datapoints():
    one, other = predictions([0.5] * 3), predictions([0.5] * 2)
    message = "'m1' has other indices or labels on 'new' than model 'm0': 2 datapoints, not 3"
    with pytest.raises(InputError, match=message):
        compared((one, one), (one, other))
