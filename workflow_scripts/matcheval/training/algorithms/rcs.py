"""Joint-product distribution alignment (Chen et al. 2023), which Sun et al. (2024) call RCS."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from matcheval.training.algorithm import Setup
from matcheval.training.algorithm_options import RcsOptions
from matcheval.training.algorithms.single_loss import Outputs, SingleLoss, joined
from matcheval.training.penalties.features import (
    joint_product_divergence,
    median_square,
    squared_distances,
)
from matcheval.training.recipe import Recipe


class Rcs(SingleLoss):
    """The loss over all images plus the weighted divergence of features and domains."""

    options: RcsOptions
    needs_features = True
    width: Tensor

    def __init__(self, network: nn.Module, recipe: Recipe, setup: Setup) -> None:
        super().__init__(network, recipe, setup)
        self.register_buffer("width", torch.zeros((), device=self.device))

    def objective(self, domains: Sequence[Outputs]) -> Tensor:
        """Compute the loss of a step."""
        every = joined(domains)
        labels = every.targets.argmax(dim=1)
        sizes = torch.tensor([len(each.targets) for each in domains], device=labels.device)
        numbers = torch.arange(len(domains), device=labels.device)
        fixed = self.options.variant == "fixed_width"
        if fixed and int(self.n_updates) == 0:
            self.width = median_square(squared_distances(every.features))
        penalty = joint_product_divergence(
            every.features,
            labels,
            numbers.repeat_interleave(sizes, output_size=len(labels)),
            alpha=self.options.mixture,
            ridge=self.options.ridge,
            width=self.width if fixed else None,
        )
        return self.loss(every.logits, every.targets) + self.options.weight * penalty
