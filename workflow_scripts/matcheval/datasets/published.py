"""Published datasets, built from the files in which they are published.

CIFAR-10 and its successors have 32 × 32 RGB images and the ten classes of CIFAR-10 in the same
order; where a file names its classes, they are checked. Images keep the order of their files,
except that CINIC-10 is sorted by class, then by name.

ImageNet's validation set, which the user provides, and ImageNetV2 are in the order of torchvision's
and timm's `ImageFolder`: by class (WordNet ids sorted), then by name. The order is the same for
every layout in which the validation set is distributed.
"""

import io
import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from matcheval.datasets import sources as files
from matcheval.datasets.dataset import Dataset, make_dataset
from matcheval.datasets.kind import Decoded, PixelFormat, Severity, Subset, dataset_kind
from matcheval.datasets.label_spaces import CIFAR10, DIGITS, check_classes, imagenet_classes
from matcheval.datasets.sources import ImageStream, Sources, Tree
from matcheval.errors import InputError
from matcheval.settings import PathText

N_SEVERITIES = 5
_BATCHES = {"train": [f"data_batch_{i}" for i in range(1, 6)], "test": ["test_batch"]}
_WNID = re.compile(r"n\d{8}")
_FLAT = re.compile(r"ILSVRC2012_val_(\d{8})\.JPEG")
_TRUTH, _META = "ILSVRC2012_validation_ground_truth.txt", "meta.mat"

# --- digits: 1,797 scans of handwritten digits that are included in scikit-learn

# They are the test set of UCI's "Optical Recognition of Handwritten Digits" (Alpaydin & Kaynak
# 1998): 8 × 8 counts of ink from 0 to 16, by 13 writers, one after the other. The first 1,300 rows
# are the known writers, who are split at random, with a fixed seed, into the training, validation
# and test set. The last 497 rows are the new writers: the same digits, collected and scanned in the
# same way, by writers of whom no model has seen a digit; similar, but not identical.
#
# The labels show that all copied the same 130 digits, a few of which are missing here. There are
# fourteen such sheets (`_SHEETS`): two are by one writer, or there were more writers. 13 digits of
# the eleventh sheet are among the known writers'.
N_ROWS, N_KNOWN_WRITERS, N_TRAIN, N_VALIDATION = 1797, 1300, 600, 100
# Never to be changed: every published number of the digits study depends on it.
SPLIT_SEED = 20220904


def digits_rows(part: str) -> npt.NDArray[np.int64]:
    """Return the rows of scikit-learn's `load_digits()` that form a part, in ascending order."""
    shuffled = np.random.default_rng(SPLIT_SEED).permutation(N_KNOWN_WRITERS)
    parts = np.split(shuffled, [N_TRAIN, N_TRAIN + N_VALIDATION])
    rows = dict(zip(("train", "validation", "known"), parts, strict=True))
    rows["new-writers"] = np.arange(N_KNOWN_WRITERS, N_ROWS)
    return np.sort(rows[part])


@dataset_kind
class Digits(Subset):
    """Scikit-learn's handwritten digits."""

    kind: Literal["digits"]
    part: Literal["train", "validation", "known", "new-writers"] = Field(
        description="Three parts are of the same writers, new-writers are of others"
    )
    builder_version: ClassVar[int] = 2
    label_space: ClassVar[tuple[str, ...] | None] = DIGITS

    @property
    def pixel_format(self) -> PixelFormat:
        """8 × 8 pixels, one channel, values from 0 to 16."""
        return PixelFormat(8, 1, 16)

    def build(self, name: str, sources: Sources) -> Dataset:
        """Build one part of the digits."""
        from sklearn.datasets import load_digits  # takes two seconds, and only this kind needs it

        rows, digits = digits_rows(self.part), load_digits()
        return make_dataset(
            name, digits.images[rows].astype(np.uint8)[..., np.newaxis], digits.target[rows],
            classes=DIGITS, max_value=16, names=[f"digits/{row:04d}" for row in rows],
            source=f"part '{self.part}' of scikit-learn's load_digits() (UCI optdigits, test set), "
            f"split with seed {SPLIT_SEED}",
        )  # fmt: skip


# Rows at which a sheet begins. Who wrote two of them is not known: a sheet is taken for a writer.
_SHEETS = (0, 130, 256, 386, 516, 646, 776, 906, 1029, 1157, 1287, 1415, 1545, 1667)


def writers(names: Sequence[str]) -> list[str]:
    """Return the sheet that each image of a digit is from, as a stand-in for its writer."""
    return [f"sheet {bisect_right(_SHEETS, int(name.split('/')[1]))}" for name in names]


# --- CIFAR-10 and its successors


class _Cifar(Subset):
    label_space: ClassVar[tuple[str, ...] | None] = CIFAR10

    @property
    def pixel_format(self) -> PixelFormat:
        """32 × 32 RGB images."""
        return PixelFormat(32)


def _cifar_dataset(
    name: str, images: npt.NDArray[Any], labels: npt.NDArray[Any], names: Sequence[str], source: str
) -> Dataset:
    """Build a dataset of CIFAR-10's classes; refuse images that are not 32 × 32 × 3."""
    if images.shape[1:] != (32, 32, 3):
        problem = f"images have the shape {images.shape[1:]}, not 32 × 32 × 3"
        raise InputError(problem, file=name, field="images")
    return make_dataset(
        name, images, labels, classes=CIFAR10, max_value=255, source=source, names=names
    )


def _row_names(stem: str, n: int) -> list[str]:
    return [f"{stem}/{row:05d}" for row in range(n)]


def _decode_text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


@dataset_kind
class Cifar10(_Cifar):
    """CIFAR-10 (Krizhevsky 2009)."""

    kind: Literal["cifar10"]
    part: Literal["train", "test"] = Field(description="Training or test set")
    published: ClassVar[tuple[str, ...]] = ("cifar-10-python.tar.gz",)

    def build(self, name: str, sources: Sources) -> Dataset:
        """Build the training or test set from its Python pickles."""
        wanted = ["batches.meta", *_BATCHES[self.part]]
        tree = sources.archive(self.published[0], lambda p: p.rsplit("/", 1)[-1] in wanted)
        meta, *batches = (
            files.load_plain_pickle(io.BytesIO(tree.read_named(batch)), f"{tree.file}: {batch}")
            for batch in wanted
        )
        check_classes([_decode_text(n) for n in meta[b"label_names"]], CIFAR10, tree.file)
        # A row contains the red, then the green, then the blue values of an image.
        planes = np.concatenate([batch[b"data"] for batch in batches]).reshape(-1, 3, 32, 32)
        labels = np.concatenate([batch[b"labels"] for batch in batches])
        names = [
            f"{file}/{row:04d}/{_decode_text(image)}"
            for file, batch in zip(wanted[1:], batches, strict=True)
            for row, image in enumerate(batch[b"filenames"])
        ]
        images = np.ascontiguousarray(planes.transpose(0, 2, 3, 1))
        return _cifar_dataset(name, images, labels, names, f"CIFAR-10, {tree.file.name}")


@dataset_kind
class Cifar101(_Cifar):
    """CIFAR-10.1 (Recht et al. 2018)."""

    kind: Literal["cifar10_1"]
    version: Literal["v4", "v6"] = Field(description="v6 is exactly class-balanced")
    published: ClassVar[tuple[str, ...]] = (
        "cifar10.1_{version}_data.npy",
        "cifar10.1_{version}_labels.npy",
    )

    def build(self, name: str, sources: Sources) -> Dataset:
        """Build the dataset from its arrays of images and labels."""
        images, labels = (files.read_npy(sources.published(file)) for file in self.published_files)
        stem = f"cifar10.1_{self.version}"
        source = f"CIFAR-10.1, {stem}_data.npy"
        return _cifar_dataset(name, images, labels, _row_names(stem, len(labels)), source)


@dataset_kind
class Cifar102(_Cifar):
    """CIFAR-10.2 (Lu et al. 2020)."""

    kind: Literal["cifar10_2"]
    part: Literal["train", "test"] = Field(description="Training or test set")
    published: ClassVar[tuple[str, ...]] = ("cifar102_{part}.npz",)

    def build(self, name: str, sources: Sources) -> Dataset:
        """Build the training or test set from its .npz file."""
        path = sources.published(self.published_files[0])
        keys = ("images", "labels", "label_names")
        images, labels, named = (files.npz_array(path, key) for key in keys)
        check_classes([_decode_text(n) for n in named.ravel()], CIFAR10, path)
        names, source = _row_names(path.stem, len(labels)), f"CIFAR-10.2, {path.name}"
        return _cifar_dataset(name, images, labels, names, source)


@dataset_kind
class Cifar10C(_Cifar):
    """CIFAR-10-C (Hendrycks & Dietterich 2019)."""

    kind: Literal["cifar10_c"]
    corruption: Literal[
        "brightness", "contrast", "defocus_blur", "elastic_transform", "fog", "frost",
        "gaussian_blur", "gaussian_noise", "glass_blur", "impulse_noise", "jpeg_compression",
        "motion_blur", "pixelate", "saturate", "shot_noise", "snow", "spatter", "speckle_noise",
        "zoom_blur",
    ] = Field(description="Kind of corruption")  # fmt: skip
    severity: Severity = Field(description="5 is the strongest, `all` joins them")
    published: ClassVar[tuple[str, ...]] = ("CIFAR-10-C.tar",)

    def build(self, name: str, sources: Sources) -> Dataset:
        """Build the images of one corruption, at one severity or at all five, from its array."""
        tree = sources.archive(self.published[0])
        images, labels = (
            files.read_npy_stream(io.BytesIO(tree.read_named(file)), f"{tree.file}: {file}")
            for file in (f"{self.corruption}.npy", "labels.npy")
        )
        if self.severity != "all":
            parts = (np.split(array, N_SEVERITIES) for array in (images, labels))
            images, labels = (part[self.severity - 1] for part in parts)
        names = _row_names(f"{self.corruption}-{self.severity}", len(labels))
        what = f"{self.corruption} at severity {self.severity}"
        return _cifar_dataset(name, images, labels, names, f"CIFAR-10-C, {what}, {tree.file.name}")


@dataset_kind
class Cinic10(Decoded):
    """CINIC-10 (Darlow et al. 2018)."""

    kind: Literal["cinic10"]
    part: Literal["test", "valid", "train"] = Field(description="90,000 images each")
    label_space: ClassVar[tuple[str, ...] | None] = CIFAR10
    published: ClassVar[tuple[str, ...]] = ("CINIC-10.tar.gz",)

    def build(self, name: str, sources: Sources) -> ImageStream:
        """Stream the images of one part from its PNG files."""
        part = self.part
        # .../test/airplane/cifar10-train-10043.png
        tree = sources.archive(
            self.published[0], lambda p: p.split("/")[-3:-2] == [part] and p.endswith(".png")
        )
        source = f"CINIC-10, part '{part}', {tree.file.name}"
        return tree.stream(name, CIFAR10, source, tree.labels_by_folder(CIFAR10))


# --- ImageNet


class _ImageNetClasses(Decoded):
    @property
    def known_classes(self) -> tuple[str, ...]:
        """The 1,000 WordNet ids of ILSVRC 2012."""
        return imagenet_classes()


@dataset_kind
class ImageNet(_ImageNetClasses):
    """ImageNet's validation set (Russakovsky et al. 2015), which the user has to provide."""

    kind: Literal["imagenet"]
    source: PathText = Field(description="Archive of the images, or a folder of class folders")
    devkit: PathText | None = Field(None, description="Development kit, which has the labels")
    path_options: ClassVar[tuple[str, ...]] = ("source", "devkit")

    def build(self, name: str, sources: Sources) -> ImageStream:
        """Stream the images from the user's folder or archive, sorted by class, then name."""
        path, classes = sources.custom_path(self.source), imagenet_classes()
        tree = sources.tree(path, lambda p: "/" in p or bool(_FLAT.fullmatch(p)))
        if any(_WNID.fullmatch(folder) for folder in tree.folders):
            _check_one_parent(tree)
            labels = tree.labels_by_folder(classes)
        else:
            labels = self._labels_from_kit(tree, sources)
        source = f"ImageNet, ILSVRC 2012 validation set, {path.name}"
        return tree.stream(name, classes, source, labels)

    def _labels_from_kit(self, tree: Tree, sources: Sources) -> dict[str, int]:
        """Return the labels, by path, of images in one folder, from the development kit's list."""
        matches = {p: _FLAT.fullmatch(p.split("/")[-1]) for p in tree.paths}
        images = {p: int(match[1]) for p, match in matches.items() if match}
        if not images:
            problem = "neither folders named by wnids (n01440764, ...) nor files"
            raise InputError(f"has {problem} ILSVRC2012_val_*.JPEG", file=tree.file)
        if self.devkit is None:
            raise InputError(
                "the images are all in one folder, and their labels are in the development kit",
                file=tree.file, field="devkit",
                remedy="Set 'devkit: ILSVRC2012_devkit_t12.tar.gz' too",
            )  # fmt: skip
        kit = sources.custom_path(self.devkit)
        wanted = (_TRUTH, _META)
        truth = _ground_truth(sources.tree(kit, lambda p: p.rsplit("/", 1)[-1] in wanted))
        if sorted(images.values()) != list(range(1, len(truth) + 1)):
            numbers = f"numbered {min(images.values()):,} to {max(images.values()):,}"
            problem = f"but the development kit has labels of {len(truth):,}"
            raise InputError(f"has {len(images):,} images, {numbers}, {problem}", file=tree.file)
        return {p: truth[number - 1] for p, number in images.items()}


def _check_one_parent(tree: Tree) -> None:
    """Refuse class folders in several parent folders, such as both `train` and `val`."""
    images = [p for p in tree.paths if "/" in p]
    parents = sorted({p.rsplit("/", 2)[0] if p.count("/") > 1 else "." for p in images})
    if len(parents) > 1:
        problem = f"has folders of classes in several places: {', '.join(parents[:5])}"
        remedy = "Set it to the one that contains the validation set"
        raise InputError(problem, file=tree.file, field="source", remedy=remedy)


def _ground_truth(kit: Tree) -> list[int]:
    """Read the labels of images 1, 2, ... from the kit, which numbers classes in another order."""
    from scipy.io import loadmat

    content: Any = io.BytesIO(kit.read_named(_META))
    synsets = loadmat(content, squeeze_me=True)["synsets"]
    leaves = synsets[synsets["num_children"].astype(np.int64) == 0]
    wnids = dict(zip(leaves["ILSVRC2012_ID"].astype(int).tolist(), leaves["WNID"], strict=True))
    classes = imagenet_classes()
    check_classes(sorted(map(str, wnids.values())), classes, kit.file)
    labels = {wnid: label for label, wnid in enumerate(classes)}
    try:
        return [labels[str(wnids[int(line)])] for line in kit.read_named(_TRUTH).split()]
    except (ValueError, KeyError) as error:
        raise InputError(f"'{_TRUTH}' has an invalid line ({error})", file=kit.file) from error


@dataset_kind
class ImageNetV2(_ImageNetClasses):
    """ImageNetV2 (Recht et al. 2019)."""

    kind: Literal["imagenetv2"]
    variant: Literal["matched-frequency", "threshold-0.7", "top-images"] = Field(
        description="How its images were sampled"
    )

    @property
    def published_files(self) -> list[str]:
        """File name of the variant's archive, in a list."""
        return [f"imagenetv2-{self.variant.replace('threshold-', 'threshold')}.tar.gz"]

    def build(self, name: str, sources: Sources) -> ImageStream:
        """Stream the images of the variant from its archive."""
        tree = sources.archive(self.published_files[0], lambda p: "/" in p)
        classes = imagenet_classes()
        # The folders are named by the positions of their classes.
        labels = tree.labels_by_folder([str(i) for i in range(len(classes))])
        source = f"ImageNetV2, {self.variant}, {tree.file.name}"
        return tree.stream(name, classes, source, labels)
