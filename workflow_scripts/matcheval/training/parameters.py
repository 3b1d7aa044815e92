"""Parameters of losses and augmentations: symbols, defaults and ranges. Does not import torch."""

import math
from dataclasses import dataclass

from matcheval.errors import InputError


@dataclass(frozen=True)
class Parameter:
    """The parameter of a loss or an augmentation."""

    symbol: str
    default: float
    low: float
    high: float
    open_low: bool = False

    def check(self, value: float, field: str) -> None:
        """Check that a value is in the range."""
        in_low = self.low < value if self.open_low else self.low <= value
        if not (in_low and value < self.high):
            least = "more than" if self.open_low else "at least"
            raise InputError(
                f"{self.symbol} is {value:g}",
                field=field,
                remedy=f"Give {least} {self.low:g} and less than {self.high:g}",
            )


# A loss that is not listed has no parameter.
LOSS_PARAMETERS = {
    "focal": Parameter("γ", 2.0, 0.0, math.inf),
    "label_smoothing": Parameter("α", 0.1, 0.0, 1.0),
    "mmce": Parameter("λ", 4.0, 0.0, math.inf),
    "mmce_weighted": Parameter("λ", 2.0, 0.0, math.inf),
    "mmce_mukhoti": Parameter("λ", 1.0, 0.0, math.inf),
    "mmce_weighted_mukhoti": Parameter("λ", 2.0, 0.0, math.inf),
}

# An augmentation that is not listed has no parameter.
AUGMENTATION_PARAMETERS = {
    "basic_mixup": Parameter("α", 1.0, 0.0, math.inf, open_low=True),
    "basic_cutmix": Parameter("α", 1.0, 0.0, math.inf, open_low=True),
    "basic_ricap": Parameter("β", 0.3, 0.0, math.inf, open_low=True),
}
