"""Gaps by class: identities, weights, suppression, and Holm's correction."""

from dataclasses import replace

import numpy as np
import pytest

from compared import models, swapped
from matcheval.analyses.class_gaps import ALL, SCHEMA, measure_classes, tabulate
from matcheval.protocol.comparisons import groups
from matcheval.protocol.decomposition import Scored, decompose
from matcheval.protocol.matching import UNMATCHED
from matcheval.protocol.standard_errors import isotonic_accuracy, standard_error
from matcheval.statistics.intervals import holm

KNOWN = models(900, 700, n_classes=3)


@pytest.fixture(scope="module")
def table():
    return tabulate(KNOWN)


def one_of(known):
    return next(m for m in known.matched() if m.name == "probability")


def test_holm_by_hand():
    expected = [0.04, np.nan, 0.09, 0.09, 0.5]
    np.testing.assert_allclose(holm([0.01, np.nan, 0.04, 0.03, 0.5]), expected)
    assert holm([0.6, 0.7]).tolist() == [1.0, 1.0]


def deviations(sides):
    """By how much datapoints are right more often than their confidence says."""
    return [s.correct - isotonic_accuracy(Scored(s.probability, s.correct)) for s in sides]


def test_by_loops():
    one = one_of(KNOWN)
    source, target = sides = one.comparison.source, one.comparison.target
    classes = [side.prediction.astype(np.int64) for side in sides]
    found = measure_classes(one, *classes, 3)
    for k in range(3):
        inside = [each == k for each in classes]
        gaps, selections = [], []
        weights = [np.zeros(len(side)) for side in sides]
        for row in one.rows.values():
            hit = row != UNMATCHED
            picked = row[hit][inside[0][row[hit]]]
            matched = np.flatnonzero(hit & inside[1])
            right = source.correct[picked].mean()
            gaps.append(right - target.correct[matched].mean())
            selections.append(source.correct[inside[0]].mean() - right)
            weights[0][picked] += 1 / len(picked) / len(one.rows)
            weights[1][matched] -= 1 / len(matched) / len(one.rows)
        matched = np.mean([(row[inside[1]] != UNMATCHED).mean() for row in one.rows.values()])
        assert found.fraction_unmatched[k] == pytest.approx(1 - matched)
        assert found.terms.matched_gap[k] == pytest.approx(np.mean(gaps), abs=1e-12)
        assert found.terms.source_selection[k] == pytest.approx(np.mean(selections), abs=1e-12)
        errors = found.errors.source, found.errors.target
        of_sides = zip(errors, inside, weights, deviations(sides), strict=True)
        for values, of, weight, z in of_sides:
            np.testing.assert_allclose(values[of], (weight * z)[of])


def test_a_seed_without_points_of_a_class_is_left_out():
    one = one_of(models(40, 30, n_classes=2, n_models=1))
    classes = np.zeros(40, np.int64), np.ones(30, np.int64)
    classes[1][0] = 0
    rows = {0: np.full(30, UNMATCHED), 1: np.where(np.arange(30) == 0, 5, UNMATCHED)}
    found = measure_classes(replace(one, rows=rows), *classes, 2)
    expected = one.comparison.source.correct[5] - float(one.comparison.target.correct[0])
    assert found.terms.matched_gap.tolist()[0] == expected
    assert np.isnan(found.terms.matched_gap[1])
    assert found.n_matched.tolist() == [0.5, 0]
    # The one seed that counts has all of the weight.
    (deviation,) = deviations([one.comparison.source])
    assert found.errors.source[5] == pytest.approx(deviation[5])


class TestTable:
    def test_a_row_per_class_whose_terms_add_up(self, table):
        SCHEMA.from_frame(table)
        of_models = table.groupby(["model", "matching", "kind"])
        assert of_models["class"].apply(list).tolist() == [[ALL, 0, 1, 2]] * 8
        total = table.matched_gap + table.source_selection + table.dropped_targets
        np.testing.assert_allclose(total, table.gap, atol=1e-12)
        parts = table.confidence_part + table.conditional_part
        np.testing.assert_allclose(parts, table.gap, atol=1e-12)
        of_all = table[table["class"] == ALL]
        np.testing.assert_allclose(of_all.class_mix + of_all.within_class, of_all.gap, atol=1e-12)
        assert of_all.p_holm.isna().all()
        for _, rows in table[table["class"] != ALL].groupby(["model", "matching", "kind"]):
            np.testing.assert_allclose(rows.p_holm, holm(rows.p))

    def test_parts_are_those_of_the_class_alone(self, table):
        comparison = KNOWN.comparisons[0]
        sides = [
            Scored(s.probability[s.prediction == 1], s.correct[s.prediction == 1])
            for s in (comparison.source, comparison.target)
        ]
        row = table[(table["class"] == 1) & (table.kind == "predicted")].iloc[0]
        found = decompose(*sides)
        assert row.confidence_part == pytest.approx(found.confidence_part)
        assert row.confidence_low < row.confidence_part < row.confidence_high

    def test_signs_follow_the_original(self, table):
        other = tabulate(swapped(KNOWN))
        for column in ("gap", "matched_gap", "dropped_targets", "class_mix", "conditional_part"):
            np.testing.assert_allclose(other[column], -table[column], atol=1e-12)
        for column in ("matched_gap_se", "p", "p_holm", "fraction_unmatched"):
            np.testing.assert_allclose(other[column], table[column])

    def test_small_classes_are_suppressed(self):
        small = tabulate(models(400, 300, n_classes=8, n_models=1, seeds=2))
        least = small[["n_matched_source", "n_matched_target"]].min(axis=1)
        assert (small.reason == "").tolist() == (least >= 30).tolist()
        suppressed = small[least < 30]
        assert 0 < len(suppressed) < len(small)
        assert suppressed[["matched_gap", "p", "p_holm", "confidence_part"]].isna().all(axis=None)
        assert suppressed.gap.notna().all()

    def test_groups(self):
        blocks = groups(np.arange(900) % 6, np.arange(700) % 6)
        grouped = tabulate(replace(KNOWN, blocks=blocks))
        row = grouped.iloc[0]
        one = next(KNOWN.matched())
        assert row.matched_gap_se == pytest.approx(standard_error(one.error_terms, blocks))
        assert grouped.confidence_low.notna().all()
