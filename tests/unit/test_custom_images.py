"""The user's image folders, arrays and Parquet files; unreadable images; label spaces."""

import hashlib
import io
import json
import multiprocessing
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from image_sets import SHARED, cifar_images, encode, npy, npz, prepare, tar
from matcheval.datasets import prepare as preparing
from matcheval.datasets.custom import Parquet
from matcheval.datasets.dataset import make_dataset
from matcheval.datasets.folders import read_dataset, write_dataset
from matcheval.datasets.kinds import DatasetSpec
from matcheval.datasets.label_spaces import (
    CIFAR10,
    compare_classes,
    imagenet_classes,
    resolve_classes,
)
from matcheval.datasets.suites import write_classes
from matcheval.downloads.sources import published_files
from matcheval.errors import InputError
from matcheval.settings import read_settings

IMAGES, LABELS = cifar_images(30)


@pytest.fixture
def make(monkeypatch, tmp_path):
    def make(kind, options, files=None, **further):
        return prepare(monkeypatch, tmp_path, kind, options, files, **further)

    return make


def write(folder, files):
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return str(folder)


def class_folders(kind="PNG"):
    return {
        f"{CIFAR10[label]}/{i % 2}/{i:02d}.{kind.lower()}": encode(IMAGES[i], kind)
        for i, label in enumerate(LABELS)
    }


class TestImageFolder:
    @pytest.mark.parametrize("form", ["folder", "tar", "tar of one folder"])
    def test_images_are_the_same_as_from_torchvision(self, make, tmp_path, form):
        from torchvision.datasets import ImageFolder

        files = class_folders("JPEG")
        path = write(tmp_path / "set", files)
        if form != "folder":
            path = str(tmp_path / "set.tgz")
            top = "top/" if form == "tar of one folder" else ""
            (tmp_path / "set.tgz").write_bytes(
                tar({f"{top}{k}": v for k, v in files.items()}, "w:gz")
            )
        dataset = make("image_folder", {"path": path})
        reference = ImageFolder(str(tmp_path / "set"))
        assert list(dataset.classes) == reference.classes
        assert dataset.labels.tolist() == reference.targets
        for i, (image, _) in enumerate(reference):
            assert np.array_equal(dataset.image(i), image)

    def test_given_classes_and_their_order(self, make, tmp_path):
        path = write(tmp_path / "set", class_folders())
        order = list(reversed(CIFAR10))
        dataset = make("image_folder", {"path": path, "classes": [*order, "unicorn"]})
        assert dataset.classes == (*order, "unicorn")
        assert sorted(dataset.labels) == sorted(9 - LABELS)
        with pytest.raises(InputError, match="'truck' not among the classes"):
            make("image_folder", {"path": path, "classes": list(CIFAR10[:9])})

    def test_numbers_as_names_need_an_order(self, make, tmp_path):
        files = {f"{i}/x.png": encode(IMAGES[i]) for i in range(12)}
        path = write(tmp_path / "set", files)
        with pytest.raises(InputError, match="sort differently as text and as numbers"):
            make("image_folder", {"path": path})
        dataset = make("image_folder", {"path": path, "classes": list(range(12))})
        assert np.array_equal(dataset.pixels, IMAGES[:12])

    def test_hidden_files_are_ignored(self, make, tmp_path):
        files = {"a/x.png": encode(IMAGES[0]), "b/y.png": encode(IMAGES[1])}
        more = {"a/.DS_Store": b"", ".git/config": b"", "README.txt": b"", "b/._y.png": b""}
        assert len(make("image_folder", {"path": write(tmp_path / "set", files | more)})) == 2


class TestUnreadable:
    def files(self):
        files = class_folders()
        names = sorted(files)
        files[names[3]] = files[names[3]][:-50]
        files["bird/notes.txt"] = b"no image"
        files["bird/empty.png"] = b""
        return files

    def test_all_unreadable_images_are_named(self, make, tmp_path):
        path = write(tmp_path / "set", self.files())
        with pytest.raises(InputError) as caught:
            make("image_folder", {"path": path})
        assert "3 of 32 images cannot be decoded" in str(caught.value)
        for name in ("bird/notes.txt (it is no JPEG", "bird/empty.png", "'unreadable: skip'"):
            assert name in str(caught.value)
        assert not (tmp_path / "datasets" / "d" / "dataset.json").exists()
        assert not list((tmp_path / "datasets").glob("d/*.npy"))

    def test_unreadable_images_are_skipped_and_counted(self, make, tmp_path):
        path = write(tmp_path / "set", self.files())
        dataset = make("image_folder", {"path": path, "unreadable": "skip"}, n_threads=2)
        assert len(dataset) == 29
        assert "bird/notes.txt" not in dataset.names
        description = json.loads((tmp_path / "datasets" / "d" / "dataset.json").read_text())
        assert description["provenance"]["unreadable"] == 3
        assert len(description["provenance"]["skipped"]) == 3

    def test_a_long_list_is_abbreviated(self, make, tmp_path):
        files = {f"{c}/{i}.png": b"no" for c in "ab" for i in range(40)}
        with pytest.raises(InputError, match=r"80 of 80 images .* and 60 more\."):
            make("image_folder", {"path": write(tmp_path / "set", files)})
        options = {"path": str(tmp_path / "set"), "unreadable": "skip"}
        with pytest.raises(InputError, match="no images"):
            make("image_folder", options)


class TestArrays:
    @pytest.mark.parametrize("form", ["npz", "npy"])
    @pytest.mark.parametrize("grey", [True, False])
    def test_arrays_are_not_changed(self, make, tmp_path, form, grey):
        images = IMAGES[..., 0] if grey else IMAGES
        files = {"a.npz": npz(images=images, labels=LABELS), "i.npy": npy(images)}
        folder = write(tmp_path / "set", files | {"l.npy": npy(LABELS)})
        paths = {"images": f"{folder}/i.npy", "labels": f"{folder}/l.npy"}
        given = {"file": f"{folder}/a.npz"} if form == "npz" else paths
        dataset = make("arrays", {**given, "classes": "cifar10"})
        assert np.array_equal(dataset.pixels.squeeze(), images)
        assert np.array_equal(dataset.labels, LABELS)
        assert list(dataset.provenance["files"]) == [p.split("/")[-1] for p in given.values()]

    def test_errors_name_the_problem(self, make, tmp_path):
        folder = write(tmp_path / "s", {"a.npz": npz(images=IMAGES / 255, labels=LABELS),
                                        "b.npz": npz(x=IMAGES), "c.npz": b"no"})  # fmt: skip
        for file, problem in [("a", "dtype float64"), ("b", "has no array 'images'"),
                              ("c", "not a readable .npz")]:  # fmt: skip
            with pytest.raises(InputError, match=problem):
                make("arrays", {"file": f"{folder}/{file}.npz", "classes": "cifar10"})


class TestParquet:
    def table(self, path, *, nested=False, names=None, kind="PNG"):
        data = [encode(image, kind) for image in IMAGES]
        images = [{"bytes": d, "path": f"{i}.png"} for i, d in enumerate(data)] if nested else data
        table = pa.table({"image": images, "label": pa.array(LABELS, pa.int64())})
        if names:
            features = {"image": {"_type": "Image"}, "label": {"names": names, "_type": "C"}}
            text = json.dumps({"info": {"features": features}})
            table = table.replace_schema_metadata({"huggingface": text})
        pq.write_table(table, path, row_group_size=7)
        return str(path)

    @pytest.mark.parametrize("nested", [True, False])
    def test_rows_in_order(self, make, tmp_path, nested):
        path = self.table(tmp_path / "a.parquet", nested=nested)
        dataset = make("parquet", {"files": path, "classes": "cifar10"})
        assert np.array_equal(dataset.pixels, IMAGES)
        assert np.array_equal(dataset.labels, LABELS)

    def test_several_files_with_classes_in_their_metadata(self, make, tmp_path):
        paths = [
            self.table(tmp_path / f"{i}.parquet", nested=True, names=list(CIFAR10))
            for i in range(2)
        ]
        dataset = make("parquet", {"files": paths})
        assert dataset.classes == CIFAR10
        assert len(dataset) == 60

    def test_classes_must_be_known_and_equal(self, make, tmp_path):
        path = self.table(tmp_path / "a.parquet")
        with pytest.raises(InputError, match="do not contain the names of the classes"):
            make("parquet", {"files": path})
        with pytest.raises(InputError, match=r"row \d+ \(from 0\): \d is not one of 3 classes"):
            make("parquet", {"files": path, "classes": ["a", "b", "c"]})
        path = self.table(tmp_path / "a.parquet", names=["x", *CIFAR10[1:]])
        with pytest.raises(InputError, match="'airplane' missing; 'x' unknown"):
            make("parquet", {"files": path, "classes": "cifar10"})

    def test_lossy_files_stay_files(self, make, tmp_path):
        path = self.table(tmp_path / "a.parquet", kind="JPEG")
        dataset = make("parquet", {"files": path, "classes": "cifar10"})
        assert dataset.stored == "files"
        assert bytes(dataset.images.encoded(3)) == encode(IMAGES[3], "JPEG")

    def test_other_columns_are_named(self, make, tmp_path):
        path = self.table(tmp_path / "a.parquet")
        with pytest.raises(InputError, match=r"no column 'img'\. It has image, label"):
            make("parquet", {"files": path, "image_column": "img"})
        with pytest.raises(InputError, match="'label': is int64, not bytes"):
            make("parquet", {"files": path, "image_column": "label"})

    @pytest.mark.skipif(not SHARED.is_dir(), reason=f"no real images at {SHARED}")
    def test_the_real_test_set(self, make):
        """10,000 images, decoded twice (to check, to store): about 5 s."""
        options = {"files": str(SHARED / "test.parquet"), "classes": "cifar10"}
        dataset = make("parquet", options, n_threads=2)
        assert dataset.pixels.shape == (10_000, 32, 32, 3)
        assert hashlib.sha256(dataset.pixels.tobytes()).hexdigest() == (
            "f9b1e2130bab680db56eb06d886f7f1ad0f1183907ceff4659d1735c890f5b04"
        )
        assert np.bincount(dataset.labels).tolist() == [1000] * 10


class TestLabelMap:
    """Six images of each of three labels of a source; two of the labels become CIFAR-10's."""

    MAP = {"0": "dog", "2": "horse"}

    def options(self, folder, kind):
        labels = np.arange(18) % 3
        if kind == "arrays":
            path = write(folder, {"a.npz": npz(images=IMAGES[:18], labels=labels)})
            return {"file": f"{path}/a.npz"}
        if kind == "parquet":
            table = pa.table({"image": [encode(i) for i in IMAGES[:18]], "label": labels})
            pq.write_table(table, folder / "a.parquet")
            return {"files": str(folder / "a.parquet")}
        return {"path": write(folder / "set", {
            f"{labels[i]}/{i:02d}.png": encode(IMAGES[i]) for i in range(18)
        })}  # fmt: skip

    @pytest.mark.parametrize("kind", ["arrays", "parquet", "image_folder"])
    def test_listed_labels_become_classes_and_the_others_are_counted(
        self, make, tmp_path, kind, caplog
    ):
        options = {**self.options(tmp_path, kind), "classes": "cifar10", "label_map": self.MAP}
        with caplog.at_level("INFO"):
            dataset = make(kind, options)
        rows = [i for i in range(18) if i % 3 != 1]
        if kind == "image_folder":
            rows.sort(key=lambda i: i % 3)
        assert dataset.classes == CIFAR10
        assert dataset.labels.tolist() == [5 if i % 3 == 0 else 7 for i in rows]
        assert np.array_equal(dataset.pixels, IMAGES[rows])
        assert [int(name[-6:].strip("./png")) for name in dataset.names] == rows
        assert dataset.provenance["unlisted"] == {"1": 6}
        assert "6 images of '1' are left out" in caplog.text
        assert len(make(kind, {**options, "per_class": 2})) == 4

    @pytest.mark.parametrize("kind", ["arrays", "parquet", "image_folder"])
    def test_a_label_without_images_is_named(self, make, tmp_path, kind):
        options = {**self.options(tmp_path, kind), "classes": "cifar10"}
        message = "'label_map': no image has the label '7'. There are images of '0', '1', '2'"
        with pytest.raises(InputError, match=message):
            make(kind, {**options, "label_map": {0: "dog", 7: "cat"}})

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"classes": "cifar10", "label_map": {0: "dgo"}}, "'dgo' is not among .* mean 'dog'"),
            ({"label_map": {0: "dog"}}, "label_map needs classes"),
            ({"classes": "cifar10", "label_map": {}}, "'label_map': is empty"),
            ({"resize_filter": "box"}, "resize_filter has no effect without resize"),
            ({"resize": 0}, "'resize': 0 must be at least 1"),
        ],
    )
    def test_errors_before_files_are_read(self, options, message):
        with pytest.raises(InputError, match=message):
            read_settings(Parquet, {"kind": "parquet", "files": "nowhere", **options})

    def test_names_in_the_metadata_may_differ(self, make, tmp_path):
        path = TestParquet().table(tmp_path / "a.parquet", names=list("abcdefghij"))
        to = {int(LABELS[0]): "truck"}
        dataset = make("parquet", {"files": path, "classes": "cifar10", "label_map": to})
        assert set(dataset.labels) == {9}
        assert len(dataset) == (LABELS[0] == LABELS).sum()


class TestResize:
    @pytest.mark.parametrize("name", ["bicubic", "bilinear", "lanczos", "box"])
    def test_images_of_any_size_become_squares(self, make, tmp_path, name):
        """As by Pillow, which antialiases: an average over 4 × 4 pixels for `box`."""
        wide = np.random.default_rng(0).integers(0, 256, (32, 128, 3), np.uint8)
        wide = np.repeat(wide, 2, axis=0)
        files = {"a/wide.jpg": encode(wide, "JPEG"), "b/small.png": encode(IMAGES[0])}
        path = write(tmp_path / "set", files)
        options = {"path": path, "resize": 32, "resize_filter": name}
        dataset = make("image_folder", options, n_threads=2)
        decoded = Image.open(io.BytesIO(files["a/wide.jpg"]))
        expected = decoded.resize((32, 32), Image.Resampling[name.upper()])
        assert np.array_equal(dataset.pixels[0], expected)
        assert np.array_equal(dataset.pixels[1], IMAGES[0])
        assert dataset.provenance["resized"] == f"32 × 32, {name}, antialiased"
        if name == "box":
            blocks = np.asarray(decoded, float).reshape(32, 2, 32, 4, 3).mean(axis=(1, 3))
            assert np.abs(dataset.pixels[0] - blocks).max() <= 1


def test_memory_does_not_grow_with_the_number_of_images(make, tmp_path):
    big = encode(np.random.default_rng(0).integers(0, 256, (200, 200, 3), np.uint8), "JPEG")
    peaks = []
    for n in (10, 200, 800):  # the first measurement includes imports
        path = write(tmp_path / f"{n}", {f"{c}/{i}.jpg": big for c in "ab" for i in range(n // 2)})
        tracemalloc.start()
        assert len(make("image_folder", {"path": path})) == n
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] - peaks[1] < 0.3 * 600 * len(big)


def _prepare(folder, options, results):
    made = preparing.prepare_dataset("d", "image_folder", options, folder, folder)
    results.put(made.sha256)


def test_concurrent_processes_build_one_valid_dataset(tmp_path):
    path = write(tmp_path / "set", class_folders())
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    arguments = (tmp_path / "d", {"path": path}, results)
    processes = [context.Process(target=_prepare, args=arguments) for _ in range(3)]
    for process in processes:
        process.start()
    found = {results.get(timeout=600) for _ in processes}
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert found == {read_dataset(tmp_path / "d").sha256}
    assert sorted(p.name for p in (tmp_path / "d").iterdir()) == [
        "datapoints.parquet", "dataset.json", "images.npy",
    ]  # fmt: skip


class TestLabelSpaces:
    def test_imagenet_classes_are_those_of_timm(self):
        from timm.data import ImageNetInfo

        assert list(imagenet_classes()) == ImageNetInfo().label_names()

    def test_classes_are_resolved(self):
        assert CIFAR10[3] == "cat"
        assert resolve_classes("cifar10") == CIFAR10
        with pytest.raises(InputError, match="unknown label space 'cifar'"):
            resolve_classes("cifar")
        with pytest.raises(InputError, match="'a' given twice"):
            resolve_classes(["a", "b", "a"])

    def test_sets_that_differ_are_named_with_their_classes(self, tmp_path):
        classes = {"x": CIFAR10, "y": CIFAR10, "z": ("owl", *CIFAR10[:2], *CIFAR10[3:])}
        for name, known in classes.items():
            one = make_dataset(name, IMAGES[:1], [0], classes=known, max_value=255, source="")
            write_dataset(one, tmp_path / name)
        x, y, z = (tmp_path / name / "dataset.json" for name in classes)
        write_classes(original=x, replication=y, classes=tmp_path / "classes.txt")
        assert (tmp_path / "classes.txt").read_text().split() == list(CIFAR10)
        with pytest.raises(InputError, match=r"z: 'classes': compared with 'x': .*'bird' missing"):
            write_classes(original=x, replication=z, classes=tmp_path / "none.txt")
        assert not (tmp_path / "none.txt").exists()

    @given(st.permutations(CIFAR10), st.permutations(CIFAR10))
    def test_only_equal_orders_are_equal(self, a, b):
        assert (compare_classes(a, b) == "") == (a == b)


class TestSpecs:
    OPTIONS = [
        ("cifar10", {"part": "test"}), ("cifar10_1", {"version": "v4"}),
        ("cifar10_1", {"version": "v6"}), ("cifar10_2", {"part": "train"}),
        ("cifar10_2", {"part": "test"}), ("cifar10_c", {"corruption": "fog", "severity": 1}),
        ("cinic10", {"part": "test"}), ("imagenetv2", {"variant": "matched-frequency"}),
        ("imagenetv2", {"variant": "threshold-0.7"}), ("imagenetv2", {"variant": "top-images"}),
        ("corrupted", {"of": "d", "corruption": "frost", "severity": 1}),
    ]  # fmt: skip

    def test_every_published_file_belongs_to_a_kind(self):
        specs = [DatasetSpec("d", kind, options) for kind, options in self.OPTIONS]
        names = {name for spec in specs for name in spec.settings.published_files}
        assert names == set(published_files())

    def test_changed_files_are_detected(self, tmp_path):
        write(tmp_path / "set", {"a/x.png": b"1"})
        write(tmp_path / "elsewhere", {"y.png": b"2"})
        (tmp_path / "set" / "b").symlink_to(tmp_path / "elsewhere")
        spec = DatasetSpec("d", "image_folder", {"path": str(tmp_path / "set")})
        states = {spec.custom_files_state}
        for change in ({"a/x.png": b"12"}, {"b/z.png": b"3"}):
            write(tmp_path / "set", change)
            states.add(spec.custom_files_state)
        assert len(states) == 3

    def test_classes_that_are_known_in_advance(self):
        def known(kind, options):
            return DatasetSpec("d", kind, options).settings.known_classes

        assert known("cinic10", {"part": "test"}) == CIFAR10
        assert known("imagenetv2", {"variant": "top-images"}) == imagenet_classes()
        assert known("parquet", {"files": "x", "classes": "cifar10"}) == CIFAR10
        assert known("parquet", {"files": "x"}) is None


def test_a_full_disk_is_reported(make, tmp_path, monkeypatch):
    path = write(tmp_path / "set", class_folders("JPEG"))

    def full(file, shape):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("matcheval.datasets.folders.write_array_header", full)
    with pytest.raises(InputError, match=r"images\.npy: the disk is full: No space left on device"):
        make("image_folder", {"path": path})
    assert list((tmp_path / "datasets" / "d").iterdir()) == []
