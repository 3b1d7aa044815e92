"""Optimisers by name, with mixed precision, clipping and a learning rate of their own."""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from matcheval.training.recipe import Recipe


class Optimizer:
    """A recipe's optimiser of the parameters of a module."""

    def __init__(
        self, module: nn.Module, recipe: Recipe, *, learning_rate: float | None = None
    ) -> None:
        self._module, self._recipe = module, recipe
        self._learning_rate = recipe.learning_rate if learning_rate is None else learning_rate
        options = recipe.typed_options[1].model_dump()
        if recipe.optimizer == "sgd":
            options = {"momentum": recipe.momentum, "nesterov": recipe.nesterov}
        self._optimizer = _OPTIMIZERS[recipe.optimizer](
            list(_parameter_groups(module, recipe)), lr=self._learning_rate, **options
        )
        device = next(module.parameters()).device
        self._scaler = torch.amp.GradScaler(device.type, enabled=recipe.precision == "fp16")

    def step(self, loss: Tensor, factor: float, *, fixed: nn.Module | None = None) -> None:
        """Update the parameters by the gradient of a loss."""
        for group in self._optimizer.param_groups:
            group["lr"] = self._learning_rate * factor
        self._optimizer.zero_grad()
        self._scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        if fixed is not None:
            fixed.zero_grad()
        if self._recipe.clip_norm:
            self._scaler.unscale_(self._optimizer)
            nn.utils.clip_grad_norm_(self._module.parameters(), self._recipe.clip_norm)
        self._scaler.step(self._optimizer)
        self._scaler.update()

    def state_dict(self) -> dict[str, Any]:
        """Return everything that later steps depend on, for a resume state."""
        return {
            "optimizer": self._optimizer.state_dict(),
            "scaler": self._scaler.state_dict(),
            "learning_rate": self._learning_rate,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a saved state."""
        self._optimizer.load_state_dict(state["optimizer"])
        self._scaler.load_state_dict(state["scaler"])
        self._learning_rate = state["learning_rate"]


# By the names in `options.OPTIMIZERS`, whose options have torch's names.
_OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW,
}  # fmt: skip


def _parameter_groups(module: nn.Module, recipe: Recipe) -> Iterator[dict[str, Any]]:
    """Yield the parameters with their weight decay."""
    if recipe.weight_decay_on == "all":
        yield {"params": list(module.parameters()), "weight_decay": recipe.weight_decay}
        return
    for several, decay in ((True, recipe.weight_decay), (False, 0.0)):
        parameters = [p for p in module.parameters() if (p.ndim > 1) == several]
        if parameters:
            yield {"params": parameters, "weight_decay": decay}


_WARM_UP = 0.2  # fraction of the training in which `warmup_cosine` rises
# `onecycle` uses the defaults of torch's OneCycleLR: it begins at 1 / 25 of the highest rate, which
# it reaches after 30 % of the training, and ends at 1 / 250,000 of it.
_ONE_CYCLE_RISE, _ONE_CYCLE_START, _ONE_CYCLE_END = 0.3, 1 / 25, 1 / 25e4


def learning_rate_factor(schedule: str, step: int, steps: int, warmup_steps: int = 0) -> float:
    """Compute the factor of the learning rate at a training step."""
    if step < warmup_steps:
        return (step + 0.5) / warmup_steps
    progress = (step - warmup_steps + 0.5) / (steps - warmup_steps)
    match schedule:
        case "constant":
            return 1.0
        case "cosine":
            return _cosine(progress)
        case "step":
            return 1.0 if progress < 0.5 else 0.1 if progress < 0.75 else 0.01
        case "warmup_cosine" if progress < _WARM_UP:
            return progress / _WARM_UP
        case "warmup_cosine":
            return _cosine((progress - _WARM_UP) / (1 - _WARM_UP))
        case "multistep":
            return 0.2 ** sum(progress >= milestone for milestone in (0.3, 0.6, 0.8))
        case "onecycle" if progress < _ONE_CYCLE_RISE:
            return 1 - (1 - _ONE_CYCLE_START) * _cosine(progress / _ONE_CYCLE_RISE)
        case "onecycle":
            falling = _cosine((progress - _ONE_CYCLE_RISE) / (1 - _ONE_CYCLE_RISE))
            return _ONE_CYCLE_END + (1 - _ONE_CYCLE_END) * falling
    raise ValueError(schedule)


def _cosine(progress: float) -> float:
    return (1 + math.cos(math.pi * progress)) / 2
