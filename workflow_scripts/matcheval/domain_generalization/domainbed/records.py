"""Accuracies of training runs on all domains, as rules of model selection take them."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Record:
    """Accuracies of one training run at one step.

    Every domain is divided into a larger part, which runs train on unless they hold the domain
    out, and a validation part, which no run trains on.

    Attributes
    ----------
    dataset : str
        The collection of domains, such as `PACS`.
    algorithm : str
        What was trained.
    group : str
        The choice of hyper-parameters.
    trial : int
        The seed of the repetition: of the division of the domains and of the initial weights.
    held_out : frozenset of str
        The domains that the run does not train on: one, or two in runs for the selection by
        leaving one domain out.
    step : int
        Updates of the weights so far.
    accuracies : mapping of str to float
        By domain, the accuracy on the larger part, as a fraction. Of a held-out domain this is a
        test accuracy, otherwise one on training data.
    validation : mapping of str to float
        By domain, the accuracy on the validation part.
    """

    dataset: str
    algorithm: str
    group: str
    trial: int
    held_out: frozenset[str]
    step: int
    accuracies: Mapping[str, float]
    validation: Mapping[str, float]
