"""The user's image folders, arrays and Parquet files; unreadable images; label spaces."""

import io
import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from image_sets import cifar_images, dataset, encode, npz, prepare, tar, write_files
from matcheval.datasets.custom import Parquet
from matcheval.datasets.folders import read_dataset
from matcheval.datasets.kinds import DatasetSpec
from matcheval.datasets.label_spaces import CIFAR10, imagenet_classes
from matcheval.datasets.prepare import prepare_dataset
from matcheval.datasets.suites import write_classes
from matcheval.errors import InputError
from matcheval.settings import read_settings

IMAGES, LABELS = cifar_images(30)


@pytest.fixture
def make(monkeypatch, tmp_path):
    return partial(prepare, monkeypatch, tmp_path)


@pytest.fixture
def folder(make, tmp_path):
    """Prepare a folder of files as a set of kind `image_folder`."""

    def folder(files, n_threads=1, **options):
        path = write_files(tmp_path / "set", files)
        return make("image_folder", {"path": path, **options}, n_threads=n_threads)

    return folder


def class_folders(kind="PNG"):
    return {
        f"{CIFAR10[label]}/{i % 2}/{i:02d}.{kind.lower()}": encode(IMAGES[i], kind)
        for i, label in enumerate(LABELS)
    }


class TestImageFolder:
    @pytest.mark.parametrize("top", [None, "top/"], ids=["folder", "tar of one folder"])
    def test_images_are_the_same_as_from_torchvision(self, make, tmp_path, top):
        from torchvision.datasets import ImageFolder

        files = class_folders("JPEG")
        path = write_files(tmp_path / "set", files)
        if top is not None:
            path = str(tmp_path / "set.tgz")
            members = {f"{top}{k}": v for k, v in files.items()}
            (tmp_path / "set.tgz").write_bytes(tar(members, "w:gz"))
        made = make("image_folder", {"path": path})
        reference = ImageFolder(str(tmp_path / "set"))
        assert list(made.classes) == reference.classes
        assert made.labels.tolist() == reference.targets
        for i, (image, _) in enumerate(reference):
            assert np.array_equal(made.image(i), image)

    def test_numbers_as_names_need_an_order(self, folder):
        with pytest.raises(InputError, match="sort differently as text and as numbers"):
            folder({f"{i}/x.png": encode(IMAGES[i]) for i in range(12)})
        assert np.array_equal(folder({}, classes=list(range(12))).pixels, IMAGES[:12])

    def test_hidden_files_are_ignored(self, folder):
        files = {"a/x.png": encode(IMAGES[0]), "b/y.png": encode(IMAGES[1])}
        hidden = {"a/.DS_Store": b"", ".git/config": b"", "README.txt": b"", "b/._y.png": b""}
        assert len(folder(files | hidden)) == 2

    def test_links_in_a_circle_are_refused(self, folder, tmp_path):
        write_files(tmp_path / "set", {"a/x.png": encode(IMAGES[0]), "b/y.png": encode(IMAGES[1])})
        (tmp_path / "set/a/next").symlink_to(tmp_path / "set/b")
        (tmp_path / "set/b/back").symlink_to("../a")
        message = rf"set/a/next/back: is a link to {tmp_path}.*, which it lies in"
        with pytest.raises(InputError, match=message):
            folder({})
        spec = DatasetSpec("d", "image_folder", {"path": str(tmp_path / "set")})
        with pytest.raises(InputError, match=message):
            _ = spec.custom_files_state

    def test_unreadable_images_are_named_or_skipped(self, folder, tmp_path):
        files = class_folders() | {"bird/notes.txt": b"no image", "bird/empty.png": b""}
        name = min(files)
        files[name] = files[name][:-50]
        with pytest.raises(InputError) as caught:
            folder(files)
        assert "3 of 32 images cannot be decoded" in str(caught.value)
        for part in ("bird/notes.txt (it is not a JPEG", "bird/empty.png", "'unreadable: skip'"):
            assert part in str(caught.value)
        assert not list((tmp_path / "datasets" / "d").iterdir())
        made = folder({}, n_threads=2, unreadable="skip")
        assert len(made) == 29
        assert "bird/notes.txt" not in made.names
        assert (made.provenance["unreadable"], len(made.provenance["skipped"])) == (3, 3)

    def test_images_of_any_size_become_squares(self, folder):
        """As by Pillow, which antialiases."""
        wide = np.random.default_rng(0).integers(0, 256, (32, 128, 3), np.uint8)
        wide = encode(np.repeat(wide, 2, axis=0), "JPEG")
        files = {"a/wide.jpg": wide, "b/small.png": encode(IMAGES[0])}
        made = folder(files, n_threads=2, resize=32)
        decoded = Image.open(io.BytesIO(wide))
        assert np.array_equal(made.pixels[0], decoded.resize((32, 32), Image.Resampling.BICUBIC))
        assert np.array_equal(made.pixels[1], IMAGES[0])
        assert made.provenance["resized"] == "32 × 32, bicubic, antialiased"


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

    def test_rows_in_order_of_files_with_classes_in_their_metadata(self, make, tmp_path):
        paths = [
            self.table(tmp_path / f"{i}.parquet", nested=bool(i), names=list(CIFAR10))
            for i in (0, 1)
        ]
        made = make("parquet", {"files": paths})
        assert made.classes == CIFAR10
        assert np.array_equal(made.pixels, np.concatenate([IMAGES, IMAGES]))
        assert np.array_equal(made.labels, np.tile(LABELS, 2))

    def test_lossy_files_stay_files(self, make, tmp_path):
        path = self.table(tmp_path / "a.parquet", kind="JPEG")
        made = make("parquet", {"files": path, "classes": "cifar10"})
        assert made.stored == "files"
        assert bytes(made.images.encoded(3)) == encode(IMAGES[3], "JPEG")

    @pytest.mark.parametrize(
        ("names", "options", "message"),
        [
            (None, {"classes": ["a", "b", "c"]},
             r"row \d+ \(from 0\): \d is not one of 3 classes"),
            (["x", *CIFAR10[1:]], {"classes": "cifar10"}, "'airplane' missing; 'x' unknown"),
        ],
    )  # fmt: skip
    def test_what_does_not_fit_is_named(self, make, tmp_path, names, options, message):
        path = self.table(tmp_path / "a.parquet", names=names)
        with pytest.raises(InputError, match=message):
            make("parquet", {"files": path, **options})


class TestLabelMap:
    """Six images of each of three labels of a source; two of the labels become CIFAR-10's."""

    @pytest.fixture(params=["arrays", "parquet", "image_folder"])
    def mapped(self, request, make, tmp_path):
        labels, encoded = np.arange(18) % 3, [encode(image) for image in IMAGES[:18]]
        if request.param == "arrays":
            content = npz(images=IMAGES[:18], labels=labels)
            options = {"file": write_files(tmp_path, {"a.npz": content}) + "/a.npz"}
        elif request.param == "parquet":
            pq.write_table(pa.table({"image": encoded, "label": labels}), tmp_path / "a.parquet")
            options = {"files": str(tmp_path / "a.parquet")}
        else:
            files = {f"{labels[i]}/{i:02d}.png": encoded[i] for i in range(18)}
            options = {"path": write_files(tmp_path / "set", files)}
        options["classes"] = "cifar10"
        return lambda to, **more: make(request.param, {**options, "label_map": to, **more})

    def test_listed_labels_become_classes_and_the_others_are_counted(self, mapped, caplog):
        with caplog.at_level("INFO"):
            made = mapped({"0": "dog", "2": "horse"})
        rows = [int(name[-6:].strip("./png")) for name in made.names]
        assert sorted(rows) == [i for i in range(18) if i % 3 != 1]
        by_class = made.names[0].endswith(".png")  # in folders
        assert rows == sorted(rows, key=lambda i: (by_class * i % 3, i))
        assert made.classes == CIFAR10
        assert made.labels.tolist() == [5 if i % 3 == 0 else 7 for i in rows]
        assert np.array_equal(made.pixels, IMAGES[rows])
        assert made.provenance["unlisted"] == {"1": 6}
        assert "6 images of '1' are left out" in caplog.text
        assert len(mapped({"0": "dog", "2": "horse"}, per_class=2)) == 4

    def test_errors_before_files_are_read(self):
        given = {"kind": "parquet", "files": "nowhere", "label_map": {0: "dgo"}}
        with pytest.raises(InputError, match=r"'dgo' is not among .* mean 'dog'"):
            read_settings(Parquet, given | {"classes": "cifar10"})


def test_imagenet_classes_are_those_of_timm():
    from timm.data import ImageNetInfo

    assert list(imagenet_classes()) == ImageNetInfo().label_names()


def test_sets_that_differ_are_named_with_their_classes(tmp_path):
    classes = {"x": CIFAR10, "y": CIFAR10, "z": ("owl", *CIFAR10[:2], *CIFAR10[3:])}
    for name, known in classes.items():
        dataset(IMAGES[:1], name=name, classes=known, folder=tmp_path)
    x, y, z = (tmp_path / name / "dataset.json" for name in classes)
    write_classes(original=x, replication=y, classes=tmp_path / "classes.txt")
    assert (tmp_path / "classes.txt").read_text().split() == list(CIFAR10)
    with pytest.raises(InputError, match=r"z: 'classes': compared with 'x': .*'bird' missing"):
        write_classes(original=x, replication=z, classes=tmp_path / "none.txt")
    assert not (tmp_path / "none.txt").exists()


def test_changed_files_are_detected(tmp_path):
    write_files(tmp_path, {"set/a/x.png": b"1", "elsewhere/y.png": b"2"})
    (tmp_path / "set" / "b").symlink_to(tmp_path / "elsewhere")
    spec = DatasetSpec("d", "image_folder", {"path": str(tmp_path / "set")})
    states = {spec.custom_files_state}
    for change in ({"a/x.png": b"12"}, {"b/z.png": b"3"}):
        write_files(tmp_path / "set", change)
        states.add(spec.custom_files_state)
    assert len(states) == 3


def test_concurrent_builds_wait_for_each_other(tmp_path):
    options = {"path": write_files(tmp_path / "set", class_folders())}

    def build(_):
        return prepare_dataset("d", "image_folder", options, tmp_path / "d", tmp_path).sha256

    with ThreadPoolExecutor(4) as pool:
        digests = set(pool.map(build, range(4)))
    assert digests == {read_dataset(tmp_path / "d").sha256}
    files = sorted(path.name for path in (tmp_path / "d").iterdir())
    assert files == ["datapoints.parquet", "dataset.json", "images.npy"]
