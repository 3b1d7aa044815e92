"""CIFAR-10 and its successors, ImageNet and ImageNetV2, from files in their published formats."""

import io
import os
import pickle

import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat

from image_sets import cifar10_tar, cifar_images, encode, npy, npz, prepare, tar
from matcheval.datasets.folders import read_dataset
from matcheval.datasets.label_spaces import CIFAR10, imagenet_classes
from matcheval.errors import InputError

IMAGES, LABELS = cifar_images(40)
WNIDS = imagenet_classes()


@pytest.fixture
def make(monkeypatch, tmp_path):
    def make(kind, options, files=None, **further):
        return prepare(monkeypatch, tmp_path, kind, options, files, **further)

    return make


class TestCifar10:
    FILE = "cifar-10-python.tar.gz"

    def test_test_set(self, make, tmp_path):
        dataset = make("cifar10", {"part": "test"}, {self.FILE: cifar10_tar(IMAGES, LABELS)})
        assert np.array_equal(dataset.pixels, IMAGES)
        assert np.array_equal(dataset.labels, LABELS)
        assert dataset.classes == CIFAR10
        assert dataset.names[:2] == ("test_batch/0000/image_0.png", "test_batch/0001/image_1.png")
        assert read_dataset(tmp_path / "datasets" / "d").sha256 == dataset.sha256

    def test_training_set_has_the_batches_in_order(self, make):
        dataset = make("cifar10", {"part": "train"}, {self.FILE: cifar10_tar(IMAGES, LABELS)})
        rows = np.concatenate([np.arange(40)[i::5] for i in range(5)])
        assert np.array_equal(dataset.pixels, IMAGES[rows])
        assert np.array_equal(dataset.labels, LABELS[rows])

    def test_other_classes_are_named(self, make):
        wrong = ("airplane", "automobile", "cat", "bird", *CIFAR10[4:])
        files = {self.FILE: cifar10_tar(IMAGES, LABELS, wrong)}
        with pytest.raises(InputError, match="classes in another order: 2 is 'cat', not 'bird'"):
            make("cifar10", {"part": "test"}, files)

    def test_a_damaged_download_is_detected(self, make, tmp_path):
        files = {self.FILE: cifar10_tar(IMAGES, LABELS)}
        make("cifar10", {"part": "test"}, files)
        (tmp_path / "downloads" / self.FILE).write_bytes(files[self.FILE][:-1] + b"x")
        with pytest.raises(InputError, match=r"cifar-10-python.tar.gz: has sha256 .*, not "):
            make("cifar10", {"part": "test"})

    def test_pickles_cannot_run_code(self, make, tmp_path):
        class Evil:
            def __reduce__(self):
                return os.mkdir, (str(tmp_path / "owned"),)

        evil = pickle.dumps({b"data": Evil(), b"labels": [], b"filenames": []}, 2)
        meta = pickle.dumps({b"label_names": list(CIFAR10)}, 2)
        files = {self.FILE: tar({"c/test_batch": evil, "c/batches.meta": meta}, "w:gz")}
        with pytest.raises(InputError, match=r"test_batch: not a pickle .*(posix|nt)\.mkdir"):
            make("cifar10", {"part": "test"}, files)
        assert not (tmp_path / "owned").exists()


def test_cifar10_1(make):
    files = {
        "cifar10.1_v6_data.npy": npy(IMAGES),
        "cifar10.1_v6_labels.npy": npy(LABELS.astype(np.int32)),
    }
    dataset = make("cifar10_1", {"version": "v6"}, files)
    assert np.array_equal(dataset.pixels, IMAGES)
    assert np.array_equal(dataset.labels, LABELS)
    with pytest.raises(InputError, match="'version': 'v5' is none of v4, v6"):
        make("cifar10_1", {"version": "v5"})
    with pytest.raises(InputError, match=r"unknown file 'cifar10.1_v4_data.npy'|no such file"):
        make("cifar10_1", {"version": "v4"})


@pytest.mark.parametrize("named", [np.array(CIFAR10), np.array(CIFAR10, object)])
def test_cifar10_2(make, named):
    files = {"cifar102_test.npz": npz(images=IMAGES, labels=LABELS, label_names=named)}
    dataset = make("cifar10_2", {"part": "test"}, files)
    assert np.array_equal(dataset.pixels, IMAGES)
    assert len(set(dataset.names)) == 40


def test_cifar10_2_with_classes_in_another_order(make):
    named = np.array(sorted(CIFAR10, reverse=True))
    files = {"cifar102_test.npz": npz(images=IMAGES, labels=LABELS, label_names=named)}
    with pytest.raises(InputError, match="0 is 'truck', not 'airplane'"):
        make("cifar10_2", {"part": "test"}, files)


def test_cifar10_c(make):
    """Severities are fifths of the array, each in the order of the labels."""
    levels = [np.clip(IMAGES.astype(int) + 10 * s, 0, 255).astype(np.uint8) for s in range(5)]
    files = {
        "CIFAR-10-C.tar": tar(
            {
                "CIFAR-10-C/fog.npy": npy(np.concatenate(levels)),
                "CIFAR-10-C/labels.npy": npy(np.tile(LABELS, 5)),
            }
        )
    }
    dataset = make("cifar10_c", {"corruption": "fog", "severity": 4}, files)
    assert np.array_equal(dataset.pixels, levels[3])
    assert np.array_equal(dataset.labels, LABELS)
    joined = make("cifar10_c", {"corruption": "fog", "severity": "all"})
    assert np.array_equal(joined.pixels, np.concatenate(levels))
    with pytest.raises(InputError, match=r"has no 'snow.npy'"):
        make("cifar10_c", {"corruption": "snow", "severity": 1})


class TestCinic10:
    def files(self, classes=CIFAR10, images=IMAGES):
        # In another order than that of the dataset.
        order = np.random.default_rng(0).permutation(len(images))
        files = {"./README.md": b"text", "./train/airplane/x.png": encode(IMAGES[0])}
        for i in order:
            files[f"./test/{classes[LABELS[i]]}/n{i:04d}.png"] = encode(images[i])
        return {"CINIC-10.tar.gz": tar(files, "w:gz")}

    def test_pixels_in_order_of_class_and_name(self, make):
        dataset = make("cinic10", {"part": "test"}, self.files(), n_threads=2)
        rows = np.lexsort((np.arange(40), LABELS))
        assert dataset.stored == "array"
        assert np.array_equal(dataset.pixels, IMAGES[rows])
        assert np.array_equal(dataset.labels, LABELS[rows])
        assert dataset.names[0] == f"test/airplane/n{rows[0]:04d}.png"

    def test_unknown_folders_are_named(self, make):
        classes = ("aeroplane", *CIFAR10[1:])
        message = "'aeroplane' not among the classes; no folder for 'airplane'"
        with pytest.raises(InputError, match=message):
            make("cinic10", {"part": "test"}, self.files(classes))


def tiny_jpeg(value, height=12, width=16):
    image = np.full((height, width, 3), value % 200, np.uint8)
    return encode(image, "JPEG")


def v2_files(numbers=range(1000), top="imagenetv2-matched-frequency-format-val"):
    return {f"{top}/{i}/image.jpeg": tiny_jpeg(i) for i in numbers}


class TestImageNetV2:
    NAME = "imagenetv2-matched-frequency.tar.gz"
    OPTIONS = {"variant": "matched-frequency"}

    @pytest.mark.parametrize("mode", ["w", "w:gz"], ids=["uncompressed despite its name", "gzip"])
    def test_folders_are_sorted_as_numbers(self, make, mode):
        """Sorted as text, "10" comes before "2": all except ten classes would be wrong."""
        dataset = make("imagenetv2", self.OPTIONS, {self.NAME: tar(v2_files(), mode)})
        assert dataset.stored == "files"
        assert np.array_equal(dataset.labels, np.arange(1000))
        assert [name.split("/")[1] for name in dataset.names] == [str(i) for i in range(1000)]
        for i in (2, 10, 100, 199):
            found = np.asarray(dataset.image(i)).astype(int)
            assert abs(found - i).max() <= 1
        assert dataset.classes == WNIDS

    def test_a_missing_and_an_unknown_class_are_named(self, make):
        files = {self.NAME: tar(v2_files([*range(1, 1000), 1000]))}
        with pytest.raises(InputError, match="'1000' not among the classes; no folder for '0'"):
            make("imagenetv2", self.OPTIONS, files)


class TestImageNet:
    """1,000 images, one of each class, numbered in another order than the classes."""

    ORDER = np.random.default_rng(1).permutation(1000)  # class of image 1, 2, ...

    def folders(self):
        return {
            f"val/{WNIDS[label]}/ILSVRC2012_val_{i:08d}.JPEG": tiny_jpeg(int(label))
            for i, label in enumerate(self.ORDER, start=1)
        }

    def flat(self):
        return {path.split("/")[-1]: data for path, data in self.folders().items()}

    def devkit(self, wnids=WNIDS):
        """Class numbers as in the kit: leaves in an order other than wnids', then inner nodes."""
        own = np.random.default_rng(2).permutation(1000)  # label of class number 1, 2, ...
        kinds = [("ILSVRC2012_ID", "O"), ("WNID", "O"), ("num_children", "O")]
        rows = [(i, wnids[label], 0) for i, label in enumerate(own, start=1)]
        synsets = np.array([*rows, (1001, "n00001740", 3)], dtype=kinds)
        file = io.BytesIO()
        savemat(file, {"synsets": synsets.reshape(-1, 1)})
        number = {int(label): i for i, label in enumerate(own, start=1)}
        truth = "".join(f"{number[int(label)]}\n" for label in self.ORDER)
        return {
            "ILSVRC2012_devkit_t12/data/meta.mat": file.getvalue(),
            "ILSVRC2012_devkit_t12/data/ILSVRC2012_validation_ground_truth.txt": truth.encode(),
        }

    @staticmethod
    def unpack(folder, files):
        for path, data in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
        return str(folder)

    def options(self, form, tmp_path):
        tars = {"folder tar": self.folders, "flat tar": self.flat}
        options = {}
        if form in tars:
            path = tmp_path / "ILSVRC2012_img_val.tar"
            path.write_bytes(tar(tars[form]()))
            options["source"] = str(path)
        else:
            files = self.folders() if form == "folders" else self.flat()
            options["source"] = self.unpack(tmp_path / "images", files)
        if form == "flat tar":
            (tmp_path / "kit.tar.gz").write_bytes(tar(self.devkit(), "w:gz"))
            options["devkit"] = str(tmp_path / "kit.tar.gz")
        if form == "flat":
            options["devkit"] = self.unpack(tmp_path / "kit", self.devkit())
        return options

    @pytest.mark.parametrize("form", ["folders", "folder tar", "flat", "flat tar"])
    def test_every_layout_gives_the_same_dataset(self, make, tmp_path, form):
        dataset = make("imagenet", self.options(form, tmp_path))
        assert np.array_equal(dataset.labels, np.arange(1000))
        for i in (0, 7, 150):
            assert abs(np.asarray(dataset.image(i)).astype(int) - i).max() <= 1
        assert dataset.sha256.startswith(self.digest(tmp_path, dataset))

    @staticmethod
    def digest(tmp_path, dataset):
        """The digest of the first layout, to which the others are compared."""
        known = tmp_path.parent / "imagenet-digest"
        if not known.exists():
            known.write_text(dataset.sha256)
        return known.read_text()

    def test_images_in_one_folder_require_the_development_kit(self, make, tmp_path):
        options = self.options("flat", tmp_path)
        with pytest.raises(InputError, match=r"Set 'devkit: ILSVRC2012_devkit_t12.tar.gz' too"):
            make("imagenet", {"source": options["source"]})
        missing = tmp_path / "images" / "ILSVRC2012_val_00000005.JPEG"
        missing.unlink()
        with pytest.raises(InputError, match=r"has 999 images, .* labels of 1,000"):
            make("imagenet", options)

    def test_a_development_kit_with_other_classes_is_refused(self, make, tmp_path):
        options = self.options("flat", tmp_path)
        self.unpack(tmp_path / "kit", self.devkit(("n99999999", *WNIDS[1:])))
        with pytest.raises(InputError, match="'n01440764' missing; 'n99999999' unknown"):
            make("imagenet", options)

    def test_missing_classes_are_named(self, make, tmp_path):
        files = {path: data for path, data in self.folders().items() if WNIDS[3] not in path}
        options = {"source": self.unpack(tmp_path / "images", files)}
        with pytest.raises(InputError, match=f"no folder for '{WNIDS[3]}'"):
            make("imagenet", options)

    def test_the_training_set_beside_it_is_refused(self, make, tmp_path):
        for part in ("train", "val"):
            self.unpack(tmp_path / "images" / part, self.folders())
        with pytest.raises(InputError, match="several places: train/val, val/val"):
            make("imagenet", {"source": str(tmp_path / "images")})

    def test_anything_else_is_refused(self, make, tmp_path):
        (tmp_path / "images").mkdir()
        with pytest.raises(InputError, match="neither folders named by wnids"):
            make("imagenet", {"source": str(tmp_path / "images")})


def test_image_sizes_are_kept(make, tmp_path):
    files = v2_files()
    files["imagenetv2-top-images-format-val/0/image.jpeg"] = tiny_jpeg(0, 30, 20)
    files = {k.replace("matched-frequency", "top-images"): v for k, v in files.items()}
    dataset = make(
        "imagenetv2", {"variant": "top-images"}, {"imagenetv2-top-images.tar.gz": tar(files)}
    )
    assert dataset.image(0).size == (20, 30)
    assert Image.open(io.BytesIO(bytes(dataset.images.encoded(0)))).format == "JPEG"
