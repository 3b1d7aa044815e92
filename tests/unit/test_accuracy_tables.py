"""Tables of accuracy prediction: hand-worked cases, and intervals of differences of errors."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from matcheval.accuracy_prediction import errors, tables
from matcheval.accuracy_prediction.errors import ALL, error_columns
from matcheval.accuracy_prediction.predicting import PREDICTED
from matcheval.accuracy_prediction.scoring import SCORES
from matcheval.io.tables import write_table

METHODS = ("ac", "doe", "mmd", "frechet")
# Sets: name, group, subgroup, images, and the error of every method in points.
SETS = (
    ("fog-1", "Syn", "fog", 100, (1, 2, 3, 4)),
    ("fog-2", "Syn", "fog", 100, (3, 4, 5, 6)),
    ("snow-1", "Syn", "snow", 300, (4, 3, 2, 1)),
    ("real", "Nat", "", 50, (10, 30, 20, 40)),
)
LEFT_OUT, DIRECT = ("leave_one_out", "linear", ""), ("direct", "", "")


def predictions(sets=SETS, way=LEFT_OUT, models=("m", "n"), methods=METHODS):
    rows = [
        {
            "model": model, "suite": "s", "dataset": name, "group": group, "subgroup": subgroup,
            "method": method, "variant": "", "seed": 0, "view": "all", "n": n, "score": 0.5,
            "accuracy_base": 0.9, "accuracy": 0.8, "predicted": 0.8 + error / 100,
            "error": error / 100, "protocol": way[0], "regressor": way[1], "calibrated_on": way[2],
            "flagged": False,
        }
        for model in models
        for name, group, subgroup, n, errors in sets
        for method, error in zip(methods, errors, strict=True)
    ]  # fmt: skip
    return pd.DataFrame(rows).reindex(columns=PREDICTED.names)


def errors_of(predicted):
    return errors.tabulate_errors(predicted, resamples=20)


def cells(columns):
    return {column.head: list(column.cells) for column in columns}


def test_gaps_by_group_are_means_over_sets_then_over_models_without_ensembles():
    predicted = predictions(models=("m", "n", "ensemble"))
    gap = {"m": 0.10, "n": 0.20, "ensemble": 0.90}
    is_real = predicted["dataset"] == "real"
    predicted["accuracy"] = 0.9 - predicted["model"].map(gap) - 0.1 * is_real
    predicted.loc[predicted["dataset"] == "fog-1", "accuracy"] = np.nan  # not known
    table = errors.tabulate_group_gaps(predicted)
    assert table.set_index(["model", "group"]).loc[("m", "Syn"), "n_sets"] == 2
    assert cells(errors.gap_columns(table, ["ensemble"])) == {
        "Model": ["m", "n", "ensemble", "mean of models"],
        "Syn": ["10.00", "20.00", "90.00", "15.00"],
        "Nat": ["20.00", "30.00", "100.00", "25.00"],
        "All (points)": ["13.33", "23.33", "93.33", "18.33"],
    }


def test_rankings_are_correlations_over_the_methods_of_one_way():
    predicted = pd.concat([predictions(), predictions(way=DIRECT, methods=METHODS[::-1])])
    table = tables.tabulate_rankings(errors_of(predicted))
    found = table[table["protocol"] == "leave_one_out"].set_index(["subgroup_1", "subgroup_2"])
    # fog: 2, 3, 4, 5; snow: 4, 3, 2, 1; Syn: a third of their sum, 8/3, 9/3, 10/3, 11/3
    assert found.loc[("fog", "snow"), "spearman"] == pytest.approx(-1)
    nat = found[found["group_2"] == "Nat"]
    assert nat.loc[("fog", ALL), "spearman"] == pytest.approx(0.8)  # ranks 1, 3, 2, 4
    assert nat.loc[("fog", ALL), "kendall"] == pytest.approx(2 / 3)
    assert nat.loc[(ALL, ALL), "n_methods"] == 4
    assert set(found.index) == {("fog", "snow"), ("fog", ALL), ("snow", ALL), (ALL, ALL)}
    assert len(found) == 4  # no subgroup with its own group


def test_a_method_without_an_error_on_one_of_the_sets_is_not_ranked():
    predicted = predictions()
    lacks = (predicted["dataset"] == "fog-1") & (predicted["method"] == "doe")
    predicted.loc[lacks, ["predicted", "error"]] = np.nan
    table = tables.tabulate_rankings(errors_of(predicted)).set_index(["subgroup_1", "group_2"])
    assert table.loc[("fog", "Nat"), "n_methods"] == 3
    assert table.loc[("fog", "Nat"), "kendall"] == pytest.approx(1)  # 10, 20, 40


def test_counts_are_correlated_with_mean_errors_of_subgroups():
    more = (*SETS, ("rain-1", "Syn", "rain", 20, (9, 9, 9, 9)))
    predicted = predictions(more)
    table = tables.tabulate_counts(errors_of(predicted), predicted)
    found = table.set_index("group")
    # Syn: fog 200 images, 3.5; snow 300, 2.5; rain 20, 9. Nat: 50 images, 25.
    numbers = found[["n_subgroups", "n_images", "kendall"]].T.to_dict("list")
    assert numbers == {
        "Syn": [3, 520, pytest.approx(-1)],
        ALL: [4, 570, pytest.approx(-2 / 3)],  # of six pairs, one agrees
    }


def test_a_model_has_tables_of_its_own(tmp_path):
    scores = predictions().assign(base="b", reason="", n_base=9, severity=1.0)
    scores[["score", "accuracy"]] = np.random.default_rng(0).random((len(scores), 2))
    places = scores.drop_duplicates("dataset").set_index("dataset")
    nowhere = scores.assign(group="", subgroup="", severity=np.nan)[SCORES.names]
    write_table(SCORES.from_frame(nowhere), tmp_path / "scores.parquet")
    names = (
        "predicted", "errors", "correlations", "group_gaps", "rankings", "counts", "differences",
    )  # fmt: skip
    of_models = [tmp_path / "errors" / f"{model}.parquet" for model in "mn"]
    tables.write_predictions(
        scores=[tmp_path / "scores.parquet"], agreement=[], rotation=[], calibrations=[],
        leave_one_out=True, regressors=["linear"], clip=False, confidence=0.95,
        places=places[["group", "subgroup", "severity"]].to_dict("index"),
        settings={"base": "b"}, pool={"models": 1}, excluded_from_mean=["n"],
        errors_of_models=of_models, counts_of_models=[],
        **{name: [tmp_path / f"{name}.parquet"] for name in names},
    )  # fmt: skip
    predicted = PREDICTED.read(tmp_path / "predicted.parquet").to_pandas()
    found = predicted.drop_duplicates("dataset").set_index("dataset")
    names = ["group", "subgroup", "severity"]
    pd.testing.assert_frame_equal(found[names], places[names], check_dtype=False)
    whole = errors.ERRORS.read(tmp_path / "errors.parquet").to_pandas()
    expected = errors.tabulate_errors(predicted[predicted["model"] == "m"])  # n is in no mean
    pd.testing.assert_frame_equal(whole, expected)
    for model, file in zip("mn", of_models, strict=True):
        expected = errors.tabulate_errors(predicted[predicted["model"] == model])
        pd.testing.assert_frame_equal(errors.ERRORS.read(file).to_pandas(), expected)


def test_lowest_errors_are_marked_and_missing_ones_are_dashes():
    predicted = predictions()
    predicted.loc[predicted["method"] == "mmd", ["predicted", "error"]] = np.nan
    found = cells(error_columns(errors_of(predicted)))
    assert found["Syn: fog"] == ["2.00**", "3.00*", "–", "5.00", "3.33"]
    assert found["n/a"] == ["", "", "8", "", ""]


def test_a_mean_over_what_no_method_flags_stands_beside_the_published_mean():
    predicted = predictions()
    of = {name: predicted[name] for name in ("dataset", "model", "method")}
    wild = (of["dataset"] == "real") & (of["model"] == "m") & (of["method"] == "doe")
    other = (of["dataset"] == "snow-1") & (of["method"] == "mmd")
    predicted["flagged"] = wild | other
    table = errors_of(predicted)
    found = table[table["group"] == ALL].set_index("method")
    assert found["n_flagged"].to_dict() == {"ac": 0, "doe": 1, "mmd": 2, "frechet": 0}
    assert set(found["n_unflagged"]) == {8 - 1 - 2}  # of two models and four sets
    # ac: model m has 1 and 3 points, model n also 10; the published mean is over all four sets.
    assert found.loc["ac", "mae_unflagged"] == pytest.approx((0.02 + 0.14 / 3) / 2)
    assert found.loc["ac", "mae"] == pytest.approx(0.18 / 4)
    assert cells(error_columns(table))["Flagged by none (n)"][0] == "3.33 (5)"


# Eight subgroups of one set, in one group, and the errors of methods in points.
EIGHT = tuple((f"s{i}", "g", f"c{i}", 10, (1, 2 + i % 2, 9, 9 + i)) for i in range(8))


def test_differences_are_of_all_pairs_of_a_way_and_of_direct_methods():
    direct = predictions(EIGHT, DIRECT, methods=("base_accuracy", "ac", "doc_feat", "atc_mc"))
    both = pd.concat([predictions(EIGHT), direct], ignore_index=True)
    table = tables.tabulate_differences(both, 0.95)
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
    shown = cells(tables.DIFFERENCES.text_columns(table))
    assert len(shown["Compared"]) == 2 * (7 + 3)  # with the lowest only
    few = tables.tabulate_differences(predictions(EIGHT[:7]), 0.95)
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
        units = np.repeat(np.arange(n_units), 5)
        found = tables.simultaneous_intervals(np.repeat(errors, 5, axis=2), units, 0.95)
        pairs = found[np.triu_indices(5, 1)]
        held += bool(((pairs[:, 1] <= 0) & (pairs[:, 2] >= 0)).all())
        assert np.allclose(found[1, 0, 1:], -found[0, 1, :0:-1])
    assert held / 150 > 0.9


def test_rankings_on_two_suites_by_classifier():
    """Sun et al. (2024), A.2.3 and A.2.4: by classifier, and the mean over them."""
    other = (*EIGHT[:3], ("t", "g", "", 10, (9, 1, 2, 3)))
    second = predictions(other, models=("m", "n", "single")).assign(suite="t")
    second.loc[second["model"] == "n", "error"] *= -1
    first = predictions(EIGHT, LEFT_OUT, models=("m", "n", "single"))
    lacking = (second["model"] == "m") & (second["method"] == METHODS[3])
    second.loc[second.index[lacking][0], "error"] = np.nan
    table = tables.compare_suites(pd.concat([first, second]), ["single"])
    found = table.set_index("model")
    means = [np.mean([s[4] for s in sets], axis=0) for sets in (EIGHT, other)]
    tau = kendalltau(*means).statistic
    assert found.loc["single", "kendall"] == pytest.approx(tau)
    assert found.loc["n", "kendall"] == pytest.approx(-tau)
    assert found["n_methods"][["m", "n"]].tolist() == [3, 4]
    expected = (found.loc["m", "kendall"] - tau) / 2
    assert found.loc["mean", "kendall"] == pytest.approx(expected)
    assert tables.compare_suites(first, []).empty
