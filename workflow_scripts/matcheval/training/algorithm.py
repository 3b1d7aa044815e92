"""What happens in a training step, and what is resumed: optimisers, the base of algorithms."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Generator, Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from matcheval.models.networks import as_trained_network
from matcheval.training.losses import build_loss
from matcheval.training.recipe import Recipe

_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


class Optimizer:
    """A recipe's optimiser of a module, with its loss scaling and gradient clipping."""

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
        """Take a gradient step at `factor` × learning rate, leaving `fixed` unchanged."""
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
        """Restore a state that `state_dict` returned."""
        self._optimizer.load_state_dict(state["optimizer"])
        self._scaler.load_state_dict(state["scaler"])
        self._learning_rate = state["learning_rate"]


# By the names in `options.OPTIMIZERS`, whose options have torch's names.
_OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW,
}  # fmt: skip


def _parameter_groups(module: nn.Module, recipe: Recipe) -> Iterator[dict[str, Any]]:
    """Group parameters by weight decay, of which biases and batch norm may be exempt."""
    if recipe.weight_decay_on == "all":
        yield {"params": list(module.parameters()), "weight_decay": recipe.weight_decay}
        return
    for is_weight, decay in ((True, recipe.weight_decay), (False, 0.0)):
        parameters = [p for p in module.parameters() if (p.ndim > 1) == is_weight]
        if parameters:
            yield {"params": parameters, "weight_decay": decay}


_WARM_UP = 0.2  # fraction of the training in which `warmup_cosine` rises
# `onecycle` uses the defaults of torch's OneCycleLR: it begins at 1 / 25 of the highest rate, which
# it reaches after 30 % of the training, and ends at 1 / 250,000 of it.
_ONE_CYCLE_RISE, _ONE_CYCLE_START, _ONE_CYCLE_END = 0.3, 1 / 25, 1 / 25e4


def learning_rate_factor(schedule: str, step: int, steps: int, warmup_steps: int = 0) -> float:
    """Compute the fraction of the highest learning rate that a schedule gives a training step."""
    if step < warmup_steps:
        return (step + 0.5) / warmup_steps
    progress = (step - warmup_steps + 0.5) / (steps - warmup_steps)
    match schedule:
        case "constant":
            return 1.0
        case "cosine":
            return _cosine_decay(progress)
        case "step":
            return 1.0 if progress < 0.5 else 0.1 if progress < 0.75 else 0.01
        case "warmup_cosine" if progress < _WARM_UP:
            return progress / _WARM_UP
        case "warmup_cosine":
            return _cosine_decay((progress - _WARM_UP) / (1 - _WARM_UP))
        case "multistep":
            return 0.2 ** sum(progress >= milestone for milestone in (0.3, 0.6, 0.8))
        case "onecycle" if progress < _ONE_CYCLE_RISE:
            return 1 - (1 - _ONE_CYCLE_START) * _cosine_decay(progress / _ONE_CYCLE_RISE)
        case "onecycle":
            falling = _cosine_decay((progress - _ONE_CYCLE_RISE) / (1 - _ONE_CYCLE_RISE))
            return _ONE_CYCLE_END + (1 - _ONE_CYCLE_END) * falling
    raise ValueError(schedule)


def _cosine_decay(progress: float) -> float:
    return (1 + math.cos(math.pi * progress)) / 2


# --- algorithms


class Minibatch(NamedTuple):
    """A batch of one training set."""

    images: Tensor  # float32, shape (n, channels, height, width), augmented and normalised
    targets: Tensor  # distributions over the classes, float32, shape (n, n_classes)


class Update(NamedTuple):
    """Mean loss and logits of a training step, from which the history's metrics are computed."""

    loss: Tensor  # mean loss of the batches before the update, without gradient
    logits: Tensor  # of all batches before the update, shape (n, n_classes), without gradient


@dataclass(frozen=True)
class Setup:
    """What an algorithm is built with: number of training sets, random generator, compilation."""

    n_domains: int  # training sets, and batches of every step
    generator: Generator  # of the algorithm's own random numbers, on the CPU; it is resumed
    compiled: bool = False  # whether the forward pass in training is


class Outputs(NamedTuple):
    """The network's outputs for the batch of one training set, with autograd graph, and targets."""

    logits: Tensor  # float32, shape (n, n_classes)
    features: Tensor  # the head's input, (n, n_features); of width 0 unless `needs_features`
    targets: Tensor


class Algorithm(nn.Module):
    """Base class of training algorithms: a network, and all else that a training step changes.

    A step goes along the gradient of `objective` with one optimiser, unless a subclass replaces
    `step`. With the option `burn_in_steps`, the optimiser is built anew after that many steps, as
    the loss changes abruptly.

    `state_dict` has the parameters and buffers of the network, of its moving average and of what a
    subclass adds (heads, moving averages, counters: as submodules and buffers), and the states of
    all `optimizers`, so that a resumed training goes on to the same bits. A subclass that replaces
    an optimiser in the course of training puts the new one in place of the old. A module that it
    adds it moves to the network's device before it builds an optimiser of it. Initial values come
    from torch's global generator, which is seeded, later random numbers from `setup.generator`.

    Parameters
    ----------
    network : torch.nn.Module
        Maps images to logits; already on its device. It is changed in place.
    recipe : Recipe
        Loss, optimiser, precision, moving average and options.
    setup : Setup

    Attributes
    ----------
    network, recipe, setup
        As given.
    options : options.AlgorithmOptions
        The algorithm's own options.
    loss : callable
        The recipe's loss of logits and targets.
    optimizers : dict of str to Optimizer
    needs_features : bool
        Whether the subclass uses features.
    joint : bool
        Whether the network runs on all batches joined, or on one after the other, which makes a
        difference to batch norm.
    n_updates : int64 tensor, shape ()
        Steps so far; on the CPU, where reading it waits for no device.
    """

    needs_features: ClassVar[bool] = False
    joint: ClassVar[bool] = True
    n_updates: Tensor

    def __init__(self, network: nn.Module, recipe: Recipe, setup: Setup) -> None:
        super().__init__()
        self.network, self.recipe, self.setup = network, recipe, setup
        self.options: Any = recipe.typed_options[0]
        self.loss = build_loss(recipe.loss, recipe.loss_parameter)
        self.register_buffer("n_updates", torch.tensor(0))
        self._burn_in: int | None = getattr(self.options, "burn_in_steps", None)
        self.optimizers = {"network": Optimizer(network, recipe)}
        self.average: AveragedModel | None = None
        if recipe.ema_decay:
            self.average = AveragedModel(
                network,
                multi_avg_fn=get_ema_multi_avg_fn(recipe.ema_decay),  # type: ignore[no-untyped-call]
                use_buffers=True,
            )
        # Modules in a list are not registered a second time: a compiled network, a part of it.
        forward: Callable[[Tensor], Any] = network
        self._head: list[nn.Linear] = []
        if self.needs_features:
            forward, head = as_trained_network(network, recipe.architecture)
            self._head = [head]
        with torch.random.fork_rng(devices=[]):  # its first call in a process draws numbers
            self._training_network = [torch.compile(forward) if setup.compiled else forward]
        self.prepare()

    def prepare(self) -> None:
        """Add a subclass's own modules, buffers and optimisers; called once, by `__init__`."""

    def objective(self, domains: Sequence[Outputs]) -> Tensor:
        """Compute the scalar loss of a step: by default, the recipe's loss over all images."""
        outputs = join_outputs(domains)
        return self.loss(outputs.logits, outputs.targets)

    def step(self, minibatches: Sequence[Minibatch], factor: float) -> Update:
        """Update network and state by a batch of each set; `factor` scales the learning rate."""
        if int(self.n_updates) == self._burn_in:
            self.optimizers["network"] = self.late_optimizer()
        domains = self._forward_domains(minibatches)
        loss = self.objective(domains)
        self.optimizers["network"].step(loss, factor)
        self.n_updates += 1
        return Update(loss.detach(), torch.cat([domain.logits for domain in domains]).detach())

    def late_optimizer(self) -> Optimizer:
        """Build the network's optimiser for the steps after the burn-in."""
        return Optimizer(self.network, self.recipe)

    @property
    def burnt_in(self) -> bool:
        """Whether there is a burn-in and its steps are over."""
        return self._burn_in is not None and int(self.n_updates) >= self._burn_in

    def risks(self, domains: Sequence[Outputs]) -> Tensor:
        """Compute the recipe's loss of each training set, shape (n_domains,)."""
        return torch.stack([self.loss(domain.logits, domain.targets) for domain in domains])

    def _forward_domains(self, minibatches: Sequence[Minibatch]) -> list[Outputs]:
        """Run the network on all batches, joined or one by one as `joint` says."""
        if not self.joint:
            return [self._forward(*batch) for batch in minibatches]
        parts = self._forward(*join_minibatches(minibatches))
        sizes = [len(batch.targets) for batch in minibatches]
        split = zip(*(torch.split(values, sizes) for values in parts), strict=True)
        return [Outputs(*values) for values in split]

    def _forward(self, images: Tensor, targets: Tensor) -> Outputs:
        if self.needs_features:
            return Outputs(*self.logits_and_features(images), targets)
        logits: Tensor = self.in_precision(self._training_network[0], images).float()
        return Outputs(logits, logits[:, :0], targets)

    def update(self, minibatches: Sequence[Minibatch], factor: float) -> Update:
        """Take one optimisation step, then update the moving average of the weights, if any."""
        update = self.step(minibatches, factor)
        if self.average is not None:
            self.average.update_parameters(self.network)
        return update

    def logits_and_features(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Run the network in training; return logits and features, if it `needs_features`."""
        logits, features = self.in_precision(self._training_network[0], images)
        return logits.float(), features.float()

    @property
    def network_head(self) -> nn.Linear:
        """The network's last layer; only for algorithms with `needs_features`."""
        return self._head[0]

    @property
    def device(self) -> torch.device:
        """The network's device."""
        return next(self.network.parameters()).device

    def train(self, mode: bool = True) -> "Algorithm":
        """Switch between training and evaluation mode; frozen batch norm stays in evaluation."""
        super().train(mode)
        if self.recipe.frozen_batch_norm:
            for module in self.network.modules():
                if isinstance(module, nn.modules.batchnorm._BatchNorm):
                    module.eval()
        return self

    def predict(self, images: Tensor) -> Tensor:
        """Compute float32 logits of normalised images by the network that will be saved."""
        logits: Tensor = self.in_precision(self.result, images)
        return logits.float()

    @property
    def result(self) -> nn.Module:
        """The network to validate and save: the moving average of the weights if there is one."""
        return self.network if self.average is None else self.average.module

    def get_extra_state(self) -> dict[str, Any]:
        """Return the part of `state_dict` that is neither parameter nor buffer."""
        return {name: optimizer.state_dict() for name, optimizer in self.optimizers.items()}

    def set_extra_state(self, state: Mapping[str, Any]) -> None:
        """Restore what `get_extra_state` returned."""
        for name, optimizer in self.optimizers.items():
            optimizer.load_state_dict(state[name])

    def in_precision(self, function: Callable[[Tensor], Any], values: Tensor) -> Any:
        """Call a function on a tensor with autocast to the recipe's precision."""
        dtype = _DTYPES[self.recipe.precision]
        with torch.autocast(values.device.type, dtype, enabled=dtype is not torch.float32):
            return function(values)


def join_minibatches(minibatches: Sequence[Minibatch]) -> Minibatch:
    """Join the batches of all training sets."""
    if len(minibatches) == 1:
        return minibatches[0]
    images, targets = zip(*minibatches, strict=True)
    return Minibatch(torch.cat(images), torch.cat(targets))


def join_outputs(domains: Sequence[Outputs]) -> Outputs:
    """Join the outputs of all training sets."""
    return Outputs(*(torch.cat(values) for values in zip(*domains, strict=True)))
