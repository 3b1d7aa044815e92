"""Empirical quantile risk minimisation (Eastwood et al. 2022)."""

from collections.abc import Sequence

from torch import Tensor

from matcheval.training.algorithm_options import EqrmOptions
from matcheval.training.algorithms.single_loss import Outputs, SingleLoss
from matcheval.training.optimizers import Optimizer
from matcheval.training.penalties.risks import (
    bisected_quantile,
    implicit_quantile,
    kernel_bandwidth,
)

_QUANTILES = {"bisection": bisected_quantile, "implicit": implicit_quantile}


class Eqrm(SingleLoss):
    """The mean risk, and after the burn-in a quantile of the risks' density."""

    options: EqrmOptions
    joint = False

    def late_optimizer(self) -> Optimizer:
        """Build the optimiser of the steps after the burn-in, with its own learning rate."""
        rate = self.options.late_learning_rate
        return Optimizer(self.network, self.recipe, learning_rate=rate)

    def objective(self, domains: Sequence[Outputs]) -> Tensor:
        """Compute the loss of a step."""
        risks = self.risks(domains)
        if not self.burnt_in:
            return risks.mean()
        quantile = _QUANTILES[self.options.variant]
        return quantile(risks, kernel_bandwidth(risks), self.options.quantile)
