"""The classes that sets of images have in common."""

import re
from collections.abc import Iterable, Sequence

from matcheval.datasets.label_spaces import label_space
from matcheval.errors import InputError
from matcheval.starting.looking import ImageSet
from matcheval.starting.names import listed
from matcheval.starting.published import PublishedSet

_WNID = re.compile(r"n\d{8}")
_MAP = "Rename or remove folders; or write the study with `label_map` (docs/datasets.md)"


def common_space(sets: Sequence[ImageSet | PublishedSet]) -> str:
    """Return the label space of published sets, or of folders that are named by wnids."""
    spaces = sorted({one.space for one in sets if isinstance(one, PublishedSet)})
    folders = [one for one in sets if isinstance(one, ImageSet)]
    if len(spaces) > 1:
        raise InputError(
            f"the sets have different classes, those of {' and of '.join(spaces)}",
            remedy="Name two sets of the same classes, such as cifar10 and cifar10.1",
        )
    if not spaces and all(_WNID.fullmatch(name) for one in folders for name in one.classes):
        spaces = ["imagenet"]
    if spaces == ["digits"] and folders:
        raise InputError(
            "the published digits are scans of 8 × 8 pixels, which cannot be compared with images "
            "of one's own",
            file=folders[0].path,
        )
    for one in folders if spaces else ():
        if unknown := sorted(set(one.classes) - set(label_space(spaces[0]))):
            raise InputError(
                f"class folders that are no classes of {spaces[0]}: {listed(unknown)}",
                file=one.path,
                remedy=_MAP,
            )
    return next(iter(spaces), "")


def own_classes(original: ImageSet, others: Iterable[ImageSet], *, all_needed: bool) -> list[str]:
    """Return the classes of the original in the order of their labels: numbers as numbers."""
    for other in others:
        here, there = set(original.classes), set(other.classes)
        only = [
            f"only {path} has {listed(sorted(names))}"
            for path, names in ((original.path, here - there), (other.path, there - here))
            if names and (all_needed or path != original.path)
        ]
        if only:
            raise InputError(
                f"the folders have different classes: {'; '.join(only)}", remedy=_MAP
            )  # fmt: skip
    numbers = all(name.isdecimal() for name in original.classes)
    return sorted(original.classes, key=(lambda one: (int(one), one)) if numbers else None)
