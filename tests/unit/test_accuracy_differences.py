"""Paired differences of methods' errors, and rankings on two suites."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau
from test_accuracy_tables import DIRECT, LEFT_OUT, METHODS, cells, predictions

from matcheval.accuracy_prediction import differences
from matcheval.accuracy_prediction.differences import simultaneous

# Eight subgroups of one set, in one group, and the errors of methods in points.
SETS = tuple((f"s{i}", "g", f"c{i}", 10, (1, 2 + i % 2, 9, 9 + i)) for i in range(8))


def test_differences_are_of_all_pairs_of_a_way_and_of_direct_methods():
    direct = predictions(SETS, DIRECT, methods=("base_accuracy", "ac", "doc_feat", "atc_mc"))
    both = pd.concat([predictions(SETS), direct], ignore_index=True)
    table = differences.tabulate_differences(both, 0.95)
    differences.DIFFERENCES.from_frame(table)
    left = table[(table["protocol"] == "leave_one_out") & (table["group"] == "all")]
    assert len(left) == 8 * 7 / 2
    assert len(table[(table["protocol"] == "direct") & (table["group"] == "g")]) == 4 * 3 / 2
    found = left.set_index(["method_1", "method_2"])
    assert found.loc[("ac", "doe"), "difference"] == pytest.approx(0.015)
    assert found.loc[("ac", "ac (direct)"), "difference"] == pytest.approx(0.015)
    # A constant difference has no spread, and the interval of the other one leaves out 0.
    constant = found.loc[("ac", "mmd")]
    assert constant["difference_low"] == pytest.approx(constant["difference_high"])
    assert 0 < found.loc[("ac", "doe"), "difference_low"] < 0.015
    shown = cells(differences.DIFFERENCES.text_columns(table))
    assert len(shown["Compared"]) == 2 * (7 + 3)  # with the lowest only
    few = differences.tabulate_differences(predictions(SETS[:7]), 0.95)
    assert few["difference_low"].isna().all()
    assert few["difference"].notna().all()


@pytest.mark.parametrize("n_units", [8, 19])
def test_all_pairs_are_held_at_once(n_units):
    """Subgroups, models and their combinations differ; the truth is 0 for all ten pairs."""
    held = 0
    for draw in range(150):
        rng = np.random.default_rng([n_units, draw])
        of_units, of_models = rng.normal(size=(5, 1, n_units)), rng.normal(size=(5, 12, 1))
        errors = of_units + 0.5 * of_models + 0.5 * rng.normal(size=(5, 12, n_units))
        found = simultaneous(np.repeat(errors, 5, axis=2), np.repeat(np.arange(n_units), 5), 0.95)
        pairs = found[np.triu_indices(5, 1)]
        held += bool(((pairs[:, 1] <= 0) & (pairs[:, 2] >= 0)).all())
        assert np.allclose(found[1, 0, 1:], -found[0, 1, :0:-1])
    assert held / 150 > 0.9


def test_rankings_on_two_suites_by_classifier():
    """Sun et al. (2024), A.2.3 and A.2.4: by classifier, and the mean over them."""
    other = (*SETS[:3], ("t", "g", "", 10, (9, 1, 2, 3)))
    second = predictions(other, models=("m", "n", "single")).assign(suite="t")
    second.loc[second["model"] == "n", "error"] *= -1
    first = predictions(SETS, LEFT_OUT, models=("m", "n", "single"))
    lacking = (second["model"] == "m") & (second["method"] == METHODS[3])
    second.loc[second.index[lacking][0], "error"] = np.nan
    table = differences.tabulate_between(pd.concat([first, second]), ["single"])
    differences.BETWEEN.from_frame(table)
    found = table.set_index("model")
    means = [np.mean([s[4] for s in sets], axis=0) for sets in (SETS, other)]
    tau = kendalltau(*means).statistic
    assert found.loc["single", "kendall"] == pytest.approx(tau)
    assert found.loc["n", "kendall"] == pytest.approx(-tau)
    assert found["n_methods"][["m", "n"]].tolist() == [3, 4]
    expected = (found.loc["m", "kendall"] - tau) / 2
    assert found.loc["mean", "kendall"] == pytest.approx(expected)
    assert cells(differences.BETWEEN.text_columns(table))["Classifier"] == [
        "m",
        "n",
        "single",
        "mean",
    ]
    assert differences.tabulate_between(first, []).empty
