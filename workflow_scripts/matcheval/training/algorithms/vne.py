"""Change of the von Neumann entropy of the features (Kim et al. 2023)."""

from collections.abc import Sequence

from torch import Tensor

from matcheval.training.algorithm_options import VneOptions
from matcheval.training.algorithms.single_loss import Outputs, SingleLoss, joined
from matcheval.training.penalties.features import von_neumann_entropy


class Vne(SingleLoss):
    """The loss over all images, minus the weighted entropy."""

    options: VneOptions
    needs_features = True

    def objective(self, domains: Sequence[Outputs]) -> Tensor:
        """Compute the loss of a step."""
        every = joined(domains)
        entropy = von_neumann_entropy(every.features)
        return self.loss(every.logits, every.targets) - self.options.weight * entropy
