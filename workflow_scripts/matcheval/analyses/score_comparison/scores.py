"""Uncertainty scores of single predictions; all are higher for a more confident one."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.accuracy_prediction.scores.outputs import (
    Outputs,
    class_probabilities,
    largest_probability,
)

Floats = npt.NDArray[np.float64]


class Uncertainty(StrEnum):
    """The scores. `bounded` ones lie in [0, 1], so that they can be matched as they are."""

    CONFIDENCE = "confidence"
    MARGIN = "margin"
    ENTROPY = "entropy"
    ENERGY = "energy"
    TEMPERATURE = "temperature"
    VOTE_SHARE = "vote_share"

    @property
    def is_bounded(self) -> bool:
        """Whether its values lie in [0, 1]."""
        return self is not Uncertainty.ENERGY

    @property
    def label(self) -> str:
        """What readers call it."""
        return _LABELS[self]


_LABELS = {
    Uncertainty.CONFIDENCE: "confidence",
    Uncertainty.MARGIN: "margin of the two largest",
    Uncertainty.ENTROPY: "1 − normalised entropy",
    Uncertainty.ENERGY: "energy (log-sum-exp)",
    Uncertainty.TEMPERATURE: "confidence, temperature-scaled",
    Uncertainty.VOTE_SHARE: "vote share of the ensemble",
}


@dataclass(frozen=True, eq=False)
class Measured:
    """A score of the datapoints of one set, or why there is none."""

    values: npt.NDArray[Any] | None
    reason: str = ""


def margin(probabilities: Floats) -> Floats:
    """Return the largest minus the second largest probability."""
    two = np.partition(probabilities, -2, axis=1)[:, -2:]
    difference: Floats = two[:, 1] - two[:, 0]
    return difference


def certainty(probabilities: Floats) -> Floats:
    """Return 1 minus the entropy over its largest value, in [0, 1]."""
    from scipy.special import entr

    entropy = entr(probabilities).sum(axis=1)
    clipped: Floats = np.clip(1 - entropy / np.log(probabilities.shape[1]), 0, 1)
    return clipped


def energy(logits: npt.NDArray[Any]) -> Floats:
    """Return the logarithm of the sum of the exponentials: minus the free energy."""
    from scipy.special import logsumexp

    values: Floats = logsumexp(logits.astype(np.float64), axis=1)
    return values


def votes(
    predicted: Sequence[npt.NDArray[np.integer]],
) -> tuple[npt.NDArray[np.int16], Floats]:
    """Return the majority of several models, and the share of them that voted for it."""
    stacked = np.stack(predicted).astype(np.int64)
    majority = np.zeros(stacked.shape[1], np.int64)
    most = np.zeros(stacked.shape[1], np.int64)
    for candidate in np.sort(stacked, axis=0):  # from the lowest class of each datapoint
        count = (stacked == candidate).sum(axis=0)
        majority = np.where(count > most, candidate, majority)
        most = np.maximum(most, count)
    return majority.astype(np.int16), most / len(stacked)


def measure(
    score: Uncertainty, outputs: Outputs, confidence: npt.NDArray[Any], temperature: float | None
) -> Measured:
    """Measure a score of a single model."""
    if score is Uncertainty.CONFIDENCE:
        return Measured(confidence)
    if score in (Uncertainty.MARGIN, Uncertainty.ENTROPY):
        if outputs.probabilities is None:
            return Measured(None, "no logits on file: add logits to inference.outputs")
        if outputs.probabilities.shape[1] < 2:
            return Measured(None, "needs two classes or more")
        function = margin if score is Uncertainty.MARGIN else certainty
        return Measured(function(outputs.probabilities))
    if outputs.logits is None:
        return Measured(None, "no logits on file: add logits to inference.outputs")
    if score is Uncertainty.ENERGY:
        return Measured(energy(outputs.logits))
    if temperature is None:
        return Measured(None, "no validation data to fit a temperature on")
    probabilities = class_probabilities(outputs.logits, outputs.rule, temperature)
    return Measured(largest_probability(probabilities, outputs.rule))
