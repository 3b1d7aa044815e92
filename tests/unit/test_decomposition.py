"""The standardised decomposition: known cases, a naive reference, its bias, and its intervals."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from helpers import simulate
from matcheval.protocol.comparisons import datapoints, groups, paired_images
from matcheval.protocol.decomposition import (
    Scored,
    bin_sets,
    decompose_models,
    parts_of_bins,
    tied_part,
    tied_share,
    unshared_bound,
)
from vectors import case


def scored(confidence, correct) -> Scored:
    return Scored(np.asarray(confidence, np.float32), np.asarray(correct).astype(bool))


def decompose(source: Scored, target: Scored, n_bins=20, **options):
    return decompose_models([bin_sets(source, target, n_bins)], **options)[1]


def parts_of(source: Scored, target: Scored, n_bins: int):
    return parts_of_bins(*bin_sets(source, target, n_bins).counts)


def by_loops(source: Scored, target: Scored, n_bins: int):
    """Both parts, bin by bin with exact ranks, from the definition."""
    pooled = sorted(map(float, [*source.confidence, *target.confidence]))
    edges = {pooled[math.ceil(len(pooled) * k / n_bins) - 1] for k in range(1, n_bins)}
    ends = [*sorted(edges), math.inf]
    parts, used, start = [0.0, 0.0], 0, -math.inf
    for end in ends:
        rows = [
            [bool(y) for p, y in zip(s.confidence, s.correct, strict=True) if start < p <= end]
            for s in (source, target)
        ]
        start = end
        if not rows[0] and not rows[1]:
            continue
        used += 1
        shares = [len(r) / len(s) for r, s in zip(rows, (source, target), strict=True)]
        means = [sum(r) / len(r) if r else None for r in rows]
        a, b = (m if m is not None else means[1 - i] for i, m in enumerate(means))
        parts[0] += (shares[0] - shares[1]) * (a + b) / 2
        parts[1] += (a - b) * (shares[0] + shares[1]) / 2
    return (*parts, used)


POINTS = st.lists(
    st.tuples(st.integers(0, 12).map(lambda i: i / 12), st.booleans()), min_size=1, max_size=60
)


@pytest.mark.parametrize("name", ["kitagawa_ties_at_one", "kitagawa_one_sided_bin"])
def test_known_cases(name):
    known = case("protocol_statistics", f"A2.{name}")
    given, expected, tolerance = known["inputs"], known["expected"], known["tol"]
    source, target = (
        scored(given[f"p_{role}"], given[f"correct_{role}"]) for role in ("source", "target")
    )
    bins = bin_sets(source, target, given["bins"])
    assert bins.edges.tolist() == expected["edges"]
    assert bins.counts[0].tolist() == expected["n_source"]
    assert bins.counts[2].tolist() == expected["n_target"]
    for is_original, sign in ((True, 1), (False, -1)):
        found = decompose(
            source, target, n_bins=given["bins"], source_is_original=is_original, n_resamples=9
        )
        for key in ("confidence_part", "conditional_part"):
            assert sign * getattr(found, key) == pytest.approx(expected[key], abs=tolerance)
        for key in ("source_only", "target_only"):
            assert getattr(found, key) == pytest.approx(expected[f"mass_{key}"], abs=tolerance)
        assert found.n_bins == len(expected["n_source"])


@given(POINTS, POINTS, st.integers(1, 25))
def test_loops_agree_and_parts_add_up(source, target, n_bins):
    sets = [scored(*zip(*points, strict=True)) for points in (source, target)]
    found = parts_of(*sets, n_bins)
    confidence, conditional, used = by_loops(*sets, n_bins)
    assert found.confidence == pytest.approx(confidence, abs=1e-12)
    assert found.conditional == pytest.approx(conditional, abs=1e-12)
    assert bin_sets(*sets, n_bins).n == used
    gap = sets[0].correct.mean() - sets[1].correct.mean()
    assert found.gap == pytest.approx(gap, abs=1e-12)
    assert found.confidence + found.conditional == pytest.approx(gap, abs=1e-12)


def two_sets(n_source=900, n_target=400, seed=3):
    of = simulate(n_source, 5, seed), simulate(n_target, 5, seed + 1, accuracy=0.75)
    return [scored(p.probability, p.correct) for p in of]


class TestBounds:
    """What confidences cannot tell of the parts of a gap."""

    def test_of_bins_that_one_set_lacks(self):
        """Nothing is shared: either set may be all right or all wrong where the other is."""
        rng = np.random.default_rng(0)
        high = scored(rng.uniform(0.8, 0.9, 1000), np.arange(1000) % 10 > 0)
        low = scored(rng.uniform(0.6, 0.7, 1000), np.arange(1000) % 10 > 2)
        assert unshared_bound(bin_sets(high, low)) == pytest.approx((0.9 + 0.7) / 2)
        assert unshared_bound(bin_sets(*two_sets())) == 0

    @pytest.mark.parametrize(
        ("stored", "least"),
        [(lambda p: np.round(p, 2), 0.001), (lambda p: np.where(p > 0.97, 1, p), 0.007)],
    )
    def test_of_confidences_that_are_rounded(self, stored, least):
        """A shift of confidence alone, of an overconfident model, seems to leave a part."""
        rng, sets = np.random.default_rng(1), []
        for mean in (5, 4):
            logit = np.abs(rng.normal(mean, 2.5, 400_000))
            right = rng.random(len(logit)) < expit(logit / 2)
            sets.append(Scored(stored(expit(logit)), right))
        left, further = (float(parts_of(*sets, k).conditional) for k in (20, 50))
        assert left > least
        bins = bin_sets(*sets, 50)
        assert abs(tied_part(bins)) + abs(left - further) / 0.6 > 0.9 * left
        assert tied_share(bins) > 0.6

    def test_without_ties_there_is_none(self):
        """A datapoint that has a bin to itself is no tie."""
        rng = np.random.default_rng(4)
        for n in (2000, 12):
            bins = bin_sets(*(scored(rng.random(n), rng.random(n) < 0.8) for _ in range(2)), 50)
            assert (tied_part(bins), tied_share(bins)) == (0, 0)

    def test_an_interval_holds_its_estimate_or_there_is_none(self):
        """One set is all right, the other all wrong: resamples see other bins than the sets."""
        p = np.linspace(0.3, 0.9, 8)
        found = decompose(scored(p, np.ones(8)), scored(p, np.zeros(8)))
        assert found.confidence_part == 0
        for name in ("gap", "confidence_part", "conditional_part"):
            value, low, high = (getattr(found, f"{name}{end}") for end in ("", "_low", "_high"))
            assert np.isnan(low) or low <= value <= high
        assert np.isnan(found.confidence_part_low)
        assert found.reason == "no interval of the confidence part: its resamples do not hold it"


VALUES = ("gap_se", "gap_low", "gap_high", "confidence_part_low", "conditional_part_high")


class TestIntervals:
    def test_intervals_cover_the_parts_of_the_population(self):
        """Eight confidences, each a bin of its own in every draw, so that the truth is known."""
        rng, p = np.random.default_rng(4), np.linspace(0.3, 1, 8)
        w, v = (np.array(shares) / 100 for shares in (
            [7, 8, 9, 10, 11, 13, 16, 26], [16, 15, 13, 12, 12, 11, 11, 10]
        ))  # fmt: skip
        a, b = 0.2 + 0.75 * p, 0.1 + 0.8 * p
        truth = parts_of_bins(w, w * a, v, v * b)
        held = []
        for draw in range(400):
            sets = []
            for n, shares, accuracy in ((400, w, a), (300, v, b)):
                bins = rng.choice(8, n, p=shares)
                sets.append(scored(p[bins], rng.random(n) < accuracy[bins]))
            found = decompose(*sets, n_resamples=300, seed=draw)
            assert found.n_bins == 8
            held.append((
                found.confidence_part_low <= truth.confidence <= found.confidence_part_high,
                found.conditional_part_low <= truth.conditional <= found.conditional_part_high,
                found.gap_low <= truth.gap <= found.gap_high,
            ))  # fmt: skip
        assert (np.mean(held, axis=0) > 0.90).all()
        assert (np.mean(held, axis=0) < 0.99).all()

    def test_cells_and_datapoints_give_the_same_distribution(self):
        source, target = two_sets()
        cells = decompose(source, target, n_resamples=4_000, by_cells=True)
        points = decompose(source, target, n_resamples=4_000, blocks=datapoints(900, 400), seed=7)
        error = math.sqrt(source.correct.var() / 900 + target.correct.var() / 400)
        assert cells.gap_se == pytest.approx(error, rel=0.05)
        assert cells.confidence_share == cells.confidence_part / cells.gap
        for name in VALUES:
            assert getattr(points, name) == pytest.approx(getattr(cells, name), abs=0.006)

    def test_groups_count_as_one_datapoint(self):
        source, target = two_sets(300, 200)
        alone = decompose(source, target, n_resamples=4_000, n_bins=5)
        names = np.repeat(np.arange(300), 6), np.repeat([f"w{i}" for i in range(200)], 6)
        sets = [
            Scored(np.repeat(s.confidence, 6), np.repeat(s.correct, 6)) for s in (source, target)
        ]
        given = {"n_resamples": 4_000, "n_bins": 5, "blocks": groups(*names), "seed": 7}
        whole = decompose(*sets, **given)
        assert decompose(*sets, **given, by_cells=True) == whole
        assert whole.gap == pytest.approx(alone.gap)
        for name in VALUES:
            assert getattr(whole, name) == pytest.approx(getattr(alone, name), abs=0.01)

    def test_paired_images_are_drawn_together(self):
        one, other = simulate(500, 5, 3), simulate(500, 5, 3)
        flipped = np.random.default_rng(0).random(500) < 0.1
        sets = [scored(one.probability, right) for right in (one.correct, one.correct & ~flipped)]
        found = decompose(*sets, blocks=paired_images(one, other), n_resamples=4_000)
        d = sets[0].correct.astype(float) - sets[1].correct
        assert found.gap_se == pytest.approx(d.std(ddof=1) / math.sqrt(500), rel=0.05)
        # Where an image has the same confidence in both sets, so has every resample.
        assert abs(found.confidence_part_low) < 1e-12 > abs(found.confidence_part_high)
        assert decompose(*sets).gap_se > 1.3 * found.gap_se

    def test_the_mean_of_models_keeps_what_they_share(self):
        """Ten equal models have the standard error of one; so do their means."""
        pair = two_sets()
        models, mean = decompose_models([bin_sets(*pair)] * 10)
        assert models == [models[0]] * 10
        assert mean.gap_se == pytest.approx(models[0].gap_se)
        inverse = tuple(Scored(s.confidence, ~s.correct) for s in pair)
        pairs = [bin_sets(*pair), bin_sets(*inverse)]
        models, mean = decompose_models(pairs, source_is_original=False)
        assert models[0].gap < 0 < models[1].gap
        assert mean.gap_se == pytest.approx(0, abs=1e-12)


def test_no_share_of_a_gap_that_may_be_none():
    # Standard errors are about 0.06: a gap of 0.09 is below twice that, 0.2 above.
    source, near, far = (scored([0.5] * 100, np.arange(100) < k) for k in (80, 71, 60))
    found, clear = decompose(source, near), decompose(source, far)
    assert found.gap == pytest.approx(0.09)
    assert 0.045 < found.gap_se < 0.07
    assert math.isnan(found.confidence_share)
    assert "does not exceed twice its standard error" in found.reason
    assert (clear.confidence_share, clear.reason) == (0, "")


def test_no_interval():
    found = decompose(scored([0.5, 1], [1, 1]), scored([0.5, 1], [1, 0]), n_resamples=0)
    assert found.gap == 0.5
    assert np.isnan([found.gap_se, found.conditional_part_low, found.confidence_share]).all()
    assert "no standard error" in found.reason
