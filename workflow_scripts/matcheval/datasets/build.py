"""Building datasets: one function per kind of source, which `datasets.kinds` names.

Modules are imported when a kind is built, so that listing the kinds stays cheap.
"""

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from matcheval.datasets import kinds
from matcheval.errors import InputError
from matcheval.settings import read_settings

if TYPE_CHECKING:
    from matcheval.datasets.dataset import Dataset
    from matcheval.datasets.sources import ImageStream, Sources

# Kinds that are built here; not those that have predictions only.
KINDS = tuple(name for name, kind in kinds.KINDS.items() if kind.builder)


def build_dataset(
    name: str, kind: str, options: Mapping[str, Any], sources: "Sources | None" = None
) -> "Dataset | ImageStream":
    """Build a dataset from its source."""
    if kind not in KINDS:
        raise InputError(
            f"unknown kind '{kind}'", file=name, field="kind", remedy=f"Known: {', '.join(KINDS)}"
        )
    if sources is None and kind != "digits":
        raise TypeError(f"datasets of kind {kind} are built from sources")
    module, function = kinds.KINDS[kind].builder.split(".")
    build = getattr(importlib.import_module(f"matcheval.datasets.{module}"), function)
    settings = read_settings(kinds.KINDS[kind], {"kind": kind, **options}, file=name)
    built: Dataset | ImageStream = build(name, settings, sources)
    return built
