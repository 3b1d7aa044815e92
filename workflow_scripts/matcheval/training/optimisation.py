"""One step of training: gradient, precision, optimiser and moving average."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from matcheval.training.losses import make_loss
from matcheval.training.recipe import Recipe

_TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


class Stepper:
    """A model with all that its steps change.

    Parameters
    ----------
    model : torch.nn.Module
        On its device.
    recipe : Recipe
        How to step.
    compiled : bool
        Whether the forward pass goes through `torch.compile`.
    """

    def __init__(self, model: nn.Module, recipe: Recipe, *, compiled: bool = False) -> None:
        self.model, self._recipe = model, recipe
        self._forward: Callable[[Tensor], Tensor] = torch.compile(model) if compiled else model
        self._device = next(model.parameters()).device
        self.loss = make_loss(recipe.loss, recipe.loss_parameter)
        self._optimizer = torch.optim.SGD(
            list(_groups(model, recipe)),
            lr=recipe.learning_rate,
            momentum=recipe.momentum,
            nesterov=recipe.nesterov,
        )
        self._scaler = torch.amp.GradScaler(self._device.type, enabled=recipe.precision == "fp16")
        self._average: AveragedModel | None = None
        if recipe.ema_decay:
            self._average = AveragedModel(
                model,
                multi_avg_fn=get_ema_multi_avg_fn(recipe.ema_decay),  # type: ignore[no-untyped-call]
                use_buffers=True,
            )

    def step(self, images: Tensor, targets: Tensor, rate: float) -> tuple[Tensor, Tensor]:
        """Take a step.

        Parameters
        ----------
        images : float32 tensor, shape (n, channels, height, width)
            Normalised.
        targets : float32 tensor, shape (n, n_classes)
            Distributions.
        rate : float
            Learning rate.

        Returns
        -------
        loss, logits : tensors
            Of before the step, without gradients.
        """
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._optimizer.zero_grad()
        logits = self.logits(images, self._forward)
        loss = self.loss(logits, targets)
        self._scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        if self._recipe.clip_norm:
            self._scaler.unscale_(self._optimizer)
            nn.utils.clip_grad_norm_(self.model.parameters(), self._recipe.clip_norm)
        self._scaler.step(self._optimizer)
        self._scaler.update()
        if self._average is not None:
            self._average.update_parameters(self.model)
        return loss.detach(), logits.detach()

    def logits(self, images: Tensor, model: Callable[[Tensor], Tensor]) -> Tensor:
        """Logits in float32, computed in the recipe's precision."""
        kind = _TYPES[self._recipe.precision]
        with torch.autocast(self._device.type, kind, enabled=kind is not torch.float32):
            logits = model(images)
        return logits.float()

    @property
    def result(self) -> nn.Module:
        """The model that is validated and kept: the moving average, if there is one."""
        return self.model if self._average is None else self._average.module

    def state(self) -> dict[str, Any]:
        """All that later steps depend on."""
        state = {
            "model": self.model.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "scaler": self._scaler.state_dict(),
        }
        return state | ({"average": self._average.state_dict()} if self._average else {})

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up a state again."""
        self.model.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        self._scaler.load_state_dict(state["scaler"])
        if self._average is not None:
            self._average.load_state_dict(state["average"])


def _groups(model: nn.Module, recipe: Recipe) -> Iterator[dict[str, Any]]:
    """Parameters with their weight decay; norms' parameters and biases have one dimension."""
    if recipe.weight_decay_on == "all":
        yield {"params": list(model.parameters()), "weight_decay": recipe.weight_decay}
        return
    for several, decay in ((True, recipe.weight_decay), (False, 0.0)):
        parameters = [p for p in model.parameters() if (p.ndim > 1) == several]
        if parameters:
            yield {"params": parameters, "weight_decay": decay}
