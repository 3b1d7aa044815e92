"""Small trainings and forward passes for tests; a training that is killed and resumed."""

import numpy as np
import pytest
import torch

from image_sets import dataset
from matcheval.inference.forward import ForwardModel, resolved, run_inference
from matcheval.inference.outputs import Writer
from matcheval.inference.readers import ArrayReader
from matcheval.inference.settings import InferenceConfig
from matcheval.models.transforms import Transform
from matcheval.training.loop import train
from matcheval.training.recipe import Recipe
from matcheval.training.settings import Engine


def recipe(**changed):
    """A small network, trained by plain ERM on images as they are, changed as given."""
    plain = {
        "architecture": "cnn", "width": 4, "depth": 1, "loss": "cross_entropy",
        "loss_parameter": None, "augmentation": "none", "schedule": "cosine", "epochs": 2,
        "batch_size": 32, "learning_rate": 0.05, "weight_decay": 0.0005, "train_fraction": 1.0,
        "seed": 0,
    }  # fmt: skip
    return Recipe(**plain | changed)


def a_set(
    name, n, low=0, high=256, side=4, images=None, labels=None, classes=("a", "b", "c"), **more
):
    """Images of three classes with pixels in a range."""
    if images is None:
        images = np.random.default_rng(n).integers(low, high, (n, side, side, 1)).astype(np.uint8)
    labels = np.arange(n) % 3 if labels is None else labels
    return dataset(images, labels, name, classes, **more)


def domains(side=4, n_bright=11):
    """Two training sets, told apart by their brightness, and a validation set."""
    known = [a_set("dark", 30, 0, 100, side), a_set("bright", n_bright, 150, 250, side)]
    return known, a_set("val", 12, 0, 250, side)


def same(one, other):
    return all(torch.equal(one.state[name], other.state[name]) for name in one.state)


def interrupted(recipe, sets, path, after, **given):
    """Train until more than some epochs are done, of which the state has been saved."""

    def kill(history):
        if len(history) > after:
            raise KeyboardInterrupt

    engine = Engine(save_minutes=0)
    with pytest.raises(KeyboardInterrupt):
        train("m", recipe, *sets, engine=engine, resume_file=path, on_epoch=kill, **given)


def assert_resumes(recipe, sets, path, after):
    """A training that was killed goes on to the bits of one that was not, which is returned."""
    interrupted(recipe, sets, path, after)
    epochs = []
    found = train("m", recipe, *sets, resume_file=path, on_epoch=lambda h: epochs.append(len(h)))
    whole = train("m", recipe, *sets)
    assert epochs[0] == after + 1
    assert found.history == whole.history
    assert same(found, whole)
    return whole


class Kept(Writer):
    """Keeps the batches of a forward pass, and how often it was ended."""

    def __init__(self, needs_features=False):
        self.needs_features = needs_features
        self.batches, self.finished, self.discarded = [], 0, 0

    def update(self, batch):
        assert not self.finished
        self.batches.append(batch)

    def finish(self):
        self.finished += 1

    def discard(self):
        self.discarded += 1

    def all(self, name):
        """The labels, logits or features of all datapoints."""
        return np.concatenate([getattr(batch, name) for batch in self.batches])


def forward(network, dataset, writers, device="cpu", transform=None, **settings):
    """Run a network as a study does; return the model that ran."""
    config = resolved(InferenceConfig(device, **settings))
    model = ForwardModel("m", network, transform or Transform.plain(), config)
    run_inference([(model, writers)], ArrayReader(dataset), dataset, config)
    return model
