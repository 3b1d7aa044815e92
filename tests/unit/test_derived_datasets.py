"""Datasets that are built from other datasets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import image_sets
from matcheval.datasets.derived import Derivation, balanced_parts, derive, part, rest, union
from matcheval.errors import InputError


def dataset(name, labels, *, classes=("cat", "dog", "ship"), first=0, side=2):
    """All pixels of an image have one value, its position from `first`, which identifies it."""
    values = first + np.arange(len(labels), dtype=np.uint8)
    images = np.tile(values[:, None, None, None], (1, side, side, 1))
    return image_sets.dataset(images, labels, name, classes)


def values(derived):
    return derived.images[:, 0, 0, 0].tolist()


@settings(max_examples=50, deadline=None)
@given(counts=st.lists(st.integers(5, 30), min_size=3, max_size=3), parts=st.integers(2, 5))
def test_parts_are_balanced_and_divide_the_set(counts, parts):
    labels = np.repeat([0, 1, 2], counts)
    dealt = balanced_parts(dataset("all", labels), parts, np.random.default_rng(0))
    sizes = np.bincount(dealt, minlength=parts)
    assert sizes.sum() == len(labels)
    assert np.ptp(sizes) <= 1
    for label in range(3):
        assert np.ptp(np.bincount(dealt[labels == label], minlength=parts)) <= 1


def test_a_part_and_the_rest_are_the_whole():
    source = dataset("all", np.tile([0, 1, 2], 20))
    one, others = (derive(f("all", 2, 5, seed=3), [source]) for f in (part, rest))
    assert (len(one), len(others)) == (12, 48)
    assert sorted(values(one) + values(others)) == list(range(60))
    assert one.labels.tolist() == [source.labels[i] for i in values(one)]
    assert one.names == tuple(source.names[i] for i in values(one))
    assert one.name == "all.part-2-of-5.seed-3"
    assert values(derive(part("all", 2, 5, seed=4), [source])) != values(one)


@pytest.mark.parametrize(
    ("other", "named"),
    [({"classes": ("cat", "dog", "truck")}, "classes"), ({"side": 3}, "image_shape")],
)
def test_sets_that_do_not_match_are_refused(other, named):
    with pytest.raises(InputError, match=named):
        derive(union("one", "two"), [dataset("one", [0, 1]), dataset("two", [0, 1], **other)])


def origins(role, per_set=30, seed=0):
    options = {"per_set": per_set, "role": role, "test_fraction": 0.2, "seed": seed}
    return Derivation("origins", ("one", "two"), options)


def test_origins_are_balanced_and_training_and_test_are_disjoint():
    sources = [dataset("one", np.tile([0, 1, 2], 15)), dataset("two", [0, 1, 2] * 12, first=100)]
    train, test = (derive(origins(role), sources) for role in ("train", "test"))
    assert train.classes == ("one", "two")
    assert not set(values(train)) & set(values(test))
    for derived, per_class in ((train, 8), (test, 2)):
        assert derived.labels.tolist() == [int(value >= 100) for value in values(derived)]
        for source, first in zip(sources, (0, 100), strict=True):
            rows = [v - first for v in values(derived) if (v >= 100) == (first == 100)]
            assert np.bincount(source.labels[rows]).tolist() == [per_class] * 3


def test_a_class_with_too_few_images_is_named_with_its_shortfall():
    sources = [dataset("one", [0] * 12 + [1] * 7 + [2] * 9), dataset("two", [0, 1, 2] * 12)]
    with pytest.raises(InputError, match=r"one.*'dog' has 7, 3 too few; 'ship' has 9, 1 too few"):
        derive(origins("train"), sources)
    with pytest.raises(InputError, match="'dog' has 7, 1 too few"):
        derive(part("one", 1, 8, seed=0), sources[:1])
    with pytest.raises(InputError, match="per_set"):
        derive(origins("test", per_set=6), sources)
