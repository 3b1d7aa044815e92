"""Predictions on sets of which few or no labels are known, with the confidences that plans use."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.api.inputs import Data, layout_of, source_of
from matcheval.errors import InputError
from matcheval.predictions.files import Contents, read_contents, with_keys
from matcheval.predictions.formats import InMemory
from matcheval.predictions.layout import Layout
from matcheval.predictions.records import Predictions, check_columns
from matcheval.statistics.intervals import FloatArray

AS_STORED = "confidences are taken as stored; a labelled base set would calibrate them"


@dataclass(frozen=True, eq=False)
class Unlabelled:
    """A set: predictions whose labels do not count, and calibrated confidences, shape (n,)."""

    name: str
    given: Predictions
    f: FloatArray
    temperature: float | None
    n_classes: int | None
    layout: Layout
    notes: tuple[str, ...]

    @property
    def digest(self) -> str:
        """SHA-256 of what a plan depends on."""
        arrays = (self.given.index, self.given.prediction, self.given.probability)
        return hashlib.sha256(b"".join(one.tobytes() for one in arrays)).hexdigest()


def plan_digest(sets: Sequence[Unlabelled], design: str) -> str:
    """Return what ties a plan to its predictions: those of two models where these disagree."""
    return " ".join(one.digest for one in (sets if design == "disagreement" else sets[:1]))


def sources_of(
    data: "Mapping[str, Data | None]", columns: Mapping[str, str] | None,
    classes: Any, first_label: int,
) -> tuple[dict[str, Path | InMemory], Layout, int | None]:  # fmt: skip
    """Take over what is given by role, and return the layout that it shares."""
    found = {role: source_of(one, role) for role, one in data.items() if one is not None}
    return (found, *layout_of([*found.values()], columns, classes, first_label))


def read_unlabelled(
    source: Path | InMemory, layout: Layout, n_classes: int | None,
    base: Path | InMemory | None = None, temperature: float | None = None,
) -> Unlabelled:  # fmt: skip
    """Read a set; a base, or a temperature, scales its confidences."""
    scales = base is not None or temperature is not None
    found = read_contents(source, layout, scores=scales, labels="optional")
    columns: dict[str, Any] = check_columns(
        found.columns, file=source, n_classes=n_classes, metadata=found.metadata,
        first_label=found.raw.layout.say("first_label"),
    )  # fmt: skip
    notes = list(found.raw.notes)
    if columns.pop("label", None) is not None:
        notes.append(f"the labels in {source} do not count here")
    unknown = np.full(len(columns["index"]), -1, np.int16)
    blank = Predictions(label=unknown, **columns, metadata=found.metadata)
    given = with_keys(blank, found.columns, found.raw)
    if base is not None:
        temperature = _temperature(base, layout)
    if temperature is None:
        f = given.probability.astype(np.float64)
        notes.append(AS_STORED)
    else:
        from matcheval.predictions.softmax import softmax

        f = softmax(_logits(found, source), temperature).max(axis=1)
        if "index" in found.columns:
            f = f[np.argsort(found.columns["index"], kind="stable")]
        notes.append(f"confidences are scaled by the temperature {temperature:.3g}")
    known = found.metadata.get("n_classes", n_classes)
    name = found.metadata.get("model", "") or name_of(source)
    return Unlabelled(
        name, given, f, temperature, None if known is None else int(known), layout, tuple(notes)
    )


def name_of(source: Path | InMemory) -> str:
    """Return what predictions are called by their file, or by their role."""
    return source.stem if isinstance(source, Path) else str(source)


def aligned(first: Unlabelled, second: Unlabelled) -> tuple[Unlabelled, Unlabelled]:
    """Return the sets of two models with rows in the same order."""
    if (keys := first.given.keys) is not None and (others := second.given.keys) is not None:
        place = {str(key): row for row, key in enumerate(others.tolist())}
        rows = [place.get(str(key), -1) for key in keys.tolist()]
        if len(place) != len(keys) or len(others) != len(keys) or -1 in rows:
            raise InputError(
                f"{second.name} and {first.name} name different datapoints, or some twice",
                remedy="Give the predictions of both models on the same datapoints",
            )
        order = np.array(rows)
        chosen = second.given
        moved = replace(
            chosen, index=first.given.index, prediction=chosen.prediction[order],
            probability=chosen.probability[order], keys=keys,
        )  # fmt: skip
        return first, replace(second, given=moved, f=second.f[order])
    if not np.array_equal(first.given.index, second.given.index):
        raise InputError(
            f"{second.name} has {len(second.f):,} datapoints, {first.name} {len(first.f):,}, or "
            "other indices",
            remedy="Give the predictions of both models on the same datapoints",
        )
    return first, second


def check_not_grouped(one: Unlabelled, why: str) -> None:
    """Refuse datapoints in groups, where they would be taken as independent."""
    if one.given.groups is not None:
        raise InputError(
            f"its datapoints come in groups (column `group`), {why}: they are not independent",
            file=one.name, field="group",
            remedy="Draw labels by `label-plan` and ask for the accuracy on the set, which holds "
            "for datapoints in groups, or give a file with one datapoint of each group",
        )  # fmt: skip


def _logits(found: Contents, source: object) -> npt.NDArray[np.float64]:
    if found.scores is None:
        raise InputError(
            "has no scores of all classes, which a base calibrates", file=source,
            remedy="Give logits or probabilities of all classes, or leave the base out",
        )  # fmt: skip
    values = np.asarray(found.scores.values, np.float64)
    return values if found.scores.kind == "logits" else np.log(np.maximum(values, 1e-12))


def _temperature(base: Path | InMemory, layout: Layout) -> float:
    from matcheval.accuracy_prediction.scores.confidence import fit_temperature

    found = read_contents(base, layout, scores=True, labels="required")
    labels = np.asarray(found.columns["label"], np.int64)
    logits = _logits(found, base)
    if len(labels) and not 0 <= labels.min() <= labels.max() < logits.shape[1]:
        problem = f"{labels.max()} is too large, or {labels.min()} negative"
        raise InputError(problem, file=base, field="label")
    return fit_temperature(logits, labels)
