"""Stochastic gradient descent with Nesterov momentum.

The same steps as `torch.optim.SGD(momentum=0.9, nesterov=True)`, which a test holds it to; that
one imports torch's compiler, and takes longer to start than a small model takes to train.
"""

from collections.abc import Iterable

import torch
from torch import Tensor

MOMENTUM = 0.9


class NesterovSGD:
    """Updates parameters from their gradients.

    Parameters
    ----------
    parameters : iterable of tensor
        What to train; changed in place.
    weight_decay : float
        Factor of each parameter that is added to its gradient.
    """

    def __init__(self, parameters: Iterable[Tensor], weight_decay: float) -> None:
        self._parameters = list(parameters)
        self._velocities: list[Tensor | None] = [None] * len(self._parameters)
        self._weight_decay = weight_decay

    @torch.no_grad()
    def step(self, learning_rate: float) -> None:
        """Take one step down the gradients, and forget them.

        References
        ----------
        Sutskever et al. (2013), On the importance of initialization and momentum.
        """
        for i, parameter in enumerate(self._parameters):
            if parameter.grad is None:
                continue
            gradient = parameter.grad.add(parameter, alpha=self._weight_decay)
            velocity = self._velocities[i]
            if velocity is None:
                velocity = self._velocities[i] = gradient.clone()
            else:
                velocity.mul_(MOMENTUM).add_(gradient)
            parameter.sub_(gradient.add_(velocity, alpha=MOMENTUM), alpha=learning_rate)
            parameter.grad = None
