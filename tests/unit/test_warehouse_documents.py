"""Tables, figures and pages of a warehouse, and the worklist: what they show."""

import csv

import pyarrow.parquet as pq
import pytest

from collected import CLASSES, Collection, picture
from helpers import told_json
from matcheval.cli.main import main
from matcheval.errors import InputError
from matcheval.warehouse.documents import tabulate_prompts
from matcheval.warehouse.figures import write_worklist
from matcheval.warehouse.manifest import IMAGES_SCHEMA, Warehouse
from matcheval.warehouse.settings import read_warehouse


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
    assert sum(int(row["n"]) for row in built.found("origins")) == 12
    # Beside Table 1 of the paper.
    own, *published = built.found("overview")
    assert (own["suite"], own["n_sets"], own["n"], own["n_classes"]) == ("w", "2", "12", "3")
    assert (len(published), published[-1]["n"]) == (14, "608691")
    assert sum(int(row["n_sets"]) for row in published) == 425
    # The plan names colours and queries; prompts have placeholders.
    row = built.rows()["B-blue/dog/1.png"]
    assert (row["source"], row["colour_query"], row["query"]) == ("B", "blue", "blue dog")
    (prompt,) = built.found("prompts")
    assert (prompt["text"], prompt["n_sets"], prompt["n"]) == ("{colour} {class}", "2", "12")
    images = pq.read_table(built.folder / "out/images.parquet").to_pandas()
    assert tabulate_prompts(images.assign(query=None)).empty


class TestWorklist:
    def write(self, built, folder, reason=None, **options):
        warehouse = Warehouse(read_warehouse(built.file()))
        images = IMAGES_SCHEMA.read(built.folder / "out/images.parquet").to_pandas()
        images = images.assign(reason=reason or images["reason"])
        n = write_worklist(warehouse, images, folder, **options)
        with (folder / "worklist.csv").open() as stream:
            found = list(csv.DictReader(stream))
        assert len(found) == n
        return found

    def test_sheets_and_an_empty_file_of_decisions(self, built, tmp_path):
        found = self.write(built, tmp_path)
        assert len(found) == 12
        assert not any(row["decision"] or row["why"] for row in found)
        sheets = {row["sheet"] for row in found}
        assert sheets == {f"{s}/{c}-1.png" for s in ("A-red", "B-blue") for c in CLASSES}
        assert all((tmp_path / sheet).stat().st_size > 1000 for sheet in sheets)

    def test_texts_are_no_formulas(self, built, tmp_path):
        found = self.write(built, tmp_path, reason="=1+1")
        assert {row["why"] for row in found} == {"'=1+1"}
        given = built.settings.get("about")
        built.settings["about"] = built.table("about.csv", [{"set": "A-red", "style": "@photo"}])
        built.build("marked")
        built.settings["about"] = given
        manifest = (built.folder / "marked/suite-32.csv").read_text()
        assert ",'@photo," in manifest

    def test_building_and_listing_as_json(self, tmp_path, capfd):
        collection = Collection(tmp_path)
        places = [str(collection.file()), "--output", str(tmp_path / "out")]
        main(["warehouse", "build", *places, "--workers", "1", "--json"])
        told = told_json(capfd.readouterr().out)  # and nothing else is printed
        assert told["folder"] == str(tmp_path / "out")
        assert sorted(told["sets"]) == ["A-red", "B-blue"]
        assert len(told["exported"]) == 2
        main(["warehouse", "worklist", *places, "--to", str(tmp_path / "work"), "--json"])
        told = told_json(capfd.readouterr().out)
        assert told["images"] == 12
        assert told["written"] == [str(tmp_path / "work" / "worklist.csv")]

    def test_decisions_of_people_are_not_overwritten(self, built, tmp_path):
        (tmp_path / "worklist.csv").write_text("decisions")
        with pytest.raises(InputError, match="may hold decisions"):
            self.write(built, tmp_path)
        assert (tmp_path / "worklist.csv").read_text() == "decisions"
        with pytest.raises(InputError, match="no image is waiting"):
            self.write(built, tmp_path / "pending", pending_only=True)
