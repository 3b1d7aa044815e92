"""The cost of a network, counted in a forward pass, beside the one that jobs are planned with."""

import torch
from torch.utils.flop_counter import FlopCounterMode

from matcheval.execution.sizes import CIFAR, size_of_architecture
from matcheval.models.building import build_model


def check_costs(architecture: str, width: int, depth: int, groups: int) -> None:
    """Assert that a network for CIFAR-10 can be built, and that its cost is about as estimated."""
    kept = []
    size = {"width": width, "depth": depth, "groups": groups}
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        model = build_model(architecture, **size, input_shape=(32, 32, 3), n_classes=10).eval()
        for module in model.modules():
            if not list(module.children()):
                module.register_forward_hook(lambda _, given, output: kept.append(output.numel()))
        assert model(torch.empty(1, 3, 32, 32)).shape == (1, 10)
    estimated = size_of_architecture(architecture, width, depth, CIFAR, groups=groups)
    assert 1 / 2 < estimated.multiply_adds / (counter.get_total_flops() / 2) < 2
    assert 1 / 2 < estimated.kept / sum(kept) < 3
