"""ImageNet's validation set, which a user brings, and ImageNetV2.

Images are in the order of torchvision's and timm's `ImageFolder`: by class (wnids sorted), then by
name; in every form that the validation set may have.
"""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from matcheval.datasets.label_spaces import check_classes, imagenet_classes, labels_of_folders
from matcheval.datasets.sources import Sources, check_options
from matcheval.datasets.streams import ImageStream, LabelledFile
from matcheval.datasets.trees import Tree
from matcheval.errors import InputError

VARIANTS = {
    "matched-frequency": "imagenetv2-matched-frequency.tar.gz",
    "threshold-0.7": "imagenetv2-threshold0.7.tar.gz",
    "top-images": "imagenetv2-top-images.tar.gz",
}
_WNID = re.compile(r"n\d{8}")
_FLAT = re.compile(r"ILSVRC2012_val_(\d{8})\.JPEG")
_TRUTH, _META = "ILSVRC2012_validation_ground_truth.txt", "meta.mat"


def build_imagenet(name: str, options: Mapping[str, Any], sources: Sources) -> ImageStream:
    """Build ImageNet's validation set from files of the user's own.

    Parameters
    ----------
    name : str
        The dataset's name.
    options : mapping
        `source`: a folder or tar archive, with a folder per class named by its wnid, or with all
        images side by side as in ILSVRC2012_img_val.tar. These need `devkit`: the development
        kit's archive (ILSVRC2012_devkit_t12.tar.gz) or folder, which has their labels.
    sources : Sources
        Opens them.

    Raises
    ------
    InputError
        If classes are missing or unknown, images have no label, or the kit is not one.
    """
    check_options(name, options, {"source": ()}, ("devkit",))
    path = sources.own(options["source"])
    tree = sources.tree(path, lambda p: "/" in p or bool(_FLAT.fullmatch(p)))
    if any(_WNID.fullmatch(folder) for folder in _folders(tree)):
        images = [p for p in tree.paths if "/" in p]
        _check_one_parent(images, path)
        labels = labels_of_folders(_folders(tree), imagenet_classes(), path)
        labelled = {p: labels[p.split("/")[-2]] for p in images}
    else:
        labelled = _flat_labels(tree, path, options.get("devkit"), sources)
    return _stream(name, tree, labelled, f"ImageNet, ILSVRC 2012 validation set, {path.name}")


def build_imagenetv2(name: str, options: Mapping[str, Any], sources: Sources) -> ImageStream:
    """Build a variant of ImageNetV2 (option `variant`).

    Its folders are labels, "0" to "999"; sorted as text ("0", "1", "10", "100", ...) they would
    give nearly every image another class.

    Raises
    ------
    InputError
        If an option or a folder is not as published.
    """
    check_options(name, options, {"variant": tuple(VARIANTS)})
    path = sources.published(VARIANTS[options["variant"]])
    tree = sources.tree(path, lambda p: "/" in p)
    classes = imagenet_classes()
    numbers = labels_of_folders(_folders(tree), [str(i) for i in range(len(classes))], path)
    labelled = {p: numbers[p.split("/")[-2]] for p in tree.paths}
    return _stream(name, tree, labelled, f"ImageNetV2, {options['variant']}, {path.name}")


def _check_one_parent(images: Sequence[str], path: Path) -> None:
    """Refuse folders of classes in several places: `train` beside `val`, say."""
    parents = sorted({p.rsplit("/", 2)[0] if p.count("/") > 1 else "." for p in images})
    if len(parents) > 1:
        raise InputError(
            f"has folders of classes in several places: {', '.join(parents[:5])}",
            file=path,
            field="source",
            remedy="Name the one that holds the validation set",
        )


def _folders(tree: Tree) -> list[str]:
    """Names of the folders that images lie in."""
    return sorted({p.split("/")[-2] for p in tree.paths if "/" in p})


def _stream(name: str, tree: Tree, labelled: Mapping[str, int], source: str) -> ImageStream:
    def files() -> Iterator[LabelledFile]:
        for path, label in sorted(labelled.items(), key=lambda item: (item[1], item[0])):
            yield LabelledFile(path, label, tree.read(path))

    return ImageStream(name, imagenet_classes(), source, files())


def _flat_labels(tree: Tree, path: object, devkit: str | None, sources: Sources) -> dict[str, int]:
    """Labels of images that lie side by side, from the development kit's list."""
    numbers = {p: _FLAT.fullmatch(p.split("/")[-1]) for p in tree.paths}
    images = {p: int(found[1]) for p, found in numbers.items() if found}
    if not images:
        raise InputError(
            "has neither folders named by wnids (n01440764, ...) nor ILSVRC2012_val_*.JPEG",
            file=path,
        )
    if devkit is None:
        raise InputError(
            "its images lie side by side, and their labels are in the development kit",
            file=path,
            field="devkit",
            remedy="Give 'devkit: ILSVRC2012_devkit_t12.tar.gz' too",
        )
    truth = _ground_truth(devkit, sources)
    if sorted(images.values()) != list(range(1, len(truth) + 1)):
        raise InputError(
            f"has {len(images):,} images, numbered {min(images.values()):,} to "
            f"{max(images.values()):,}, and the development kit labels of {len(truth):,}",
            file=path,
        )
    return {p: truth[number - 1] for p, number in images.items()}


def _ground_truth(devkit: str, sources: Sources) -> list[int]:
    """Labels of images 1, 2, ...: the kit's own class numbers are in another order than wnids."""
    from scipy.io import loadmat

    kit = sources.tree(sources.own(devkit), lambda p: p.rsplit("/", 1)[-1] in (_TRUTH, _META))
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
        raise InputError(f"'{_TRUTH}' has a line {error}", file=devkit, field="devkit") from error
