"""RepVGG for 32 × 32 images, as it is trained: parallel branches, not merged for inference.

References
----------
Ding et al. (2021), RepVGG, sections 3.2 and 3.4 and table 2 (A0).
github chenyaofo/pytorch-cifar-models, pytorch_cifar_models/repvgg.py: strides and names of weights.
"""

from collections import OrderedDict

from torch import Tensor, nn
from torch.nn import functional

from matcheval.models.architectures.parts import GlobalAverage, NetworkConfig, convolution

_BLOCKS = (1, 2, 4, 14, 1)


def _branch(inputs: int, outputs: int, size: int, stride: int) -> nn.Module:
    return nn.Sequential(
        OrderedDict(conv=convolution(inputs, outputs, size, stride), bn=nn.BatchNorm2d(outputs))
    )


class _Block(nn.Module):
    """ReLU of the sum of a 3 × 3, a 1 × 1 and, where the shape stays, an identity branch."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        same = inputs == outputs and stride == 1
        self.rbr_identity = nn.BatchNorm2d(inputs) if same else None
        self.rbr_dense = _branch(inputs, outputs, 3, stride)
        self.rbr_1x1 = _branch(inputs, outputs, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        total = self.rbr_dense(x) + self.rbr_1x1(x)
        if self.rbr_identity is not None:
            total = total + self.rbr_identity(x)
        return functional.relu(total)


def repvgg(config: NetworkConfig) -> nn.Module:
    """Build a RepVGG-A0 whose stem and first stage have stride 1."""
    width = config.width
    channels = [width, width, 2 * width, 4 * width, 80 * width // 3]
    inputs = config.channels
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    for stage, (outputs, number) in enumerate(zip(channels, _BLOCKS, strict=True)):
        blocks = []
        for block in range(number):
            blocks.append(_Block(inputs, outputs, 2 if stage > 1 and block == 0 else 1))
            inputs = outputs
        layers[f"stage{stage}"] = nn.Sequential(*blocks) if stage else blocks[0]
    layers["gap"] = GlobalAverage()
    layers["linear"] = nn.Linear(inputs, config.n_classes)
    return nn.Sequential(layers)
