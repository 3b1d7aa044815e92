"""What the datasets of a configuration need: published files, files of the user's own, classes."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matcheval.datasets.label_spaces import CIFAR10, DIGITS, imagenet_classes, resolve_classes

# Kinds whose images come as files, which are decoded to check them.
STREAMED_KINDS = ("cinic10", "imagenet", "imagenetv2", "image_folder", "parquet")

_V2 = {"threshold-0.7": "threshold0.7"}
_OWN = {
    "imagenet": ("source", "devkit"),
    "image_folder": ("path",),
    "arrays": ("file", "images", "labels"),
    "parquet": ("files",),
}


def published_names(kind: str, options: Mapping[str, Any]) -> list[str]:
    """Names of the published files that a dataset is built from."""
    if kind == "cifar10":
        return ["cifar-10-python.tar.gz"]
    if kind == "cifar10_1":
        return [f"cifar10.1_{options['version']}_{what}.npy" for what in ("data", "labels")]
    if kind == "cifar10_2":
        return [f"cifar102_{options['part']}.npz"]
    if kind == "cifar10_c":
        return ["CIFAR-10-C.tar"]
    if kind == "cinic10":
        return ["CINIC-10.tar.gz"]
    if kind == "imagenetv2":
        variant = options["variant"]
        return [f"imagenetv2-{_V2.get(variant, variant)}.tar.gz"]
    return []


def own_paths(kind: str, options: Mapping[str, Any]) -> dict[str, list[Path]]:
    """Files and folders of the user's own that a dataset is built from, by option."""
    given = {key: options[key] for key in _OWN.get(kind, ()) if key in options}
    return {
        key: [Path(path).expanduser() for path in ([value] if isinstance(value, str) else value)]
        for key, value in given.items()
    }


def own_state(kind: str, options: Mapping[str, Any]) -> str:
    """Digest of the names, sizes and times of the user's own files.

    A parameter of the rule that builds the dataset, so that changed files are noticed; of a folder
    every file is looked at, which takes about a second per 100,000 files on a local disk.
    """
    digest = hashlib.sha256()
    for paths in own_paths(kind, options).values():
        for path in paths:
            for file in _files_in(path) if path.is_dir() else [path]:
                if file.is_file():
                    stat = file.stat()
                    digest.update(f"{file} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]


def _files_in(folder: Path) -> list[Path]:
    """All files below a folder, linked folders included, as the reader of trees takes them."""
    walked = os.walk(folder, followlinks=True)
    return sorted(Path(place, name) for place, _, names in walked for name in names)


def known_classes(kind: str, options: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Classes of a dataset, if they are known before it is built.

    Raises
    ------
    InputError
        If an option `classes` is none.
    """
    if kind.startswith("cifar10") or kind == "cinic10":
        return CIFAR10
    if kind.startswith("imagenet"):
        return imagenet_classes()
    if kind == "digits":
        return DIGITS
    if kind in _OWN and "classes" in options:
        return resolve_classes(options["classes"])
    return None
