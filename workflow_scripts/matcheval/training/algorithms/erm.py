"""Empirical risk minimisation (Vapnik 1998): the mean loss of the batches of all training sets."""

from collections.abc import Sequence

from torch import nn

from matcheval.training.algorithm import Algorithm, Minibatch, Setup, Update, concatenated
from matcheval.training.optimizers import Optimizer
from matcheval.training.recipe import Recipe


class Erm(Algorithm):
    """One forward pass over the joined batches, one step of one optimiser."""

    def __init__(self, network: nn.Module, recipe: Recipe, setup: Setup) -> None:
        super().__init__(network, recipe, setup)
        self.optimizers["network"] = Optimizer(network, recipe)

    def step(self, minibatches: Sequence[Minibatch], factor: float) -> Update:
        """Update the network."""
        images, targets = concatenated(minibatches)
        logits = self.logits(images)
        loss = self.loss(logits, targets)
        self.optimizers["network"].step(loss, factor)
        return Update(loss.detach(), logits.detach())
