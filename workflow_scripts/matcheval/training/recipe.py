"""Recipes: how a model is trained, as a row of a catalogue. Imports no torch."""

import math
from collections.abc import Mapping
from dataclasses import MISSING, Field, asdict, dataclass, fields
from typing import Any

from matcheval.errors import InputError
from matcheval.models.sizes import ARCHITECTURES, check_architecture
from matcheval.training import (
    AUGMENTATIONS,
    DECAYED,
    LOSSES,
    NORMALIZATIONS,
    PRECISIONS,
    SCHEDULES,
    WARM_SCHEDULES,
)


@dataclass(frozen=True)
class Parameter:
    """The parameter of a loss or an augmentation: its symbol, default and range below `high`."""

    symbol: str
    default: float
    low: float
    high: float
    open_low: bool = False


# Losses that are not named here have no parameter.
LOSS_PARAMETERS = {
    "focal": Parameter("γ", 2.0, 0.0, math.inf),
    "label_smoothing": Parameter("α", 0.1, 0.0, 1.0),
    "mmce": Parameter("λ", 4.0, 0.0, math.inf),
    "mmce_weighted": Parameter("λ", 2.0, 0.0, math.inf),
}

# Likewise augmentations.
AUGMENTATION_PARAMETERS = {
    "basic_mixup": Parameter("α", 1.0, 0.0, math.inf, open_low=True),
    "basic_cutmix": Parameter("α", 1.0, 0.0, math.inf, open_low=True),
    "basic_ricap": Parameter("β", 0.3, 0.0, math.inf, open_low=True),
}

_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True)
class Recipe:
    """How a model is made and trained; the fields are the catalogue's columns.

    Attributes
    ----------
    architecture : str
        One of `models.ARCHITECTURES`.
    width, depth : int
        Its size (see `models.building.build_model`); 0 where the architecture has none.
    loss : str
        One of `training.LOSSES`.
    loss_parameter : float or None
        Its parameter (`LOSS_PARAMETERS`); None for the default, or if it has none.
    augmentation, schedule : str
        One of `training.AUGMENTATIONS`, and of `training.SCHEDULES`.
    epochs : int
        Passes over the training data, at least 1.
    batch_size : int
        Largest number of images in a step, at least 1.
    learning_rate : float
        Highest rate of the schedule, above 0.
    weight_decay : float
        Factor of the L2 penalty's gradient, at least 0.
    train_fraction : float
        Part of the training set that is used, in (0, 1].
    seed : int
        At least 0; enters initial weights, subset, order and augmentation, with the name.
    groups : int
        Groups of the convolutions of `resnext` (its cardinality); 1 for all others.
    normalization : str
        One of `training.NORMALIZATIONS`: `none`, or by `channels`: the training set's mean and
        standard deviation of each channel, which the checkpoint keeps.
    momentum : float
        Of SGD, in [0, 1).
    nesterov : bool
        Whether the momentum is Nesterov's.
    warmup_epochs : float
        Epochs in which the rate rises linearly from 0, before the schedule; fewer than `epochs`.
    weight_decay_on : str
        `all` parameters, or `weights`: none of batch norm and no biases.
    augmentation_parameter : float or None
        Its parameter (`AUGMENTATION_PARAMETERS`); None for the default, or if it has none.
    ema_decay : float
        Decay per step of the moving average of the weights, which is then what is validated and
        kept; 0 for none. Below 1.
    clip_norm : float
        Largest norm of the gradient, above which it is scaled down; 0 for any.
    precision : str
        One of `training.PRECISIONS`: `fp32`, or `bf16` or `fp16` mixed with it.

    Raises
    ------
    InputError
        Naming the field, if a value is not as said above.
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

    def __post_init__(self) -> None:
        for field, known in (
            ("architecture", ARCHITECTURES),
            ("loss", LOSSES),
            ("augmentation", AUGMENTATIONS),
            ("schedule", SCHEDULES),
            ("normalization", NORMALIZATIONS),
            ("weight_decay_on", DECAYED),
            ("precision", PRECISIONS),
        ):
            if getattr(self, field) not in known:
                raise InputError(
                    f"unknown value '{getattr(self, field)}'",
                    field=field,
                    remedy=f"Known: {', '.join(known)}",
                )
        size = (0, 0) if self.architecture == "linear" else (1, math.inf)
        self._check("width", *size)
        self._check("depth", *size)
        check_architecture(self.architecture, self.width, self.depth, self.groups)
        for field in ("epochs", "batch_size"):
            self._check(field, 1, math.inf)
        for field in ("weight_decay", "seed", "clip_norm"):
            self._check(field, 0, math.inf)
        for field in ("momentum", "ema_decay"):
            self._check(field, 0, 1, open_high=True)
        self._check("warmup_epochs", 0, self.epochs, open_high=True)
        self._check("learning_rate", 0, math.inf, open_low=True)
        self._check("train_fraction", 0, 1, open_low=True)
        self._check_parameter("loss", LOSS_PARAMETERS)
        self._check_parameter("augmentation", AUGMENTATION_PARAMETERS)
        if self.nesterov and self.momentum == 0:
            raise InputError(
                "Nesterov's momentum is 0", field="nesterov", remedy="Give false, or a momentum"
            )
        if self.warmup_epochs and self.schedule in WARM_SCHEDULES:
            raise InputError(
                f"is {self.warmup_epochs:g}, but {self.schedule} warms up by itself",
                field="warmup_epochs",
                remedy="Leave it empty, or choose another schedule",
            )

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any], name: str | None = None) -> "Recipe":
        """Make a recipe of JSON values, or of a CSV row's strings.

        Parameters
        ----------
        values : mapping
            The fields of `Recipe`; those with a default may be missing or empty. An empty
            string is None.
        name : str, optional
            The model's name, for messages.

        Raises
        ------
        InputError
            Naming model and field: a field that is missing or unknown, or a value that is
            not of its type or out of its range.
        """
        types = {field.name: field.type for field in fields(cls)}
        needed = {field.name for field in fields(cls) if field.default is MISSING}
        for problem, which in (
            ("missing", needed - values.keys()),
            ("unknown field", values.keys() - types.keys()),
        ):
            if which:
                raise InputError(
                    problem, file=name, field=sorted(which)[0], remedy=f"Fields: {', '.join(types)}"
                )
        given = {
            field: value
            for field, value in values.items()
            if field in needed or str("" if value is None else value).strip()
        }
        parsed = {field: _parse(given[field], types[field], field, name) for field in given}
        try:
            return cls(**parsed)
        except InputError as error:
            raise InputError(str(error), file=name) from error

    def to_mapping(self) -> dict[str, Any]:
        """Return the fields as JSON values; the opposite of `from_mapping`.

        Optional fields at their defaults are left out, so that a field added later changes no
        recipe, and trains nothing again.
        """
        optional = {field.name: field.default for field in fields(self) if _is_optional(field)}
        return {
            name: value
            for name, value in asdict(self).items()
            if name not in optional or value != optional[name]
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
        value = getattr(self, field)
        above = low < value if open_low else low <= value
        below = value < high if open_high else value <= high
        if not (above and below) or not math.isfinite(value):
            least = "above" if open_low else "at least"
            most = "less than" if open_high else "at most"
            end = f" and {most} {high:g}" if math.isfinite(high) else ""
            raise InputError(f"is {value}", field=field, remedy=f"Give {least} {low:g}{end}")

    def _check_parameter(self, what: str, parameters: Mapping[str, "Parameter"]) -> None:
        field = f"{what}_parameter"
        value, known = getattr(self, field), parameters.get(getattr(self, what))
        if value is None:
            return
        if known is None:
            raise InputError(
                f"is {value:g}, but {getattr(self, what)} has none",
                field=field,
                remedy="Leave it empty",
            )
        above = known.low < value if known.open_low else known.low <= value
        if not (above and value < known.high):
            least = "above" if known.open_low else "at least"
            raise InputError(
                f"{known.symbol} is {value:g}",
                field=field,
                remedy=f"Give {least} {known.low:g} and less than {known.high:g}",
            )


def _is_optional(field: "Field[Any]") -> bool:
    return field.default is not MISSING


def _parse(value: Any, kind: Any, field: str, name: str | None) -> Any:
    """Bring a JSON value or a CSV string to a field's type, without changing what it says."""
    text = str(value).strip() if value is not None else ""
    try:
        if kind is bool:
            return _TRUTH[text.lower()]
        if isinstance(value, bool):
            raise ValueError("a truth value")
        if kind is str:
            if not isinstance(value, str):
                raise ValueError("not text")
            return text
        if kind == float | None and not text:
            return None
        if kind is int:
            # A spreadsheet writes 3 as 3.0; by way of float, long seeds would lose digits.
            return int(text.removesuffix(".0"))
        return float(text)
    except (ValueError, OverflowError, KeyError) as error:
        wanted = {str: "text", int: "a whole number", bool: "true or false"}.get(kind, "a number")
        raise InputError(
            f"cannot read '{text}'", file=name, field=field, remedy=f"Give {wanted}"
        ) from error
