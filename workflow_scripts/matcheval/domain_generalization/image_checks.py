"""Checks of prepared sources and targets, before any training.

Apart from the checks of settings: a script uses these, and must not depend on the study's code.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from matcheval.domain_generalization.designs import Block
from matcheval.errors import ErrorCollector, InputError, configuration_error

if TYPE_CHECKING:
    from matcheval.datasets.dataset import Dataset

_ANALYSIS = "domain_generalization"


def check_images(
    blocks: Sequence[Block], sets: Mapping[str, "Dataset"], batch_size: int, parts: int
) -> None:
    """Check prepared sources and targets, before any training."""
    problems = ErrorCollector()
    sources = dict.fromkeys(name for block in blocks for name in block.sources)
    for name in sources:
        with problems.collected():
            _check_source(sets[name], batch_size, parts)
    for block in blocks:
        first = sets[block.sources[0]]
        for name in (*block.sources[1:], *block.targets):
            for field in ("classes", "image_shape", "max_value"):
                ours, theirs = getattr(first, field), getattr(sets[name], field)
                with problems.collected():
                    if ours != theirs:
                        raise InputError(
                            f"is {theirs} in {name}, but {ours} in {first.name}",
                            file=f"{_ANALYSIS}, block {block.name}",
                            field=field,
                            remedy="Use sets that do not differ in it",
                        )
    problems.raise_any()


def _check_source(source: "Dataset", batch_size: int, parts: int) -> None:
    counts = np.bincount(source.labels, minlength=source.n_classes)
    present = np.flatnonzero(counts)
    if len(present) < 2:
        raise InputError(
            f"has images of class '{source.classes[present[0]]}' only",
            file=source.name,
            field="labels",
            remedy="Use sources with images of at least two classes",
        )
    kept = len(source) - -(-len(source) // parts)
    if kept < batch_size:
        raise configuration_error(
            f"is {batch_size}, but {source.name} has {kept} images to train on",
            field=f"{_ANALYSIS}.recipe.batch_size",
            remedy=f"Give at most {kept}, or leave the source out",
        )
    if counts.min() < parts:
        label = source.classes[counts.argmin()]
        raise InputError(
            f"has {counts.min()} images of class '{label}', fewer than {parts} parts",
            file=source.name,
            field="labels",
            remedy="Lower validation_parts, or use a larger set",
        )
