"""Algorithms and optimisers by name, with their options as typed settings. Does not import torch.

To add an algorithm, write a class of its options here, and in `training.algorithms` the class that
implements it, each with a line in the table of its file. To add an optimiser, write a class of its
options with a line in `OPTIMIZERS`, and its construction in `training.algorithm`. A recipe has one
mapping of options for both, so that no two of them may have an option of the same name.

Defaults and ranges of search are DomainBed's, apart from those of algorithms that DomainBed does
not have or gives no hyper-parameters. The names in brackets are DomainBed's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from matcheval.errors import InputError, suggest
from matcheval.settings import Fraction, Number, OpenFraction, Seed, Settings, read_settings
from matcheval.training import derived_seed


@dataclass(frozen=True)
class Range:
    """Range that a random search draws an option from, as metadata of the option's type."""

    low: float
    high: float
    logarithmic: bool = False
    whole: bool = False

    def draw(self, seed: int) -> float | int:
        """Draw a value, rounded to four significant digits or, if `whole`, to an integer."""
        value = float(np.random.default_rng(seed).uniform(self.low, self.high))
        value = float(f"{10**value if self.logarithmic else value:.4g}")
        return round(value) if self.whole else value


# The range of 10^U(low, high), in the notation of DomainBed.
powers_of_ten = partial(Range, logarithmic=True)

SingleSource = Literal["own", "erm", "refused"]

_Positive = Annotated[Number, Field(gt=0)]
_Weight = Annotated[Number, Field(ge=0)]


class AlgorithmOptions(Settings):
    """Base class of the options of a training algorithm.

    Attributes
    ----------
    single_source : str
        What it is with one training set: an algorithm of its `own`, `erm` (its penalty is 0, and
        its gradients are those of ERM), or `refused`.
    refusal : str
        Why it needs two training sets.
    hard_labels : bool
        Whether it needs images of one class each, and not mixtures.
    forward_passes : int
        Cost of a step in forward passes; a backward pass costs as much as two.
    groups : tuple of mappings of str to object
        The groups of hyper-parameters beside the defaults, of an algorithm without ranges.
    """

    single_source: ClassVar[SingleSource] = "own"
    refusal: ClassVar[str] = ""
    hard_labels: ClassVar[bool] = False
    forward_passes: ClassVar[int] = 3
    groups: ClassVar[tuple[Mapping[str, Any], ...]] = ()


class ErmOptions(AlgorithmOptions):
    """Empirical risk minimisation. No options: the loss is a column of the recipe."""


class SdOptions(AlgorithmOptions):
    """Spectral decoupling (Pezeshki et al. 2021)."""

    weight: Annotated[_Weight, powers_of_ten(-5, -1)] = Field(
        0.1, description="λ of the mean squared logit (sd_reg)"
    )


class VrexOptions(AlgorithmOptions):
    """Risk extrapolation by the variance of risks (Krueger et al. 2021)."""

    single_source = "erm"

    weight: Annotated[_Weight, powers_of_ten(-1, 5)] = Field(
        10.0, description="λ of the variance after the first steps; 1 in them (vrex_lambda)"
    )
    burn_in_steps: Annotated[Seed, powers_of_ten(0, 4, whole=True)] = Field(
        500, description="Steps after which the optimiser begins anew (vrex_penalty_anneal_iters)"
    )


class GroupDroOptions(AlgorithmOptions):
    """Group distributionally robust optimisation (Sagawa et al. 2020)."""

    single_source = "erm"

    step_size: Annotated[_Weight, powers_of_ten(-3, -1)] = Field(
        0.01, description="η of the domains' weights (groupdro_eta)"
    )


class CoralOptions(AlgorithmOptions):
    """Alignment of means and covariances (Sun & Saenko 2016)."""

    single_source = "erm"

    weight: Annotated[_Weight, powers_of_ten(-1, 1)] = Field(
        1.0, description="γ of the mean difference of moments (mmd_gamma)"
    )


class FishrOptions(AlgorithmOptions):
    """Alignment of the variances of gradients (Rame et al. 2022)."""

    single_source = "erm"

    weight: Annotated[_Weight, powers_of_ten(1, 4)] = Field(
        1000.0, description="λ of the penalty after the first steps; 0 in them (lambda)"
    )
    burn_in_steps: Annotated[Seed, Range(0, 5000, whole=True)] = Field(
        1500, description="Steps after which the optimiser begins anew (penalty_anneal_iters)"
    )
    decay: Annotated[Number, Field(ge=0, lt=1), Range(0.9, 0.99)] = Field(
        0.95, description="Decay per step of the moving averages of the variances (ema)"
    )


class EqrmOptions(AlgorithmOptions):
    """Empirical quantile risk minimisation (Eastwood et al. 2022)."""

    single_source = "refused"
    refusal = "the standard deviation of a single risk is not defined"

    quantile: Annotated[OpenFraction, Range(0.5, 0.99)] = Field(
        0.75, description="α of the quantile of risks (eqrm_quantile)"
    )
    burn_in_steps: Annotated[Seed, powers_of_ten(2.5, 3.5, whole=True)] = Field(
        2500,
        description="Steps with the mean risk, after which the optimiser begins anew "
        "(eqrm_burnin_iters)",
    )
    late_learning_rate: Annotated[_Positive, powers_of_ten(-7, -5)] = Field(
        1e-6, description="Highest learning rate after these steps (eqrm_lr)"
    )
    variant: Literal["bisection", "implicit"] = Field(
        "bisection",
        description="Gradient of the quantile: through the ends of the bisection, as in "
        "DomainBed, or the exact one, by the implicit function theorem",
    )


class SagnetOptions(AlgorithmOptions):
    """Style-agnostic network (Nam et al. 2021), on pooled features as in DomainBed."""

    forward_passes = 7

    weight: Annotated[_Weight, powers_of_ten(-2, 1)] = Field(
        0.1, description="Weight of the adversarial loss (sag_w_adv)"
    )


class SelfregOptions(AlgorithmOptions):
    """Self-supervised contrastive regularisation (Kim et al. 2021)."""

    hard_labels = True
    groups = ({"variant": "domainbed_compat"}, {"feature_weight": 0.1})

    feature_weight: _Weight = Field(
        0.3, description="Weight of the distances of features, relative to those of logits"
    )
    variant: Literal["default", "domainbed_compat"] = Field(
        "default",
        description="domainbed_compat: the projection of the features keeps its initial weights, "
        "as DomainBed's optimiser leaves it out",
    )
    projector: Literal["domainbed", "double"] = Field(
        "domainbed",
        description="Hidden layers of the projection are twice as wide as the features; domainbed: "
        "but not for 2,048 features, as in DomainBed",
    )


class RcsOptions(AlgorithmOptions):
    """Joint-product distribution alignment (Chen et al. 2023), on features."""

    single_source = "refused"
    refusal = "its penalty compares domains, and is 0 but for the ridge"
    hard_labels = True
    groups = ({"weight": 0.1}, {"weight": 10.0})

    weight: _Weight = Field(1.0, description="γ of the divergence")
    mixture: Fraction = Field(
        0.5, description="α, the share of the joint distribution in the mixture"
    )
    ridge: _Positive = Field(0.01, description="λ, added to the diagonal of the matrix")
    variant: Literal["default", "fixed_width"] = Field(
        "default",
        description="Width of the kernel: the median squared distance in every batch, as a "
        "constant, or that in the first batch. With the first, smaller features make a smaller "
        "divergence whatever their size, and a large weight may shrink them to 0",
    )


class VneOptions(AlgorithmOptions):
    """Change of the von Neumann entropy of the features (Kim et al. 2023)."""

    groups = ({"weight": -0.01}, {"weight": 0.001})

    weight: Annotated[Number, Field(gt=-0.5, lt=0.5)] = Field(
        -0.001,
        description="c of the loss minus c times the entropy: below 0 the entropy is lowered. "
        "Meant for batches of at least 32 images of all sets together",
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

_Beta = Annotated[Number, Field(ge=0, lt=1)]


class SgdOptions(Settings):
    """Stochastic gradient descent. No options: the momentum is a column of the recipe."""


class AdamOptions(Settings):
    """Adam (Kingma & Ba 2015) and AdamW (Loshchilov & Hutter 2019)."""

    betas: tuple[_Beta, _Beta] = Field(
        (0.9, 0.999), description="Decay of the averages of the gradient and of its square"
    )
    eps: Annotated[Number, Field(gt=0)] = Field(
        1e-8, description="Added to the denominator of a step"
    )


OPTIMIZERS: Mapping[str, type[Settings]] = {
    "sgd": SgdOptions,
    "adam": AdamOptions,
    "adamw": AdamOptions,
}


def read_options(
    algorithm: str, optimizer: str, options: Mapping[str, Any]
) -> tuple[AlgorithmOptions, Any]:
    """Read a recipe's options as settings of the algorithm and of the optimiser."""
    kinds = ALGORITHMS[algorithm], OPTIMIZERS[optimizer]
    known = [name for kind in kinds for name in kind.model_fields]
    for name in options:
        if name not in known:
            problem = f"unknown option '{name}' of algorithm {algorithm} with optimizer {optimizer}"
            remedy = suggest(name, known) if known else "There are none: leave it empty"
            raise InputError(problem, field="options", remedy=remedy)
    algorithm_options, optimizer_options = (
        read_settings(
            kind, {k: v for k, v in options.items() if k in kind.model_fields}, file="'options'"
        )
        for kind in kinds
    )
    return algorithm_options, optimizer_options


def check_n_sources(algorithm: str, n_sources: int, name: str) -> None:
    """Raise an error if an algorithm needs several training sets and there is only one."""
    kind = ALGORITHMS[algorithm]
    if n_sources == 1 and kind.single_source == "refused":
        problem = f"{algorithm} needs two training sets and there is one: {kind.refusal}"
        remedy = "Name several sets in train, or choose another algorithm"
        raise InputError(problem, file=name, field="algorithm", remedy=remedy)


def search_space(algorithm: str) -> dict[str, Range]:
    """Return the ranges of a random search over an algorithm's options, by option."""
    return {
        name: entry
        for name, field in ALGORITHMS[algorithm].model_fields.items()
        for entry in field.metadata
        if isinstance(entry, Range)
    }


def hyper_parameter_groups(algorithm: str, n: int) -> tuple[Mapping[str, Any], ...]:
    """Return up to n groups of an algorithm's options: the defaults, then listed or drawn ones."""
    ranges = search_space(algorithm)
    drawn = (
        {
            name: range_.draw(derived_seed("hyper-parameters", algorithm, name, group, 0))
            for name, range_ in ranges.items()
        }
        for group in range(1, n if ranges else 1)
    )
    return ({}, *(ALGORITHMS[algorithm].groups or drawn))[:n]
