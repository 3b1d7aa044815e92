"""Group distributionally robust optimisation (Sagawa et al. 2020): the worst set weighs most."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from matcheval.training.algorithm import Setup
from matcheval.training.algorithm_options import GroupDroOptions
from matcheval.training.algorithms.single_loss import Outputs, SingleLoss
from matcheval.training.penalties.risks import reweighted
from matcheval.training.recipe import Recipe


class GroupDro(SingleLoss):
    """The weighted sum of risks, with weights that grow with the risks."""

    options: GroupDroOptions
    joint = False
    q: Tensor

    def __init__(self, network: nn.Module, recipe: Recipe, setup: Setup) -> None:
        super().__init__(network, recipe, setup)
        self.register_buffer("q", torch.ones(setup.n_domains, device=self.device))

    def objective(self, domains: Sequence[Outputs]) -> Tensor:
        """Update the weights, and compute the loss of a step."""
        risks = self.risks(domains)
        self.q = reweighted(self.q, risks, self.options.step_size)
        return self.q @ risks
