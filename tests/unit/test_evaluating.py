"""Models and data of the caller's own, by the workflow's forward pass."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

import matcheval as me

N, CLASSES = 10, 3
RNG = np.random.default_rng(0)
IMAGES = torch.tensor(RNG.normal(size=(N, 1, 4, 4)), dtype=torch.float32)
LABELS = torch.tensor(RNG.integers(0, CLASSES, N))


@pytest.fixture
def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(16, CLASSES))


@pytest.fixture
def expected(model):
    with torch.inference_mode():
        return model.eval()(IMAGES).numpy()


class Items(Dataset):
    """As Hugging Face's datasets: items are mappings."""

    def __init__(self, image="img", label="fine_label"):
        self.names = image, label

    def __len__(self):
        return N

    def __getitem__(self, i):
        return dict(zip(self.names, (IMAGES[i], int(LABELS[i])), strict=True))


@pytest.mark.parametrize("data", [
    (IMAGES, LABELS), (IMAGES.numpy(), LABELS.numpy()), TensorDataset(IMAGES, LABELS),
    DataLoader(Items("pixel_values", "labels"), batch_size=4),
    [(IMAGES[:7], LABELS[:7]), (IMAGES[7:], LABELS[7:])],
], ids=["tensors", "arrays", "dataset", "loader", "batches"])  # fmt: skip
def test_data_in_any_form(model, expected, data):
    found = me.evaluate(model, data, batch_size=3, progress=False)
    np.testing.assert_array_equal(found["labels"], LABELS)
    np.testing.assert_allclose(found["logits"], expected, atol=1e-6)
    assert found["logits"].dtype == np.float32


@pytest.mark.parametrize("wrap", [
    lambda y: y, lambda y: (y, None), lambda y: (y.mean(), y), lambda y: {"logits": y},
    lambda y: SimpleNamespace(logits=y),
], ids=["tensor", "tuple", "loss", "mapping", "object"])  # fmt: skip
def test_outputs_in_any_form(model, expected, wrap):
    model.eval()
    found = me.evaluate(lambda images: wrap(model(images)), (IMAGES, LABELS), progress=False)
    np.testing.assert_allclose(found["logits"], expected, atol=1e-6)


def test_a_model_is_run_on_both_sets_and_compared(model, monkeypatch):
    sets = (IMAGES, LABELS), TensorDataset(IMAGES[:6], LABELS[:6])
    outputs = [me.evaluate(model, images, progress=False) for images in sets]
    expected = me.compare(*outputs, names=("a", "b"), model="Sequential").to_pandas()
    of_class = me.compare(*sets, model, names=("a", "b"))
    assert of_class.models == ("Sequential",)
    assert of_class.to_pandas().equals(expected)
    monkeypatch.setattr("matcheval.api.comparing.pretrained_model", lambda name: model)
    assert me.compare(*sets, model="hf://me/net").models == ("me/net",)
    with pytest.warns(DeprecationWarning, match="write compare.original, replication, model=model"):
        assert me.compare(model, *sets, names=("a", "b")).to_pandas().equals(expected)


def test_the_model_is_left_as_it_was(model):
    model.train()
    model[1].eval()
    me.evaluate(model, (IMAGES, LABELS), progress=False)
    assert [one.training for one in model] == [True, False, True]


def test_batches_that_do_not_fit_in_memory_are_divided(model, expected):
    model.eval()
    sizes = []

    def limited(images):
        sizes.append(len(images))
        if len(images) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return model(images)

    found = me.evaluate(limited, (IMAGES, LABELS), progress=False)
    assert sizes == [10, 5, 2, 2, 2, 2, 2]
    np.testing.assert_allclose(found["logits"], expected, atol=1e-6)
    with pytest.raises(me.InputError, match="image 0 of data alone exceeds"):
        me.evaluate(lambda x: limited(x.repeat(9, 1, 1, 1)), (IMAGES, LABELS), progress=False)


@pytest.mark.parametrize(("outputs", "data", "message"), [
    (None, (IMAGES, LABELS[:4]), "data: 10 images and 4 labels. Give a label"),
    (None, Items("photo"), "a batch is a mapping with photo, fine_label, in place of images"),
    (None, [(object(), 1)], "no tensors: .* Transform images"),
    (lambda images: images, (IMAGES, LABELS), r"logits of shape \(10, 1, 4, 4\) for 10 images"),
    (lambda images: images.flatten(1) / 0, (IMAGES, LABELS), "logits of image 0 are not finite"),
], ids=["lengths", "names", "objects", "shape", "infinite"])  # fmt: skip
def test_refused_data_and_outputs(model, outputs, data, message):
    with pytest.raises(me.InputError, match=message):
        me.evaluate(outputs or model, data, progress=False)


def test_unknown_precisions_are_refused(model):
    with pytest.raises(me.InputError, match="unknown precision 'fp23'"):
        me.evaluate(model, (IMAGES, LABELS), precision="fp23")
