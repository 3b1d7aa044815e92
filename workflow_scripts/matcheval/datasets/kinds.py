"""The kinds of dataset that a configuration can name.

To add a kind: a class in `published_kinds`, `custom_kinds` or `made_kinds`, with its options as
fields and the name of its builder (see `datasets.build`), and a line here. Imports no images.
"""

from collections.abc import Mapping

from matcheval.datasets.custom_kinds import Arrays, ImageFolder, Parquet
from matcheval.datasets.digits import Digits
from matcheval.datasets.kind import DatasetKind
from matcheval.datasets.made_kinds import Corrupted, Restyled
from matcheval.datasets.published_kinds import (
    Cifar10,
    Cifar10C,
    Cifar101,
    Cifar102,
    Cinic10,
    ImageNet,
    ImageNetV2,
)
from matcheval.datasets.results_kinds import Accuracies, LabelArchive, Labels, Predictions

KINDS: Mapping[str, type[DatasetKind]] = {
    "digits": Digits,
    "cifar10": Cifar10,
    "cifar10_1": Cifar101,
    "cifar10_2": Cifar102,
    "cifar10_c": Cifar10C,
    "cinic10": Cinic10,
    "imagenet": ImageNet,
    "imagenetv2": ImageNetV2,
    "image_folder": ImageFolder,
    "arrays": Arrays,
    "parquet": Parquet,
    "corrupted": Corrupted,
    "restyled": Restyled,
    "predictions": Predictions,
    "labels": Labels,
    "label_archive": LabelArchive,
    "accuracies": Accuracies,
}


def builder_version(kind: str) -> int | None:
    """Return the version of a kind's builder, which is raised when an edit changes its datasets."""
    return KINDS[kind].builder_version if kind in KINDS else None
