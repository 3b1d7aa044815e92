"""Label spaces: the classes of a dataset in a fixed order.

A label is a position in its label space. Two sets can be compared, and a model can be evaluated on
a set, only if they have the same label space, not merely the same number of classes.
"""

import importlib.util
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from matcheval.errors import InputError, listed, suggest
from matcheval.names import MAX_LABEL_LENGTH, is_label

CIFAR10 = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip
DIGITS = tuple("0123456789")
LABEL_SPACES = ("cifar10", "imagenet")

# Subsets of ImageNet's classes by name, and the number of their classes.
SUBSETS = {"imagenet-a": 200, "imagenet-r": 200}


def imagenet_classes() -> tuple[str, ...]:
    """Return the 1,000 WordNet ids of ILSVRC 2012, sorted: the label order of published models."""
    return _timm_classes("imagenet", 1000)


def are_wnids(classes: Iterable[str]) -> bool:
    """Tell whether all classes look like WordNet ids."""
    return all(len(c) == 9 and c[0] == "n" and c[1:].isdecimal() for c in classes)


def class_subset(name: str) -> tuple[str, ...]:
    """Return the classes of a named subset of ImageNet's: those of ImageNet-A or ImageNet-R."""
    return _timm_classes(name.replace("-", "_"), SUBSETS[name])


@cache
def _timm_classes(name: str, number: int) -> tuple[str, ...]:
    """Read a list of sorted WordNet ids that timm contains; check that it has `number` of them."""
    spec = importlib.util.find_spec("timm")
    if spec is None or spec.origin is None:
        problem = "timm, which contains the list of ImageNet's classes, is not installed"
        raise InputError(problem, remedy="pip install timm")
    path = Path(spec.origin).parent / "data" / "_info" / f"{name}_synsets.txt"
    classes = tuple(path.read_text(encoding="utf-8").split())
    if len(set(classes)) != number or list(classes) != sorted(classes):
        raise InputError(f"has {len(classes):,} classes, not the {number:,} sorted ones", file=path)
    return classes


def resolve_classes(classes: str | Sequence[object]) -> tuple[str, ...]:
    """Return class names that a configuration lists, or those of the label space that it names."""
    if isinstance(classes, str):
        if classes not in LABEL_SPACES:
            remedy = "Known: cifar10, imagenet; or give a list of class names"
            raise InputError(f"unknown label space '{classes}'", field="classes", remedy=remedy)
        return CIFAR10 if classes == "cifar10" else imagenet_classes()
    names = tuple(map(str, classes))
    if repeated := sorted(name for name, n in Counter(names).items() if n > 1):
        raise InputError(f"{_quoted(repeated)} given twice", field="classes")
    return checked_labels(names)


def checked_labels(names: Sequence[str], file: object = None) -> tuple[str, ...]:
    """Return class names unchanged; refuse long ones, line breaks and control characters."""
    for name in names:
        if not is_label(name):
            raise InputError(
                f"the class {name!a:.100} has a line break or a control character in its name, or "
                f"over {MAX_LABEL_LENGTH} characters", file=file, field="classes",
                remedy="Give it a shorter name, on one line",
            )  # fmt: skip
    return tuple(names)


def check_classes(classes: Sequence[str], expected: Sequence[str], file: object) -> None:
    """Raise an error unless classes are the expected ones, in the expected order."""
    if problem := compare_classes(classes, expected):
        raise InputError(problem, file=file, field="classes")


def compare_classes(classes: Sequence[str], expected: Sequence[str]) -> str:
    """Describe how classes differ from the expected ones; return '' if they do not."""
    differences = {
        "missing": [name for name in expected if name not in set(classes)],
        "unknown": [name for name in classes if name not in set(expected)],
    }
    problems = [f"{_quoted(names)} {what}" for what, names in differences.items() if names]
    if problems:
        return f"different classes: {'; '.join(problems)}"
    pairs = enumerate(zip(classes, expected, strict=False))
    moved = [f"{i} is '{a}', not '{b}'" for i, (a, b) in pairs if a != b]
    return f"classes in another order: {listed(moved)}" if list(classes) != list(expected) else ""


def label_class_folders(
    folders: Collection[str], classes: Sequence[str], file: object, *, all_required: bool = True
) -> dict[str, int]:
    """Return each class's label; refuse unknown folders and, if `all_required`, missing ones."""
    unknown = sorted(set(folders) - set(classes))
    missing = [name for name in classes if name not in folders]
    problems = [f"{_quoted(unknown)} not among the classes"] if unknown else []
    if missing and (all_required or not folders):
        problems.append(f"no folder for {_quoted(missing)}")
    if problems:
        remedy = suggest(unknown[0], classes) if unknown else ""
        raise InputError("; ".join(problems), file=file, field="classes", remedy=remedy)
    return {name: label for label, name in enumerate(classes)}


def map_labels(
    counts: Mapping[str, int], label_map: Mapping[str, str], classes: Sequence[str], file: object
) -> dict[str, int | None]:
    """Return the label that each of a source's labels is mapped to; None for those not mapped."""
    if absent := [label for label in label_map if label not in counts]:
        problem = f"no image has the label {_quoted(absent)}"
        remedy = f"There are images of {_quoted(list(counts))}"
        raise InputError(problem, file=file, field="label_map", remedy=remedy)
    return {label: classes.index(label_map[label]) if label in label_map else None
            for label in counts}  # fmt: skip


def check_letter_case(folders: Iterable[str], file: object) -> None:
    """Raise an error if the names of two class folders differ in upper and lower case only."""
    seen = dict[str, str]()
    for name in sorted(folders):
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            problem = f"class folders '{other}' and '{name}' differ in upper and lower case only"
            remedy = "Put their images into one folder, or say what they are by `label_map`"
            raise InputError(problem, file=file, remedy=remedy)


def classes_from_folders(folders: Collection[str], file: object) -> tuple[str, ...]:
    """Return folder names as classes, sorted as text; refuse numbers that would sort otherwise."""
    classes = sorted(folders)
    if all(name.isdecimal() for name in classes) and classes != sorted(classes, key=int):
        raise InputError(
            "the names of the folders are numbers, which sort differently as text and as numbers",
            file=file, field="classes", remedy="Set 'classes' to the names in label order",
        )  # fmt: skip
    return checked_labels(classes, file)


def _quoted(names: Sequence[str]) -> str:
    return listed(f"'{name}'" for name in names)
