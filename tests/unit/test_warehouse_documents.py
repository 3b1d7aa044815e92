"""Tables and pages of a warehouse, the worklist, and the query plan."""

import csv
import re
from collections import Counter

import pytest

from collected import CLASSES, Collection, picture
from helpers import told_json
from matcheval.cli.main import main
from matcheval.errors import InputError
from matcheval.settings import read_settings
from matcheval.warehouse.documents import write_worklist
from matcheval.warehouse.manifest import IMAGES_SCHEMA, Warehouse
from matcheval.warehouse.sets import planned_sets, tabulate_plan
from matcheval.warehouse.settings import WarehouseSettings, read_warehouse


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Two sets, with a copy and a plan, once for all tests of this file."""
    collection = Collection(tmp_path_factory.mktemp("built"))
    collection.add(picture(0), "G/A-red/cat/copy.png")
    collection.settings["plan"] = {
        "G": {"style": "photo", "template": "{colour} {class}", "name": "{source}-{colour}",
              "sources": {"A": ["red"], "B": ["blue"]}}
    }  # fmt: skip
    collection.build()
    return collection


def test_tables(built):
    sets, classes = built.found("sets"), built.found("classes")
    assert [int(row["n_read"]) for row in sets] == [7, 6]
    for row in sets:
        parts = [int(row[k]) for k in ("n", "n_pending", "n_rejected", "n_duplicate")]
        assert sum(parts) == int(row["n_read"])
        of_set = [int(one["n"]) for one in classes if one["set"] == row["set"]]
        assert sum(of_set) == int(row["n"]) == 6
    own, *published = built.found("overview")  # beside Table 1 of the paper
    assert (own["suite"], own["n_sets"], own["n"], own["n_classes"]) == ("w", "2", "12", "3")
    assert sum(int(row["n_sets"]) for row in published) == 425
    # The plan names colours and queries; prompts have placeholders.
    row = built.rows()["B-blue/dog/1.png"]
    assert (row["source"], row["colour_query"], row["query"]) == ("B", "blue", "blue dog")
    (prompt,) = built.found("prompts")
    assert (prompt["text"], prompt["n_sets"], prompt["n"]) == ("{colour} {class}", "2", "12")


def worklist(built, folder, **options):
    """Write a worklist; return its rows."""
    warehouse = Warehouse(read_warehouse(built.file()))
    images = IMAGES_SCHEMA.read(built.folder / "out/images.parquet").to_pandas()
    n = write_worklist(warehouse, images, folder, **options)
    with (folder / "worklist.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == n
    return rows


def test_worklists_have_sheets_and_empty_decisions(built, tmp_path):
    rows = worklist(built, tmp_path)
    assert len(rows) == 12
    assert not any(row["decision"] or row["why"] for row in rows)
    sheets = {row["sheet"] for row in rows}
    assert sheets == {f"{s}/{c}-1.png" for s in ("A-red", "B-blue") for c in CLASSES}
    assert all((tmp_path / sheet).stat().st_size > 1000 for sheet in sheets)
    with pytest.raises(InputError, match="may hold decisions"):  # which are not overwritten
        worklist(built, tmp_path)
    with pytest.raises(InputError, match="no image is waiting"):
        worklist(built, tmp_path / "pending", pending_only=True)


def test_building_and_listing_as_json(tmp_path, capfd):
    collection = Collection(tmp_path)
    places = [str(collection.file()), "--output", str(tmp_path / "out")]
    main(["warehouse", "build", *places, "--workers", "1", "--json"])
    told = told_json(capfd.readouterr().out)  # and nothing else is printed
    assert sorted(told["sets"]) == ["A-red", "B-blue"]
    assert len(told["exported"]) == 2
    main(["warehouse", "worklist", *places, "--to", str(tmp_path / "work"), "--json"])
    told = told_json(capfd.readouterr().out)
    assert (told["images"], told["written"]) == (12, [str(tmp_path / "work" / "worklist.csv")])


# The query plan

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
    assert {"airplane", "photo of cat in a cage"} <= texts
    assert not any("{" in text for text in texts)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "{group}"}, "'plan.A.name': two sets are named 'A'"),
        ({"sources": {"a/b": None}}, "'A-a/b' cannot be the name of a set"),
        ({"template": "{class} {color}"}, "'{color}' is not a placeholder. Did you mean 'colour'"),
    ],
)
def test_invalid_plans_are_refused(changes, message):
    with pytest.raises(InputError, match=re.escape(message)):
        planned_sets(warehouse(A=GROUP | changes).plan)


def test_the_command_prints_and_writes(tmp_path, capfd):
    main(["warehouse", "plan"])
    printed = capfd.readouterr().out
    assert len(printed.splitlines()) == 1841
    main(["warehouse", "plan", "--file", str(tmp_path / "plan.csv")])
    assert (tmp_path / "plan.csv").read_text() == printed
