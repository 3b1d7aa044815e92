"""Risk extrapolation, V-REx (Krueger et al. 2021): risks of all training sets are made equal."""

from collections.abc import Sequence

from torch import Tensor

from matcheval.training.algorithm_options import VrexOptions
from matcheval.training.algorithms.single_loss import Outputs, SingleLoss
from matcheval.training.penalties.risks import risk_variance


class Vrex(SingleLoss):
    """The mean risk plus its weighted variance; the weight is 1 in the burn-in."""

    options: VrexOptions

    def objective(self, domains: Sequence[Outputs]) -> Tensor:
        """Compute the loss of a step."""
        risks = self.risks(domains)
        weight = self.options.weight if self.burnt_in else 1.0
        return risks.mean() + weight * risk_variance(risks)
