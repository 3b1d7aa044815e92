"""Label spaces: which classes there are, in which order.

A label is a position in its label space. Two sets can be compared, and a model be run on a set,
only if they have one label space, and not just equally many classes.
"""

import importlib.util
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from matcheval.errors import InputError

CIFAR10 = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip
DIGITS = tuple("0123456789")

_SHOWN = 10  # names in a message


@cache
def imagenet_classes() -> tuple[str, ...]:
    """The 1,000 WordNet ids of ILSVRC 2012, sorted: the label order of every published model.

    Read from the list that timm comes with, without importing it (and torch).
    """
    spec = importlib.util.find_spec("timm")
    if spec is None or spec.origin is None:
        raise InputError(
            "timm, which has the list of ImageNet's classes, is not installed",
            remedy="pip install timm",
        )
    path = Path(spec.origin).parent / "data" / "_info" / "imagenet_synsets.txt"
    classes = tuple(path.read_text(encoding="utf-8").split())
    if len(set(classes)) != 1000 or list(classes) != sorted(classes):
        raise InputError(f"has {len(classes)} classes, not ImageNet's 1,000 sorted ones", file=path)
    return classes


def label_space(name: str) -> tuple[str, ...]:
    """Classes of a label space with a name: `cifar10` or `imagenet`.

    Raises
    ------
    InputError
        If there is none of this name.
    """
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
    """Classes that a configuration gives: a label space's name, or a list.

    Raises
    ------
    InputError
        If the name is unknown, or a class is there twice.
    """
    if isinstance(classes, str):
        return label_space(classes)
    names = tuple(map(str, classes))
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{_list(twice)} there twice", field="classes")
    return names


def check_classes(found: Sequence[str], expected: Sequence[str], file: object) -> None:
    """Refuse classes that are not the expected ones, in the expected order.

    Parameters
    ----------
    found, expected : sequence of str
        Names by label.
    file : object
        What says so, for the message.

    Raises
    ------
    InputError
        Naming classes that are missing, unknown, or in another place.
    """
    problem = compare_classes(found, expected)
    if problem:
        raise InputError(problem, file=file, field="classes")


def compare_classes(found: Sequence[str], expected: Sequence[str]) -> str:
    """Say how classes differ from the expected ones; nothing if they do not."""
    found, expected = list(found), list(expected)
    if found == expected:
        return ""
    known, there = set(expected), set(found)
    problems = []
    if missing := [name for name in expected if name not in there]:
        problems.append(f"{_list(missing)} missing")
    if unknown := [name for name in found if name not in known]:
        problems.append(f"{_list(unknown)} unknown")
    if not problems:
        pairs = [
            f"{i} is '{a}', not '{b}'"
            for i, (a, b) in enumerate(zip(found, expected, strict=False))
            if a != b
        ]
        more = f" and {len(pairs) - _SHOWN:,} more" if len(pairs) > _SHOWN else ""
        return f"another order of classes: {', '.join(pairs[:_SHOWN])}{more}"
    return f"other classes: {'; '.join(problems)}"


def labels_of_folders(
    folders: Sequence[str], classes: Sequence[str], file: object, *, all_needed: bool = True
) -> dict[str, int]:
    """Labels of class folders.

    Parameters
    ----------
    folders : sequence of str
        Names of the folders, in any order.
    classes : sequence of str
        Names that they must have, by label.
    file : object
        What they are in, for the message.
    all_needed : bool
        Whether every class must have a folder.

    Raises
    ------
    InputError
        Naming folders that are no classes, and classes without a folder.
    """
    known, there = set(classes), set(folders)
    problems = []
    if unknown := sorted(there - known):
        problems.append(f"{_list(unknown)} no class")
    missing = [name for name in classes if name not in there]
    if missing and (all_needed or not there):
        problems.append(f"no folder of {_list(missing, verb=False)}")
    if problems:
        raise InputError("; ".join(problems), file=file, field="classes")
    return {name: label for label, name in enumerate(classes)}


def folder_classes(folders: Sequence[str], file: object) -> tuple[str, ...]:
    """Classes of a tree that says no more than its folders' names: sorted as text.

    Raises
    ------
    InputError
        If the names are numbers that text sorts in another order ("10" before "2"): which order
        is meant cannot be known.
    """
    classes = tuple(sorted(folders))
    if all(name.isdecimal() for name in classes) and list(classes) != sorted(classes, key=int):
        raise InputError(
            "the folders are numbers, which sort differently as text and as numbers",
            file=file,
            field="classes",
            remedy="Give 'classes', the names in order of their labels",
        )
    return classes


def check_same_classes(descriptions: Mapping[str, Sequence[str]]) -> None:
    """Refuse sets that are to be used together but have different classes.

    Parameters
    ----------
    descriptions : mapping
        Classes by the name of the set; the first one sets the measure.

    Raises
    ------
    InputError
        Naming both sets and the classes.
    """
    (first, expected), *others = descriptions.items()
    for name, found in others:
        if problem := compare_classes(found, expected):
            raise InputError(f"against '{first}': {problem}", file=name, field="classes")


def _list(names: Sequence[str], verb: bool = True) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:_SHOWN])
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return f"{shown}{more}{(' is' if len(names) == 1 else ' are') if verb else ''}"
