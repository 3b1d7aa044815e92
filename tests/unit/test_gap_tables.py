"""Tables of gaps, for models and their means, and the words that follow from them."""

from dataclasses import replace
from pathlib import Path

import make_readme
import numpy as np
import pandas as pd
import pytest

from compared import BOTH, compared, models, swapped
from drawings import draw
from helpers import predictions, simulate
from matcheval.protocol import decomposition
from matcheval.protocol.comparisons import groups, paired_images
from matcheval.protocol.figures import plot_gaps
from matcheval.protocol.gaps import estimate_gaps, gaps_of_models
from matcheval.protocol.schemas import GAP_QUANTITIES
from matcheval.protocol.words import summary_page

ROOT = Path(__file__).resolve().parents[2]
TITLES = {name: method.title(name) for name, method in BOTH.items()}
KNOWN = models(900, 500, n_models=3, seeds=4, accuracies=(0.9, 0.75))


@pytest.fixture(scope="module")
def found():
    return estimate_gaps(KNOWN)


def only(tables, name="probability"):
    return tables.models[name].iloc[0], tables.means.set_index("matching").loc[name]


class TestTables:
    @pytest.mark.parametrize("known", [KNOWN, swapped(KNOWN)])
    def test_terms_and_parts_add_up_and_wider_intervals_hold_what_other_bins_give(self, known):
        tables = estimate_gaps(known)
        for table in [*tables.models.values(), tables.means]:
            gaps = [one.gap for one in known.comparisons]
            np.testing.assert_allclose(table.gap, gaps if len(table) == 3 else np.mean(gaps))
            terms = table.matched_gap + table.source_selection + table.dropped_targets
            np.testing.assert_allclose(terms, table.gap, atol=1e-12)
            parts = table.confidence_part + table.conditional_part
            np.testing.assert_allclose(parts, table.gap, atol=1e-12)
            changes = [table.confidence_part - table[f"confidence_part_{k}"] for k in (10, 50)]
            bound = np.maximum(changes[0].abs(), changes[1].abs() / 0.6)
            np.testing.assert_allclose(table.binning_bound, bound)
            for name in ("confidence_part", "conditional_part"):
                low, high = table[f"{name}_low"] - bound, table[f"{name}_high"] + bound
                np.testing.assert_allclose(table[f"{name}_wide_low"], low)
                np.testing.assert_allclose(table[f"{name}_wide_high"], high)

    def test_matched_gaps_are_those_of_the_runs(self, found):
        for one in KNOWN.matched():
            row = found.models[one.name].set_index("model").loc[one.comparison.model]
            assert row.matched_gap == pytest.approx(one.matched_gaps.mean())
            assert row.fraction_unmatched == pytest.approx(one.fractions_unmatched.mean())
            assert row.matched_gap_se > one.matched_gaps.std(ddof=1)  # no spread over seeds

    def test_results_do_not_depend_on_the_number_of_threads(self, found, monkeypatch):
        monkeypatch.setattr(decomposition, "_MODELS", 1)
        for threads in (2, 5):
            again = gaps_of_models(
                KNOWN.comparisons, KNOWN.methods, KNOWN.seeds, KNOWN.blocks, threads=threads
            )
            pd.testing.assert_frame_equal(again.means, found.means, check_exact=True)
            for name, table in found.models.items():
                pd.testing.assert_frame_equal(again.models[name], table, check_exact=True)

    def test_means_are_over_models_and_have_errors_of_their_own(self, found):
        for name in BOTH:
            table, mean = found.models[name], only(found, name)[1]
            for column in ("gap", "matched_gap", "source_selection", "n_matched",
                           "confidence_part", "unmatched_accuracy_target"):  # fmt: skip
                assert mean[column] == pytest.approx(table[column].mean())
            assert mean.matched_gap_se < table.matched_gap_se.max()
            assert (mean.n_models, mean.n_left_out, mean.n_groups) == (3, 0, 0)
            width = mean.matched_gap_high - mean.matched_gap_low
            assert width == pytest.approx(2 * 1.96 * mean.matched_gap_se)
            ratio = table.reference_matched_gap.sum() / table.reference_gap.sum()
            assert mean.reference_narrowing == pytest.approx(1 - ratio)
            assert mean.excess_narrowing == mean.same_size_narrowing - mean.reference_narrowing

    def test_a_model_has_the_same_numbers_alone_as_among_others(self, found):
        alone = estimate_gaps(replace(KNOWN, comparisons=KNOWN.comparisons[:1]))
        for name, among in found.models.items():
            pd.testing.assert_frame_equal(alone.models[name], among.iloc[:1], rtol=1e-12)
            mean = alone.means[alone.means.matching == name].reset_index()
            shown = [column.name for column in GAP_QUANTITIES]
            pd.testing.assert_frame_equal(mean[shown], among.iloc[:1][shown], rtol=1e-12)

    def test_groups_and_pairs(self):
        known = models(600, 600)
        blocks = groups(np.repeat(np.arange(6), 100), np.repeat(np.arange(4), 150))
        model, mean = only(estimate_gaps(replace(known, blocks=blocks)))
        assert model.n_groups == mean.n_groups == 4
        assert "only 4 groups" in mean.remarks
        width = mean.matched_gap_high - mean.matched_gap_low
        assert width == pytest.approx(2 * 3.18245 * mean.matched_gap_se, rel=1e-5)
        same = [[one.original] * 2 for one in known.comparisons]
        row, _ = only(estimate_gaps(compared(*same, paired=True, blocks=paired_images(*same[0]))))
        assert row.paired
        assert (row.gap, row.gap_se) == (0, 0)


def right(n, k, confidence=0.5):
    """Predictions of equal confidence, of which the first k are right."""
    return predictions(np.full(n, confidence), np.zeros(n, int), (np.arange(n) >= k).astype(int))


class TestUndefined:
    """Each in words, NaN, and never a silent number."""

    @pytest.mark.parametrize(
        ("original", "replication", "undefined", "why"),
        [
            (simulate(60, 3, 1), simulate(20, 3, 2), ["matched_gap_se", "matched_gap_low"],
             "fewer than 30 matched pairs"),
            (simulate(300, 3, 1), right(300, 300, simulate(300, 3, 1).probability),
             ["matched_gap_se"], "all predictions on new are right or wrong"),
            (right(50, 50, 0.1), right(40, 40, 0.9), ["matched_gap", "matched_gap_se"],
             "no target is matched"),
            (simulate(400, 3, 1), simulate(400, 3, 1), ["confidence_share", "narrowing"],
             "the gap is not positive"),
            (simulate(400, 3, 1), simulate(300, 3, 2, accuracy=0.86), ["reference_narrowing"],
             "reference: the gap does not exceed twice its standard error"),
        ],
    )  # fmt: skip
    def test_in_words(self, original, replication, undefined, why):
        row, _ = only(estimate_gaps(compared((original, replication), seeds=3)))
        assert row[undefined].isna().all()
        assert why in row.remarks
        assert (row.fraction_unmatched == 1) == np.isnan(row.matched_gap)

    def test_a_single_group(self):
        blocks = groups(np.zeros(900), np.arange(500) % 9)
        row, mean = only(estimate_gaps(replace(KNOWN, blocks=blocks)))
        assert row[["matched_gap_se", "gap_se"]].isna().all()
        assert "a set is a single group" in row.remarks
        assert mean[["matched_gap_low", "matched_gap_high"]].isna().all()

    def test_models_without_pairs_are_left_out_of_means(self):
        fine, odd, _ = ((one.original, one.replication) for one in KNOWN.comparisons)
        far = replace(odd[1], probability=np.zeros(500, np.float32))
        tables = estimate_gaps(compared(fine, (odd[0], far), seeds=2))
        model, mean = only(tables)
        both = tables.models["probability"]
        assert (mean.n_models, mean.n_left_out) == (1, 1)
        for column in ("matched_gap", "matched_gap_se"):
            assert mean[column] == model[column]
        for column in ("gap", "confidence_part", "confidence_fall"):  # of all models
            assert mean[column] == pytest.approx(both[column].mean())
        assert both["gap"].nunique() == 2
        assert mean.narrowing == pytest.approx(1 - model.matched_gap / model.gap)


def test_the_digits_page_in_the_documentation():
    """docs/digits/summary.md is what its table gives."""
    means = pd.read_csv(ROOT / "docs" / "digits" / "gaps.csv").fillna({"remarks": ""})
    judged = [make_readme.judge_study(make_readme.DIGITS)]
    page = summary_page("Study `digits`", means, TITLES, judged)
    assert (ROOT / "docs" / "digits" / "summary.md").read_text(encoding="utf-8") == page


def test_the_figure_shows_the_mean_and_models_by_decreasing_accuracy(found):
    gaps, (_, mean) = found.models["probability"], only(found)
    accuracies = gaps[["model"]].assign(accuracy_original=[0.9, 0.7, 0.8])
    figure = plot_gaps(accuracies, gaps, mean, "criterion 2")
    draw(figure)
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == ["mean", "m0", "m2", "m1"]
    table = gaps.set_index("model").loc[["m0", "m2", "m1"]]
    for bars, column in zip(figure.axes[0].containers, ("gap", "matched_gap"), strict=True):
        expected = 100 * np.array([mean[column], *table[column]])
        np.testing.assert_allclose(bars[0].get_xdata(), expected)
