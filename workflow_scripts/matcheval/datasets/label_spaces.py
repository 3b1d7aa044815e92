"""Label spaces: the classes of a dataset in a fixed order.

A label is a position in its label space. Two sets can be compared, and a model can be evaluated on
a set, only if they have the same label space, not merely the same number of classes.
"""

import importlib.util
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from matcheval.errors import InputError, suggest

CIFAR10 = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip
DIGITS = tuple("0123456789")

_MAX_LISTED = 10  # names in a message


# Subsets of ImageNet's classes by name, and the number of their classes.
SUBSETS = {"imagenet-a": 200, "imagenet-r": 200}


def imagenet_classes() -> tuple[str, ...]:
    """Return the 1,000 WordNet ids of ILSVRC 2012, sorted: the label order of published models."""
    return _timm_classes("imagenet", 1000)


def class_subset(name: str) -> tuple[str, ...]:
    """Return the classes of a named subset: those of ImageNet-A, or of ImageNet-R."""
    return _timm_classes(name.replace("-", "_"), SUBSETS[name])


@cache
def _timm_classes(name: str, number: int) -> tuple[str, ...]:
    spec = importlib.util.find_spec("timm")
    if spec is None or spec.origin is None:
        raise InputError(
            "timm, which contains the list of ImageNet's classes, is not installed",
            remedy="pip install timm",
        )
    path = Path(spec.origin).parent / "data" / "_info" / f"{name}_synsets.txt"
    classes = tuple(path.read_text(encoding="utf-8").split())
    if len(set(classes)) != number or list(classes) != sorted(classes):
        raise InputError(f"has {len(classes):,} classes, not the {number:,} sorted ones", file=path)
    return classes


def label_space(name: str) -> tuple[str, ...]:
    """Return the classes of a named label space."""
    if name == "cifar10":
        return CIFAR10
    if name == "imagenet":
        return imagenet_classes()
    raise InputError(
        f"unknown label space '{name}'",
        field="classes",
        remedy="Known: cifar10, imagenet; or give a list of class names",
    )


def resolve_classes(classes: str | Sequence[object]) -> tuple[str, ...]:
    """Return the classes that are set in a configuration."""
    if isinstance(classes, str):
        return label_space(classes)
    names = tuple(map(str, classes))
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            f"{_quoted(twice)} {'occurs' if len(twice) == 1 else 'occur'} twice", field="classes"
        )
    return names


def check_classes(found: Sequence[str], expected: Sequence[str], file: object) -> None:
    """Check that classes are the expected ones, in the expected order."""
    problem = compare_classes(found, expected)
    if problem:
        raise InputError(problem, file=file, field="classes")


def compare_classes(found: Sequence[str], expected: Sequence[str]) -> str:
    """Describe how classes differ from the expected ones."""
    found, expected = list(found), list(expected)
    if found == expected:
        return ""
    known, present = set(expected), set(found)
    problems = []
    if missing := [name for name in expected if name not in present]:
        problems.append(f"{_quoted(missing)} {_be(missing)} missing")
    if unknown := [name for name in found if name not in known]:
        problems.append(f"{_quoted(unknown)} {_be(unknown)} unknown")
    if not problems:
        pairs = [
            f"{i} is '{a}', not '{b}'"
            for i, (a, b) in enumerate(zip(found, expected, strict=False))
            if a != b
        ]
        more = f" and {len(pairs) - _MAX_LISTED:,} more" if len(pairs) > _MAX_LISTED else ""
        return f"classes in another order: {', '.join(pairs[:_MAX_LISTED])}{more}"
    return f"different classes: {'; '.join(problems)}"


def labels_of_folders(
    folders: Sequence[str], classes: Sequence[str], file: object, *, all_required: bool = True
) -> dict[str, int]:
    """Return the labels of folders that are named by their classes."""
    known, present = set(classes), set(folders)
    problems = []
    if unknown := sorted(present - known):
        problems.append(
            f"{_quoted(unknown)} {'is not a class' if len(unknown) == 1 else 'are not classes'}"
        )
    missing = [name for name in classes if name not in present]
    if missing and (all_required or not present):
        problems.append(f"no folder for {_quoted(missing)}")
    if problems:
        remedy = suggest(unknown[0], classes) if unknown else ""
        raise InputError("; ".join(problems), file=file, field="classes", remedy=remedy)
    return {name: label for label, name in enumerate(classes)}


def map_labels(
    counts: Mapping[str, int], label_map: Mapping[str, str], classes: Sequence[str], file: object
) -> dict[str, int | None]:
    """Return the label of every label, or class folder, of a source that has other classes."""
    if absent := [label for label in label_map if label not in counts]:
        raise InputError(
            f"no image has the label {_quoted(absent)}",
            file=file,
            field="label_map",
            remedy=f"There are images of {_quoted(list(counts))}",
        )
    return {label: classes.index(label_map[label]) if label in label_map else None
            for label in counts}  # fmt: skip


def folder_classes(folders: Sequence[str], file: object) -> tuple[str, ...]:
    """Return the classes of folders whose order is not specified: sorted as text."""
    classes = tuple(sorted(folders))
    if all(name.isdecimal() for name in classes) and list(classes) != sorted(classes, key=int):
        raise InputError(
            "the names of the folders are numbers, which sort differently as text and as numbers",
            file=file,
            field="classes",
            remedy="Set 'classes' to the names in order of their labels",
        )
    return classes


def _quoted(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:_MAX_LISTED])
    more = f" and {len(names) - _MAX_LISTED:,} more" if len(names) > _MAX_LISTED else ""
    return f"{shown}{more}"


def _be(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
