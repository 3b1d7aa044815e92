"""Gaps along severities: severity 0, paired sets, means over models, and what is refused."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from compared import BOTH
from helpers import matched_gap, predictions, simulate
from matcheval.analyses.severity import SCHEMA, plot, tabulate
from matcheval.datasets.suites import Member, Pair, Suite
from matcheval.errors import InputError
from matcheval.protocol.compared_models import MEAN, scored
from matcheval.protocol.comparisons import Comparison, paired_images
from matcheval.protocol.decomposition import decompose
from studies import configuration, load

LABEL = np.random.default_rng(0).integers(0, 3, 400)


BASE = [simulate(400, 3, seed, accuracy=0.9, label=LABEL) for seed in (1, 2)]


def read(name):
    """Sets whose errors rise with severity, at unchanged confidence."""
    if name == "clean":
        return BASE
    rng, severity = np.random.default_rng(len(name)), int(name[-1])
    sets = []
    for one in BASE:
        wrong = rng.random(400) < 0.08 * severity
        sets.append(predictions(one.probability, (one.prediction + wrong) % 3, LABEL))
    return sets


SHIFTS = [(kind, severity) for kind in ("fog", "blur") for severity in (1.0, 2.0)]
SUITE = Suite(
    "s",
    (*(Member(f"{c}-{n:.0f}", subgroup=c, severity=n) for c, n in SHIFTS), Member("other-3")),
)


def tabulated(read=read, **options):
    files = SimpleNamespace(suite=SUITE, base="clean", models=("one", "two"), read=read)
    return tabulate(files, matchings=BOTH, seeds=range(3), **options)


@pytest.fixture(scope="module")
def table():
    return tabulated()


def test_rows_and_severity_0(table):
    SCHEMA.from_frame(table)
    assert len(table) == 6 * 2 * 3
    first = table[table.severity == 0]
    assert set(first.dataset) == {"clean"}
    for column in ("gap", "gap_se", "confidence_part", "conditional_part"):
        assert (first[column].abs() < 1e-15).all()
    assert table[table.dataset == "other-3"].severity.isna().all()
    assert [axes.get_title() for axes in plot(table).axes] == ["fog", "blur"]


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


def test_pairing_narrows_the_intervals(table):
    apart = tabulated(paired=False)
    shifted = table.severity > 0
    np.testing.assert_allclose(table.gap, apart.gap)
    np.testing.assert_allclose(table.matched_gap, apart.matched_gap)
    assert (table.gap_se[shifted] < apart.gap_se[shifted]).all()


def test_errors_without_a_warning_are_in_the_conditional_part(table):
    means = table[(table.model == MEAN) & (table.matching == "probability")].set_index("dataset")
    assert means.gap["fog-1"] < means.gap["fog-2"]
    assert (means.confidence_part.abs() < 1e-12).all()  # confidences are the same images'
    of_models = table[(table.model != MEAN) & (table.matching == "probability")]
    expected = of_models.groupby("dataset").matched_gap.mean()
    np.testing.assert_allclose(means.matched_gap, expected[means.index])


def test_sets_that_are_not_paired_are_refused():
    def other(name):
        found = read(name)
        return found if name != "fog-2" else [replace(p, label=(p.label + 1) % 3) for p in found]

    with pytest.raises(InputError, match="'fog-2' and the base 'clean'"):
        tabulated(other)


MEMBERS = [{"dataset": "digits-new-writers", "severity": 1}]


@pytest.mark.parametrize(
    ("members", "severity", "message"),
    [
        (MEMBERS, {"suites": {"t": "digits-known"}}, "unknown suite 't'"),
        (["digits-new-writers"], {"suites": {"s": "digits-known"}}, "no set has a severity"),
        ([MEMBERS[0] | {"classes": ["1", "2"]}], {"suites": {"s": "digits-known"}}, "some classes"),
    ],
)
def test_settings_are_checked(members, severity, message):
    given = {"suites": {"s": {"members": members}}, "severity": severity}
    with pytest.raises(InputError, match=message):
        load(configuration("digits") | given)
