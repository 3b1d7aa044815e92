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
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from matcheval.datasets.dataset import Dataset, make_dataset
from matcheval.datasets.kind import Decoded, PixelFormat, Severity, Subset, dataset_kind
from matcheval.datasets.label_spaces import (
    CIFAR10,
    check_classes,
    imagenet_classes,
    labels_of_folders,
)
from matcheval.datasets.sources import (
    ImageStream,
    LabelledFile,
    Sources,
    Tree,
    load_plain_pickle,
    npz_array,
    read_npy,
    read_npy_stream,
)
from matcheval.errors import InputError
from matcheval.settings import PathText

N_SEVERITIES = 5
_BATCHES = {"train": [f"data_batch_{i}" for i in range(1, 6)], "test": ["test_batch"]}
_WNID = re.compile(r"n\d{8}")
_FLAT = re.compile(r"ILSVRC2012_val_(\d{8})\.JPEG")
_TRUTH, _META = "ILSVRC2012_validation_ground_truth.txt", "meta.mat"


class _Cifar(Subset):
    label_space: ClassVar[tuple[str, ...] | None] = CIFAR10

    @property
    def pixel_format(self) -> PixelFormat:
        """32 × 32 RGB images."""
        return PixelFormat(32)


@dataset_kind
class Cifar10(_Cifar):
    """CIFAR-10 (Krizhevsky 2009)."""

    kind: Literal["cifar10"]
    part: Literal["train", "test"] = Field(description="Training or test set")
    published: ClassVar[tuple[str, ...]] = ("cifar-10-python.tar.gz",)

    def build(self, name: str, sources: Sources) -> Dataset:
        """Build the training or test set from its Python pickles."""
        path = sources.published(self.published_files[0])
        wanted = ["batches.meta", *_BATCHES[self.part]]
        tree = sources.tree(path, lambda p: p.rsplit("/", 1)[-1] in wanted)
        found = {p.rsplit("/", 1)[-1]: p for p in tree.paths}
        batches = {batch: _pickle(tree, found, batch, path) for batch in wanted}
        named = [_text(n) for n in batches.pop("batches.meta")[b"label_names"]]
        check_classes(named, CIFAR10, path)
        images, labels, names = [], [], []
        for batch, content in batches.items():
            # A row contains the red, then the green, then the blue values of an image.
            planes = content[b"data"].reshape(-1, 3, 32, 32)
            images.append(np.ascontiguousarray(planes.transpose(0, 2, 3, 1)))
            labels += content[b"labels"]
            files = enumerate(content[b"filenames"])
            names += [f"{batch}/{row:04d}/{_text(file)}" for row, file in files]
        source = f"CIFAR-10, {path.name}"
        return _small_images(name, np.concatenate(images), np.array(labels), names, source)


def _pickle(tree: Tree, found: Mapping[str, str], batch: str, path: Path) -> dict[bytes, Any]:
    if batch not in found:
        raise InputError(f"has no '{batch}'", file=path)
    content = load_plain_pickle(io.BytesIO(tree.read(found[batch])), f"{path}: {batch}")
    keys = [b"label_names"] if batch == "batches.meta" else [b"data", b"labels", b"filenames"]
    if not isinstance(content, dict) or any(key not in content for key in keys):
        raise InputError(f"'{batch}' lacks one of the keys {keys}", file=path)
    return content


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
        """Build it from its arrays of images and labels."""
        images, labels = (read_npy(sources.published(file)) for file in self.published_files)
        stem = f"cifar10.1_{self.version}"
        source = f"CIFAR-10.1, {stem}_data.npy"
        return _small_images(name, images, labels, _rows(stem, len(labels)), source)


@dataset_kind
class Cifar102(_Cifar):
    """CIFAR-10.2 (Lu et al. 2020)."""

    kind: Literal["cifar10_2"]
    part: Literal["train", "test"] = Field(description="Training or test set")
    published: ClassVar[tuple[str, ...]] = ("cifar102_{part}.npz",)

    def build(self, name: str, sources: Sources) -> Dataset:
        """Build the training or test set from its .npz file."""
        path = sources.published(self.published_files[0])
        images, labels, named = (npz_array(path, k) for k in ("images", "labels", "label_names"))
        check_classes([_text(n) for n in np.asarray(named).ravel()], CIFAR10, path)
        names, source = _rows(path.stem, len(labels)), f"CIFAR-10.2, {path.name}"
        return _small_images(name, images, labels, names, source)


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
        """Build one corruption at one severity, a fifth of its array, or at all."""
        corruption, severity = self.corruption, self.severity
        path = sources.published(self.published_files[0])
        tree = sources.tree(path)
        arrays = []
        for file in (f"CIFAR-10-C/{corruption}.npy", "CIFAR-10-C/labels.npy"):
            if file not in tree.paths:
                raise InputError(f"has no '{file}'", file=path)
            array = read_npy_stream(io.BytesIO(tree.read(file)), f"{path}: {file}")
            n = len(array) // N_SEVERITIES
            arrays.append(array if severity == "all" else array[(severity - 1) * n : severity * n])
        names = _rows(f"{corruption}-{severity}", len(arrays[1]))
        source = f"CIFAR-10-C, {corruption} at severity {severity}, {path.name}"
        return _small_images(name, arrays[0], arrays[1], names, source)


@dataset_kind
class Cinic10(Decoded):
    """CINIC-10 (Darlow et al. 2018)."""

    kind: Literal["cinic10"]
    part: Literal["test", "valid", "train"] = Field(description="90,000 images each")
    label_space: ClassVar[tuple[str, ...] | None] = CIFAR10
    published: ClassVar[tuple[str, ...]] = ("CINIC-10.tar.gz",)

    def build(self, name: str, sources: Sources) -> ImageStream:
        """Build one part from its PNG files."""
        path, part = sources.published(self.published_files[0]), self.part
        # .../test/airplane/cifar10-train-10043.png
        tree = sources.tree(path, lambda p: p.split("/")[-3:-2] == [part] and p.endswith(".png"))
        labels = labels_of_folders(_folders(tree), CIFAR10, path)
        source = f"CINIC-10, part '{part}', {path.name}"
        return _stream(name, tree, _by_folder(tree, labels), CIFAR10, source)


def _small_images(
    name: str, images: npt.NDArray[Any], labels: npt.NDArray[Any], names: list[str], source: str
) -> Dataset:
    if images.shape[1:] != (32, 32, 3):
        raise InputError(
            f"images have the shape {images.shape[1:]}, not 32 × 32 × 3", file=name, field="images"
        )
    return make_dataset(
        name, images, labels, classes=CIFAR10, max_value=255, source=source, names=names
    )


def _rows(stem: str, n: int) -> list[str]:
    return [f"{stem}/{row:05d}" for row in range(n)]


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _folders(tree: Tree) -> list[str]:
    """Names of the folders that contain files."""
    return sorted({p.split("/")[-2] for p in tree.paths if "/" in p})


def _by_folder(tree: Tree, labels: Mapping[str, int]) -> dict[str, int]:
    """Labels of the images in folders that have labels, by path."""
    return {path: labels[path.split("/")[-2]] for path in tree.paths if "/" in path}


def _stream(
    name: str, tree: Tree, labelled: Mapping[str, int], classes: tuple[str, ...], source: str
) -> ImageStream:
    """Images by label, then by path."""
    ordered = sorted(labelled.items(), key=lambda item: (item[1], item[0]))
    files = (LabelledFile(path, label, tree.read(path)) for path, label in ordered)
    return ImageStream(name, classes, source, files)


class _ImageNetClasses(Decoded):
    @property
    def known_classes(self) -> tuple[str, ...]:
        """WordNet ids of ILSVRC 2012."""
        return imagenet_classes()


@dataset_kind
class ImageNet(_ImageNetClasses):
    """ImageNet's validation set (Russakovsky et al. 2015), which the user has to provide."""

    kind: Literal["imagenet"]
    source: PathText = Field(description="Archive of the images, or a folder of class folders")
    devkit: PathText | None = Field(None, description="Development kit, which has the labels")
    path_options: ClassVar[tuple[str, ...]] = ("source", "devkit")

    def build(self, name: str, sources: Sources) -> ImageStream:
        """Build it from the user's files."""
        path = sources.custom_path(self.source)
        tree = sources.tree(path, lambda p: "/" in p or bool(_FLAT.fullmatch(p)))
        source = f"ImageNet, ILSVRC 2012 validation set, {path.name}"
        folders = _folders(tree)
        if any(_WNID.fullmatch(folder) for folder in folders):
            _check_one_parent(tree, path)
            labelled = _by_folder(tree, labels_of_folders(folders, imagenet_classes(), path))
        else:
            labelled = self._flat_labels(tree, path, sources)
        return _stream(name, tree, labelled, imagenet_classes(), source)

    def _flat_labels(self, tree: Tree, path: Path, sources: Sources) -> dict[str, int]:
        """Labels of images that are all in one folder, from the development kit's list."""
        numbers = {p: _FLAT.fullmatch(p.split("/")[-1]) for p in tree.paths}
        images = {p: int(found[1]) for p, found in numbers.items() if found}
        if not images:
            raise InputError(
                "has neither folders named by wnids (n01440764, ...) nor files "
                "ILSVRC2012_val_*.JPEG",
                file=path,
            )
        if self.devkit is None:
            raise InputError(
                "the images are all in one folder, and their labels are in the development kit",
                file=path,
                field="devkit",
                remedy="Set 'devkit: ILSVRC2012_devkit_t12.tar.gz' too",
            )
        truth = _ground_truth(self.devkit, sources)
        if sorted(images.values()) != list(range(1, len(truth) + 1)):
            raise InputError(
                f"has {len(images):,} images, numbered {min(images.values()):,} to "
                f"{max(images.values()):,}, but the development kit has labels of {len(truth):,}",
                file=path,
            )
        return {p: truth[number - 1] for p, number in images.items()}


def _check_one_parent(tree: Tree, path: Path) -> None:
    """Check that all class folders have the same parent folder, and not both `train` and `val`."""
    images = [p for p in tree.paths if "/" in p]
    parents = sorted({p.rsplit("/", 2)[0] if p.count("/") > 1 else "." for p in images})
    if len(parents) > 1:
        raise InputError(
            f"has folders of classes in several places: {', '.join(parents[:5])}",
            file=path,
            field="source",
            remedy="Set it to the one that contains the validation set",
        )


def _ground_truth(devkit: str, sources: Sources) -> list[int]:
    """Labels of images 1, 2, ...; the kit does not number the classes in the order of wnids."""
    from scipy.io import loadmat

    kit = sources.tree(
        sources.custom_path(devkit), lambda p: p.rsplit("/", 1)[-1] in (_TRUTH, _META)
    )
    files = {p.rsplit("/", 1)[-1]: p for p in kit.paths}
    for file in (_TRUTH, _META):
        if file not in files:
            raise InputError(f"has no '{file}'", file=devkit, field="devkit")
    synsets = loadmat(
        io.BytesIO(kit.read(files[_META])),  # type: ignore[arg-type]
        squeeze_me=True,
    )["synsets"]
    leaves = synsets[synsets["num_children"].astype(np.int64) == 0]
    wnids = dict(zip(leaves["ILSVRC2012_ID"].astype(int).tolist(), leaves["WNID"], strict=True))
    classes = imagenet_classes()
    check_classes(sorted(map(str, wnids.values())), classes, devkit)
    labels = {wnid: label for label, wnid in enumerate(classes)}
    try:
        numbers = [int(line) for line in kit.read(files[_TRUTH]).split()]
        return [labels[str(wnids[number])] for number in numbers]
    except (ValueError, KeyError) as error:
        raise InputError(
            f"'{_TRUTH}' has an invalid line ({error})", file=devkit, field="devkit"
        ) from error


@dataset_kind
class ImageNetV2(_ImageNetClasses):
    """ImageNetV2 (Recht et al. 2019)."""

    kind: Literal["imagenetv2"]
    variant: Literal["matched-frequency", "threshold-0.7", "top-images"] = Field(
        description="How its images were sampled"
    )

    @property
    def published_files(self) -> list[str]:
        """The variant's archive."""
        return [f"imagenetv2-{self.variant.replace('threshold-', 'threshold')}.tar.gz"]

    def build(self, name: str, sources: Sources) -> ImageStream:
        """Build a variant."""
        path = sources.published(self.published_files[0])
        tree = sources.tree(path, lambda p: "/" in p)
        classes = imagenet_classes()
        # The folders are named by the positions of their classes.
        labels = labels_of_folders(_folders(tree), [str(i) for i in range(len(classes))], path)
        source = f"ImageNetV2, {self.variant}, {path.name}"
        return _stream(name, tree, _by_folder(tree, labels), classes, source)
