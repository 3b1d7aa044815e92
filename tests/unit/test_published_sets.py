"""CIFAR-10 and its successors, ImageNet and ImageNetV2, from files in their published formats."""

import os
import pickle
from functools import partial

import numpy as np
import pytest

from image_sets import (
    cifar10_tar,
    cifar_images,
    encode,
    imagenet_devkit,
    npy,
    npz,
    prepare,
    tar,
    write_files,
)
from matcheval.datasets.folders import read_dataset
from matcheval.datasets.label_spaces import CIFAR10, imagenet_classes
from matcheval.errors import InputError

IMAGES, LABELS = cifar_images(40)
WNIDS = imagenet_classes()


@pytest.fixture
def make(monkeypatch, tmp_path):
    return partial(prepare, monkeypatch, tmp_path)


class TestCifar10:
    FILE = "cifar-10-python.tar.gz"

    @pytest.mark.parametrize(
        ("part", "rows"),
        [("test", range(40)), ("train", np.concatenate([np.arange(40)[i::5] for i in range(5)]))],
    )
    def test_images_have_the_order_of_the_batches(self, make, tmp_path, part, rows):
        made = make("cifar10", {"part": part}, {self.FILE: cifar10_tar(IMAGES, LABELS)})
        assert np.array_equal(made.pixels, IMAGES[rows])
        assert np.array_equal(made.labels, LABELS[rows])
        assert made.classes == CIFAR10
        batch = "test_batch" if part == "test" else "data_batch_1"
        assert made.names[:2] == (f"{batch}/0000/image_0.png", f"{batch}/0001/image_1.png")
        assert read_dataset(tmp_path / "datasets" / "d").sha256 == made.sha256

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


@pytest.mark.parametrize("kind", [str, object])
def test_cifar10_2(make, kind):
    right, wrong = (
        {"cifar102_test.npz": npz(images=IMAGES, labels=LABELS, label_names=np.array(names, kind))}
        for names in (CIFAR10, CIFAR10[::-1])
    )
    made = make("cifar10_2", {"part": "test"}, right)
    assert np.array_equal(made.pixels, IMAGES)
    assert len(set(made.names)) == 40
    with pytest.raises(InputError, match="0 is 'truck', not 'airplane'"):
        make("cifar10_2", {"part": "test"}, wrong)


def test_cifar10_c(make):
    """Severities are fifths of the array, each in the order of the labels."""
    levels = [np.clip(IMAGES.astype(int) + 10 * s, 0, 255).astype(np.uint8) for s in range(5)]
    arrays = {"fog": np.concatenate(levels), "labels": np.tile(LABELS, 5)}
    archive = tar({f"CIFAR-10-C/{name}.npy": npy(array) for name, array in arrays.items()})
    options = {"corruption": "fog", "severity": "all"}
    made = make("cifar10_c", options, {"CIFAR-10-C.tar": archive})
    assert np.array_equal(made.pixels, np.concatenate(levels))
    assert np.array_equal(made.labels, np.tile(LABELS, 5))


def tiny_jpeg(value, height=12, width=16):
    return encode(np.full((height, width, 3), value % 200, np.uint8), "JPEG")


class TestImageNetV2:
    NAME = "imagenetv2-matched-frequency.tar.gz"
    OPTIONS = {"variant": "matched-frequency"}

    @pytest.mark.parametrize("mode", ["w", "w:gz"], ids=["uncompressed despite its name", "gzip"])
    def test_folders_are_sorted_as_numbers(self, make, mode):
        """Sorted as text, "10" comes before "2": all except ten classes would be wrong."""
        files = {f"v2/{i}/image.jpeg": tiny_jpeg(i) for i in range(1000)}
        files["v2/0/image.jpeg"] = tiny_jpeg(0, 30, 20)
        made = make("imagenetv2", self.OPTIONS, {self.NAME: tar(files, mode)})
        assert made.stored == "files"
        assert np.array_equal(made.labels, np.arange(1000))
        assert [name.split("/")[1] for name in made.names] == [str(i) for i in range(1000)]
        for i in (2, 10, 100, 199):
            assert abs(np.asarray(made.image(i)).astype(int) - i).max() <= 1
        assert made.image(0).size == (20, 30)
        assert bytes(made.images.encoded(0)) == files["v2/0/image.jpeg"]
        assert made.classes == WNIDS


class TestImageNet:
    """1,000 images, one of each class, numbered in another order than the classes."""

    ORDER = np.random.default_rng(1).permutation(1000)  # class of image 1, 2, ...

    def folders(self):
        named = ((f"ILSVRC2012_val_{i:08d}.JPEG", int(k)) for i, k in enumerate(self.ORDER, 1))
        return {f"val/{WNIDS[label]}/{name}": tiny_jpeg(label) for name, label in named}

    def flat(self):
        return {path.split("/")[-1]: data for path, data in self.folders().items()}

    def devkit(self, wnids=WNIDS):
        return imagenet_devkit(self.ORDER, np.random.default_rng(2).permutation(1000), wnids)

    def test_every_layout_gives_the_same_dataset(self, make, tmp_path):
        kits = {"kit": tmp_path / "kit", "kit.tgz": tmp_path / "kit.tgz"}
        write_files(kits["kit"], self.devkit())
        kits["kit.tgz"].write_bytes(tar(self.devkit(), "w:gz"))
        digests = set()
        for name, files in (("folders", self.folders()), ("flat", self.flat())):
            write_files(tmp_path / name, files)
            (tmp_path / f"{name}.tar").write_bytes(tar(files))
            for source, kit in ((name, "kit"), (f"{name}.tar", "kit.tgz")):
                devkit = {"devkit": str(kits[kit])} if name == "flat" else {}
                made = make("imagenet", {"source": str(tmp_path / source), **devkit})
                digests.add(made.sha256)
        assert len(digests) == 1
        assert np.array_equal(made.labels, np.arange(1000))
        for i in (0, 7, 150):
            assert abs(np.asarray(made.image(i)).astype(int) - i).max() <= 1

    def test_the_development_kit_is_required_and_checked(self, make, tmp_path):
        source = write_files(tmp_path / "images", self.flat())
        options = {"source": source, "devkit": write_files(tmp_path / "kit", self.devkit())}
        with pytest.raises(InputError, match=r"Set 'devkit: ILSVRC2012_devkit_t12.tar.gz' too"):
            make("imagenet", {"source": source})
        (tmp_path / "images" / "ILSVRC2012_val_00000005.JPEG").unlink()
        with pytest.raises(InputError, match=r"has 999 images, .* labels of 1,000"):
            make("imagenet", options)
        write_files(tmp_path / "kit", self.devkit(("n99999999", *WNIDS[1:])))
        with pytest.raises(InputError, match="'n01440764' missing; 'n99999999' unknown"):
            make("imagenet", options)
