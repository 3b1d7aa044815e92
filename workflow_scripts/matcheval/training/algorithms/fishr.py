"""Fishr (Rame et al. 2022): gradients of all training sets get the same variances."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from matcheval.training.algorithm import Setup
from matcheval.training.algorithm_options import FishrOptions
from matcheval.training.algorithms.single_loss import Outputs, SingleLoss
from matcheval.training.penalties.gradients import (
    head_gradient_variance,
    moving_variances,
    variance_difference,
)
from matcheval.training.recipe import Recipe


class Fishr(SingleLoss):
    """The loss over all images plus, after the burn-in, the weighted difference of variances."""

    options: FishrOptions
    needs_features = True
    averages: Tensor

    def __init__(self, network: nn.Module, recipe: Recipe, setup: Setup) -> None:
        super().__init__(network, recipe, setup)
        size = self.network_head.out_features * (self.network_head.in_features + 1)
        self.register_buffer("averages", torch.zeros(setup.n_domains, size, device=self.device))

    def objective(self, domains: Sequence[Outputs]) -> Tensor:
        """Update the moving averages, and compute the loss of a step."""
        with torch.set_grad_enabled(self.burnt_in):
            variances = torch.stack(
                [head_gradient_variance(each.logits, each.targets, each.features)
                 for each in domains]
            )  # fmt: skip
            penalised, self.averages = moving_variances(
                self.averages, variances, self.options.decay
            )
        loss = self.joint_loss(domains)
        if not self.burnt_in:
            return loss
        return loss + self.options.weight * variance_difference(penalised)
