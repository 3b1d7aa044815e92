"""What studies run on a GPU, and its results on the CPU: networks, inference, training."""

import copy
from functools import cache

import numpy as np
import torch
from torch import nn

from image_sets import dataset
from matcheval.health import version_of
from matcheval.models.networks import build_model
from matcheval.models.transforms import Transform
from matcheval.predictions.softmax import softmax
from matcheval.training.loop import train
from matcheval.training.settings import Engine
from trainings import Kept, forward, recipe

IMAGES, SIDE = 2048, 32  # of most tests
FAST_IMAGES, FAST_SIDE = 2048, 224  # of the measurement of speed
COMPARED = 16  # of these, on the CPU too
_WIDTH, _DEPTH = 16, 2
RECIPE = recipe(
    architecture="resnet", width=_WIDTH, depth=_DEPTH, augmentation="basic", epochs=3,
    batch_size=64, normalization="channels",
)  # fmt: skip


@cache
def images(n, side):
    """Draw images of ten classes: coloured blocks by class, mixed with random ones."""
    rng = np.random.default_rng(0)
    labels = np.arange(n) % 10
    blocks = rng.integers(0, 256, (10, 4, 4, 3))[labels] + rng.integers(0, 256, (n, 4, 4, 3))
    pixels = (blocks // 2).astype(np.uint8).repeat(side // 4, axis=1).repeat(side // 4, axis=2)
    return dataset(pixels, labels, "blocks", tuple("abcdefghij"))


def training_sets():
    return [images(IMAGES, SIDE)], images(IMAGES // 4, SIDE)


@cache
def trained_on_cpu():
    """Train a network on the CPU, in fp32."""
    return train("m", RECIPE, *training_sets(), engine=Engine("cpu", torch.get_num_threads()))


@cache
def small_network():
    shape, trained = (SIDE, SIDE, 3), trained_on_cpu()
    network = build_model("resnet", width=_WIDTH, depth=_DEPTH, input_shape=shape, n_classes=10)
    network.load_state_dict(trained.state)
    return network, Transform.plain(trained.mean, trained.std)


@cache
def large_network():
    """Build timm's ResNet-50, or ours of 18 layers; random weights, batch norm as in training."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        if version_of("timm"):
            from timm.models.resnet import resnet50

            network = resnet50(pretrained=False, num_classes=10, zero_init_last=False)
        else:
            shape = (FAST_SIDE, FAST_SIDE, 3)
            network = build_model("resnet_7x7", width=64, depth=18, input_shape=shape, n_classes=10)
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = 1.0
    first = torch.from_numpy(images(COMPARED, FAST_SIDE).pixels[:]).permute(0, 3, 1, 2)
    with torch.no_grad():
        network(first / 255)
    return network, Transform.plain()


def run(network, blocks, device, **settings):
    """Run a network as a study does; return all probabilities, and the model."""
    module, transform = copy.deepcopy(network)
    kept, threads = Kept(), torch.get_num_threads()
    model = forward(module, blocks, [kept], device, transform, n_threads=threads, **settings)
    return softmax(kept.all("logits")), model


@cache
def probabilities_on_cpu():
    return run(small_network(), images(IMAGES, SIDE), "cpu")[0]
