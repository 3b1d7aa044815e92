"""Replication tables, fits and average changes: by hand, with ties, extremes and missing models."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

from drawings import draw
from helpers import accuracies
from matcheval.analyses import difficulty
from matcheval.analyses.difficulty import Difficulties, fitted_difficulty, skills
from matcheval.datasets.suites import Pair
from matcheval.errors import InputError
from matcheval.io.text_tables import outward
from matcheval.predictions.correctness import Correctness
from matcheval.replication import tables
from matcheval.replication.fits import GRID_POINTS, Extremes, ReplicationSettings, fit_replication
from matcheval.replication.tables import summarize_changes, tabulate_replication
from matcheval.statistics.intervals import clopper_pearson, count_significant
from matcheval.statistics.lines import (
    Scale,
    bootstrap_families,
    bootstrap_lines,
    from_scale,
    percentile_interval,
    to_scale,
)

PAIR = Pair("both", "old", "new")
SETTINGS = ReplicationSettings(resamples=200, seed=1)


def settings_with(**changes):
    return ReplicationSettings(**({"resamples": 200, "seed": 1} | changes))


def results(old, new, n_old=100, n_new=50, **options):
    return tabulate_replication(accuracies(old, n_old), accuracies(new, n_new), PAIR, **options)


MODELS = {"vgg": 90, "alex": 60, "res": 95, "dense": 90}
ON_NEW = {"res": 40, "vgg": 35, "dense": 40, "alex": 20}


class TestResults:
    def test_by_hand(self):
        table = results(MODELS, ON_NEW)
        tables.RESULTS.from_frame(table)
        assert table.model.tolist() == ["res", "dense", "vgg", "alex"]  # dense and vgg tie
        assert table.original_rank.tolist() == [1, 2, 3, 4]
        assert table.replication_rank.tolist() == [2, 1, 3, 4]  # dense and res tie
        assert table.delta_rank.tolist() == [-1, 1, 0, 0]
        assert table.gap.tolist() == pytest.approx([0.15, 0.1, 0.2, 0.2])
        interval = clopper_pearson(40, 50)
        assert table.accuracy_replication_low[0] == interval.low
        assert table.accuracy_replication_high[0] == interval.high
        assert set(table.n_original), set(table.n_replication) == ({100}, {50})

    def test_a_model_in_one_set_only_and_no_such_top(self):
        with pytest.raises(InputError, match="results on only one of the two sets: alex, extra"):
            results(MODELS, {k: v for k, v in ON_NEW.items() if k != "alex"} | {"extra": 1})
        with pytest.raises(InputError, match=r"'replication\.top': no top-5 accuracy of 4 models"):
            results(MODELS, ON_NEW, top=5)

    def test_average_changes_their_spread_and_range(self):
        """By hand: on another replication every accuracy is 0.1 higher; alex is the worst model."""
        better = {model: c + 5 for model, c in ON_NEW.items()}
        both = [results(MODELS, ON_NEW), results(MODELS, better).assign(replication="other")]
        changes = summarize_changes(
            both, range_without=["alex"], selection_frequencies={"other": 0.7}
        )
        assert list(changes) == tables.CHANGES.names
        assert changes.change.tolist() == pytest.approx([-0.1625, -0.0625])
        assert changes.accuracy_original.tolist() == pytest.approx([0.8375] * 2)
        assert changes.spread.tolist() == pytest.approx([0.1, 0.1])
        assert changes.range_original.tolist() == pytest.approx([0.05] * 2)  # 0.95 and 0.9
        assert changes.range_without.tolist() == ["alex"] * 2
        np.testing.assert_equal(changes.selection_frequency.tolist(), [np.nan, 0.7])

    def test_the_least_z_has_the_smallest_size_not_value(self):
        """On the second set a is much worse, b a little, and c better."""
        table = results({"a": 80, "b": 75, "c": 60}, {"a": 20, "b": 36, "c": 40})
        row = summarize_changes([table]).iloc[0]
        assert row.least_z == table.set_index("model").z["b"]
        assert row.n_significant == 2

    def test_paired_errors_by_hand(self):
        """Of 4 images a is right on 3 and 1, once on the replication only: d = 1, 1, 1, -1."""
        right = (
            np.array([[1, 1, 1, 0], [1, 1, 0, 0]], bool),
            np.array([[0, 0, 0, 1], [1, 1, 0, 0]], bool),
        )
        images = [Correctness(("a", "b"), np.arange(4), np.zeros(4, int), of) for of in right]
        table = results({"a": 3, "b": 2}, {"a": 1, "b": 2}, 4, 4, images=images)
        row = table.set_index("model").loc["a"]
        assert row.is_paired
        assert row.z == pytest.approx(0.5 / (1 / 2))  # standard deviation 1, over the root of 4
        assert np.isnan(table.set_index("model").z["b"])  # right on the same images
        other = Correctness(("a", "b"), np.arange(4), np.ones(4, int), right[1])
        with pytest.raises(InputError, match=r"both\.paired': sets of 4 and 4 datapoints differ"):
            results({"a": 3}, {"a": 1}, 4, 4, images=[images[0], other])

    def test_z_by_hand(self):
        """80 of 100 against 30 of 50: 0.2 over the root of 0.0016 + 0.0048."""
        row = results({"a": 80}, {"a": 30}).iloc[0]
        assert row.z == pytest.approx(0.2 / 0.08)
        assert np.isnan(results({"a": 0.8}, {"a": 0.6}, 100, 0).z[0])
        reach = -ndtri(0.025) * 0.08
        assert [row.gap_low, row.gap_high] == pytest.approx([0.2 - reach, 0.2 + reach])
        assert not row.is_paired
        assert np.isnan(results({"a": 50}, {"a": 50}, 50, 50).z[0])  # all right: no error
        assert count_significant([2.0, -2.3, 2.45, np.nan]) == 1  # three tests: 2.394; four: 2.498


class TestFits:
    def test_linear_in_percentage_points(self):
        table = results(MODELS, ON_NEW).sample(frac=1, random_state=3)  # in any order
        table["confidence"] = 0.5  # of all intervals
        row = fit_replication(table, Scale.LINEAR, SETTINGS).row
        x, y = ([100 * c / n for _, c in sorted(of.items())] for of, n in
                ((MODELS, 100), (ON_NEW, 50)))  # fmt: skip
        assert [row["slope"], row["offset"]] == pytest.approx(np.polyfit(x, y, 1).tolist())
        boot = bootstrap_lines(x, y, 200, 1)
        for name, values in (("slope", boot.slope), ("offset", boot.offset)):
            expected = percentile_interval(values, 0.5)
            assert (row[f"{name}_low"], row[f"{name}_high"]) == pytest.approx(expected)
        assert row["n_degenerate"] == boot.n_degenerate
        assert row["slopes_at_most_1"] == (boot.slope <= 1).mean()
        about = np.array(y) - np.polyval([row["slope"], row["offset"]], x)
        assert row["residual_sd"] == pytest.approx(np.sqrt((about**2).sum() / 2))
        assert row["n_families"] == 0
        assert np.isnan(row["family_slope_low"])

    def test_bootstrap_over_families_draws_whole_families(self):
        """Every resample is a fit of all models of the families drawn; here of two families."""
        table, families = results(MODELS, ON_NEW), dict(zip(MODELS, "1122", strict=True))
        row = fit_replication(table, Scale.LINEAR, SETTINGS, families).row
        x, y = (100 * table[f"accuracy_{o}"].to_numpy() for o in ("original", "replication"))
        one = (table["model"].map(families) == "1").to_numpy()
        slopes = [np.polyfit(x[of], y[of], 1)[0] for of in (one, ~one, one | True)]
        assert row["n_families"] == 2
        assert row["family_slope_low"] == pytest.approx(min(slopes))
        assert row["family_slope_high"] == pytest.approx(max(slopes))
        partly = families | {"vgg": ""}
        assert fit_replication(table, Scale.LINEAR, SETTINGS, partly).row["n_families"] == 0
        with pytest.raises(InputError, match="all models are of one family"):
            bootstrap_families(x, y, ["a"] * 4)

    @pytest.mark.parametrize(
        ("counts", "ends"), [((1, 50, 99), (0, 1)), ((20, 60, 80), (0.17, 0.83))]
    )
    def test_the_region_exceeds_the_models_by_a_twentieth_but_not_0_and_1(self, counts, ends):
        models = dict(zip("abc", counts, strict=True))
        table = results(models, models, n_new=100)
        region = fit_replication(table, Scale.LINEAR, SETTINGS).region
        assert region.accuracy_original.iloc[[0, -1]].tolist() == pytest.approx(ends)
        assert len(tables.REGION.from_frame(region)) == GRID_POINTS
        assert (region.low <= region.fit + 1e-12).all()
        assert (region.fit <= region.high + 1e-12).all()

    def test_models_left_out(self):
        both, slopes = results(MODELS | {"worst": 20}, ON_NEW | {"worst": 30}), []
        for table, settings in (
            (results(MODELS, ON_NEW), SETTINGS),
            (both, settings_with(fit_range=(0.5, 1.0))),
            (both, settings_with(fit_without=("worst",))),
        ):
            row = fit_replication(table, Scale.LINEAR, settings).row
            assert (row["n_models"], row["extreme"]) == (4, "")
            assert row["left_out"] == ("worst" if table is both else "")
            slopes.append(row["slope"])
        assert len(set(slopes)) == 1


class TestExtremes:
    """Accuracies of 0 or 1 on the probit scale are left out or clipped, and the models named."""

    table = results(MODELS | {"best": 100}, ON_NEW | {"best": 50})

    def test_left_out_but_on_the_linear_scale(self):
        row = fit_replication(self.table, Scale.LINEAR, SETTINGS).row
        assert (row["n_models"], row["extreme"]) == (5, "")
        row = fit_replication(self.table, Scale.PROBIT, SETTINGS).row
        assert (row["n_models"], row["extreme"]) == (4, "best")
        without = fit_replication(results(MODELS, ON_NEW), Scale.PROBIT, SETTINGS).row
        assert row["slope"] == without["slope"]

    def test_clipped(self):
        settings = settings_with(extremes=Extremes.CLIP)
        # An accuracy on the other set, here 90 %, stays as it is.
        table = results(MODELS | {"best": 100, "poor": 30}, ON_NEW | {"best": 45, "poor": 0})
        row = fit_replication(table, Scale.PROBIT, settings).row
        assert (row["n_models"], row["extreme"], row["extremes"]) == (6, "best poor", "clip")
        frame = table.set_index("model")
        x, y = (frame[f"accuracy_{o}"].copy() for o in ("original", "replication"))
        x["best"], y["poor"] = 100.5 / 101, 0.5 / 51
        expected = np.polyfit(ndtri(x), ndtri(y), 1)
        assert (row["slope"], row["offset"]) == pytest.approx(tuple(expected))


def test_intervals_are_rounded_outward():
    assert outward(1.639, 1.756, 2) == ("1.63", "1.76")
    assert outward(1.63, 1.76, 2) == ("1.63", "1.76")
    assert outward(-0.001, 0.0, 2) == ("−0.01", "0.00")


def test_the_random_part_of_a_gap_and_the_remainder():
    """By hand: 90 of 100 against 40 of 50, whose interval is [66.28, 89.97] %."""
    row = results({"a": 90}, {"a": 40}).iloc[0]
    assert row.random_gap_low == pytest.approx(0.6628 - 0.8, abs=1e-4)
    assert row.random_gap_high == pytest.approx(0.8997 - 0.8, abs=1e-4)
    assert row.rest_gap_low == pytest.approx(0.1 - (0.8997 - 0.8), abs=1e-4)
    assert row.rest_gap_high == pytest.approx(0.1 + (0.8 - 0.6628), abs=1e-4)
    unknown = results({"a": 0.9}, {"a": 0.8}, 100, 0)
    assert np.isnan(unknown.rest_gap_low.iloc[0])


# The Gaussian model of difficulty: closed forms, simulation, and recovery by fits

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(180)


def probit_line(original, replication):
    """Slope and offset as published (section 5.3)."""
    slope = original.spread / replication.spread
    return slope, (original.mu - replication.mu) / replication.spread


sets = st.builds(Difficulties, st.floats(-2, 2), st.floats(0, 3))


@given(sets, st.lists(st.floats(-4, 4), min_size=1, max_size=5))
def test_the_accuracy_is_the_mean_over_difficulties(of_set, skill):
    """Against Gauss-Hermite quadrature of Φ(s - τ) over N(μ, σ²)."""
    tau = of_set.mu + of_set.sigma * NODES
    mean = (ndtr(np.array(skill)[:, None] - tau) * WEIGHTS).sum(axis=1) / WEIGHTS.sum()
    np.testing.assert_allclose(difficulty.expected_accuracy(skill, of_set), mean, atol=1e-8)


@given(sets, sets, st.lists(st.floats(0.02, 0.98), min_size=3, max_size=6, unique=True))
def test_probit_accuracies_lie_on_the_line_and_keep_their_order(original, replication, accuracy):
    skill = skills(accuracy, original)
    np.testing.assert_allclose(difficulty.expected_accuracy(skill, original), accuracy, atol=1e-10)
    new = difficulty.expected_accuracy(skill, replication)
    slope, offset = probit_line(original, replication)
    # Compared as accuracies: on the probit scale, rounding near 1 would be magnified.
    line = slope * to_scale(accuracy, Scale.PROBIT) + offset
    np.testing.assert_allclose(new, from_scale(line, Scale.PROBIT), atol=1e-10)
    assert (np.diff(new[np.argsort(accuracy)]) >= 0).all()
    again = fitted_difficulty(slope, offset, original)
    assert (again.mu, again.sigma) == pytest.approx(
        (replication.mu, replication.sigma), rel=1e-4, abs=1e-4
    )


def test_lines_that_no_difficulty_explains():
    refused = (1.6, r"slope of 1.6 with σ = 1 .* above 1.25"), (-1, "slope of -1")
    for slope, message in refused:
        with pytest.raises(InputError, match=message):
            fitted_difficulty(slope, -0.5, Difficulties(0, 1))
    found = fitted_difficulty(1.6, -0.5, Difficulties(0, 1.25))
    assert found.sigma == pytest.approx(0.0312, abs=1e-3)


def test_a_pair_is_modelled_and_drawn():
    old = {f"m{i:02}": 1000 + 60 * i for i in range(15)}
    new = {model: int(0.9 * n) - 60 for model, n in old.items()} | {"perfect": 1990}
    table = results(old | {"perfect": 2000}, new, 2000, 2000)
    fit = pd.Series(fit_replication(table, Scale.PROBIT, SETTINGS).row)
    row, skill_table = difficulty.fit_difficulty(table, fit, sigma=1.5, seed=2)
    assert row["n_models"] == 15  # without the perfect model, whose skill is infinite
    assert (row["mu_original"], row["sigma_original"]) == (0, 1.5)
    line = probit_line(
        Difficulties(0, 1.5), Difficulties(row["mu_replication"], row["sigma_replication"])
    )
    assert line == pytest.approx((fit["slope"], fit["offset"]))
    assert row["rms_error"] < 0.02
    np.testing.assert_allclose(
        skill_table.simulated_replication, skill_table.expected_replication, atol=0.05
    )
    draw(difficulty.plot_difficulty(table, skill_table, pd.Series(row)))
