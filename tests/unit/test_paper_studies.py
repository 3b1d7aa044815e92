"""The study of CIFAR-10-Warehouse: its models, its sets, and what the paper printed of them."""

import make_warehouse
import pytest

from matcheval.accuracy_prediction.errors import CORRELATIONS, ERRORS
from matcheval.accuracy_prediction.tables import BETWEEN, COUNTS, RANKINGS
from studies import ROOT, digit_domains, load


@pytest.mark.parametrize("name", ["models", "sets"])
def test_the_warehouses_files_are_what_the_script_writes(name, tmp_path, monkeypatch):
    monkeypatch.setattr(make_warehouse, "__file__", str(tmp_path / "script.py"))
    make_warehouse.main()
    file = f"cifar10-warehouse-{name}.csv"
    assert (tmp_path / file).read_bytes() == (ROOT / "studies" / file).read_bytes()


OF_TABLES = {
    "errors": ERRORS, "errors_of_models": ERRORS, "correlations": CORRELATIONS,
    "rankings": RANKINGS, "counts": COUNTS, "counts_of_models": COUNTS, "between_suites": BETWEEN,
}  # fmt: skip


def test_printed_values_are_compared_with_columns_and_methods_that_there_are(monkeypatch):
    monkeypatch.chdir(ROOT)
    study = load(digit_domains("cifar10-warehouse"))
    settings = study.analyses["accuracy_prediction"].settings
    n_compared = 0
    for value in study.analyses["published_values"].values:
        analysis, *table = value.table.split("/")
        rows = dict(value.rows)
        if analysis == "accuracy_prediction":
            n_compared += 1
            assert {value.column or "method", *rows} <= {*OF_TABLES[table[0]].names}, value.place
            methods = rows.get("method", "entropy").split("|")
            assert {*methods} <= {*settings.methods}, value.place
    assert n_compared == 1238
