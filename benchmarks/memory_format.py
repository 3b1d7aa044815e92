"""CPU seconds of CIFAR networks by memory format and batch size, one thread.

    .venv/bin/python benchmarks/memory_format.py [--images 256] [--rounds 5]

Inference uses channels last and batches of 64 for images of 32 pixels. Seconds are the processor's,
the fewest of `--rounds` alternating rounds, and ratios are to contiguous batches of 256.
"""

import argparse
import time
from itertools import product

import torch
from common import write_results
from torch import Tensor, nn

from matcheval.models.building import build_model

NETWORKS = (("resnet_a", 16, 20), ("resnet_a", 16, 56), ("vgg", 32, 11), ("densenet", 12, 40))
FORMATS = {"contiguous": torch.contiguous_format, "channels last": torch.channels_last}
BATCHES = (256, 64)


def seconds(network: nn.Module, images: Tensor, batch: int) -> float:
    """CPU seconds of one pass."""
    start = time.process_time()
    with torch.inference_mode():
        for part in images.split(batch):
            network(part)
    return time.process_time() - start


def main() -> None:
    """Measure every network in every format."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    images = torch.randn(arguments.images, 3, 32, 32)
    rows = []
    for name, width, depth in NETWORKS:
        network = build_model(
            name, width=width, depth=depth, input_shape=(32, 32, 3), n_classes=10
        ).eval()
        best = dict.fromkeys(product(FORMATS, BATCHES), float("inf"))
        for _, (layout, batch) in product(range(arguments.rounds), best):
            network.to(memory_format=FORMATS[layout])
            stored = images.contiguous(memory_format=FORMATS[layout])
            best[layout, batch] = min(best[layout, batch], seconds(network, stored, batch))
        base = best["contiguous", BATCHES[0]]
        rows += [
            {"network": f"{name} {width} {depth}", "format": layout, "batch": batch,
             "speed": f"{base / found:.2f}"}
            for (layout, batch), found in best.items()
        ]  # fmt: skip
    write_results("memory_format", rows, "torch")


if __name__ == "__main__":
    main()
