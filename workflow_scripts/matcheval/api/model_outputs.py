"""Accuracies predicted from a model's outputs on given sets: shared with the command line."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from matcheval.accuracy_prediction.estimation import choose_methods, estimate_accuracies
from matcheval.accuracy_prediction.output_files import (
    UserFile,
    check_comparable,
    outputs_of_model,
    read_user_file,
)
from matcheval.accuracy_prediction.scores.outputs import Outputs
from matcheval.api.inputs import Given
from matcheval.errors import InputError
from matcheval.predictions.files import contents_of
from matcheval.predictions.layout import Layout
from matcheval.predictions.model_outputs import outputs_of
from matcheval.predictions.records import LabelRule
from matcheval.predictions.suspicions import suspicions

MAX_RESAMPLES = 1_000_000


@dataclass(frozen=True, eq=False)
class GivenSets:
    """A model's outputs on a base, on sets to predict for, and on sets to fit on.

    Attributes
    ----------
    base : Given
    targets : mapping of str to Given
        By name.
    calibration : sequence of Given
    is_named : bool
        Whether the caller named the targets. Otherwise they are called as their files say.
    """

    base: Given
    targets: Mapping[str, Given]
    calibration: Sequence[Given]
    is_named: bool = False

    @property
    def all(self) -> list[Given]:
        """All of them."""
        return [self.base, *self.calibration, *self.targets.values()]


def predict_given(
    given: GivenSets,
    methods: Sequence[str],
    layout: Layout,
    n_classes: int | None,
    *,
    resamples: int,
    seed: int,
    warn: Callable[[str], None],
) -> tuple[UserFile, pa.Table]:
    """Predict accuracies, reading one target after the other.

    Parameters
    ----------
    given : GivenSets
    methods : sequence of str
        As for `choose_methods`.
    layout : Layout
    n_classes : int, optional
    resamples, seed : int
    warn : callable
        Takes sentences on what looks wrong.

    Returns
    -------
    base : UserFile
    table : pyarrow.Table
        Schema `estimation.ESTIMATES`.

    Raises
    ------
    InputError
        As `predict_accuracy`.
    """
    for name, value, most in (("seed", seed, None), ("resamples", resamples, MAX_RESAMPLES)):
        _check_count(name, value, most)
    chosen = choose_methods(methods, calibrated=bool(given.calibration))
    base = read_outputs(given.base, "required", layout, n_classes)
    _warn(base, warn)

    def read(one: Given, labels: LabelRule) -> UserFile:
        found = read_outputs(one, labels, layout, n_classes)
        check_comparable(base, found)
        _warn(found, warn)
        return found

    calibration = [read(one, "required").outputs for one in given.calibration]

    def targets() -> Iterator[tuple[str, Outputs]]:
        """Each has a name of its own."""
        names: set[str] = set()
        for key, one in given.targets.items():
            found = read(one, "optional")
            name = key if given.is_named or found.name in names else found.name
            names.add(name)
            yield name, found.outputs

    table = estimate_accuracies(
        base.outputs, targets(), methods=chosen, calibration=calibration,
        n_resamples=int(resamples), seed=int(seed),
    )  # fmt: skip
    return base, table


def _check_count(name: str, value: int, most: int | None) -> None:
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or value < 0 or (most is not None and value > most):
        allowed = "0, 1, 2, ..." if most is None else f"0 to {most:,}"
        raise InputError(f"{name} is {value!r:.40}", remedy=f"Give {allowed}")


def read_outputs(
    given: Given, labels: LabelRule, layout: Layout, n_classes: int | None
) -> UserFile:  # fmt: skip
    """Read and check one model's outputs on one dataset.

    Parameters
    ----------
    given : Given
    labels : str
        `required` or `optional`.
    layout : Layout
        How they are laid out.
    n_classes : int, optional
        As for `records.check_predictions`.

    Raises
    ------
    InputError
        As `read_user_file`; or if features are no matrix of finite floats with a row per datapoint.
    """
    if given.path is not None:
        return read_user_file(given.path, labels=labels, n_classes=n_classes, layout=layout)
    contents = contents_of(given.raw(layout), scores=True, labels=labels, layout=layout)
    found = outputs_of(contents, file=given.name, n_classes=n_classes)
    outputs = outputs_of_model(found, given.features(len(found)))
    name = found.metadata.get("dataset", given.name)
    return UserFile(name, Path(given.name), outputs, found.metadata)


def _warn(file: UserFile, warn: Callable[[str], None]) -> None:
    """Say what looks wrong about a file."""
    outputs, n_classes = file.outputs, file.metadata.get("n_classes")
    for text in suspicions(
        outputs.labels,
        outputs.predicted,
        outputs.confidences,
        int(n_classes) if n_classes else None,
    ):
        warn(f"{file.name}: {text}")
