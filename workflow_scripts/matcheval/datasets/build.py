"""Building datasets: one function per kind of source.

To add a kind, write a function like those of `cifar`, add one line to `_BUILDERS` and to
`KIND_VERSIONS`, its options to `rules/schemas/config.schema.json`, and, if it reads published
files, to `needs`. Modules are imported when a kind is built, so that listing them stays cheap.
"""

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from matcheval.errors import InputError

if TYPE_CHECKING:
    from matcheval.datasets.dataset import Dataset
    from matcheval.datasets.sources import Sources
    from matcheval.datasets.streams import ImageStream

_BUILDERS = {
    "digits": "digits.build_digits",
    "cifar10": "cifar.build_cifar10",
    "cifar10_1": "cifar.build_cifar10_1",
    "cifar10_2": "cifar.build_cifar10_2",
    "cifar10_c": "cifar.build_cifar10_c",
    "cinic10": "cifar.build_cinic10",
    "imagenet": "imagenet.build_imagenet",
    "imagenetv2": "imagenet.build_imagenetv2",
    "image_folder": "own.build_image_folder",
    "arrays": "own.build_arrays",
    "parquet": "own.build_parquet",
}

KINDS = tuple(_BUILDERS)

# Raised by hand when an edit changes what a kind gives: datasets are made by a `shell:` rule, which
# takes no notice of the library, and everything else would be made again after them.
KIND_VERSIONS = dict.fromkeys(KINDS, 1) | {"digits": 2}


def build_dataset(
    name: str, kind: str, options: Mapping[str, Any], sources: "Sources | None" = None
) -> "Dataset | ImageStream":
    """Build a dataset from its source.

    Parameters
    ----------
    name : str
        The dataset's name.
    kind : str
        One of `KINDS`.
    options : mapping
        What the kind takes; see its function.
    sources : Sources, optional
        Opens the files that it is built from; the digits have none.

    Returns
    -------
    Dataset or ImageStream
        All of it, or images one by one (see `streams.write_stream`).

    Raises
    ------
    InputError
        If the kind is unknown, its options are not what it takes, or a file is unsound.
    """
    if kind not in _BUILDERS:
        raise InputError(
            f"unknown kind '{kind}'", file=name, field="kind", remedy=f"Known: {', '.join(KINDS)}"
        )
    if sources is None and kind != "digits":
        raise TypeError(f"datasets of kind {kind} are built from sources")
    module, function = _BUILDERS[kind].split(".")
    build = getattr(importlib.import_module(f"matcheval.datasets.{module}"), function)
    built: Dataset | ImageStream = build(name, options, sources)
    return built
