"""Joint-product distribution alignment (Chen et al. 2023), which Sun et al. (2024) call RCS."""

from collections.abc import Sequence

import torch
from torch import Tensor

from matcheval.training.algorithm_options import RcsOptions
from matcheval.training.algorithms.single_loss import Outputs, SingleLoss, joined
from matcheval.training.penalties.features import joint_product_divergence


class Rcs(SingleLoss):
    """The loss over all images plus the weighted divergence of features and domains.

    Unlike in the authors' demonstration, the kernel is of features, its width is estimated in every
    batch, and batches are not balanced by class.
    """

    options: RcsOptions
    needs_features = True

    def objective(self, domains: Sequence[Outputs]) -> Tensor:
        """Compute the loss of a step.

        Parameters
        ----------
        domains : sequence of Outputs

        Returns
        -------
        tensor, shape ()
        """
        every = joined(domains)
        labels = every.targets.argmax(dim=1)
        sizes = torch.tensor([len(each.targets) for each in domains], device=labels.device)
        numbers = torch.arange(len(domains), device=labels.device)
        penalty = joint_product_divergence(
            every.features,
            labels,
            numbers.repeat_interleave(sizes, output_size=len(labels)),
            alpha=self.options.mixture,
            ridge=self.options.ridge,
        )
        return self.loss(every.logits, every.targets) + self.options.weight * penalty
