"""What studies run on a GPU, and its results on the CPU: networks, inference, training."""

import copy
from functools import cache

import numpy as np
import torch

from image_sets import dataset
from matcheval.models.networks import build_model
from matcheval.models.transforms import Transform
from matcheval.predictions.softmax import softmax
from matcheval.training.loop import train
from matcheval.training.settings import Engine
from trainings import Kept, forward, recipe

IMAGES, SIDE = 2048, 32
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


def run(network, blocks, device, **settings):
    """Run a network as a study does; return all probabilities, and the model."""
    module, transform = copy.deepcopy(network)
    kept, threads = Kept(), torch.get_num_threads()
    model = forward(module, blocks, [kept], device, transform, n_threads=threads, **settings)
    return softmax(kept.all("logits")), model


@cache
def probabilities_on_cpu():
    return run(small_network(), images(IMAGES, SIDE), "cpu")[0]
