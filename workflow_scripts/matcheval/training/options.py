"""Algorithms and optimisers by name, with their options as typed settings. Does not import torch.

To add an algorithm, see `training.algorithms`. To add an optimiser, write a class of its options
with a line in `OPTIMIZERS`, and its construction in `training.optimizers`. A recipe has one mapping
of options for both, so that no two of them may have an option of the same name
(`tests/unit/test_algorithms.py` checks it).
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from matcheval.errors import InputError, suggest
from matcheval.settings import Number, Settings, read_settings
from matcheval.training.algorithm_options import (
    AlgorithmOptions,
    CoralOptions,
    EqrmOptions,
    ErmOptions,
    FishrOptions,
    GroupDroOptions,
    RcsOptions,
    SagnetOptions,
    SdOptions,
    SelfregOptions,
    VneOptions,
    VrexOptions,
)

_Beta = Annotated[Number, Field(ge=0, lt=1)]


class SgdOptions(Settings):
    """Stochastic gradient descent: none, as `momentum` and `nesterov` are columns of the recipe."""


class AdamOptions(Settings):
    """Adam (Kingma & Ba 2015) and AdamW (Loshchilov & Hutter 2019)."""

    betas: tuple[_Beta, _Beta] = Field(
        (0.9, 0.999), description="Decay of the averages of the gradient and of its square"
    )
    eps: Annotated[Number, Field(gt=0)] = Field(
        1e-8, description="Added to the denominator of a step"
    )


ALGORITHMS: Mapping[str, type[AlgorithmOptions]] = {
    "erm": ErmOptions,
    "sd": SdOptions,
    "vrex": VrexOptions,
    "group_dro": GroupDroOptions,
    "coral": CoralOptions,
    "fishr": FishrOptions,
    "eqrm": EqrmOptions,
    "sagnet": SagnetOptions,
    "selfreg": SelfregOptions,
    "rcs": RcsOptions,
    "vne": VneOptions,
}
OPTIMIZERS: Mapping[str, type[Settings]] = {
    "sgd": SgdOptions,
    "adam": AdamOptions,
    "adamw": AdamOptions,
}


def read_options(
    algorithm: str, optimizer: str, given: Mapping[str, Any]
) -> tuple[AlgorithmOptions, Any]:
    """Read the options of a recipe."""
    kinds = ALGORITHMS[algorithm], OPTIMIZERS[optimizer]
    known = [name for kind in kinds for name in kind.model_fields]
    for name in given:
        if name not in known:
            raise InputError(
                f"unknown option '{name}' of algorithm {algorithm} with optimizer {optimizer}",
                field="options",
                remedy=suggest(name, known) if known else "There are none: leave it empty",
            )
    parts = [{name: given[name] for name in kind.model_fields if name in given} for kind in kinds]
    try:
        own, optimizer_options = (
            read_settings(kind, part, file=None) for kind, part in zip(kinds, parts, strict=True)
        )
    except InputError as error:
        raise InputError(str(error), field="options") from error
    return own, optimizer_options


def equals_erm(algorithm: str, n_sources: int) -> bool:
    """Whether an algorithm has the gradients of ERM, as it has one training set."""
    return n_sources == 1 and ALGORITHMS[algorithm].single_source == "erm"


def check_n_sources(algorithm: str, n_sources: int, name: str) -> None:
    """Check that an algorithm is defined for a number of training sets."""
    kind = ALGORITHMS[algorithm]
    if n_sources == 1 and kind.single_source == "refused":
        raise InputError(
            f"{algorithm} needs two training sets and there is one: {kind.refusal}",
            file=name,
            field="algorithm",
            remedy="Name several sets in train, or choose another algorithm",
        )
