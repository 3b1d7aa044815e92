"""Optimisation steps: gradients, mixed precision, SGD and the moving average of the weights."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from matcheval.training.losses import build_loss
from matcheval.training.recipe import Recipe

_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


class Optimisation:
    """A model together with everything that an optimisation step changes.

    Parameters
    ----------
    model : torch.nn.Module
        The model, already on its device; it is changed in place.
    recipe : Recipe
        Loss, optimiser, precision and moving average.
    compiled : bool
        Whether the forward pass in training is compiled by `torch.compile`.
    """

    def __init__(self, model: nn.Module, recipe: Recipe, *, compiled: bool = False) -> None:
        self.model, self._recipe = model, recipe
        self._forward: Callable[[Tensor], Tensor] = torch.compile(model) if compiled else model
        self._device = next(model.parameters()).device
        self.loss = build_loss(recipe.loss, recipe.loss_parameter)
        self._optimizer = torch.optim.SGD(
            list(_parameter_groups(model, recipe)),
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
        """Update the model by one batch.

        Parameters
        ----------
        images : float32 tensor, shape (n, channels, height, width)
            Normalised images.
        targets : float32 tensor, shape (n, n_classes)
            Distributions over the classes.
        rate : float
            Learning rate.

        Returns
        -------
        loss : tensor, shape ()
            Mean loss of the batch before the update, without gradient.
        logits : float32 tensor, shape (n, n_classes)
            Logits before the update, without gradient.
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
        """Run a model in the recipe's precision.

        Parameters
        ----------
        images : float32 tensor, shape (n, channels, height, width)
            Normalised images.
        model : callable
            Maps images to logits.

        Returns
        -------
        float32 tensor, shape (n, n_classes)
        """
        dtype = _DTYPES[self._recipe.precision]
        with torch.autocast(self._device.type, dtype, enabled=dtype is not torch.float32):
            logits = model(images)
        return logits.float()

    @property
    def result(self) -> nn.Module:
        """The model that is validated and saved: the moving average if there is one."""
        return self.model if self._average is None else self._average.module

    def state(self) -> dict[str, Any]:
        """Return everything that later steps depend on, for a resume state."""
        state = {
            "model": self.model.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "scaler": self._scaler.state_dict(),
        }
        return state | ({"average": self._average.state_dict()} if self._average else {})

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a saved state.

        Parameters
        ----------
        state : mapping of str to object
            As returned by `state`.
        """
        self.model.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        self._scaler.load_state_dict(state["scaler"])
        if self._average is not None:
            self._average.load_state_dict(state["average"])


def _parameter_groups(model: nn.Module, recipe: Recipe) -> Iterator[dict[str, Any]]:
    """Yield the parameters with their weight decay.

    Biases and the parameters of batch norm are those of one dimension.
    """
    if recipe.weight_decay_on == "all":
        yield {"params": list(model.parameters()), "weight_decay": recipe.weight_decay}
        return
    for several, decay in ((True, recipe.weight_decay), (False, 0.0)):
        parameters = [p for p in model.parameters() if (p.ndim > 1) == several]
        if parameters:
            yield {"params": parameters, "weight_decay": decay}
