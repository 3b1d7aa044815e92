"""Spectral decoupling (Pezeshki et al. 2021): logits are kept small."""

from collections.abc import Sequence

from torch import Tensor

from matcheval.training.algorithm_options import SdOptions
from matcheval.training.algorithms.single_loss import Outputs, SingleLoss, joined
from matcheval.training.penalties.logits import mean_square


class Sd(SingleLoss):
    """The loss over all images, plus the weighted mean squared logit."""

    options: SdOptions

    def objective(self, domains: Sequence[Outputs]) -> Tensor:
        """Compute the loss of a step."""
        every = joined(domains)
        penalty = mean_square(every.logits)
        return self.loss(every.logits, every.targets) + self.options.weight * penalty
