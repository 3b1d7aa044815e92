"""Deep CORAL (Sun & Saenko 2016): features of all training sets get the same moments."""

from collections.abc import Sequence

from torch import Tensor

from matcheval.training.algorithm_options import CoralOptions
from matcheval.training.algorithms.single_loss import Outputs, SingleLoss
from matcheval.training.penalties.features import mean_moment_difference


class Coral(SingleLoss):
    """The mean risk plus the weighted mean difference of moments."""

    options: CoralOptions
    needs_features = True
    joint = False

    def objective(self, domains: Sequence[Outputs]) -> Tensor:
        """Compute the loss of a step."""
        penalty = mean_moment_difference([each.features for each in domains])
        return self.risks(domains).mean() + self.options.weight * penalty
