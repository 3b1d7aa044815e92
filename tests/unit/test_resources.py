"""Resource requests, compared with built models, known sizes and measurements."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matcheval.datasets.dataset import make_dataset
from matcheval.datasets.folders import write_dataset
from matcheval.errors import InputError
from matcheval.execution import resources, sizes
from matcheval.execution.resources import ResourceRequest
from matcheval.execution.sizes import CIFAR, DIGITS, IMAGENET, ImageSet, ModelSize, prepared_size
from matcheval.models.building import build_model
from studies import ROOT


@pytest.mark.parametrize(
    ("architecture", "width", "depth"),
    [("linear", 0, 0), ("mlp", 64, 3), ("cnn", 16, 2), ("cnn", 32, 2), ("resnet", 16, 2)],
)
@pytest.mark.parametrize("data", [DIGITS, CIFAR])
def test_parameters_of_models_that_are_built(architecture, width, depth, data):
    size = sizes.size_of_architecture(architecture, width, depth, data)
    model = build_model(
        architecture, width=width, depth=depth, n_classes=data.classes,
        input_shape=(data.side, data.side, data.channels),
    )  # fmt: skip
    true = sum(weights.numel() for weights in model.parameters())
    if architecture in ("linear", "mlp"):
        assert size.parameters == true
    assert true / 2 <= size.parameters <= 2 * true


# Weights in millions and multiply-adds for one image, as their papers and timm have them.
@pytest.mark.parametrize(
    ("architecture", "width", "depth", "groups", "data", "millions", "billions"),
    [
        ("resnet_a", 16, 20, 1, CIFAR, 0.27, 0.041),
        ("resnet_a", 16, 110, 1, CIFAR, 1.73, 0.255),
        ("preact", 16, 110, 1, CIFAR, 1.73, 0.255),
        ("vgg", 64, 16, 1, CIFAR, 14.7, 0.31),
        ("shake_shake", 96, 26, 2, CIFAR, 26.2, 3.8),
    ],
)
def test_sizes_in_the_literature(architecture, width, depth, groups, data, millions, billions):
    size = sizes.size_of_architecture(architecture, width, depth, data, groups=groups)
    assert millions / 3 <= size.parameters / 1e6 <= 3 * millions
    assert billions / 3 <= size.multiply_adds / 1e9 <= 6 * billions


def test_published_models_by_their_names():
    """Never less than the model: too little memory costs a second attempt."""
    for name, millions in (
        ("vit_large_patch16_224.augreg_in21k_ft_in1k", 304), ("resnet152.a1_in1k", 60.2),
        ("convnext_xxlarge.clip_laion2b_soup_ft_in1k", 846), ("VGG16_Weights.IMAGENET1K_V1", 138),
        ("mobilenetv3_large_100.ra_in1k", 5.5), ("eva_giant_patch14_224.clip_ft_in1k", 1013),
    ):  # fmt: skip
        assert sizes.size_of_published(name).parameters >= 0.95 * millions * 1e6, name
    small, large = (sizes.size_of_published("resnet50", side=side) for side in (224, 448))
    assert large.multiply_adds == 4 * small.multiply_adds


def test_sizes_of_datasets_before_and_after_they_are_prepared(tmp_path):
    assert sizes.size_of_kind("cifar10_1") == CIFAR
    assert sizes.size_of_kind("something") == IMAGENET
    assert prepared_size(tmp_path / "none", DIGITS) == DIGITS
    images, labels = np.zeros((7, 12, 10, 3), np.uint8), np.arange(7) % 4
    write_dataset(
        make_dataset("mine", images, labels, classes=tuple("abcd"), max_value=255, source=""),
        tmp_path / "mine",
    )
    size = prepared_size(tmp_path / "mine", IMAGENET)
    assert size == ImageSet(images=7, side=12, channels=3, classes=4)
    (tmp_path / "dataset.json").write_text("{")
    with pytest.raises(InputError, match=r"dataset\.json"):
        prepared_size(tmp_path, DIGITS)


@pytest.mark.parametrize("left", [None, 0, 100, 5000])
def test_images_that_are_missing_or_cut_off_have_the_size_of_their_kind(tmp_path, left):
    """So that runs which make them again can be planned."""
    images, labels = np.zeros((90, 8, 8, 1), np.uint8), np.arange(90) % 4
    mine = make_dataset("mine", images, labels, classes=tuple("abcd"), max_value=16, source="")
    write_dataset(mine, tmp_path / "mine")
    file = tmp_path / "mine" / "images.npy"
    content = file.read_bytes()
    file.unlink() if left is None else file.write_bytes(content[:left])
    prepared_size.cache_clear()
    assert prepared_size(tmp_path / "mine", DIGITS) == ImageSet(90, 8, 1, classes=4)


models = st.builds(ModelSize, st.integers(1, 2_000_000_000), st.integers(1, 500_000_000_000))
datasets = st.builds(
    ImageSet, st.integers(1, 2_000_000), st.integers(1, 512), encoded=st.booleans()
)


@given(models, datasets, st.integers(0, 1))
def test_every_request_can_be_made(size, data, gpus):
    for request in (
        resources.of_training(size, data, epochs=3, batch_size=8, gpus=gpus),
        resources.of_inference([(data, [size, size])], data, batch_size=8, gpus=gpus),
        resources.of_preparing(data),
        resources.of_matching(64, 10, data.images), resources.SMALL, resources.DOWNLOAD,
        resources.of_searching([data, data], None),
        resources.of_searching([data], 32),
    ):  # fmt: skip
        assert request.mem_mb >= 800
        assert request.runtime >= 10
        assert request.runtime % 10 == 0
        assert 1 <= request.threads <= 4


@given(models, datasets, st.integers(1, 100))
def test_larger_work_never_asks_for_less(size, data, factor):
    def requests(model: ModelSize, images: ImageSet) -> list[ResourceRequest]:
        return [
            resources.of_training(model, images, epochs=1, batch_size=8, gpus=1),
            resources.of_inference([(images, [model])], images, batch_size=8, gpus=1),
        ]

    larger = ModelSize(size.parameters * factor, size.multiply_adds * factor)
    for less, more in zip(requests(size, data), requests(larger, data), strict=True):
        assert more.mem_mb >= less.mem_mb
        assert more.runtime >= less.runtime


def test_further_attempts_ask_for_up_to_three_times_as_much():
    request = ResourceRequest(mem_mb=1500, runtime=10, threads=2, gpu=1)
    assert request.on_attempt(1) == request
    assert request.on_attempt(2) == ResourceRequest(mem_mb=3000, runtime=20, threads=2, gpu=1)
    assert request.on_attempt(3) == ResourceRequest(mem_mb=4500, runtime=30, threads=2, gpu=1)
    assert request.on_attempt(9) == request.on_attempt(3)


def test_a_search_fits_what_was_measured():
    """10,000 CIFAR images in 50,000: benchmarks/results/neighbours.csv, of two cores."""
    row = pd.read_csv(ROOT / "benchmarks" / "results" / "neighbours.csv").iloc[0]
    sets = [ImageSet(int(row.queries), 32), ImageSet(int(row.references), 32)]
    request = resources.of_searching(sets, None)
    assert 1024 * row.peak_gib + 340 <= request.mem_mb <= 3000
    assert 2 * row.search_seconds + row.ssim_seconds <= 60 * request.runtime <= 4 * 3600


def test_image_files_are_streamed_where_a_dataset_is_prepared():
    """docs/datasets.md: memory hardly grows with their number."""
    prepared, derived = (resources.of_preparing(IMAGENET, streamed=s) for s in (True, False))
    assert prepared.mem_mb == resources.BASE_TORCH_MB
    assert derived.mem_mb > 2 * IMAGENET.images * 0.15
    assert resources.of_preparing(CIFAR, streamed=True) == resources.of_preparing(CIFAR)


def test_measured_memory_of_the_digits_is_within_the_request():
    """The most that trainings and predictions took, as docs/cluster.md says."""
    page = (ROOT / "docs" / "cluster.md").read_text()
    measured = re.search(r"at most (\d+) MB in training and (\d+) MB in inference", page)
    assert measured is not None
    model = sizes.size_of_architecture("resnet", 16, 2, DIGITS)
    training = resources.of_training(model, DIGITS, epochs=15, batch_size=32, gpus=0)
    inference = resources.of_inference([(DIGITS, [model])], DIGITS, batch_size=256, gpus=0)
    snakemakes = 340  # one, and its fork in a group
    assert int(measured[1]) + snakemakes <= training.mem_mb <= 2500
    assert int(measured[2]) + snakemakes <= inference.mem_mb <= 2500
