"""A model on its device, and how a forward pass is computed."""

import math
from dataclasses import dataclass

import torch
from torch import nn

from matcheval.errors import InputError
from matcheval.inference import AUTOMATIC
from matcheval.inference.precision import check_precision
from matcheval.models.devices import full_memory
from matcheval.models.networks import Network, as_network
from matcheval.models.transforms import Transform

# Pixels of a batch of automatic size, and its maximum number of images: large enough to keep the
# device busy, small enough for the activations of most models.
_BATCH_PIXELS = {"cpu": 64 * 224**2, "mps": 128 * 224**2, "cuda": 512 * 224**2}
_MOST_IMAGES = {"cpu": 64, "mps": 512, "cuda": 2048}


@dataclass(frozen=True)
class ForwardConfig:
    """How a forward pass is computed; apart from `precision`, no setting should affect predictions.

    Attributes
    ----------
    device : torch.device
        Device of the model.
    batch_size : int or `auto`
        Images per batch, at least 1; it may change the last bits of the logits.
    n_threads : int
        CPU threads of the model; equally many further threads decode images.
    precision : str
        One of `inference.PRECISIONS`. Logits are stored, and the softmax computed, in float32.
    compile : bool
        Whether to compile the model by `torch.compile`, which takes minutes at first and makes
        later batches faster.

    Raises
    ------
    InputError
        If the precision is unknown or not supported by the device, or the batch size is not valid.
    """

    device: torch.device
    batch_size: int | str = AUTOMATIC
    n_threads: int = 1
    precision: str = "fp32"
    compile: bool = False

    def __post_init__(self) -> None:
        check_precision(self.precision, self.device)
        size = self.batch_size
        if size != AUTOMATIC and (not isinstance(size, int) or size < 1):
            raise InputError(f"is {size}", field="batch_size", remedy="Give at least 1, or auto")

    def images_at_a_time(self, height: int, width: int) -> int:
        """Return the batch size for images of a given size: the configured or the automatic one."""
        if isinstance(self.batch_size, int):
            return self.batch_size
        kind = self.device.type
        size = 1 << max(0, int(math.log2(_BATCH_PIXELS[kind] / (height * width))))
        return min(size, _MOST_IMAGES[kind])


class ForwardModel:
    """A model on its device; it may run over several datasets, one after the other.

    Parameters
    ----------
    name : str
        Name of the model, for messages.
    module : torch.nn.Module
        Maps normalised float32 NCHW images to logits (n, n_classes); it is moved to the device
        and set to evaluation mode.
    transform : Transform
        Its normalisation is computed on the device.
    settings : ForwardConfig
        Device, batch size and precision. When the device runs out of memory, the batch size is
        halved and the pass continues.

    Raises
    ------
    InputError
        If its weights exceed the device's memory.
    """

    def __init__(
        self, name: str, module: nn.Module, transform: Transform, settings: ForwardConfig
    ) -> None:
        self.name, self.transform, self.device = name, transform, settings.device
        self.batch_size: int | None = None  # reduced batch size, once memory has run out
        self._compile = settings.compile
        self._networks: dict[bool, Network] = {}
        with full_memory(
            f"its weights do not fit in the memory of the {settings.device.type} device",
            file=name,
            remedy="Use a device with more memory, or free it of other processes",
        ):
            self.module = module.to(settings.device).eval()

    def network(self, *, features: bool) -> Network:
        """Return the model as a function, compiled if that is set."""
        if features not in self._networks:
            network = as_network(self.module, features=features, name=self.name)
            self._networks[features] = torch.compile(network) if self._compile else network
        return self._networks[features]
