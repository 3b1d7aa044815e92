"""Regressions of accuracies on scores, and the protocols of both papers."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matcheval.accuracy_prediction.errors import tabulate_correlations, tabulate_errors
from matcheval.accuracy_prediction.predicting import (
    FLAGGED,
    LAYERS,
    REGRESSORS,
    both_intervals,
    leave_one_out,
    line_intervals,
    linear,
    mlp,
    predict_accuracies,
    varies,
    without_placeholders,
)
from matcheval.accuracy_prediction.scoring import SCORES
from vectors import case

RNG = np.random.default_rng(0)
values = st.floats(-1, 1, allow_nan=False, width=32).map(lambda x: round(x, 3))


def vector(name, *keys):
    """Inputs and expected values of a case of the vectors."""
    one = case("regression", name)
    return [np.array(one["inputs"][key]) for key in keys], one["expected"]


def test_lines_are_those_of_the_vectors():
    (x, y), expected = vector("ols", *"xy")
    offset, at_one = linear(x, y, np.array([0.0, 1.0]))
    assert [offset, at_one - offset] == pytest.approx(
        [expected["intercept"], expected["slope"]], abs=case("regression", "ols")["tol"]
    )
    (x, y), expected = vector("loo_mae", *"xy")
    np.testing.assert_allclose(leave_one_out(x, y)[0], expected["pred"], atol=1e-9)


POINTS = st.lists(st.tuples(values, values), min_size=4, max_size=12)


@given(POINTS)
def test_leaving_out_by_leverage_equals_fitting_again_without_each_point(points):
    x, y = np.array(points, np.float64).T
    predicted = leave_one_out(x, y)[0]
    for i in range(len(x)):
        again = linear(np.delete(x, i), np.delete(y, i), x[i : i + 1])
        assert predicted[i] == pytest.approx(again[0], abs=1e-6)


def test_raw_scores_are_not_standardised():
    x, y = np.linspace(0, 1, 5), np.linspace(0.3, 0.8, 5)
    for name, is_same in (("mlp", True), ("mlp_raw", False)):
        once, scaled = (REGRESSORS[name](a * x, y, a * x, epochs=3) for a in (1, 10))
        assert (np.abs(once - scaled).max() < 1e-6) == is_same


@pytest.mark.slow
def test_the_perceptron_has_the_parameters_of_the_paper_and_learns_a_curve():
    sizes = [a * b + b for a, b in pairwise(LAYERS)]
    assert sum(sizes) == case("regression", "mlp_regressor.param_count")["expected"]
    x = np.linspace(0, 1, 12)
    found = mlp(x, x, x, epochs=300)
    np.testing.assert_array_equal(found, mlp(x, x, x, epochs=300))
    assert np.abs(found - x).mean() < 0.7 * np.abs(mlp(x, x, x, epochs=1) - x).mean()


def scores(method, rows, model="net", seed=0):
    """A table of scores: rows of set, group, score, accuracy."""
    common = {
        "model": model, "suite": "s", "base": "b", "subgroup": "", "severity": np.nan,
        "method": method, "variant": "", "seed": seed, "view": "all", "n": 100, "n_base": 100,
        "accuracy_base": 0.9,
    }  # fmt: skip
    return pd.DataFrame(
        [
            common | {
                "dataset": name, "group": group, "score": score, "accuracy": accuracy,
                "reason": "" if np.isfinite(score) else "needs features",
            }
            for name, group, score, accuracy in rows
        ]
    )[SCORES.names]  # fmt: skip


def calibrated(table, **options):
    return predict_accuracies(table, [(("g",), ())], loo=False, **options)


LINE = [("a", "g", 0.1, 0.8), ("b", "g", 0.2, 0.7), ("c", "g", 0.3, 0.6), ("d", "h", 0.5, 0.3)]


def test_a_regression_gets_the_seed_of_the_scores(monkeypatch):
    monkeypatch.setitem(REGRESSORS, "mlp", lambda x, y, new, *, seed: np.full(len(new), seed))
    found = calibrated(scores("entropy", LINE, seed=3), regressors=["mlp"])
    assert found["predicted"].tolist() == [3]


def test_a_score_that_is_an_accuracy_is_not_regressed_but_when_left_out():
    found = predict_accuracies(scores("ac", LINE), [(("g",), ())])
    assert found["protocol"].tolist() == ["direct"] * 4 + ["leave_one_out"] * 4
    assert found["predicted"].tolist()[:4] == [0.1, 0.2, 0.3, 0.5]


def test_a_placeholder_gives_way_to_the_score_of_another_job():
    both = pd.concat([scores("rotation", LINE[:1]), scores("rotation", [("a", "g", np.nan, 0.8)])])
    assert without_placeholders(both)["score"].tolist() == [0.1]


def interval(x, y, new, units=None):
    units = np.arange(len(x)) if units is None else units
    return np.clip(line_intervals(x, y, units, np.array([new])), 0, 1)[:, 0].tolist()


def test_regressions_have_intervals_over_sets_and_subgroups():
    """Of calibrations at new sets, of left-out sets from all others; of lines only."""
    x, y, new = RNG.normal(size=12), RNG.uniform(size=12), [0.1, np.nan]
    rows = [(f"s{i}", "g", x[i], y[i]) for i in range(12)]
    table = scores("entropy", [*rows, *((f"t{i}", "h", new[i], 0.5) for i in range(2))])
    table["subgroup"] = [*(f"u{i // 3}" for i in range(12)), "", ""]
    found = calibrated(table)
    assert found["sets_low"].tolist() == pytest.approx(
        [interval(x, y, 0.1)[0], np.nan], nan_ok=True
    )
    expected = interval(x, y, 0.1, np.arange(12) // 3)
    assert found.loc[0, ["groups_low", "groups_high"]].tolist() == pytest.approx(expected)
    assert found["n_groups"].tolist() == [4, 4]
    left = predict_accuracies(table[:12]).set_index("dataset")
    kept = np.arange(12) != 4
    expected = interval(x[kept], y[kept], x[4])
    assert left.loc["s4", ["sets_low", "sets_high"]].tolist() == pytest.approx(expected)
    gaps = calibrated(table.assign(method="doc"))  # of gaps from 0.9: the same line, from above
    bounds = [each.loc[0, ["sets_low", "sets_high"]].tolist() for each in (gaps, found)]
    assert bounds[0] == pytest.approx(bounds[1])
    assert predict_accuracies(table.assign(method="ac"), loo=False)["sets_low"].isna().all()


def test_no_row_is_dropped_where_there_is_no_score_or_too_few_sets():
    rows = [*LINE[:3], ("d", "h", np.nan, 0.3), ("e", "h", 0.2, np.nan)]
    both = [(("g",), ()), (("h",), ("g",))]
    found = predict_accuracies(scores("doc", rows), both)
    assert len(found) == 2 + 3 + 5
    by_protocol = dict(iter(found.groupby("protocol")))
    calibrated = by_protocol["calibrated"].set_index(["calibrated_on", "dataset"])["reason"]
    assert calibrated["g", "d"] == "needs features"
    assert calibrated["h", "a"] == "0 sets to fit on, fewer than 3"
    left = by_protocol["leave_one_out"].set_index("dataset")
    assert left.loc["a", "reason"] == "2 other sets to fit on, fewer than 3"
    assert left.loc["e", "reason"] == "the accuracy on the set is not known"
    assert found["predicted"].isna().sum() == 3 + 1 + 5


def test_constant_scores_are_flagged_in_the_table():
    rows = [(name, "g", 1.0 if name == "a" else 0.2, accuracy) for name, _, _, accuracy in LINE]
    found = predict_accuracies(scores("entropy", rows))
    assert found["reason"].tolist() == [FLAGGED, "", "", ""]
    assert found["predicted"][0] == pytest.approx((0.7 + 0.6 + 0.3) / 3)
    # Sums in another order differ in the last digits, which no line may be fitted through.
    assert not varies(np.array([0.2, np.nextafter(0.2, 1)]))
    assert varies(np.array([0.2, 0.2 + 1e-11]))


def test_impossible_and_extrapolated_predictions_are_flagged():
    rows = [*LINE[:3], ("d", "h", 0.25, 0.6), ("e", "h", 0.31, 0.6), ("f", "h", 2.0, 0.3)]
    beyond = scores("doc", [*rows, ("g", "h", -1.0, 0.9)])
    free, clipped = (calibrated(beyond, clip=clip) for clip in (False, True))
    assert free["predicted"].tolist() == pytest.approx([0.65, 0.59, -1.1, 1.9])
    assert clipped["predicted"].tolist() == pytest.approx([0.65, 0.59, 0, 1])
    np.testing.assert_allclose(clipped["error"], [0.05, 0.01, 0.3, 0.1])
    assert free["flagged"].tolist() == clipped["flagged"].tolist() == [False, True, True, True]
    # A line through other sets extrapolates to the lowest and the highest score only.
    left = predict_accuracies(scores("doc", rows))
    assert left["flagged"].tolist() == [True, False, False, False, False, True]
    twice = predict_accuracies(scores("doc", [*rows, ("g", "h", 2.0, 0.4)]))
    assert twice["flagged"].tolist() == [True, *[False] * 6]
    direct = predict_accuracies(scores("doc_feat", [("a", "g", 1.01, 0.9), *LINE[1:]]), loo=False)
    assert direct["flagged"].tolist() == [True, False, False, False]


def predicted(errors):
    """Direct predictions: for every model the errors on sets of group and subgroup."""
    tables = []
    for model, of_model in errors.items():
        rows = [(f"{g}{i}", g, 0.5 + e, 0.5) for i, (g, e) in enumerate(of_model)]
        tables.append(predict_accuracies(scores("ac", rows, model), loo=False))
    return pd.concat(tables, ignore_index=True)


def test_errors_are_averaged_over_sets_then_models():
    one = [("g", 0.1), ("g", -0.3), ("h", 0.2)]
    two = [("g", 0.2), ("g", np.nan), ("h", 0.0)]
    table = tabulate_errors(predicted({"one": one, "two": two}))
    of = table[table["subgroup"] == "all"].set_index("group")
    means = of.loc["g", ["mae", "bias", "n_sets", "n_models", "n_missing"]].tolist()
    assert means == pytest.approx([(0.2 + 0.2) / 2, (-0.1 + 0.2) / 2, 2, 2, 1])
    assert of.loc["h", "sd_models"] == pytest.approx(np.std([0.2, 0.0], ddof=1))
    assert of.loc["all", "sd_all"] == pytest.approx(np.std([0.1, 0.3, 0.2, 0.2, 0], ddof=1))


def test_intervals_are_those_of_a_literal_bootstrap():
    """Five severities of three corruptions are three observations, not fifteen."""
    errors = np.random.default_rng(3).normal(0, 0.1, (4, 15))
    table = predicted({f"m{i}": [("g", e) for e in row] for i, row in enumerate(errors)})
    table["subgroup"] = [f"c{i // 5}" for i in range(15)] * 4
    rng, size = np.random.default_rng(5), np.abs(errors)
    draws = {
        "sets": lambda: size[:, rng.integers(15, size=15)],
        "models": lambda: size[rng.integers(4, size=4)],
        "rows": lambda: rng.choice(size.ravel(), 60),
        "subgroups": lambda: size.reshape(4, 3, 5)[:, rng.integers(3, size=3)],
    }
    whole = tabulate_errors(table, resamples=4000).iloc[-1]
    for name, draw in draws.items():
        resampled = [draw().mean() for _ in range(4000)]
        bounds = whole[[f"mae_{name}_low", f"mae_{name}_high"]].tolist()
        assert bounds == pytest.approx(np.quantile(resampled, [0.025, 0.975]).tolist(), abs=0.003)


def test_correlations_are_those_of_the_vectors():
    both, expected = vector("correlations", *"uv")
    rows = [(f"s{i}", "g", a, b) for i, (a, b) in enumerate(zip(*both, strict=True))]
    found = tabulate_correlations(scores("ac", rows)).iloc[-1]
    tolerance = case("regression", "correlations")["tol"]
    for name, key in (("spearman",) * 2, ("pearson",) * 2, ("kendall", "kendall_tau_b")):
        assert found[name] == pytest.approx(expected[key], abs=tolerance)


# --- Jackknife+ intervals over sets, whose values at new scores are in the vectors


def near_a_line(n, seed, n_groups=5):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return x, 0.5 + 0.1 * x + rng.normal(0, 0.02, n), rng.permutation(np.arange(n) % n_groups)


@pytest.mark.parametrize("n", [9, 12, 20])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
def test_the_interval_of_each_set_is_that_from_all_others(n, level):
    x, y, group = near_a_line(n, n)
    for units in (np.arange(n), group):
        found = np.array(line_intervals(x, y, units, level=level))
        for j in range(n):
            kept = np.arange(n) != j
            expected = line_intervals(x[kept], y[kept], units[kept], x[[j]], level=level)
            np.testing.assert_allclose(found[:, [j]], expected, atol=1e-9)


def test_intervals_of_too_few_sets_are_unbounded_or_undefined():
    """At 90 %, nine sets are enough: the first and the ninth of them are the ends."""
    x, y, group = near_a_line(9, 0)
    assert np.isfinite(line_intervals(x, y, np.arange(9), np.zeros(1), level=0.9)).all()
    x, y, group = near_a_line(8, 0, n_groups=2)
    found = both_intervals(x, y, group, np.zeros(1))
    assert (found["sets_low"].item(), found["sets_high"].item()) == (0, 1)
    assert np.isnan(found["groups_low"]).all()  # of two groups
    nothing = both_intervals(np.ones(9), np.linspace(0, 1, 9), np.arange(9))
    assert np.isnan(nothing["sets_low"]).all()
