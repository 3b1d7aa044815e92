"""Building datasets from other datasets: parts, unions, and sets labelled by origin.

The images of all of them are arrays of pixels, which training requires.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.datasets.dataset import Dataset, make_dataset, take_images
from matcheval.errors import ErrorCollector, InputError

# Raised by hand when an edit changes the derived datasets, so that they are built again.
DERIVATION_VERSION = 1

KINDS = ("part", "rest", "union", "origins")


@dataclass(frozen=True)
class Derivation:
    """Description of a dataset that is built from other datasets.

    Attributes
    ----------
    kind : str
        `part`: one of several class-balanced random parts; `rest`: all parts but one; `union`:
        the images of two sets; `origins`: images of two sets, labelled by the set that they come
        from.
    of : tuple of str
        Names of the source sets: two for `union` and `origins`, else one.
    options : mapping
        For `part` and `rest`: `part` (from 1), `parts` (their number), `seed`. For `origins`:
        `per_set` (number of images of each set), `role` (`train` or `test`), `test_fraction` (of
        the images of each class, between 0 and 1), `seed`.
    """

    kind: str
    of: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name, composed of its kind, sets and options: different derivations differ in it."""
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
    """Describe one of several class-balanced random parts of a set."""
    return Derivation("part", (of,), {"part": index, "parts": parts, "seed": seed})


def rest(of: str, index: int, parts: int, seed: int) -> Derivation:
    """Describe all of several class-balanced random parts of a set except one."""
    return Derivation("rest", (of,), {"part": index, "parts": parts, "seed": seed})


def union(first: str, second: str) -> Derivation:
    """Describe the union of two sets with the same label space."""
    return Derivation("union", (first, second))


Rows = npt.NDArray[np.int64]


def derive(derivation: Derivation, sources: Sequence[Dataset]) -> Dataset:
    """Build a derived dataset."""
    options = derivation.options
    if derivation.kind == "union":
        return _union(derivation, sources)
    if derivation.kind == "origins":
        return _origins(derivation, sources)
    (source,) = sources
    part_of = balanced_parts(source, options["parts"], np.random.default_rng(options["seed"]))
    chosen = part_of == options["part"] - 1
    rows = np.flatnonzero(chosen if derivation.kind == "part" else ~chosen)
    return take_images(
        source,
        rows,
        name=derivation.name,
        source=f"{len(rows)} of the {len(source)} images of {source.name}",
        provenance=_provenance(derivation, sources),
    )


def balanced_parts(source: Dataset, parts: int, rng: np.random.Generator) -> Rows:
    """Divide a set into random parts with equal numbers of images of each class."""
    part_of = np.empty(len(source), dtype=np.int64)
    _check_classes(source, parts, f"{parts} parts")
    start = 0
    for label in range(source.n_classes):
        rows = rng.permutation(np.flatnonzero(source.labels == label))
        part_of[rows] = (start + np.arange(len(rows))) % parts
        start += len(rows)
    return part_of


def _union(derivation: Derivation, sources: Sequence[Dataset]) -> Dataset:
    _check_alike(sources)
    return _joined(
        derivation,
        sources,
        [slice(None)] * len(sources),
        np.concatenate([source.labels for source in sources]),
        classes=sources[0].classes,
        source=" and ".join(f"the {len(s)} images of {s.name}" for s in sources),
    )


def _joined(
    derivation: Derivation,
    sources: Sequence[Dataset],
    chosen: Sequence[Rows | slice],
    labels: npt.NDArray[np.integer],
    *,
    classes: tuple[str, ...],
    source: str,
) -> Dataset:
    """Put chosen images of several sets into one."""
    parts = list(zip(sources, chosen, strict=True))
    names = [np.array(s.names, object)[rows] for s, rows in parts]
    return make_dataset(
        derivation.name,
        np.concatenate([s.pixels[rows] for s, rows in parts]),
        labels,
        classes=classes,
        max_value=sources[0].max_value,
        source=source,
        names=[f"{s.name}/{n}" for s, of_set in zip(sources, names, strict=True) for n in of_set],
        provenance=_provenance(derivation, sources),
    )


def _origins(derivation: Derivation, sources: Sequence[Dataset]) -> Dataset:
    """Take equal numbers of images of each class of each set, labelled 0 or 1 by the set."""
    options = derivation.options
    _check_alike(sources)
    n_classes = sources[0].n_classes
    per_class = options["per_set"] // n_classes
    n_test = round(per_class * options["test_fraction"])
    if not 0 < n_test < per_class:
        raise InputError(
            f"{options['per_set']} images of each set are {per_class} of each of {n_classes} "
            f"classes, {n_test} of them for testing",
            file=derivation.name,
            field="per_set",
            remedy="Increase per_set, or change test_fraction",
        )
    problems = ErrorCollector()
    for source in sources:
        with problems.collected():
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
    return _joined(
        derivation,
        sources,
        chosen,
        np.repeat(np.arange(len(sources)), [len(rows) for rows in chosen]),
        classes=tuple(s.name for s in sources),
        source=f"{per_class} images of each class of {' and '.join(derivation.of)}, "
        f"the {options['role']} part, labelled by origin",
    )


def _check_alike(sources: Sequence[Dataset]) -> None:
    for name in ("image_shape", "max_value", "classes"):
        ours, theirs = (getattr(source, name) for source in sources)
        if ours != theirs:
            raise InputError(
                f"is {theirs} in {sources[1].name}, but {ours} in {sources[0].name}",
                file=f"{sources[0].name} and {sources[1].name}",
                field=name,
                remedy="Use sets that do not differ in it",
            )


def _check_classes(source: Dataset, needed: int, why: str) -> None:
    """Raise an error that names every class with fewer than `needed` images, if there is one."""
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
            remedy="Request fewer images, or use a larger set",
        )


def _provenance(derivation: Derivation, sources: Sequence[Dataset]) -> Mapping[str, Any]:
    return {
        "derivation": derivation.kind,
        "options": dict(derivation.options),
        "of": {source.name: source.sha256 for source in sources},
    }
