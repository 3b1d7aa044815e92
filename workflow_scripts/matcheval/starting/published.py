"""Published sets by the names that people call them, with what models are trained on for them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from matcheval.errors import InputError, suggest


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
            "train": ("digits-train", {"kind": "digits", "part": "train"}),
            "validation": ("digits-validation", {"kind": "digits", "part": "validation"}),
        },
        "studies/digits-models.csv",
    ),
}
_IMAGENET = {
    "kind": "imagenet",
    "source": "data/imagenet/ILSVRC2012_img_val.tar",
    "devkit": "data/imagenet/ILSVRC2012_devkit_t12.tar.gz",
}
_SETS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "cifar10": ("cifar10", _CIFAR10_TEST),
    "cifar10.1": ("cifar10", {"kind": "cifar10_1", "version": "v6"}),
    "cifar10.1-v4": ("cifar10", {"kind": "cifar10_1", "version": "v4"}),
    "cifar10.1-v6": ("cifar10", {"kind": "cifar10_1", "version": "v6"}),
    "cifar10.2": ("cifar10", {"kind": "cifar10_2", "part": "test"}),
    "cinic10": ("cifar10", {"kind": "cinic10", "part": "test"}),
    "imagenet": ("imagenet", _IMAGENET),
    "imagenetv2": ("imagenet", {"kind": "imagenetv2", "variant": "matched-frequency"}),
    "imagenetv2-threshold": ("imagenet", {"kind": "imagenetv2", "variant": "threshold-0.7"}),
    "imagenetv2-top": ("imagenet", {"kind": "imagenetv2", "variant": "top-images"}),
    "digits": ("digits", {"kind": "digits", "part": "known"}),
    "digits-new-writers": ("digits", {"kind": "digits", "part": "new-writers"}),
}
# Names of the sets in this repository's studies, where they differ.
_NAMES = {"cifar10.1": "cifar10.1-v6", "digits": "digits-known", "cifar10.2": "cifar10.2-test"}


def published_set(name: str) -> PublishedSet:
    """Find a published set by its name."""
    known = {_folded(one): one for one in _SETS}
    found = known.get(_folded(name))
    if found is None:
        raise InputError(
            "no such file or folder, and no published set of this name",
            file=name[:_MAX_SHOWN],
            remedy=suggest(name[:_MAX_SHOWN].lower(), _SETS),
        )
    space, block = _SETS[found]
    return PublishedSet(_NAMES.get(found, found), block, space)


def _folded(name: str) -> str:
    return re.sub(r"[-_ ]", "", name.lower())
