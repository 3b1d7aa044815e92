"""Looking at what a person has: class folders of images, prediction files, folders of sets."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matcheval.datasets.label_spaces import check_case
from matcheval.errors import InputError, listed, suggest
from matcheval.io.files import check_is_text, files_below
from matcheval.names import MODEL
from matcheval.names import PREDICTION_SUFFIXES as SUFFIXES
from matcheval.predictions.formats import check_pattern, files_by_model, suffix_of


@dataclass(frozen=True)
class PublishedSet:
    """A published test set."""

    name: str
    block: Mapping[str, Any]
    space: str


@dataclass(frozen=True)
class LabelSpace:
    """What the sets of a label space have in common."""

    catalogue: str
    training: Mapping[str, tuple[str, Mapping[str, Any]]] = field(default_factory=dict)
    all_models: str = ""


_MAX_SHOWN = 200  # characters of a name in a message
_CIFAR10_TEST = {"kind": "cifar10", "part": "test"}
SPACES: Mapping[str, LabelSpace] = {
    "cifar10": LabelSpace(
        "cifar10.csv",
        {
            "train": ("cifar10-train", {"kind": "cifar10", "part": "train"}),
            "validation": ("cifar10", _CIFAR10_TEST),
        },
        "studies/cifar10-models.csv",
    ),
    "imagenet": LabelSpace("imagenet.csv", all_models="studies/imagenet-models.csv"),
    "digits": LabelSpace(
        "digits.csv",
        {
            part: (f"digits-{part}", {"kind": "digits", "part": part})
            for part in ("train", "validation")
        },
        "studies/digits-models.csv",
    ),
}
_IMAGENET = {
    "kind": "imagenet", "source": "data/imagenet/ILSVRC2012_img_val.tar",
    "devkit": "data/imagenet/ILSVRC2012_devkit_t12.tar.gz",
}  # fmt: skip
# By the name that a person gives: label space, name in this repository's studies, and block.
_SETS: Mapping[str, PublishedSet] = {
    given: PublishedSet(name, block, space)
    for given, space, name, block in (
        ("cifar10", "cifar10", "cifar10", _CIFAR10_TEST),
        ("cifar10.1", "cifar10", "cifar10.1-v6", {"kind": "cifar10_1", "version": "v6"}),
        ("cifar10.1-v4", "cifar10", "cifar10.1-v4", {"kind": "cifar10_1", "version": "v4"}),
        ("cifar10.1-v6", "cifar10", "cifar10.1-v6", {"kind": "cifar10_1", "version": "v6"}),
        ("cifar10.2", "cifar10", "cifar10.2-test", {"kind": "cifar10_2", "part": "test"}),
        ("cinic10", "cifar10", "cinic10", {"kind": "cinic10", "part": "test"}),
        ("imagenet", "imagenet", "imagenet", _IMAGENET),
        *(
            (name, "imagenet", name, {"kind": "imagenetv2", "variant": variant})
            for name, variant in (
                ("imagenetv2", "matched-frequency"), ("imagenetv2-threshold", "threshold-0.7"),
                ("imagenetv2-top", "top-images"),
            )
        ),
        ("digits", "digits", "digits-known", {"kind": "digits", "part": "known"}),
        (
            "digits-new-writers", "digits", "digits-new-writers",
            {"kind": "digits", "part": "new-writers"},
        ),
    )
}  # fmt: skip


def published_set(name: str) -> PublishedSet:
    """Find a published set by its name, whose case, dashes and spaces do not matter."""

    def folded(name: str) -> str:
        return re.sub(r"[-_ ]", "", name.lower())

    found = [one for given, one in _SETS.items() if folded(given) == folded(name)]
    if not found:
        raise InputError(
            "no such file or folder, and no published set of this name", file=name[:_MAX_SHOWN],
            remedy=suggest(name[:_MAX_SHOWN].lower(), _SETS),
        )  # fmt: skip
    return found[0]


IMAGE_SUFFIXES = frozenset(
    {".bmp", ".gif", ".jp2", ".jpeg", ".jpg", ".pgm", ".png", ".pnm", ".ppm", ".tif", ".tiff",
     ".webp"}
)  # fmt: skip
_LOOKED_AT = 60  # images whose sizes are read
_MAX_KEPT_SIDE = 64  # pixels; larger images are resized, for networks that train in minutes


@dataclass(frozen=True)
class ImageSet:
    """A folder with a folder of images per class."""

    path: Path
    classes: Mapping[str, int]
    side: int | None
    others: int


@dataclass(frozen=True)
class PredictionSet:
    """Prediction files of several models on one set."""

    pattern: str
    files: Mapping[str, Path]


@dataclass(frozen=True)
class SetFolder:
    """A folder of sets of one kind."""

    path: Path
    sets: Mapping[str, ImageSet | PredictionSet]


Given = ImageSet | PredictionSet | SetFolder | PublishedSet


def look_at(text: str) -> Given:
    """Find out what a person means by a name."""
    if MODEL in text:
        return _by_pattern(text)
    path = Path(text)
    try:
        path = path.expanduser()
        is_folder, is_there = path.is_dir(), path.exists()
    except (OSError, ValueError, RuntimeError):  # too long a name, NUL, no such user
        is_folder = is_there = False
    if is_folder:
        given = _in_folder(path)
        if isinstance(given, ImageSet) and len(given.classes) < 2:  # a set of several may have one
            raise InputError(
                f"holds images of one class only, '{next(iter(given.classes))}'", file=given.path,
                remedy="A folder per class, such as old/cat and old/dog",
            )  # fmt: skip
        return given
    if not is_there:
        return published_set(text)
    if suffix_of(path) in SUFFIXES:
        raise InputError(
            "is the file of one model", file=text,
            remedy="For one model use `matched-eval compare`; for many, write {model} in the place "
            "of their names",
        )  # fmt: skip
    raise InputError(
        "is neither a folder nor a prediction file", file=text,
        remedy="Images in an archive: unpack it, or write a study with kind `image_folder` "
        "(docs/datasets.md)",
    )  # fmt: skip


def _by_pattern(pattern: str) -> PredictionSet:
    check_pattern(pattern)
    files = files_by_model(pattern)
    if not files:
        remedy = "Look at the folder, and at the pattern: quotes keep the shell from reading it"
        raise InputError("there are no files of this name", file=pattern, remedy=remedy)
    for file in files.values():
        check_is_text(file)
    return PredictionSet(pattern, files)


def _in_folder(path: Path) -> Given:
    inside = _visible(path)
    folders = [p for p in inside if p.is_dir()]
    if any(_holds(folder, IMAGE_SUFFIXES) for folder in folders):
        return _images(path, folders)
    formats = sorted({suffix_of(p) for p in inside if p.is_file()} & {*SUFFIXES})
    if len(formats) > 1:
        problem = f"holds files of several formats: {', '.join(formats)}"
        raise InputError(problem, file=path, remedy=f"Give a pattern: '{path}/{MODEL}{formats[0]}'")
    if formats:
        return _by_pattern(str(path / f"{MODEL}{formats[0]}"))
    sets = {
        folder.name: _in_folder(folder)
        for folder in folders
        if _holds(folder, SUFFIXES)
        or any(_holds(one, IMAGE_SUFFIXES) for one in _visible(folder) if one.is_dir())
    }
    if not sets:
        raise InputError(
            "holds no images in class folders, and no prediction files", file=path,
            remedy="Give a folder that holds a folder of images per class, such as old/cat/1.png; "
            f"or prediction files ({', '.join(SUFFIXES[:3])}, ...)",
        )  # fmt: skip
    if len({type(one) for one in sets.values()}) > 1:
        raise InputError("holds both sets of images and prediction files", file=path)
    return SetFolder(path, sets)  # type: ignore[arg-type]  # neither holds folders of sets


def _visible(path: Path) -> list[Path]:
    try:
        return sorted(p for p in path.iterdir() if not p.name.startswith("."))
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=path) from error


def _holds(folder: Path, suffixes: Collection[str]) -> bool:
    """Whether a folder holds files with one of these suffixes."""
    return any(suffix_of(p) in suffixes and p.is_file() for p in _visible(folder))


def _images(path: Path, folders: Iterable[Path]) -> ImageSet:
    images, others = {folder.name: list[Path]() for folder in folders}, 0
    for file in files_below(path):  # as datasets read them: at any depth, but no hidden ones
        if (name := file.relative_to(path).parts[0]) in images:
            if suffix_of(file) in IMAGE_SUFFIXES:
                images[name].append(file)
            else:
                others += 1
    if empty := [name for name, files in images.items() if not files]:
        problem = f"class folders without images: {listed(empty)}"
        raise InputError(problem, file=path, remedy="Delete them, or put the images there")
    check_case(images, path)
    found = [file for files in images.values() for file in files]
    (height, width), *more = {_size(file) for file in found[:: -(-len(found) // _LOOKED_AT)]}
    is_small = not more and height == width <= _MAX_KEPT_SIDE
    counts = {name: len(files) for name, files in images.items()}
    return ImageSet(path, counts, height if is_small else None, others)


def _size(path: Path) -> tuple[int, int]:
    """Read the size of an image without decoding it."""
    from PIL import Image

    from matcheval.datasets.decoding import FORMATS

    try:
        with Image.open(path, formats=FORMATS) as image:
            return image.height, image.width
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise InputError("is not a readable image", file=path, remedy="Replace it") from error
