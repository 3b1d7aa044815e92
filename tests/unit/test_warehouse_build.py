"""A warehouse from images to sets: what becomes of each image, and what is repeated."""

import shutil

import numpy as np
import pytest
from PIL import Image

from collected import CLASSES, Collection, picture
from image_sets import encode
from matcheval.errors import InputError
from matcheval.warehouse.build import Build


@pytest.fixture
def collection(tmp_path):
    return Collection(tmp_path)


def contents(folder):
    """All files, without records of what they were made from."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not file.name.startswith(".")
    }


def error_of(collection):
    with pytest.raises(InputError) as error:
        collection.build()
    return str(error.value)


class TestStatuses:
    def test_every_file_is_counted(self, collection):
        frames, bomb = [picture(52), picture(53)], Image.new("1", (20_000, 20_000))
        jpeg = encode(picture(51), "JPEG")
        problems = {}
        for place, problem, image, options in (
            ("cat/bomb.png", "huge", bomb, {}),  # 400 million pixels in 50 kB
            ("cat/cut.jpg", "unreadable", jpeg[:-300], {}),
            ("cat/empty.png", "empty", b"", {}),
            ("cat/long.png", "huge", bytes(100_001), {}),
            ("cat/small.png", "too small", Image.new("RGB", (40, 31)), {}),
            ("dog/really-png.JPG", "misnamed", picture(51), {"format": "PNG"}),
            ("dog/film.GIF", "animated", frames[0], {"save_all": True, "append_images": frames}),
        ):
            problems[place] = problem
            collection.add(image, f"G/A-red/{place}", **options)
        problems["cat/gone.png"] = "unreadable"
        (collection.images / "G/A-red/cat/gone.png").symlink_to("nowhere.png")
        collection.settings["decoding"] |= {"max_bytes": 100_000}
        collection.build()
        steps, rows = collection.steps(), collection.rows()
        assert (steps["files"], steps["images"]) == (20, 14)
        for problem in ("empty", "unreadable", "huge", "too small"):
            assert steps[problem] == list(problems.values()).count(problem)
        assert (steps["wrongly named"], steps["animated, first frame taken"]) == (1, 1)
        assert [steps[s] for s in ("kept", "pending", "rejected", "duplicate")] == [14, 0, 6, 0]
        reasons = {place: rows[f"A-red/{place}"]["reason"] for place in problems}
        assert reasons == problems | {"dog/really-png.JPG": None, "dog/film.GIF": None}

    def test_copies_in_a_set_and_across(self, collection):
        one, large = picture(0), picture(0).resize((60, 60), Image.Resampling.BICUBIC)
        first_of_blue = picture(6)
        for place, image in (
            ("A-red/cat/5-again.bmp", one), ("A-red/cat/6-large.png", large),
            ("B-blue/cat/copy.png", one), ("A-red/dog/other.png", first_of_blue),
        ):  # fmt: skip
            collection.add(image, f"G/{place}")
        collection.build()
        rows, steps = collection.rows(), collection.steps()
        first = rows["A-red/cat/0.png"]
        for name in ("5-again.bmp", "6-large.png"):
            copy = rows[f"A-red/cat/{name}"]
            assert (copy["status"], copy["duplicate_of"]) == ("duplicate", first["image_id"])
        assert rows["B-blue/cat/copy.png"]["status"] == "kept"
        findings = ("exact copies in a set", "near copies in a set", "also in an earlier set")
        assert [steps[finding] for finding in findings] == [1, 1, 2]

        collection.settings["duplicates"] = {"distance": False, "across": "drop"}
        collection.build()
        rows = collection.rows()
        assert rows["A-red/cat/6-large.png"]["status"] == "kept"
        assert rows["B-blue/cat/copy.png"]["duplicate_of"] == first["image_id"]
        assert rows["B-blue/cat/0.png"]["status"] == "duplicate"

    def test_one_picture_under_two_classes_waits_for_a_person(self, collection):
        collection.add(picture(0), "G/A-red/ship/same.png")
        collection.build()
        rows = collection.rows()
        pair = [rows["A-red/cat/0.png"], rows["A-red/ship/same.png"]]
        assert [(row["status"], row["reason"]) for row in pair] == [("pending", "two classes")] * 2

    def test_leaks_are_reported_and_left_out_on_request(self, collection):
        arrays = np.stack([np.asarray(picture(seed)) for seed in (0, 900, 7)])
        np.save(collection.folder / "x.npy", arrays)
        np.save(collection.folder / "y.npy", np.zeros(3, int))
        collection.add(picture(900, 80), "G/A-red/ship/larger.png")
        collection.settings["against"] = {
            "base": {"kind": "arrays", "classes": list(CLASSES),
                     "images": str(collection.folder / "x.npy"),
                     "labels": str(collection.folder / "y.npy")}
        }  # fmt: skip
        collection.build()
        assert collection.steps()["also in base"] == 3
        assert collection.steps()["kept"] == 13
        collection.settings["duplicates"] = {"leaked": "drop"}
        collection.build()
        left_out = {k for k, row in collection.rows().items() if row["reason"] == "leakage"}
        assert left_out == {"A-red/cat/0.png", "A-red/ship/larger.png", "B-blue/cat/1.png"}


class TestReview:
    def test_decisions_and_noise_record(self, collection):
        collection.build()
        names = [row["image_id"] for row in collection.rows().values()]
        collection.decide(
            (names[0], "reject", "noise"), (names[1], "relabel", "wrong class", "dog"),
            (names[2], "keep"), (names[2], "keep", "", "", "bob"),
            (names[3], "keep"), (names[3], "reject", "unsafe", "", "bob"),
            (names[4], "keep"), (names[4], "reject", "other", "", "bob"),
            (names[4], "keep", "", "", "arbiter"),
        )  # fmt: skip
        collection.build()
        rows = list(collection.rows().values())
        statuses = " ".join(row["status"] for row in rows[:5])
        assert statuses == "rejected kept kept pending kept"
        assert (rows[1]["class_given"], rows[1]["class"]) == ("cat", "dog")
        noise = [(r["image_id"], r["class"], r["reason"]) for r in collection.found("noise")]
        assert noise == [(names[0], "", "noise"), (names[1], "dog", "wrong class")]
        assert np.bincount(collection.exported().labels).tolist() == [0, 2, 2]

    @pytest.mark.parametrize(
        ("decisions", "message"),
        [
            ([("A-red/0123456789abcdef", "keep")], "set 'A-red' has no image A-red/0123456789abcd"),
            ([("A-red/0", "reject")], "rejected without a reason"),
        ],
    )  # fmt: skip
    def test_invalid_decisions_are_refused(self, collection, decisions, message):
        collection.decide(*decisions)
        assert message in error_of(collection)
        assert not (collection.folder / "out/sets").exists()


class TestExport:
    def test_boxes_are_blurred_in_copies_only(self, collection):
        collection.build()
        row = collection.rows()["A-red/cat/0.png"]
        before = collection.exported().pixels[0]
        box = {"image_id": row["image_id"], "x0": 0, "y0": 0, "x1": 20, "y1": 40, "kind": "face"}
        collection.settings["boxes"] = collection.table("boxes.csv", [box])
        original = (collection.images / "G/A-red/cat/0.png").read_bytes()
        assert collection.build().exported == ["A-red"]
        after = collection.exported().pixels[0]
        change = np.abs(after.astype(int) - before).max(axis=(0, 2))
        assert change[:14].min() > 5
        assert change[20:].max() == 0  # two pixels of the resizing reach over the edge
        assert (collection.images / "G/A-red/cat/0.png").read_bytes() == original
        assert collection.rows()["A-red/cat/0.png"]["blurred"] == 1

    def test_licences(self, collection):
        known = {"source": "site", "style": "photo"}
        rows = [
            {"set": "A-red", **known, "colour": "red", "licence": "CC0"},
            {"set": "B-blue", **known, "colour": "", "licence": ""},
        ]
        collection.settings["about"] = collection.table("about.csv", rows)
        collection.build()
        notice = (collection.folder / "out/NOTICE.md").read_text()
        assert "| site | CC0 | 6 |" in notice
        assert "| site | unstated | 6 |" in notice
        collection.add(picture(99), "G/B-blue/cat/free.png")
        collection.settings["licences"] = {"export": ["CC0"], "fallback": "CC BY-NC 4.0"}
        assert "B-blue: no image is kept" in error_of(collection)


class TestRepeating:
    @pytest.mark.slow
    def test_a_second_build_gives_the_same_bytes(self, collection, monkeypatch):
        collection.build(figures=True)
        moved = collection.folder / "moved"
        shutil.copytree(collection.images, moved)
        before = contents(collection.folder / "out")
        monkeypatch.chdir(collection.folder)
        shutil.move("out", "old")
        collection.settings["images"] = str(moved)
        collection.build(figures=True)
        assert contents(collection.folder / "out") == before

    def test_only_what_changed_is_repeated_and_a_stopped_build_goes_on(
        self, collection, monkeypatch
    ):
        real = Build.export

        def stopping(self, name, *arguments):
            if name == "B-blue":
                raise KeyboardInterrupt
            real(self, name, *arguments)

        with monkeypatch.context() as patch:
            patch.setattr(Build, "export", stopping)
            with pytest.raises(KeyboardInterrupt):
                collection.build()
        assert collection.build().exported == ["B-blue"]
        assert collection.build().exported == []
        collection.add(picture(77), "G/A-red/cat/new.png")
        assert collection.build().exported == ["A-red"]


class TestInput:
    def test_bad_trees_are_refused_at_once(self, collection):
        collection.add(picture(1), "G/A-red/cow/1.png")
        collection.add(picture(1), "G/stray.png")
        collection.add(picture(1), "H/B-blue/cat/1.png")
        message = error_of(collection)
        for part in ("unknown class 'cow'", "lies in no class folder", "another set 'B-blue'"):
            assert part in message

    def test_lists_of_files(self, collection):
        collection.build()
        rows = [
            {"file": f"images/G/{name}", "set": name.split("/")[0], "class": name.split("/")[1],
             "group": "G", "licence": "CC0", "retrieved": "2024-05-01"}
            for name in collection.rows()
        ]  # fmt: skip
        del collection.settings["images"]
        collection.settings["files"] = collection.table("list.csv", rows)
        collection.build("listed")
        listed = collection.rows("listed").values()
        assert {(row["licence"], row["retrieved"]) for row in listed} == {("CC0", "2024-05-01")}
        pixels = [collection.exported(output=out).pixels for out in ("out", "listed")]
        assert np.array_equal(*pixels)
        collection.settings["files"] = collection.table("list.csv", [rows[0], rows[0]])
        assert "is listed twice" in error_of(collection)
