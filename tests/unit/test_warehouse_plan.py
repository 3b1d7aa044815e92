"""The query plan of a warehouse."""

from collections import Counter

import pytest

from matcheval.cli.main import main
from matcheval.errors import InputError
from matcheval.settings import read_settings
from matcheval.warehouse.sets import planned_sets, tabulate_plan
from matcheval.warehouse.settings import WarehouseSettings, read_warehouse

GROUP = {"style": "photo", "template": "{class}", "sources": {"site": ["red", "dark blue"]}}


def warehouse(**plan):
    block = {"warehouse": "w", "classes": ["cat", "dog"], "plan": plan}
    return read_settings(WarehouseSettings, block)


def test_the_default_plan_is_that_of_cifar10_warehouse():
    """Sun et al. (2024), Table 6: 95 + 48 + 37 sets of ten classes, and four training sets."""
    table = tabulate_plan(read_warehouse()).to_pylist()
    sizes = Counter(row["group"] for row in table)
    assert sizes == {
        "KW": 950, "KWC": 480, "DF.v": 120, "DF.c": 120, "DF.h": 130, "train-KW": 20, "train-DF": 20
    }  # fmt: skip
    sets = Counter(row["set"] for row in table)
    assert len(sets) == 184
    assert set(sets.values()) == {10}
    sources = {(row["group"], row["source"], row["set"]) for row in table}
    assert Counter(source for group, source, _ in sources if group == "KW") == {
        "google": 12, "bing": 12, "baidu": 12, "360": 12, "sogou": 12, "flickr": 15, "pexels": 20
    }  # fmt: skip
    texts = {row["text"] for row in table}
    assert {
        "airplane",
        "photo of cat in a cage",
        "high quality cartoon photo of brown frog",
    } <= texts
    assert not any("{" in text for text in texts)


def test_rows_of_a_small_plan():
    settings = warehouse(A=GROUP, B=GROUP | {"sources": {"x": 2, "y": None}, "style": "sketch"})
    assert [one.name for one in planned_sets(settings.plan).values()] == [
        "A-site-red", "A-site-dark-blue", "B-x-01", "B-x-02", "B-y",
    ]  # fmt: skip
    rows = tabulate_plan(settings).to_pylist()
    assert rows[3] == {
        "set": "A-site-dark-blue", "group": "A", "source": "site", "style": "photo",
        "colour": "dark blue", "template": "{class}", "class": "dog", "text": "dog",
    }  # fmt: skip
    assert rows[4]["colour"] is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"template": "{class} {color}"}, "'{color}' is not a placeholder. Did you mean 'colour'"),
        ({"template": "{colour} {class}", "sources": {"x": 3}}, "source 'x' has none"),
        ({"sources": {"x": ["red", "red"]}}, "'red' occurs twice"),
    ],
)
def test_invalid_plans_are_refused(changes, message):
    group = {key: value for key, value in (GROUP | changes).items() if value is not None}
    with pytest.raises(InputError) as error:
        warehouse(A=group)
    assert message in str(error.value)


def test_names_of_sets_are_distinct_and_valid():
    for changes, message in (
        ({"name": "{group}"}, "'plan.A.name': two sets are named 'A'"),
        ({"sources": {"a/b": None}}, "'A-a/b' cannot be the name of a set"),
    ):
        with pytest.raises(InputError, match=message):
            planned_sets(warehouse(A=GROUP | changes).plan)


def test_the_command_prints_and_writes(tmp_path, capfd):
    main(["warehouse", "plan"])
    printed = capfd.readouterr().out
    assert len(printed.splitlines()) == 1841
    main(["warehouse", "plan", "--file", str(tmp_path / "plan.csv")])
    assert (tmp_path / "plan.csv").read_text() == printed
    empty = tmp_path / "empty.yaml"
    empty.write_text("warehouse: w\nclasses: [a, b]\n")
    with pytest.raises(SystemExit):
        main(["warehouse", "plan", str(empty)])
    assert "has no query plan" in capfd.readouterr().err
