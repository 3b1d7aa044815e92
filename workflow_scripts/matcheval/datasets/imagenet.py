"""ImageNet's validation set, which the user provides, and ImageNetV2.

Images are in the order of torchvision's and timm's `ImageFolder`: by class (WordNet ids sorted),
then by name. The order is the same for every layout in which the validation set is distributed.
"""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from matcheval.datasets.label_spaces import check_classes, imagenet_classes, labels_of_folders
from matcheval.datasets.published_kinds import ImageNet, ImageNetV2
from matcheval.datasets.sources import ImageStream, LabelledFile, Sources
from matcheval.datasets.trees import Tree
from matcheval.errors import InputError

_WNID = re.compile(r"n\d{8}")
_FLAT = re.compile(r"ILSVRC2012_val_(\d{8})\.JPEG")
_TRUTH, _META = "ILSVRC2012_validation_ground_truth.txt", "meta.mat"


def build_imagenet(name: str, settings: ImageNet, sources: Sources) -> ImageStream:
    """Build ImageNet's validation set from the user's files."""
    path = sources.custom_path(settings.source)
    tree = sources.tree(path, lambda p: "/" in p or bool(_FLAT.fullmatch(p)))
    if any(_WNID.fullmatch(folder) for folder in _folders(tree)):
        images = [p for p in tree.paths if "/" in p]
        _check_one_parent(images, path)
        labels = labels_of_folders(_folders(tree), imagenet_classes(), path)
        labelled = {p: labels[p.split("/")[-2]] for p in images}
    else:
        labelled = _flat_labels(tree, path, settings.devkit, sources)
    return _stream(name, tree, labelled, f"ImageNet, ILSVRC 2012 validation set, {path.name}")


def build_imagenetv2(name: str, settings: ImageNetV2, sources: Sources) -> ImageStream:
    """Build a variant of ImageNetV2."""
    path = sources.published(settings.published_files[0])
    tree = sources.tree(path, lambda p: "/" in p)
    classes = imagenet_classes()
    numbers = labels_of_folders(_folders(tree), [str(i) for i in range(len(classes))], path)
    labelled = {p: numbers[p.split("/")[-2]] for p in tree.paths}
    return _stream(name, tree, labelled, f"ImageNetV2, {settings.variant}, {path.name}")


def _check_one_parent(images: Sequence[str], path: Path) -> None:
    """Check that all class folders have the same parent folder, and not both `train` and `val`."""
    parents = sorted({p.rsplit("/", 2)[0] if p.count("/") > 1 else "." for p in images})
    if len(parents) > 1:
        raise InputError(
            f"has folders of classes in several places: {', '.join(parents[:5])}",
            file=path,
            field="source",
            remedy="Set it to the one that contains the validation set",
        )


def _folders(tree: Tree) -> list[str]:
    """Names of the folders that contain files."""
    return sorted({p.split("/")[-2] for p in tree.paths if "/" in p})


def _stream(name: str, tree: Tree, labelled: Mapping[str, int], source: str) -> ImageStream:
    def files() -> Iterator[LabelledFile]:
        for path, label in sorted(labelled.items(), key=lambda item: (item[1], item[0])):
            yield LabelledFile(path, label, tree.read(path))

    return ImageStream(name, imagenet_classes(), source, files())


def _flat_labels(tree: Tree, path: object, devkit: str | None, sources: Sources) -> dict[str, int]:
    """Labels of images that are all in one folder, from the development kit's list."""
    numbers = {p: _FLAT.fullmatch(p.split("/")[-1]) for p in tree.paths}
    images = {p: int(found[1]) for p, found in numbers.items() if found}
    if not images:
        raise InputError(
            "has neither folders named by wnids (n01440764, ...) nor files ILSVRC2012_val_*.JPEG",
            file=path,
        )
    if devkit is None:
        raise InputError(
            "the images are all in one folder, and their labels are in the development kit",
            file=path,
            field="devkit",
            remedy="Set 'devkit: ILSVRC2012_devkit_t12.tar.gz' too",
        )
    truth = _ground_truth(devkit, sources)
    if sorted(images.values()) != list(range(1, len(truth) + 1)):
        raise InputError(
            f"has {len(images):,} images, numbered {min(images.values()):,} to "
            f"{max(images.values()):,}, but the development kit has labels of {len(truth):,}",
            file=path,
        )
    return {p: truth[number - 1] for p, number in images.items()}


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
