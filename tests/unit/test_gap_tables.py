"""Tables of gaps, for models and their means, and the words that follow from them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from drawings import draw, texts_of
from helpers import predictions, simulate
from matcheval.datasets.suites import Pair
from matcheval.errors import InputError
from matcheval.io.tables import write_table
from matcheval.protocol.analysis import draw_gaps, draw_matched_accuracy
from matcheval.protocol.blocks import groups, paired_images
from matcheval.protocol.compared_models import ComparedModels, MatchedModel
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.decomposition import decompose_models, scored
from matcheval.protocol.gap_figures import plot_gaps
from matcheval.protocol.gaps import estimate_gaps
from matcheval.protocol.schemas import GAPS, MEAN_GAPS, MODEL_TABLE
from matcheval.protocol.settings import Criterion, MatchingMethod, MatchingSettings
from matcheval.protocol.tables import tabulate_runs
from matcheval.protocol.words import (
    narrowing,
    share_of_confidence,
    verdict,
    with_interval,
    write_summary,
)

ROOT = Path(__file__).resolve().parents[2]
METHODS = MatchingSettings().methods
TITLES = {name: method.title(name) for name, method in METHODS.items()}
PAIR = Pair("p", "old", "new")


def estimated(models, methods, seeds, blocks=None):
    return estimate_gaps(
        ComparedModels(models[0].pair, tuple(models), methods, tuple(seeds), blocks)
    )


def comparisons(n=3, sizes=(900, 500), pair=PAIR):
    """Models that share labels and differ in confidence."""
    labels = [np.random.default_rng(role).integers(0, 4, size) for role, size in enumerate(sizes)]
    return [
        Comparison(
            f"m{i}", pair, simulate(sizes[0], 4, i, label=labels[0]),
            simulate(sizes[1], 4, 50 + i, accuracy=0.75, label=labels[1]),
        )
        for i in range(n)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def found():
    return estimated(comparisons(), METHODS, range(4))


def only(tables, name="probability"):
    return tables.models[name].iloc[0], tables.means.set_index("matching").loc[name]


class TestTables:
    def test_they_have_their_schemas(self, found):
        assert list(found.models) == list(METHODS)
        for table in found.models.values():
            assert GAPS.from_frame(table).num_rows == 3
        assert MEAN_GAPS.from_frame(found.means).num_rows == 2

    @pytest.mark.parametrize("sizes", [(900, 500), (500, 900)])
    def test_terms_and_parts_add_up_to_the_gap(self, sizes):
        tables = estimated(comparisons(sizes=sizes), METHODS, range(4))
        for table in [*tables.models.values(), tables.means]:
            terms = table.matched_gap + table.source_selection + table.dropped_targets
            np.testing.assert_allclose(terms, table.gap, atol=1e-12)
            parts = table.confidence_part + table.conditional_part
            np.testing.assert_allclose(parts, table.gap, atol=1e-12)

    def test_matched_gaps_are_those_of_the_runs(self, found):
        for name, method in METHODS.items():
            for comparison, row in zip(comparisons(), found.models[name].itertuples(), strict=True):
                one = MatchedModel.of(comparison, method, range(4))
                assert row.matched_gap == pytest.approx(one.matched_gaps.mean())
                assert row.fraction_unmatched == pytest.approx(one.fractions_unmatched.mean())
                assert row.matched_gap_se > one.matched_gaps.std(ddof=1)  # no spread over seeds

    def test_means_are_over_models_and_have_errors_of_their_own(self, found):
        for name in METHODS:
            table, mean = found.models[name], only(found, name)[1]
            for column in ("gap", "matched_gap", "source_selection", "n_matched",
                           "confidence_part", "unmatched_accuracy_target"):  # fmt: skip
                assert mean[column] == pytest.approx(table[column].mean())
            assert mean.matched_gap_se < table.matched_gap_se.max()
            assert (mean.n_models, mean.n_left_out, mean.n_groups) == (3, 0, 0)
            width = mean.matched_gap_high - mean.matched_gap_low
            assert width == pytest.approx(2 * 1.96 * mean.matched_gap_se)

    def test_the_decomposition_is_that_of_the_function(self, found):
        parts = decompose_models([scored(comparison) for comparison in comparisons()])
        assert found.means.confidence_share.tolist() == [parts.mean.share] * 2
        assert parts.mean.share_low < parts.mean.share < parts.mean.share_high
        assert found.means.confidence_share_low.tolist() == [parts.mean.share_low] * 2

    def test_the_reference_of_means_is_of_sums(self, found):
        for name in METHODS:
            table, mean = found.models[name], only(found, name)[1]
            ratio = table.reference_matched_gap.sum() / table.reference_gap.sum()
            assert mean.reference_narrowing == pytest.approx(1 - ratio)
            assert mean.excess_narrowing == mean.same_size_narrowing - mean.reference_narrowing
            assert mean.n_reference == 3

    def test_groups_and_pairs(self):
        models = comparisons(2, (600, 600))
        names = np.repeat(np.arange(6), 100), np.repeat(np.arange(4), 150)
        model, mean = only(estimated(models, METHODS, range(2), groups(*names)))
        assert model.n_groups == mean.n_groups == 4
        assert "only 4 groups" in mean.remarks
        width = mean.matched_gap_high - mean.matched_gap_low
        assert width == pytest.approx(2 * 3.18245 * mean.matched_gap_se, rel=1e-5)
        pair = replace(PAIR, paired=True)
        same = [replace(one, pair=pair, replication=one.original) for one in models]
        blocks = paired_images(same[0].source, same[0].target)
        row, _ = only(estimated(same, METHODS, range(2), blocks))
        assert row.paired
        assert (row.gap, row.gap_se) == (0, 0)

    def test_models_on_other_datapoints(self):
        models = [*comparisons(1), *comparisons(1, (900, 501))]
        with pytest.raises(InputError, match=r"other indices or labels on 'new'.*501 datap"):
            estimated(models, METHODS, range(2))


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
            (right(200, 160), right(100, 70), ["unmatched_accuracy_target"],
             "every target is matched"),
            (simulate(400, 3, 1), simulate(400, 3, 1), ["confidence_share", "narrowing"],
             "the gap is not positive"),
            (simulate(400, 3, 1), simulate(300, 3, 2, accuracy=0.86), ["reference_narrowing"],
             "reference: the gap does not exceed twice its standard error"),
        ],
    )  # fmt: skip
    def test_in_words(self, original, replication, undefined, why):
        one = [Comparison("m", PAIR, original, replication)]
        row, _ = only(estimated(one, METHODS, range(3)))
        assert row[undefined].isna().all()
        assert why in row.remarks
        assert (row.fraction_unmatched == 1) == np.isnan(row.matched_gap)
        if np.isnan(row.unmatched_accuracy_target):
            assert (row.fraction_unmatched, row.dropped_targets) == (0, 0)

    def test_a_single_group(self):
        blocks = groups(np.zeros(900), np.arange(500) % 9)
        row, mean = only(estimated(comparisons(1), METHODS, range(2), blocks))
        assert row[["matched_gap_se", "gap_se"]].isna().all()
        assert "a set is a single group" in row.remarks
        assert verdict(mean) == "of unknown error"

    def test_models_without_pairs_are_left_out_of_means(self):
        fine, odd = comparisons(2)
        far = replace(odd.replication, probability=np.zeros(500, np.float32))
        tables = estimated([fine, replace(odd, replication=far)], METHODS, range(2))
        model, mean = only(tables)
        assert (mean.n_models, mean.n_left_out) == (1, 1)
        assert mean.matched_gap == model.matched_gap
        assert mean.gap == model.gap  # and so is its gap
        page = write_summary("s", tables.means, TITLES)
        assert "For 1 of 2 models, no target was matched in any run; they are left out" in page
        assert " | 1 of 2 | 2 | " in page


class TestSummary:
    def test_what_it_states(self, found):
        page, mean = write_summary("s", found.means, TITLES), only(found)[1]
        sets = "`old` (n = 900) and `new` (n = 500), source `old`"
        assert f"{sets}: over 3 models, the gap is" in page
        assert f"The matched gap is {with_interval(mean, 'matched_gap')} points, " in page
        assert verdict(mean) == "beyond sampling error"
        assert f"{100 * mean.reference_narrowing:.0f} %" in narrowing(mean)
        assert f"a share of {share_of_confidence(mean)} goes with confidence" in page

        row = mean.copy()
        row["narrowing"], row["reference_narrowing"] = -0.36, np.nan
        assert narrowing(row) == "wider by 36 %, without a reference to compare that with"

    def test_nothing_matched_at_all(self):
        comparison = Comparison("m", PAIR, predictions([0.1] * 40), predictions([0.9] * 40))
        page = write_summary("s", estimated([comparison], METHODS, range(2)).means, TITLES)
        assert "no target was matched in any run of 1 model" in page
        assert "| undefined |" in page

    def test_the_digits_page_in_the_documentation(self):
        """docs/digits/summary.md is what its table gives."""
        means = pd.read_csv(ROOT / "docs" / "digits" / "gaps.csv").fillna({"remarks": ""})
        page = write_summary("Study `digits`", means, TITLES)
        assert (ROOT / "docs" / "digits" / "summary.md").read_text(encoding="utf-8") == page

    @pytest.mark.parametrize(
        ("low", "high", "said"),
        [
            (-0.01, 0.02, "within sampling error of 0"),
            (0.0, 0.02, "within sampling error of 0"),
            (0.01, 0.02, "beyond sampling error"),
            (-0.02, -0.01, "beyond sampling error"),
        ],
    )
    def test_verdicts(self, low, high, said):
        row = {"matched_gap": 0.01, "matched_gap_low": low, "matched_gap_high": high}
        assert verdict(pd.Series(row)) == said

    def test_gaps_keep_their_signs(self):
        """Opposite gaps average to little; a mean of absolute values would be biased upwards."""
        sets = simulate(600, 4, 1), simulate(600, 4, 2, accuracy=0.8)
        forth = Comparison("a", PAIR, *sets)
        method = {"probability": MatchingMethod(criterion=Criterion.PROBABILITY)}
        gap = estimated([forth], method, range(2)).means.gap[0]
        back = Comparison("a", PAIR, *sets[::-1])
        assert estimated([back], method, range(2)).means.gap[0] == pytest.approx(-gap)


class TestFigure:
    def figure(self, found, n=3):
        gaps, (_, mean) = found.models["probability"], only(found)
        accuracies = gaps[["model"]].assign(accuracy_original=[0.9, 0.7, 0.8][:n])
        figure = plot_gaps(accuracies, gaps, mean, "criterion 2")
        draw(figure)
        return figure

    def test_models_by_increasing_accuracy_and_their_mean(self, found):
        figure = self.figure(found)
        names = [label.get_text() for label in figure.axes[2].get_xticklabels()]
        assert names == ["m1", "m2", "m0", "mean"]
        table, mean = found.models["probability"].set_index("model"), only(found)[1]
        shown = ("gap", "matched_gap"), ("confidence_part", "conditional_part")
        for panel, columns in zip(figure.axes[:2], shown, strict=True):
            for bars, column in zip(panel.containers, columns, strict=True):
                expected = [*table.loc[["m1", "m2", "m0"], column], mean[column]]
                np.testing.assert_allclose(bars[0].get_ydata(), 100 * np.array(expected))
                ends = np.array([s[:, 1] for s in bars[2][0].get_segments()])
                bounds = [100 * mean[f"{column}_{end}"] for end in ("low", "high")]
                np.testing.assert_allclose(ends[3], bounds)
        joined, real, reference = figure.axes[2].lines[:3]
        assert real.get_ydata()[3] == pytest.approx(100 * mean.same_size_narrowing)
        assert reference.get_ydata()[3] == pytest.approx(100 * mean.reference_narrowing)
        assert joined.get_ydata()[9] == real.get_ydata()[3]
        assert verdict(mean) in texts_of(figure.axes[0].get_legend())[1]
        assert "of datapoints" in figure.get_supxlabel()

    def test_what_is_not_defined_is_left_out(self):
        one = [Comparison("m", PAIR, predictions([0.1] * 40), predictions([0.9] * 40))]
        self.figure(estimated(one, METHODS, range(2)), n=1)

        no_gap = Comparison("m", PAIR, *[predictions([0.1, 0.9] * 30)] * 2)
        two = [no_gap, replace(no_gap, model="n")]
        figure = self.figure(estimated(two, METHODS, range(2)), n=2)
        assert len(figure.axes) == 2  # no gap, and nothing that could be narrower

    def test_one_model_is_not_drawn_twice_as_its_own_mean(self):
        sets = simulate(900, 4, 1), simulate(600, 4, 2, accuracy=0.7)
        found = estimated([Comparison("only", PAIR, *sets)], METHODS, range(2))
        figure = self.figure(found, n=1)
        (row,) = found.models["probability"].to_dict("records")
        left, right = figure.axes
        names = "matched_gap", "conditional_part", "confidence_part", "gap"
        drawn = [bars[0].get_xdata()[0] for bars in left.containers]
        np.testing.assert_allclose(drawn, [100 * row[name] for name in names])
        ends = [100 * row["same_size_narrowing"], 100 * row["reference_narrowing"]]
        np.testing.assert_allclose(right.lines[0].get_xdata(), ends)
        assert "only" in figure.get_suptitle()

    def test_the_scripts(self, found, tmp_path):
        matched = [MatchedModel.of(one, METHODS["probability"], [0]) for one in comparisons()]
        files = {
            "table": (MODEL_TABLE, tabulate_runs([one.runs() for one in matched])),
            "gaps": (GAPS, found.models["probability"]),
            "means": (MEAN_GAPS, found.means),
        }
        for name, (schema, frame) in files.items():
            write_table(schema.from_frame(frame), tmp_path / f"{name}.parquet")
        paths = {name: tmp_path / f"{name}.parquet" for name in files}
        draw_gaps(**paths, matching="probability", title="t", outputs=[tmp_path / "gaps.png"])
        del paths["means"]
        draw_matched_accuracy(**paths, title="t", outputs=[tmp_path / "accuracy.png"])
        assert all((tmp_path / f"{name}.png").is_file() for name in ("gaps", "accuracy"))
