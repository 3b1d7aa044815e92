"""Style-agnostic network (Nam et al. 2021): features that tell classes, and not styles."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from matcheval.training.algorithm import Algorithm, Minibatch, Setup, Update, concatenated
from matcheval.training.algorithm_options import SagnetOptions
from matcheval.training.optimizers import Optimizer
from matcheval.training.penalties.logits import cross_entropy_to_uniform
from matcheval.training.penalties.style import randomized_content, randomized_style
from matcheval.training.recipe import Recipe


class Sagnet(Algorithm):
    """Three updates per step, each after a forward pass of its own."""

    options: SagnetOptions
    needs_features = True

    def __init__(self, network: nn.Module, recipe: Recipe, setup: Setup) -> None:
        super().__init__(network, recipe, setup)
        self.style_head = nn.Linear(
            self.network_head.in_features, self.network_head.out_features
        ).to(self.device)
        self.optimizers["network"] = Optimizer(network, recipe)
        self.optimizers["style_head"] = Optimizer(self.style_head, recipe)

    def step(self, minibatches: Sequence[Minibatch], factor: float) -> Update:
        """Update the network, the style head, and the network without its head."""
        images, targets = concatenated(minibatches)
        logits, features = self.logits_and_features(images)
        own = torch.rand(len(images), generator=self.setup.generator).to(images.device)
        styled = randomized_style(features, own, self._permutation(features))
        loss = self.loss(self.in_precision(self.network_head, styled).float(), targets)
        self.optimizers["network"].step(loss, factor)
        with torch.no_grad():
            _, features = self.logits_and_features(images)
        self.optimizers["style_head"].step(self.loss(self._style_logits(features), targets), factor)
        _, features = self.logits_and_features(images)
        adversarial = cross_entropy_to_uniform(self._style_logits(features))
        self.optimizers["network"].step(
            self.options.weight * adversarial, factor, fixed=self.network_head
        )
        return Update(loss.detach(), logits.detach())

    def _style_logits(self, features: Tensor) -> Tensor:
        mixed = randomized_content(features, self._permutation(features))
        logits: Tensor = self.in_precision(self.style_head, mixed)
        return logits.float()

    def _permutation(self, features: Tensor) -> Tensor:
        return torch.randperm(len(features), generator=self.setup.generator).to(features.device)
