"""The study of CIFAR-10-Warehouse: its models, its sets, and what the paper printed of them."""

from itertools import product

import make_warehouse
import numpy as np
import pandas as pd
import pytest

from matcheval.accuracy_prediction import errors, tables
from matcheval.analyses.published_values import compare_published
from studies import ROOT, digit_domains, load

STUDIES = ROOT / "studies"


@pytest.mark.parametrize("name", ["models", "sets"])
def test_the_warehouses_files_are_what_the_script_writes(name, tmp_path, monkeypatch):
    monkeypatch.setattr(make_warehouse, "__file__", str(tmp_path / "script.py"))
    make_warehouse.main()
    file = f"cifar10-warehouse-{name}.csv"
    assert (tmp_path / file).read_bytes() == (STUDIES / file).read_bytes()


def predictions_by_chance(study):
    """Predictions for the single classifiers and two more, by all methods, on both suites."""
    settings, rng = study.analyses["accuracy_prediction"].settings, np.random.default_rng(0)
    rows = [
        {
            "suite": suite, "model": model, "method": method, "dataset": one.dataset,
            "group": one.group, "subgroup": one.subgroup, "n": number,
        }
        for suite in settings.suites
        for number, one in enumerate(study.suites[suite].members, start=300)
        for model, method in product((*settings.single, "a", "b"), settings.methods)
    ]  # fmt: skip
    way = {"protocol": "leave_one_out", "regressor": "linear", "calibrated_on": ""}
    table = pd.DataFrame(rows).assign(view="all", variant="", flagged=False, **way)
    table[["score", "accuracy", "predicted"]] = rng.random((len(table), 3))
    return table.assign(error=(table["predicted"] - table["accuracy"]).abs()), settings


def predicted_tables(study):
    """Tables of predictions by chance, and of the sizes of sets."""
    predicted, settings = predictions_by_chance(study)
    for suite, of_suite in predicted.groupby("suite", sort=False):
        counted = of_suite[~of_suite["model"].isin(settings.single)]
        found = errors.tabulate_errors(counted, resamples=2)
        yield f"errors/{suite}", found
        yield f"rankings/{suite}", tables.tabulate_rankings(found)
        yield f"counts/{suite}", tables.tabulate_counts(found, of_suite)
        yield f"correlations/{suite}", errors.tabulate_correlations(of_suite)
        for model in settings.figure_models:
            own = of_suite[of_suite["model"] == model]
            of_model = errors.tabulate_errors(own, resamples=2)
            yield f"errors_of_models/{suite}/{model}", of_model
            yield f"counts_of_models/{suite}/{model}", tables.tabulate_counts(of_model, own)
        sets = of_suite.drop_duplicates(["model", "dataset"]).rename(columns={"n": "n_set"})
        yield (
            f"../suite_accuracies/{suite}",
            sets[["model", "dataset", "group", "subgroup", "n_set"]],
        )
    yield "between_suites", tables.tabulate_between(predicted, settings.single)


def test_printed_values_of_the_warehouse_have_one_counterpart(tmp_path, monkeypatch):
    """By numbers drawn by chance: every row that is named is there, and only once."""
    monkeypatch.chdir(ROOT)
    study = load(digit_domains("cifar10-warehouse"))
    values = study.analyses["published_values"].values
    for table, found in predicted_tables(study):
        file = tmp_path / "accuracy_prediction" / f"{table}.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        found.to_parquet(file)
    table = compare_published(values, tmp_path)
    assert table["computed"].notna().sum() == (table["table"] != "").sum() == 28 + 1216
    counted = table.set_index(["name", "quantity"])["computed"]
    sets = 180 * np.array([1, 300]) + [0, 179 * 180 / 2]
    assert counted["C10-W"][["Sets", "Images"]].tolist() == sets.tolist()
    assert counted["C10-Cs", "Sets"] == 188
