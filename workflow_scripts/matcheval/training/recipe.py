"""Recipes: how a model is trained, as a row of a catalogue. Imports no torch."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from matcheval.errors import InputError
from matcheval.models import ARCHITECTURES
from matcheval.training import AUGMENTATIONS, LOSSES, SCHEDULES


@dataclass(frozen=True)
class LossParameter:
    """A loss's parameter: its symbol, default and half-open range."""

    symbol: str
    default: float
    low: float
    high: float


# Losses that are not named here have no parameter.
LOSS_PARAMETERS = {
    "focal": LossParameter("γ", 2.0, 0.0, math.inf),
    "label_smoothing": LossParameter("α", 0.1, 0.0, 1.0),
    "mmce": LossParameter("λ", 4.0, 0.0, math.inf),
}


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

    def __post_init__(self) -> None:
        for field, known in (
            ("architecture", ARCHITECTURES),
            ("loss", LOSSES),
            ("augmentation", AUGMENTATIONS),
            ("schedule", SCHEDULES),
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
        for field in ("epochs", "batch_size"):
            self._check(field, 1, math.inf)
        for field in ("weight_decay", "seed"):
            self._check(field, 0, math.inf)
        self._check("learning_rate", 0, math.inf, open_low=True)
        self._check("train_fraction", 0, 1, open_low=True)
        self._check_loss_parameter()

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any], name: str | None = None) -> "Recipe":
        """Make a recipe of JSON values, or of a CSV row's strings.

        Parameters
        ----------
        values : mapping
            Exactly the fields of `Recipe`; an empty string is None.
        name : str, optional
            The model's name, for messages.

        Raises
        ------
        InputError
            Naming model and field: a field that is missing or unknown, or a value that is
            not of its type or out of its range.
        """
        types = {field.name: field.type for field in fields(cls)}
        for problem, which in (
            ("missing", types.keys() - values.keys()),
            ("unknown field", values.keys() - types.keys()),
        ):
            if which:
                raise InputError(
                    problem, file=name, field=sorted(which)[0], remedy=f"Fields: {', '.join(types)}"
                )
        parsed = {field: _parse(values[field], types[field], field, name) for field in types}
        try:
            return cls(**parsed)
        except InputError as error:
            raise InputError(str(error), file=name) from error

    def to_mapping(self) -> dict[str, Any]:
        """Return the fields as JSON values; the opposite of `from_mapping`."""
        return asdict(self)

    def _check(self, field: str, low: float, high: float, *, open_low: bool = False) -> None:
        value = getattr(self, field)
        inside = (low < value if open_low else low <= value) and value <= high
        if not inside or not math.isfinite(value):
            least = "above" if open_low else "at least"
            most = f" and at most {high:g}" if math.isfinite(high) else ""
            raise InputError(f"is {value}", field=field, remedy=f"Give {least} {low:g}{most}")

    def _check_loss_parameter(self) -> None:
        value, known = self.loss_parameter, LOSS_PARAMETERS.get(self.loss)
        if value is None:
            return
        if known is None:
            raise InputError(
                f"is {value:g}, but {self.loss} has none",
                field="loss_parameter",
                remedy="Leave it empty",
            )
        if not known.low <= value < known.high:
            raise InputError(
                f"{known.symbol} is {value:g}",
                field="loss_parameter",
                remedy=f"Give at least {known.low:g} and less than {known.high:g}",
            )


def _parse(value: Any, kind: Any, field: str, name: str | None) -> Any:
    """Bring a JSON value or a CSV string to a field's type, without changing what it says."""
    text = str(value).strip() if value is not None else ""
    try:
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
    except (ValueError, OverflowError) as error:
        wanted = "text" if kind is str else "a whole number" if kind is int else "a number"
        raise InputError(
            f"cannot read '{text}'", file=name, field=field, remedy=f"Give {wanted}"
        ) from error
