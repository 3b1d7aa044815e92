"""Tables of accuracy prediction: hand-worked cases, and the errors that papers print."""

import numpy as np
import pandas as pd
import pytest

from matcheval.accuracy_prediction import errors, tables
from matcheval.accuracy_prediction.errors import ALL
from matcheval.accuracy_prediction.predicting import PREDICTED
from matcheval.accuracy_prediction.scores import ALL_SCORES
from matcheval.accuracy_prediction.tables import (
    MEAN,
    P2_SUITES,
    Key,
    check_published,
    error_columns,
    published_errors,
)
from matcheval.analyses.published_values import read_published
from matcheval.io.tables import write_table
from studies import ROOT

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
    errors.GROUP_GAPS.from_frame(table)
    found = table.set_index(["model", "group"])
    assert found.loc[("m", "Syn"), "n_sets"] == 2
    assert found.loc[("m", "Nat"), "gap"] == pytest.approx(0.20)
    assert found.loc[("m", ALL), "gap"] == pytest.approx((0.1 + 0.1 + 0.2) / 3)
    assert cells(tables.gap_columns(table, ["ensemble"])) == {
        "Model": ["m", "n", "ensemble", "mean of models"],
        "Syn": ["10.00", "20.00", "90.00", "15.00"],
        "Nat": ["20.00", "30.00", "100.00", "25.00"],
        "All (points)": ["13.33", "23.33", "93.33", "18.33"],
    }


def test_rankings_are_correlations_over_the_methods_of_one_way():
    predicted = pd.concat([predictions(), predictions(way=DIRECT, methods=METHODS[::-1])])
    table = errors.tabulate_rankings(errors_of(predicted))
    errors.RANKINGS.from_frame(table)
    found = table[table["protocol"] == "leave_one_out"].set_index(["subgroup_1", "subgroup_2"])
    # fog: 2, 3, 4, 5; snow: 4, 3, 2, 1; Syn: a third of their sum, 8/3, 9/3, 10/3, 11/3
    assert found.loc[("fog", "snow"), "spearman"] == pytest.approx(-1)
    nat = found[found["group_2"] == "Nat"]
    assert nat.loc[("fog", ALL), "spearman"] == pytest.approx(0.8)  # ranks 1, 3, 2, 4
    assert nat.loc[("fog", ALL), "kendall"] == pytest.approx(2 / 3)
    assert nat.loc[(ALL, ALL), "n_methods"] == 4
    assert set(found.index) == {("fog", "snow"), ("fog", ALL), ("snow", ALL), (ALL, ALL)}
    assert len(found) == 4  # no subgroup with its own group
    assert cells(tables.ranking_columns(table))["Kendall τ-b"][0] == "−1.00"


def test_a_method_without_an_error_on_one_of_the_sets_is_not_ranked():
    predicted = predictions()
    lacks = (predicted["dataset"] == "fog-1") & (predicted["method"] == "doe")
    predicted.loc[lacks, ["predicted", "error"]] = np.nan
    table = errors.tabulate_rankings(errors_of(predicted)).set_index(["subgroup_1", "group_2"])
    assert table.loc[("fog", "Nat"), "n_methods"] == 3
    assert table.loc[("fog", "Nat"), "kendall"] == pytest.approx(1)  # 10, 20, 40


def test_counts_are_correlated_with_mean_errors_of_subgroups():
    more = (*SETS, ("rain-1", "Syn", "rain", 20, (9, 9, 9, 9)))
    predicted = predictions(more)
    table = errors.tabulate_counts(errors_of(predicted), predicted)
    errors.COUNTS.from_frame(table)
    found = table.set_index("group")
    # Syn: fog 200 images, 3.5; snow 300, 2.5; rain 20, 9. Nat: 50 images, 25.
    numbers = found[["n_subgroups", "n_images", "kendall"]].T.to_dict("list")
    assert numbers == {
        "Syn": [3, 520, pytest.approx(-1)],
        ALL: [4, 570, pytest.approx(-2 / 3)],  # of six pairs, one agrees
    }
    assert cells(tables.count_columns(table))["Images"] == ["520", "570"]


def test_one_model_has_a_table_of_counts_of_its_own(tmp_path):
    unused = {"base": "b", "reason": "", "n_base": 9, "n_fitted": 2, "n_groups": 0}
    predicted = predictions().assign(**unused)
    lower = (predicted["model"] == "n") & (predicted["subgroup"] == "snow")
    predicted.loc[lower, ["predicted", "error"]] = [0.81, 0.01]
    predicted.loc[lower & (predicted["method"] == "doe"), ["predicted", "error"]] = [1.1, 0.3]
    write_table(PREDICTED.from_frame(predicted), tmp_path / "predicted.parquet")
    for model, kendall in {"m": -1, "n": 1}.items():  # fog 200 images, 3.5; snow 300, 2.5 or 8.25
        outputs = {name: [tmp_path / f"{name}-{model}.parquet"] for name in ("errors", "counts")}
        tables.write_model_errors(
            scored=model, suite="s", predicted=tmp_path / "predicted.parquet", settings={},
            confidence=0.95, published="none", **outputs,
        )  # fmt: skip
        found = errors.COUNTS.read(outputs["counts"][0]).to_pandas().set_index("group")
        assert found.loc["Syn", "kendall"] == pytest.approx(kendall)


def test_lowest_errors_are_marked_and_missing_ones_are_dashes():
    predicted = predictions()
    predicted.loc[predicted["method"] == "mmd", ["predicted", "error"]] = np.nan
    found = cells(error_columns(errors_of(predicted)))
    assert found["Method"] == ["AC", "DoE", "MMD", "Frechet", "mean of methods"]
    assert found["Syn: fog"] == ["2.00**", "3.00*", "–", "5.00", "3.33"]
    assert found["Syn: snow"] == ["4.00", "3.00*", "–", "1.00**", "2.67"]
    assert found["n/a"] == ["", "", "8", "", ""]
    assert "Nat: no subgroup" not in found
    equal = (("a", "g", "", 10, (2, 2, 3, 4)),)
    found = cells(error_columns(errors_of(predictions(equal))))
    assert found["g"][:4] == ["2.00**", "2.00**", "3.00*", "4.00"]


def test_a_mean_over_what_no_method_flags_stands_beside_the_published_mean():
    predicted = predictions()
    of = {name: predicted[name] for name in ("dataset", "model", "method")}
    wild = (of["dataset"] == "real") & (of["model"] == "m") & (of["method"] == "doe")
    other = (of["dataset"] == "snow-1") & (of["method"] == "mmd")
    predicted["flagged"] = wild | other
    table = errors_of(predicted)
    errors.ERRORS.from_frame(table)
    found = table[table["group"] == ALL].set_index("method")
    assert found["n_flagged"].to_dict() == {"ac": 0, "doe": 1, "mmd": 2, "frechet": 0}
    assert set(found["n_unflagged"]) == {8 - 1 - 2}  # of two models and four sets
    # ac: model m has 1 and 3 points, model n also 10; the published mean is over all four sets.
    assert found.loc["ac", "mae_unflagged"] == pytest.approx((0.02 + 0.14 / 3) / 2)
    assert found.loc["ac", "mae"] == pytest.approx(0.18 / 4)
    shown = cells(error_columns(table))
    assert shown["Flagged by none (n)"][0] == "3.33 (5)"
    assert shown["Flagged"] == ["", "1", "2", "", ""]


def test_published_errors_stand_beside_the_column_they_belong_to():
    sets = tuple((name, name, "", 10, (1, 2)) for name in ("Syn2", "Natural"))
    calibrated = predictions(sets, ("calibrated", "linear", "Syn1"), methods=("doc", "mmd"))
    mlp = predictions(sets, ("calibrated", "mlp", "Syn1"), methods=("doc", "mmd"))
    direct = predictions(sets, DIRECT, methods=("ac", "base_accuracy"))
    table = errors_of(pd.concat([direct, calibrated, mlp]))
    found = cells(error_columns(table, published_errors("p1", "any"), "P1"))
    natural = ["8.70", "23.40 (8.70)", "", "5.00 (2.10)", "10.40 (3.70)", *[""] * 4]
    syn2 = ["7.50 (3.50)", "32.80 (6.30)", "", "3.90 (1.50)", "4.90 (1.78)", *[""] * 4]
    assert (found["Natural, P1"], found["Syn2, P1"]) == (natural, syn2)
    assert list(found)[2:6] == ["Syn2", "Syn2, P1", "Natural", "Natural, P1"]
    assert "All (points), P1" not in found
    left_out = errors_of(predictions((("s", "KW", "", 10, (1, 2)),), methods=("doc", "entropy")))
    found = cells(error_columns(left_out, published_errors("p2", "C10-W"), "P2"))
    assert found["KW, P2"] == ["4.17", "4.23", "4.43"]  # the last one: "Avg", of ten methods


def test_published_errors_are_those_of_the_papers():
    p1 = published_errors("p1", "any")
    assert len(p1) == 3 * 4 + 3 * 7 * 3
    assert p1[Key("calibrated", "Natural", "doc", "Adv", "all")] == (0.292, 0.049)
    assert np.isfinite([value.sd for value in p1.values()]).sum() == 74
    # The row "Avg" of a block is the mean of its ten methods; of ShuffleNetV2 two are not known.
    single = [f"{one}-published" for one in ("ResNet44", "RepVGG-A0", "VGG13", "ShuffleNetV2")]
    for paper, model in (("p2", ""), ("p2_40", ""), *(("p2", one) for one in single)):
        for suite in P2_SUITES:
            found = published_errors(paper, suite, model)
            assert {key.method for key in (*p1, *found)} <= {*ALL_SCORES, MEAN}
            by_place = {}
            for key, value in found.items():
                by_place.setdefault((key.group, key.subgroup), {})[key.method] = 100 * value.error
            assert len(by_place) == (1 if suite == "C10-Cs" else 18)
            for place, of in by_place.items():
                average, methods = of.pop(MEAN), list(of.values())
                # VGG13 on KW, Flic: printed 3.50, the ten rows give 3.514.
                odd = (model, place) == ("VGG13-published", ("KW", "Flic"))
                if model != single[-1]:
                    assert np.mean(methods) == pytest.approx(average, abs=0.0145 if odd else 0.0065)
    # The mean over all sets is that of the groups, weighted by their numbers of sets.
    errors = {key: value.error for key, value in published_errors("p2", "C10-W").items()}
    for method in {key.method for key in errors}:
        sizes = {"DF": 37, "KW": 95, "KWC": 48}
        of = {g: errors[Key("leave_one_out", "", method, g, "all")] for g in (*sizes, "all")}
        mean = sum(n * of[group] for group, n in sizes.items()) / 180
        assert of["all"] == pytest.approx(mean, abs=1e-4)
    assert published_errors("p2", "another") == published_errors("none", "C10-W") == {}
    check_published("p1", {"s": {"Natural", "mine"}}, "field")
    check_published("p2", {"C10-W": {"KW"}}, "field")


def test_the_text_of_p1_agrees_with_its_tables():
    """Table 1 averages to Base Acc of Table 2; section 5.1 prints errors of Table 2."""
    p1, place = published_errors("p1", "any"), {"Synthetic": "Syn2", "ImageNet-A": "Adv"}
    values = read_published(ROOT / "studies" / "guillory-published.csv", "doc-imagenet")
    printed = {(one.source, one.name, one.quantity): float(one.published[0]) for one in values}
    assert len(printed) == 3 * 13 + 15 + 8
    for name in ("Natural", *place):
        *gaps, mean = (v for key, v in printed.items() if key[2] == f"Gap on {name} (points)")
        base = p1[Key("direct", "", "base_accuracy", place.get(name, name), "all")]
        assert np.mean(gaps) == pytest.approx(100 * base.error, abs=0.3)
        assert mean == pytest.approx(100 * base.error, abs=0.51)
    for one in (one for one in values[3 * 13 :] if one.table):
        of = dict(one.rows)
        key = Key(of["protocol"], of.get("calibrated_on", ""), of["method"], of["group"], "all")
        assert float(one.published[0]) == pytest.approx(100 * p1[key].error, abs=0.51)
