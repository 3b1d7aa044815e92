"""Nearest neighbours over pixels, SSIM, and the effect of near duplicates on accuracies."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matcheval.analyses.near_duplicates import tabulate
from matcheval.analyses.sampling import image_search as search
from matcheval.analyses.sampling.image_search import (
    nearest_neighbours,
    pairs_within,
    structural_similarity,
)
from matcheval.errors import InputError
from matcheval.io.user_files import read_columns
from matcheval.predictions.correctness import Correctness


@pytest.mark.filterwarnings("error")
def test_a_remark_in_a_row_does_not_shift_its_columns(tmp_path):
    (tmp_path / "found.csv").write_text("index,reference\n3,7,same dog\n5,9,same cat\n")
    assert read_columns(tmp_path / "found.csv", ("index",))["index"].tolist() == [3, 5]


def naive(queries, references):
    """Squared distances in integer arithmetic."""
    a, b = (x.reshape(len(x), -1).astype(np.int64) for x in (queries, references))
    return ((a[:, None] - b[None]) ** 2).sum(axis=2)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 12),
    st.integers(2, 25),
    st.sampled_from([(3, 3, 1), (8, 8, 3), (33, 32, 3)]),
    st.sampled_from([2, 256]),
    st.booleans(),
)
def test_neighbours_are_those_of_integer_arithmetic(seed, n, m, shape, values, same):
    rng = np.random.default_rng(seed)
    references = rng.integers(0, values, (m, *shape)).astype(np.uint8)
    queries = references if same else rng.integers(0, values, (n, *shape)).astype(np.uint8)
    k = int(rng.integers(1, m - same + 1))
    squared = naive(queries, references).astype(float)
    if same:
        np.fill_diagonal(squared, np.inf)
    index, found = nearest_neighbours(queries, references, k, same=same)
    # A stable order: of equal distances the lowest position first. All values are exact.
    np.testing.assert_array_equal(index, np.argsort(squared, axis=1, kind="stable")[:, :k])
    np.testing.assert_array_equal(found, np.sort(squared, axis=1)[:, :k])


def test_blocks_do_not_matter(monkeypatch):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 3, (40, 4, 4, 1)).astype(np.uint8)  # many ties
    whole, _ = nearest_neighbours(images, images, 7, same=True)
    monkeypatch.setattr(search, "_ROWS", 7)
    monkeypatch.setattr(search, "_COLUMNS", 5)
    assert np.array_equal(nearest_neighbours(images, images, 7, same=True)[0], whole)
    near = [tuple(pair) for pair in np.argwhere(naive(images, images) <= 9)]
    assert pairs_within(images, images, 3.0) == near


def test_distances_beyond_single_precision_are_exact():
    """Black against white: the largest possible sums, and one with a pixel value less."""
    shape = (1, 40, 40, 3)  # 4,800 values in five pieces
    black, white = np.zeros(shape, np.uint8), np.full(shape, 255, np.uint8)
    nearly = white.copy()
    nearly[0, 0, 0, 0] = 254
    index, squared = nearest_neighbours(black, np.concatenate([white, nearly]), 2)
    assert index.tolist() == [[1, 0]]
    assert squared.tolist() == [[4800 * 255**2 - 509, 4800 * 255**2]]


# scikit-image 0.26: structural_similarity(x, y, channel_axis=-1, data_range=..., win_size=...) of
# the images that `ssim_images` draws, in that order.
SCIKIT_IMAGE = (
    (0.9530261953561627, 0.9516021263715051, 0.9548630787865324, 0.9531362245799869),
    (-0.3032988428880554, -0.2904542623677525, -0.1334287570983309),
)


def ssim_images():
    rng = np.random.default_rng(5)
    a = rng.integers(0, 256, (4, 32, 32, 3), dtype=np.uint8)
    b = np.clip(a.astype(int) + rng.integers(-40, 41, a.shape), 0, 255).astype(np.uint8)
    yield a, b, 255, 7
    a = rng.integers(0, 17, (3, 8, 8, 1), dtype=np.uint8)
    yield a, np.roll(a, 1, axis=1), 16, 7


def test_ssim_is_that_of_scikit_image():
    for (a, b, max_value, window), published in zip(ssim_images(), SCIKIT_IMAGE, strict=True):
        own = np.arange(len(a))[:, np.newaxis]
        found = structural_similarity(a, b, own, max_value, window)[:, 0]
        np.testing.assert_allclose(found, published, rtol=0, atol=1e-12)
        again = structural_similarity(a, b[::-1], own[::-1], max_value, window)
        np.testing.assert_array_equal(again[:, 0], found)


@pytest.fixture
def accuracies(tmp_path):
    """The row of the first model, given who is right and which images review found."""

    def tabulated(right, found):
        path = tmp_path / "reviewed.csv"
        path.write_text("\n".join(["index", *map(str, found)]))
        right = np.atleast_2d(np.asarray(right, bool))
        at = np.arange(right.shape[1])
        known = Correctness(tuple(f"m{i}" for i in range(len(right))), at, 0 * at, right)
        return tabulate(known, "set", str(path)).iloc[0]

    return tabulated


def test_the_papers_arithmetic(accuracies):
    """Appendix B.2.2: 93 % with 8 % near duplicates, all correct, is 92.39 % without them."""
    correct = np.arange(100) < 93
    paper = accuracies(correct, range(8))
    assert round(paper.least_accuracy_rest, 4) == 0.9239 == round(paper.accuracy_rest, 4)
    assert round(100 * (paper.least_accuracy_rest - paper.accuracy_all), 2) == -0.61
    # A bound: with one of them incorrect, more of the others are correct.
    other = accuracies(correct, range(92, 100))
    assert other.least_accuracy_rest == paper.least_accuracy_rest < other.accuracy_rest == 1
    assert accuracies(np.arange(100) < 5, range(8)).least_accuracy_rest == 0


def test_accuracies_on_flagged_and_other_images(accuracies):
    correct = np.array([1, 1, 0, 1, 0, 0, 1, 1, 1, 0], bool)
    row = accuracies([correct, ~correct], [0, 2, 3])
    assert (row.n_all, row.n_duplicates, row.n_rest) == (10, 3, 7)
    assert (row.n_correct_all, row.n_correct_duplicates, row.n_correct_rest) == (6, 2, 4)
    assert row.change == pytest.approx(4 / 7 - 0.6)
    assert row.accuracy_rest_low < row.accuracy_rest < row.accuracy_rest_high
    with pytest.raises(InputError, match=r"reviewed.csv, field 'index'|reviewed.csv: 'index'"):
        accuracies(correct, [10])
