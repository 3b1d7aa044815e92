"""Algorithms that minimise one loss of logits and features with one optimiser."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from matcheval.training.algorithm import Algorithm, Minibatch, Setup, Update, concatenated
from matcheval.training.optimizers import Optimizer
from matcheval.training.recipe import Recipe


class Outputs(NamedTuple):
    """What the network makes of the batch of one training set, with its graph.

    Attributes
    ----------
    logits : float32 tensor, shape (n, n_classes)
    features : float32 tensor, shape (n, n_features)
        The head's input; of width 0 unless the algorithm `needs_features`.
    targets : float32 tensor, shape (n, n_classes)
    """

    logits: Tensor
    features: Tensor
    targets: Tensor


class SingleLoss(Algorithm):
    """A step of one optimiser along the gradient of `objective`.

    With the option `burn_in_steps`, the optimiser is built anew after that many steps, as the loss
    changes abruptly.

    Parameters
    ----------
    network, recipe, setup
        As for `Algorithm`.

    Attributes
    ----------
    joint : bool
        Whether the network runs on all batches joined, or on one after the other, which makes a
        difference to batch norm.
    n_updates : int64 tensor, shape ()
        Steps so far; on the CPU, where reading it waits for no device.
    """

    joint: ClassVar[bool] = True
    n_updates: Tensor

    def __init__(self, network: nn.Module, recipe: Recipe, setup: Setup) -> None:
        super().__init__(network, recipe, setup)
        self.register_buffer("n_updates", torch.tensor(0))
        self._burn_in: int | None = getattr(self.options, "burn_in_steps", None)
        self.optimizers["network"] = Optimizer(network, recipe)

    @abstractmethod
    def objective(self, domains: Sequence[Outputs]) -> Tensor:
        """Compute the loss of a step.

        Parameters
        ----------
        domains : sequence of Outputs
            One per training set, in their order.

        Returns
        -------
        tensor, shape ()
        """

    def late_optimizer(self) -> Optimizer:
        """Build the optimiser of the steps after the burn-in."""
        return Optimizer(self.network, self.recipe)

    @property
    def burnt_in(self) -> bool:
        """Whether the steps of the burn-in are over."""
        return self._burn_in is not None and int(self.n_updates) >= self._burn_in

    def step(self, minibatches: Sequence[Minibatch], factor: float) -> Update:
        """Update the network.

        Parameters
        ----------
        minibatches : sequence of Minibatch
        factor : float
            As for `Algorithm.step`.

        Returns
        -------
        Update
        """
        if int(self.n_updates) == self._burn_in:
            self.optimizers["network"] = self.late_optimizer()
        domains = self._outputs(minibatches)
        loss = self.objective(domains)
        self.optimizers["network"].step(loss, factor)
        self.n_updates += 1
        return Update(loss.detach(), torch.cat([each.logits for each in domains]).detach())

    def joint_loss(self, domains: Sequence[Outputs]) -> Tensor:
        """Compute the recipe's loss over all images.

        Parameters
        ----------
        domains : sequence of Outputs

        Returns
        -------
        tensor, shape ()
        """
        every = joined(domains)
        return self.loss(every.logits, every.targets)

    def risks(self, domains: Sequence[Outputs]) -> Tensor:
        """Compute the recipe's loss of each training set.

        Parameters
        ----------
        domains : sequence of Outputs

        Returns
        -------
        tensor, shape (n_domains,)
        """
        return torch.stack([self.loss(each.logits, each.targets) for each in domains])

    def _outputs(self, minibatches: Sequence[Minibatch]) -> list[Outputs]:
        if not self.joint:
            return [self._run(*batch) for batch in minibatches]
        parts = self._run(*concatenated(minibatches))
        sizes = [len(batch.targets) for batch in minibatches]
        split = zip(*(torch.split(values, sizes) for values in parts), strict=True)
        return [Outputs(*values) for values in split]

    def _run(self, images: Tensor, targets: Tensor) -> Outputs:
        if self.needs_features:
            return Outputs(*self.logits_and_features(images), targets)
        logits = self.logits(images)
        return Outputs(logits, logits[:, :0], targets)


def joined(domains: Sequence[Outputs]) -> Outputs:
    """Join the outputs of all training sets."""
    return Outputs(*(torch.cat(values) for values in zip(*domains, strict=True)))
