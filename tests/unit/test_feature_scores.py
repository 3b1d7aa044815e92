"""Scores computed from features: against naive references, and what has to hold for any sets."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from matcheval.accuracy_prediction.scores import SCORES, features
from matcheval.accuracy_prediction.scores.features import (
    STRENGTHS,
    fit_linear,
    frechet_distance,
    mean_distance,
)
from matcheval.accuracy_prediction.scores.outputs import Outputs, moments_of_features
from matcheval.accuracy_prediction.scores.score import NotAvailableError, Sides, Sources
from matcheval.inference.outputs import RunningStatistics

OF_FEATURES = (
    "frechet", "frechet:as_printed", "frechet_reference", "mmd", "disc_auc", "disc_a_proxy",
    "disc_auc:balanced", "disc_a_proxy:balanced", "bop_js",
)  # fmt: skip
OF_MOMENTS = ("frechet", "frechet:as_printed", "mmd")


def outputs(features=None, statistics=None):
    n = len(features) if features is not None else statistics.n
    return Outputs(
        np.zeros(n, np.int64), np.zeros(n, np.int64), np.ones(n), features=features,
        statistics=statistics,
    )  # fmt: skip


def statistics_of(rows):
    running = RunningStatistics()
    for part in np.array_split(rows, 3):
        running.add(part, np.full((len(part), 2), 0.5, np.float32))
    return running.result()


def sample(seed, n=60, width=5, shift=0.0, scale=1.0):
    """Correlated normal features."""
    rng = np.random.default_rng(seed)
    mixing = np.random.default_rng(99).normal(size=(width, width))
    return (scale * rng.normal(size=(n, width)) @ mixing + shift).astype(np.float32)


def scores_of(base, target, reference=None, names=OF_FEATURES, n_prototypes=4):
    base, target = (one if isinstance(one, Outputs) else outputs(one) for one in (base, target))
    reference = base if reference is None else outputs(reference)
    sources = Sources(base, reference, {"n_prototypes": n_prototypes})
    sides = Sides(base, target)
    return {name: SCORES[name].compute(SCORES[name].fitted(sources), sides) for name in names}


CHANCE = {"disc_auc": 0.5, "disc_auc:balanced": 0.5}


@pytest.mark.parametrize(("n", "width"), [(60, 5), (12, 20)], ids=["many", "singular"])
def test_a_set_does_not_differ_from_itself(n, width):
    base = sample(1, n, width)
    found = scores_of(base, base.copy())
    assert found == pytest.approx({name: CHANCE.get(name, 0.0) for name in found}, abs=1e-9)


@given(
    seed=st.integers(0, 10**6), n=st.integers(3, 30), m=st.integers(3, 30),
    width=st.integers(1, 12), shift=st.floats(-3, 3),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_distances_are_symmetric_and_do_not_depend_on_axes(seed, n, m, width, shift):
    """For fewer datapoints than features, too, where covariances are singular."""
    one, other = sample(seed, n, width), sample(seed + 1, m, width, shift)
    found = scores_of(one, other, names=OF_MOMENTS)
    size = 1e-6 * (1 + max(found.values()))  # of float32 features
    assert min(found.values()) >= 0
    assert scores_of(other, one, names=OF_MOMENTS) == pytest.approx(found, abs=size)
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(width, width)))[0]
    turned = [(x.astype(np.float64) @ turn) for x in (one, other)]
    assert scores_of(*turned, names=OF_MOMENTS) == pytest.approx(found, abs=size)


@pytest.mark.parametrize(("n", "m"), [(6, 9), (6, 60), (60, 6), (60, 90)])
def test_frechet_distance_of_regular_and_singular_covariances(n, m):
    """tr (Σ₁Σ₂)^½ is the sum of the singular values of X₁X₂ᵀ, for centred and scaled features."""
    one, other = (sample(seed, size, 30).astype(float) for seed, size in ((1, n), (2, m)))
    x, y = ((z - z.mean(axis=0)) / math.sqrt(len(z) - 1) for z in (one, other))
    cross = np.linalg.svd(x @ y.T, compute_uv=False).sum()
    difference = one.mean(axis=0) - other.mean(axis=0)
    expected = difference @ difference + (x**2).sum() + (y**2).sum() - 2 * cross
    found = frechet_distance(moments_of_features(one), moments_of_features(other))
    assert found == pytest.approx(expected, rel=1e-12)


def test_distances_from_statistics_are_those_from_features():
    base, target = sample(1), sample(2, shift=0.5)
    kept = [outputs(statistics=statistics_of(rows)) for rows in (base, target)]
    names = ("frechet", "mmd", "frechet_reference")
    assert scores_of(*kept, names=names) == pytest.approx(scores_of(base, target, names=names))


def test_the_reference_takes_the_place_of_the_base():
    base, target, reference = sample(1), sample(2, shift=0.5), sample(3, 90, shift=2.0)
    found = scores_of(base, target, reference)["frechet_reference"]
    assert found == pytest.approx(scores_of(reference, target)["frechet"])


def test_bag_of_prototypes_by_distances():
    reference, target = sample(1, 90), sample(2, 40, shift=1.0)
    book = features.fit_codebook(reference, 7)

    def histogram(features):
        distances = np.linalg.norm(features[:, None] - book.prototypes, axis=2)
        return np.bincount(distances.argmin(axis=1), minlength=7) / len(features)

    expected = jensenshannon(histogram(reference), histogram(target)) ** 2
    found = scores_of(reference, target, names=("bop_js",), n_prototypes=7)["bop_js"]
    assert found == pytest.approx(expected, rel=1e-12)
    assert 0 < found < math.log(2)


@pytest.mark.parametrize("variant", ["", ":balanced"])
def test_discriminators_find_a_shift_and_no_difference_where_there_is_none(variant):
    base, names = sample(1, 400), (f"disc_auc{variant}", f"disc_a_proxy{variant}")
    same = scores_of(base, sample(2, 300), names=names)
    assert [*same.values()] == [pytest.approx(0.5, abs=0.1), pytest.approx(0, abs=0.4)]
    far = scores_of(base, sample(3, 300, shift=20.0), names=names)
    assert [*far.values()] == [1.0, 2.0]


def test_discriminators_report_on_half_of_the_datapoints(monkeypatch):
    """On 50 % of either set, or of as many of the larger one as the smaller one has."""
    seen, measure = [], features.discrimination

    def recorded(domains, scores, *rest, **named):
        seen.append((*np.bincount(domains), np.mean(scores > 0) > 0.3))
        return measure(domains, scores, *rest, **named)

    monkeypatch.setattr(features, "discrimination", recorded)
    scores_of(sample(1, 100), sample(2, 40), names=("disc_auc", "disc_auc:balanced"))
    # Not nearly all datapoints are taken for the larger set's.
    assert seen == [(20, 20, True), (50, 20, True)]


def test_a_network_discriminates_by_what_is_not_linear():
    """Same mean, other spread: the linear discriminator is at chance."""
    names = ("disc_auc", "disc_auc:mlp", "disc_a_proxy:mlp")
    found = scores_of(sample(1, 600, 3), sample(2, 600, 3, scale=4.0), names=names)
    assert abs(found["disc_auc"] - 0.5) < 0.1
    assert found["disc_auc:mlp"] > 0.8
    assert found["disc_a_proxy:mlp"] > 0.8


def test_the_penalty_is_that_of_the_lowest_error_where_tuned():
    """Classes that only a weak penalty separates: many datapoints of one class against few."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0, 1, (190, 1)), rng.normal(4, 1, (10, 1))])
    y = np.repeat([0, 1], [190, 10])
    assert fit_linear((x, y), (x, y)).strength > STRENGTHS[0]
    assert fit_linear((x, y), (x[:50], y[:50])).strength == STRENGTHS[0]


BAD = sample(2)
BAD[3, 1] = np.inf


@pytest.mark.parametrize(
    ("names", "target", "reason"),
    [
        (("frechet",), outputs(statistics=statistics_of(sample(2))).rows(np.arange(5)),
         r"all classes.*\[features\]"),
        (("mmd",), sample(2, 0), "no datapoints"),
        (OF_FEATURES, BAD, "not finite"),
        (OF_FEATURES, sample(2, width=4), "has 4 features.* has 5"),
    ],
)  # fmt: skip
def test_the_reason_is_said_where_a_score_cannot_be_computed(names, target, reason):
    for name in names:
        with pytest.raises(NotAvailableError, match=reason):
            scores_of(sample(1), target, names=(name,))


def test_moments_of_features_far_from_zero():
    """Several blocks of rows; sums in float32 would lose all digits of the covariance."""
    features = (sample(1, 20000, 2) / 1000 + 1000).astype(np.float32)
    moments = moments_of_features(features)
    wide = features.astype(np.float64)
    np.testing.assert_allclose(moments.covariance, np.cov(wide, rowvar=False), rtol=1e-9)
    assert mean_distance(moments, moments_of_features(features[::-1])) < 1e-9
