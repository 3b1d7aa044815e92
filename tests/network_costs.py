"""The cost of a network, counted in a forward pass, beside the one that jobs are planned with."""

import torch
from torch import nn

from matcheval.execution.sizes import CIFAR, size_of_architecture
from matcheval.models.building import build_model


def check_costs(architecture: str, width: int, depth: int, groups: int) -> None:
    """Assert that a network for CIFAR-10 can be built, and that its cost is about as estimated."""
    products, kept = [], []

    def count(module, inputs, output):
        kept.append(output.numel())
        if isinstance(module, nn.Conv2d | nn.Linear):
            products.append(output[0, :1].numel() * module.weight.numel())

    with torch.device("meta"):
        model = build_model(
            architecture, width=width, depth=depth, groups=groups,
            input_shape=(32, 32, 3), n_classes=10,
        ).eval()  # fmt: skip
        for module in model.modules():
            if not list(module.children()):
                module.register_forward_hook(count)
        assert model(torch.empty(1, 3, 32, 32)).shape == (1, 10)
    estimated = size_of_architecture(architecture, width, depth, CIFAR, groups=groups)
    assert 1 / 2 < estimated.multiply_adds / sum(products) < 2
    assert 1 / 2 < estimated.kept / sum(kept) < 3
