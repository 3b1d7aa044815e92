"""Datasets made of other datasets: parts, unions, and sets labelled by origin.

All need images that are arrays, as training does.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.datasets.dataset import Dataset, make_dataset
from matcheval.datasets.derivations import Derivation
from matcheval.errors import InputError, Problems

Rows = npt.NDArray[np.int64]


def derive(derivation: Derivation, sources: Sequence[Dataset]) -> Dataset:
    """Build a derived dataset.

    Parameters
    ----------
    derivation : Derivation
        What to make.
    sources : sequence of Dataset
        The sets it is made of, in the order of `derivation.of`, with images as arrays.

    Raises
    ------
    InputError
        If the sets do not go together (shapes, classes), or hold too few images of a class: the
        message names set, class and shortfall.
    """
    options = derivation.options
    if derivation.kind == "union":
        return _union(derivation, sources)
    if derivation.kind == "origins":
        return _origins(derivation, sources)
    (source,) = sources
    dealt = balanced_parts(source, options["parts"], np.random.default_rng(options["seed"]))
    chosen = dealt == options["part"] - 1
    rows = np.flatnonzero(chosen if derivation.kind == "part" else ~chosen)
    return make_dataset(
        derivation.name,
        source.pixels[rows],
        source.labels[rows],
        classes=source.classes,
        max_value=source.max_value,
        source=f"{len(rows)} of the {len(source)} images of {source.name}",
        names=[source.names[i] for i in rows],
        provenance=_provenance(derivation, sources),
    )


def balanced_parts(source: Dataset, parts: int, rng: np.random.Generator) -> Rows:
    """Deal the images of a set into random parts that hold equally many of each class.

    Parameters
    ----------
    source : Dataset
        Only labels and classes are used.
    parts : int
        At least 2.
    rng : numpy.random.Generator
        Shuffles the images of each class.

    Returns
    -------
    int array, shape (n,)
        The part of each image, from 0. Two parts differ by at most one image of each class, and
        by at most one image in all: dealing goes on where the class before ended.

    Raises
    ------
    InputError
        If a class has fewer images than there are parts.
    """
    dealt = np.empty(len(source), dtype=np.int64)
    _check_classes(source, parts, f"{parts} parts")
    start = 0
    for label in range(source.n_classes):
        rows = rng.permutation(np.flatnonzero(source.labels == label))
        dealt[rows] = (start + np.arange(len(rows))) % parts
        start += len(rows)
    return dealt


def _union(derivation: Derivation, sources: Sequence[Dataset]) -> Dataset:
    first, second = sources
    _check_alike(sources, ("image_shape", "max_value", "classes"))
    return make_dataset(
        derivation.name,
        np.concatenate([first.pixels, second.pixels]),
        np.concatenate([first.labels, second.labels]),
        classes=first.classes,
        max_value=first.max_value,
        source=" and ".join(f"the {len(s)} images of {s.name}" for s in sources),
        names=[f"{s.name}/{name}" for s in sources for name in s.names],
        provenance=_provenance(derivation, sources),
    )


def _origins(derivation: Derivation, sources: Sequence[Dataset]) -> Dataset:
    """Equally many images of each class of each set, labelled 0 or 1 by the set."""
    options = derivation.options
    _check_alike(sources, ("image_shape", "max_value", "classes"))
    n_classes = sources[0].n_classes
    per_class = options["per_set"] // n_classes
    n_test = round(per_class * options["test_fraction"])
    if not 0 < n_test < per_class:
        raise InputError(
            f"{options['per_set']} images of each set are {per_class} of each of {n_classes} "
            f"classes, {n_test} of them for the test",
            file=derivation.name,
            field="per_set",
            remedy="Give more images, or another test_fraction",
        )
    problems = Problems()
    for source in sources:
        with problems.gathered():
            _check_classes(source, per_class, f"{per_class} images per class of each set")
    problems.raise_any()
    chosen = []
    for number, source in enumerate(sources):
        rng = np.random.default_rng([options["seed"], number])
        rows = []
        for label in range(n_classes):
            drawn = rng.permutation(np.flatnonzero(source.labels == label))[:per_class]
            rows.append(drawn[:n_test] if options["role"] == "test" else drawn[n_test:])
        chosen.append(np.sort(np.concatenate(rows)))
    return make_dataset(
        derivation.name,
        np.concatenate([s.pixels[rows] for s, rows in zip(sources, chosen, strict=True)]),
        np.repeat(np.arange(len(sources)), [len(rows) for rows in chosen]),
        classes=tuple(s.name for s in sources),
        max_value=sources[0].max_value,
        source=f"{per_class} images of each class of {' and '.join(derivation.of)}, "
        f"the {options['role']} part, labelled by origin",
        names=[
            f"{s.name}/{s.names[i]}"
            for s, rows in zip(sources, chosen, strict=True)
            for i in rows
        ],
        provenance=_provenance(derivation, sources),
    )  # fmt: skip


def _check_alike(sources: Sequence[Dataset], what: Sequence[str]) -> None:
    for field in what:
        ours, theirs = (getattr(source, field) for source in sources)
        if ours != theirs:
            raise InputError(
                f"is {theirs} in {sources[1].name}, but {ours} in {sources[0].name}",
                file=f"{sources[0].name} and {sources[1].name}",
                field=field,
                remedy="Join sets of one kind",
            )


def _check_classes(source: Dataset, needed: int, why: str) -> None:
    """Refuse a set that has fewer than `needed` images of a class, naming all such classes."""
    counts = np.bincount(source.labels, minlength=source.n_classes)
    short = [
        f"'{source.classes[i]}' has {counts[i]}, {needed - counts[i]} too few"
        for i in np.flatnonzero(counts < needed)
    ]
    if short:
        raise InputError(
            f"too few images for {why}: {'; '.join(short)}",
            file=source.name,
            field="labels",
            remedy="Ask for less, or take a larger set",
        )


def _provenance(derivation: Derivation, sources: Sequence[Dataset]) -> Mapping[str, Any]:
    return {
        "derivation": derivation.kind,
        "options": dict(derivation.options),
        "of": {source.name: source.sha256 for source in sources},
    }
