"""Building datasets from other datasets: parts, unions, and sets labelled by origin.

The images of all of them are arrays of pixels, which training requires.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.datasets.dataset import Dataset, check_alike, make_dataset, take_images
from matcheval.errors import ErrorCollector, InputError

# Raised by hand when an edit changes the derived datasets, so that they are built again.
DERIVATION_VERSION = 1

KINDS = ("part", "rest", "union", "origins")


@dataclass(frozen=True)
class Derivation:
    """Description of a dataset that is built from other datasets."""

    kind: str
    of: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the dataset, from kind, sources and options; unique to the derivation."""
        o = self.options
        if self.kind in ("part", "rest"):
            word = "part" if self.kind == "part" else "without"
            return f"{self.of[0]}.{word}-{o['part']}-of-{o['parts']}.seed-{o['seed']}"
        if self.kind == "union":
            return ".and.".join(self.of)
        tested = f"{o['test_fraction']:g}".removeprefix("0.")
        return f"{'.or.'.join(self.of)}.{o['per_set']}-{tested}.{o['role']}.seed-{o['seed']}"

    @property
    def json(self) -> str:
        """The derivation as JSON, for a command line."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Derivation":
        """Read a derivation from the text that `json` returned."""
        values = json.loads(text)
        return cls(values["kind"], tuple(values["of"]), values["options"])


def part(of: str, index: int, parts: int, seed: int) -> Derivation:
    """Describe part `index`, from 1, of a set divided into class-balanced random parts."""
    return Derivation("part", (of,), {"part": index, "parts": parts, "seed": seed})


def rest(of: str, index: int, parts: int, seed: int) -> Derivation:
    """Describe a set without part `index`, from 1, of its class-balanced random parts."""
    return Derivation("rest", (of,), {"part": index, "parts": parts, "seed": seed})


def union(first: str, second: str) -> Derivation:
    """Describe the union of two sets with the same label space."""
    return Derivation("union", (first, second))


def derive(derivation: Derivation, sources: Sequence[Dataset]) -> Dataset:
    """Build the dataset that a derivation describes from its source datasets."""
    options = derivation.options
    provenance = {
        "derivation": derivation.kind, "options": dict(options),
        "of": {source.name: source.sha256 for source in sources},
    }  # fmt: skip
    if derivation.kind in ("part", "rest"):
        (source,) = sources
        part_of = balanced_parts(source, options["parts"], np.random.default_rng(options["seed"]))
        is_chosen = (part_of == options["part"] - 1) == (derivation.kind == "part")
        rows = np.flatnonzero(is_chosen)
        text = f"{len(rows)} of the {len(source)} images of {source.name}"
        return take_images(source, rows, name=derivation.name, source=text, provenance=provenance)
    check_alike(sources, derivation.name)
    if derivation.kind == "union":
        chosen = [np.arange(len(source)) for source in sources]
        labels = np.concatenate([source.labels for source in sources])
        classes = sources[0].classes
        text = " and ".join(f"the {len(s)} images of {s.name}" for s in sources)
    else:
        per_class, chosen = _rows_by_origin(derivation, sources)
        labels = np.repeat(np.arange(len(sources)), [len(rows) for rows in chosen])
        classes = derivation.of
        names = " and ".join(derivation.of)
        text = f"{per_class} images of each class of {names}, the {options['role']} part, "
        text += "labelled by origin"
    parts = list(zip(sources, chosen, strict=True))
    return make_dataset(
        derivation.name, np.concatenate([source.pixels[rows] for source, rows in parts]), labels,
        classes=classes, max_value=sources[0].max_value, source=text,
        names=[f"{source.name}/{source.names[row]}" for source, rows in parts for row in rows],
        provenance=provenance,
    )  # fmt: skip


def balanced_parts(source: Dataset, parts: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Divide a set into class-balanced random parts; return the part, from 0, of each image."""
    part_of = np.empty(len(source), dtype=np.int64)
    _check_class_sizes(source, parts, f"{parts} parts")
    start = 0
    for label in range(source.n_classes):
        rows = rng.permutation(np.flatnonzero(source.labels == label))
        part_of[rows] = (start + np.arange(len(rows))) % parts
        start += len(rows)
    return part_of


def _rows_by_origin(
    derivation: Derivation, sources: Sequence[Dataset]
) -> tuple[int, list[npt.NDArray[np.int64]]]:
    """Return the number of images drawn per class of each set, and each set's rows in the part."""
    options, n_classes = derivation.options, sources[0].n_classes
    per_class = options["per_set"] // n_classes
    n_test = round(per_class * options["test_fraction"])
    if not 0 < n_test < per_class:
        raise InputError(
            f"{options['per_set']} images of each set are {per_class} of each of {n_classes} "
            f"classes, {n_test} of them for testing",
            file=derivation.name, field="per_set",
            remedy="Increase per_set, or change test_fraction",
        )  # fmt: skip
    problems, chosen = ErrorCollector(), []
    part = slice(n_test) if options["role"] == "test" else slice(n_test, per_class)
    for number, source in enumerate(sources):
        with problems.collected():
            _check_class_sizes(source, per_class, f"{per_class} images per class of each set")
        rng = np.random.default_rng([options["seed"], number])
        rows = [rng.permutation(np.flatnonzero(source.labels == i))[part] for i in range(n_classes)]
        chosen.append(np.sort(np.concatenate(rows)))
    problems.raise_any()
    return per_class, chosen


def _check_class_sizes(source: Dataset, needed: int, why: str) -> None:
    """Raise an error that names every class with fewer than `needed` images, if there is one."""
    counts = np.bincount(source.labels, minlength=source.n_classes)
    short = [
        f"'{source.classes[i]}' has {counts[i]}, {needed - counts[i]} too few"
        for i in np.flatnonzero(counts < needed)
    ]
    if short:
        problem = f"too few images for {why}: {'; '.join(short)}"
        remedy = "Request fewer images, or use a larger set"
        raise InputError(problem, file=source.name, field="labels", remedy=remedy)
