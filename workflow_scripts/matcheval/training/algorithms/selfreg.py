"""SelfReg (Kim et al. 2021): images of the same class are made similar."""

from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor, nn

from matcheval.training.algorithm import Setup
from matcheval.training.algorithm_options import SelfregOptions
from matcheval.training.algorithms.single_loss import Outputs, SingleLoss, joined
from matcheval.training.augmentation import draw_beta
from matcheval.training.optimizers import Optimizer
from matcheval.training.penalties.similarity import dissimilarity, within_classes
from matcheval.training.recipe import Recipe


class Selfreg(SingleLoss):
    """The loss over all images, plus distances to images of the same class and mixtures of them."""

    options: SelfregOptions
    needs_features = True

    def __init__(self, network: nn.Module, recipe: Recipe, setup: Setup) -> None:
        super().__init__(network, recipe, setup)
        self.projector = _projector(self.network_head.in_features).to(self.device)
        if self.options.variant == "default":
            both = nn.ModuleList([network, self.projector])
            self.optimizers["network"] = Optimizer(both, recipe)

    def objective(self, domains: Sequence[Outputs]) -> Tensor:
        """Compute the loss of a step."""
        every, generator = joined(domains), self.setup.generator
        labels = every.targets.argmax(dim=1)
        (share,) = draw_beta(0.5, 1, generator)
        penalty = dissimilarity(
            every.logits,
            every.features,
            self.in_precision(self.projector, every.features).float(),
            (within_classes(labels, generator), within_classes(labels, generator)),
            share,
            self.options.feature_weight,
        )
        loss = self.loss(every.logits, every.targets)
        return loss + loss.detach().clamp_max(1) * penalty


def _projector(width: int) -> nn.Sequential:
    sizes = (width, 2 * width, 2 * width, width)
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers[:-1])
