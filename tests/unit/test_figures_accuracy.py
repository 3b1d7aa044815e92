"""What the figures of accuracy prediction show, against the tables they are drawn from."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from test_accuracy_tables import LEFT_OUT

from drawings import draw, lines_of
from matcheval.accuracy_prediction import errors, predicting
from matcheval.accuracy_prediction.errors import tabulate_errors
from matcheval.accuracy_prediction.figures import KINDS
from matcheval.accuracy_prediction.plots import Results
from matcheval.accuracy_prediction.scoring import SCORES

CALIBRATED = ("calibrated", "linear", "Syn")
METHODS = ("base_accuracy", "ac", "doc", "mmd", "entropy")
GROUPS = {"Syn": 6, "Natural": 4, "Adv": 1}


def laid_out(kind, results, **options):
    """The figure, checked to be within its edges."""
    figure = KINDS[kind](results, **options)
    draw(figure)
    return figure


def scores(models=("m0", "m1", "both"), groups=GROUPS, methods=METHODS, views=("all",)):
    rng = np.random.default_rng(0)
    sets = [(group, i) for group, n in groups.items() for i in range(n)]
    rows = [
        {
            "dataset": f"{group}-{i}", "group": group, "subgroup": f"{group}-kind-{i % 2}",
            "n": 100 + i, "model": model, "suite": "s", "base": "b", "severity": 1.0,
            "variant": "", "seed": 0, "n_base": 50, "accuracy_base": 0.9, "accuracy": accuracy,
            "reason": "", "method": method, "view": view,
            "score": accuracy + rng.normal(0, 0.05),
        }
        for model in models
        for group, i in sets
        for accuracy in [rng.uniform(0.3, 0.9)]
        for view in views
        for method in methods
    ]  # fmt: skip
    return pd.DataFrame(rows)[SCORES.names]


def results(**options):
    every = scores(**options)
    found = predicting.predict_accuracies(every, [(("Syn",), ())])
    table = tabulate_errors(found[found["model"] != "both"], resamples=20)
    return Results(found, table, errors.tabulate_correlations(every), ("both",))


RESULTS = results()
VIEWS = results(views=("all", "n=20", "n=50", "without ape", "without ape+bee"), methods=("ac",))


def points(axes):
    """Points by label: x and y."""
    return {label: np.column_stack(line.get_data()) for label, line in lines_of(axes).items()}


def rows_of(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("errors", {"procedure": CALIBRATED}), ("models", {}), ("correlations", {"model": "m0"}),
        ("scores", {"model": "both"}),
        *((kind, {"procedure": ("calibrated", "linear", "Adv")})  # which predicts nothing
          for kind in ("errors", "predictions", "errors_by_accuracy")),
    ],
)  # fmt: skip
def test_figures_are_within_their_edges(kind, options):
    laid_out(kind, RESULTS, **options)


@pytest.mark.parametrize(
    ("kind", "procedure", "columns"),
    [
        ("scores", (), ["score", "accuracy"]),
        ("predictions", CALIBRATED, ["predicted_gap", "gap"]),
        ("errors_by_accuracy", LEFT_OUT, ["accuracy", "error"]),
    ],
)
def test_points_are_those_of_the_table(kind, procedure, columns):
    figure = laid_out(kind, RESULTS, **({"procedure": procedure} if procedure else {}))
    shown = {axes.get_title(): axes for axes in figure.axes}["DoC"]
    protocol = (procedure or LEFT_OUT)[0]
    rows = RESULTS.predicted.query(f"method == 'doc' and protocol == '{protocol}'")
    rows = rows[rows["model"] != "both"]
    rows = rows.assign(gap=0.9 - rows["accuracy"], predicted_gap=0.9 - rows["predicted"])
    values = rows[columns] * [1 if column == "score" else 100 for column in columns]
    for group, found in points(shown).items():
        np.testing.assert_allclose(found, values[rows["group"] == group])


def test_two_methods_are_compared_on_the_sets_that_both_predict():
    predicted = RESULTS.predicted.copy()
    lacking = (predicted["method"] == "doc") & predicted["dataset"].str.startswith("Natural-1")
    predicted.loc[lacking, ["predicted", "error"]] = np.nan
    results = replace(RESULTS, predicted=predicted)
    options = {"first": "ac", "second": "doc", "by": "model", "procedure": CALIBRATED}
    (axes,) = laid_out("two_methods", results, **options).axes
    rows = predicted.query("group != 'Syn' and dataset != 'Natural-1'")
    for title, method, protocol in (("AC", "ac", "direct"), ("DoC", "doc", "calibrated")):
        own = rows[(rows["method"] == method) & (rows["protocol"] == protocol)]
        means = 100 * own.groupby("model", sort=False)["error"].mean()
        assert rows_of(axes) == list(means.index)
        np.testing.assert_allclose(points(axes)[title][:, 0], means)


def test_rankings_have_spearmans_above_the_diagonal_and_kendalls_below():
    axes = laid_out("rankings", RESULTS, procedure=LEFT_OUT).axes[0]
    values, names = np.asarray(axes.images[0].get_array().filled(np.nan)), rows_of(axes)
    mae = RESULTS.errors.query("protocol == 'leave_one_out' and subgroup == 'all'")
    wide = mae.pivot_table(index="method", columns="group", values="mae")[["Syn", "Natural"]]
    i, j = sorted(map(names.index, wide))
    rho, tau = (wide.corr(method).iloc[0, 1] for method in ("spearman", "kendall"))
    assert (values[i, j], values[j, i]) == (pytest.approx(rho), pytest.approx(tau))


def test_sizes_and_missing_classes_compare_the_same_sets():
    """One set has no part, and the largest errors: to count it on one side only would tell."""
    last = VIEWS.predicted["dataset"].iloc[-1]
    predicted = VIEWS.predicted.query("dataset != @last or view in ('all', 'n=20')")
    predicted = predicted.assign(error=predicted["error"].where(predicted["dataset"] != last, 9))
    lacking = replace(VIEWS, predicted=predicted)
    rows = predicted.query("model != 'both' and protocol == 'leave_one_out' and dataset != @last")
    means = 100 * rows.groupby("view")["error"].mean()
    (line,) = points(laid_out("sizes", lacking).axes[0]).values()
    np.testing.assert_allclose(line[:, 1], means[["n=20", "n=50", "all"]])
    change = means[["without ape", "without ape+bee"]] - means["all"]
    shown = laid_out("missing_classes", lacking).axes[0].images[0].get_array()
    np.testing.assert_allclose(shown, [change])
