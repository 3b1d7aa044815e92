"""The option `--fail-if`: conditions on which a command fails, for continuous integration."""

import argparse
import logging
import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from matcheval.errors import suggest

LOGGER = logging.getLogger(__name__)
EXIT_CODE = 3  # errors have 1, wrong command lines 2
_MAX_SHOWN = 10  # models that fail, by name
_COMPARED: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_FORM = re.compile(r"\s*([a-z][a-z_:-]*)\s*(<=|>=|<|>)\s*([+-]?(?:\d+\.?\d*|\.\d+))\s*")


@dataclass(frozen=True)
class Condition:
    """A quantity, compared with a number."""

    text: str
    quantity: str
    comparison: str
    limit: float

    @classmethod
    def read(cls, text: str, known: Collection[str]) -> "Condition":
        """Read a condition from a command line."""
        parts = _FORM.fullmatch(text)
        if parts is None:
            problem = f"'{text}' is not of the form 'gap > 5': a quantity, <, <=, > or >=, a number"
            raise argparse.ArgumentTypeError(problem)
        quantity, comparison, limit = parts.groups()
        if quantity not in known:
            raise argparse.ArgumentTypeError(
                f"unknown quantity '{quantity}' in '{text}'. {suggest(quantity, known)}"
            )
        return cls(" ".join(parts.groups()), quantity, comparison, float(limit))

    def is_met(self, value: float) -> bool:
        """Whether a value meets it; one that is not defined does, as it shows nothing."""
        rounded = round(value, 9)  # 100 * 0.07 is above 7
        return value != value or _COMPARED[self.comparison](rounded, self.limit)


def with_bounds(*names: str) -> list[str]:
    """Return quantities with the bounds of their intervals."""
    return [name + end for name in names for end in ("", "-low", "-high")]


def add_fail_if(parser: argparse.ArgumentParser, known: Collection[str], more: str = "") -> None:
    """Add the option, whose quantities must be known."""
    parser.add_argument(
        "--fail-if", type=partial(Condition.read, known=known), nargs="+", action="extend",
        default=[], metavar="'QUANTITY > NUMBER'",
        help=f"end with exit code {EXIT_CODE} if a quantity, in percent or percentage points, "
        "is as given (<, <=, > or >=) or not defined, of any model. "
        f"Quantities: {', '.join(name for name in known if ':' not in name)}{more}",
    )  # fmt: skip


def end_if_met(
    conditions: Iterable[Condition], values: Mapping[str, Mapping[str, float]]
) -> None:  # fmt: skip
    """End the command if values, by model and quantity, meet a condition, and say which do."""
    failed = False
    for condition in conditions:
        text, quantity = condition.text, condition.quantity
        met = {
            model: of_model[quantity]
            for model, of_model in values.items()
            if condition.is_met(of_model[quantity])
        }
        failed = failed or bool(met)
        for model, value in [*met.items()][:_MAX_SHOWN]:
            shown = "not defined, which counts" if value != value else f"{value:.2f}"
            LOGGER.error("failed, as %s: %s is %s (%s)", text, quantity, shown, model)
        if (more := len(met) - _MAX_SHOWN) > 0:
            LOGGER.error("failed, as %s: and %d more models", text, more)
    if failed:
        raise SystemExit(EXIT_CODE)
