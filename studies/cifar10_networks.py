"""Published CIFAR-10 networks for studies/cifar10-shifts.yaml: models of kind `callable`.

Each function builds a network and loads its state dict from data/cifar10/weights_more/, as it was
published. docs/results.md describes the files and their origins.
"""

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from matcheval.models.transforms import NORMALIZATIONS, Transform

WEIGHTS = Path("data/cifar10/weights_more")

Normalization = tuple[tuple[float, ...], tuple[float, ...]]
HALVES: Normalization = (0.5,), (0.5,)


def tutorial_net(width: int) -> nn.Module:
    """The network of PyTorch's tutorial on CIFAR-10, whose first layer has `width` channels."""
    return nn.Sequential(OrderedDict(
        conv1=nn.Conv2d(3, width, 5), relu1=nn.ReLU(), pool1=nn.MaxPool2d(2),
        conv2=nn.Conv2d(width, 16, 5), relu2=nn.ReLU(), pool2=nn.MaxPool2d(2),
        flatten=nn.Flatten(), fc1=nn.Linear(400, 120), relu3=nn.ReLU(),
        fc2=nn.Linear(120, 84), relu4=nn.ReLU(), fc3=nn.Linear(84, 10),
    ))  # fmt: skip


class MultiBranch(nn.Module):
    """Layer of LMFRNet: appends 24 channels, the outputs of three 3 × 3 convolutions in a row."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.branch11 = conv_norm_relu(inputs, 12, 1)
        self.branch33a = conv_norm_relu(12, 12, 3)
        self.branch33b = conv_norm_relu(12, 6, 3)
        self.branch33c = conv_norm_relu(6, 6, 3)

    def forward(self, x: Tensor) -> Tensor:
        """Append the three outputs to the channels of the input."""
        a = self.branch33a(self.branch11(x))
        b = self.branch33b(a)
        return torch.cat([x, a, b, self.branch33c(b)], dim=1)


def conv_norm_relu(inputs: int, outputs: int, size: int) -> nn.Module:
    """Convolution without bias, batch norm and ReLU, by the names of LMFRNet's weights."""
    return nn.Sequential(OrderedDict(
        conv=nn.Conv2d(inputs, outputs, size, padding=size // 2, bias=False),
        norm=nn.BatchNorm2d(outputs), relu=nn.ReLU(),
    ))  # fmt: skip


def dense_multi_branch() -> nn.Module:
    """LMFRNet: four dense blocks of 3, 4, 8 and 3 layers, as the shapes of its weights show."""
    stem = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU())
    parts = OrderedDict(stemBlock=nn.Sequential(OrderedDict(stemConv=stem)))
    channels = 32
    for number, n_layers in enumerate((3, 4, 8, 3), 1):
        layers = {f"mmLayer{i + 1}": MultiBranch(channels + 24 * i) for i in range(n_layers)}
        channels += 24 * n_layers
        parts[f"MMCBlock{number}"] = nn.Sequential(OrderedDict(layers))
        parts[f"tran_ConvNormRelu{number}"] = conv_norm_relu(channels, channels, 1)
        parts[f"pool{number}"] = nn.AvgPool2d(2) if number < 4 else nn.AdaptiveAvgPool2d(1)
    return nn.Sequential(OrderedDict(
        features=nn.Sequential(parts), flatten=nn.Flatten(), fc=nn.Linear(channels, 10)
    ))  # fmt: skip


def published(
    name: str, build: Callable[[], nn.Module], normalization: Normalization
) -> tuple[nn.Module, Transform]:
    """Build a network and load its weights; return it with its transform."""
    state = load_file(WEIGHTS / f"{name}.safetensors")
    # LMFRNet's file has its last layer, `fc`, a second time under this name.
    state = {key: values for key, values in state.items() if not key.startswith("classifier.")}
    model = build()
    model.load_state_dict(state)
    return model, Transform.plain(*normalization)


lmfrnet = partial(published, "lmfrnet", dense_multi_branch, NORMALIZATIONS["cifar10_per_image"])
tutorial_net_a = partial(published, "tutorial_net_a", partial(tutorial_net, 6), HALVES)
tutorial_net_b = partial(published, "tutorial_net_b", partial(tutorial_net, 6), HALVES)
tutorial_net_c = partial(published, "tutorial_net_c", partial(tutorial_net, 10), HALVES)
