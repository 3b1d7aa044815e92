"""Building a test set from annotated candidates: counting, allocation, sampling, duplicates."""

import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matcheval.analyses.sampling.annotations import (
    check_annotations,
    class_histograms,
    control_accuracy,
    frequency_bins,
    read_annotations,
    selection_frequencies,
)
from matcheval.analyses.sampling.pool import (
    Candidate,
    build_pool,
    histogram_targets,
    keyword_targets,
    proportional_targets,
)
from matcheval.analyses.sampling.rounds import (
    Member,
    connected_components,
    draw_best,
    draw_strata,
    duplicates_among,
    sample_in_rounds,
)
from matcheval.analyses.sampling.settings import SamplingSettings
from matcheval.errors import InputError

IMAGES = {"pool": {"p1", "p2"}, "original": {"o1", "o2"}}


def annotations(*rows):
    names = ["task", "worker", "origin", "image", "class", "selected"]
    return pd.DataFrame([row.split() for row in rows], columns=names).assign(
        selected=[row.endswith("1") for row in rows]
    )


ANNOTATIONS = annotations(
    "t1 w1 pool p1 cat 1", "t1 w2 pool p1 cat 0", "t2 w1 pool p1 cat 1", "t1 w1 pool p2 cat 0",
    "t1 w1 original o1 cat 1", "t1 w2 original o1 cat 1", "t1 w1 original o2 cat 0",
    "t1 w2 original o2 cat 1",
)  # fmt: skip


def test_frequencies_pool_the_annotations_of_all_tasks():
    table = selection_frequencies(ANNOTATIONS).set_index(["image", "class"])
    assert table.loc[("p1", "cat"), ["n_annotations", "n_selected"]].tolist() == [3, 2]
    assert table.frequency["p1", "cat"] == 2 / 3
    assert table.frequency["p2", "cat"] == 0
    # o2 is a dog: a negative control, selected once.
    assert control_accuracy(table.reset_index(), {"o1": "cat", "o2": "dog"}) == (1, 0.5)


def test_annotations_are_read_from_csv_and_parquet(tmp_path):
    path = tmp_path / "annotations.csv"
    path.write_text("worker,image,class,selected\nw1,0012,cat,true\nw2,0012,cat,0\n")
    frame = read_annotations(path)
    assert frame.image.tolist() == ["0012"] * 2
    assert frame.origin.tolist() == ["pool"] * 2
    assert frame.selected.tolist() == [True, False]
    ANNOTATIONS.to_parquet(tmp_path / "annotations.parquet")
    pd.testing.assert_frame_equal(read_annotations(tmp_path / "annotations.parquet"), ANNOTATIONS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("worker,image,class\nw,p1,cat\n", "selected"),
        ("worker,image,class,selected,mood\nw,p1,cat,1,glad\n", "mood"),
        ("worker,image,class,selected\nw,p1,cat,maybe\n", r"row 0 \(from 0\): 'maybe' is neither"),
        ("worker,image,class,selected\n,p1,cat,1\n", "empty cells in worker"),
        ("worker,image,class,selected\nw,p1\n", "not readable as CSV"),
    ],
)
def test_bad_files_of_annotations_are_refused(tmp_path, text, message):
    path = tmp_path / "annotations.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_annotations(path)


def test_unknown_images_and_repeated_annotations_are_refused():
    checked, left_out = check_annotations(ANNOTATIONS, IMAGES, ["cat", "dog"])
    assert len(checked) == len(ANNOTATIONS)
    assert left_out == 0
    with pytest.raises(InputError, match=r"2 unknown images of the pool: 'p1', 'p2'"):
        check_annotations(ANNOTATIONS, {"pool": {"q"}, "original": {"o1", "o2"}}, ["cat"])
    with pytest.raises(InputError, match=r"1 unknown class: 'cat'"):
        check_annotations(ANNOTATIONS, IMAGES, ["dog"])
    repeated = pd.concat([ANNOTATIONS, annotations("t1 w2 pool p1 cat 1")], ignore_index=True)
    with pytest.raises(InputError, match=r"worker 'w2' annotated image 'p1' for class 'cat' more"):
        check_annotations(repeated, IMAGES, ["cat"])
    checked, left_out = check_annotations(repeated, IMAGES, ["cat"], repeated="first")
    assert left_out == 1
    pd.testing.assert_frame_equal(checked, ANNOTATIONS)


def test_bins_are_exact():
    """3 of 5 is 0.6, in the fourth bin, although 0.6 / 0.2 is below 3 in floating point."""
    n = np.arange(1, 30)
    for bins in (2, 5, 10):
        for shown in n:
            selected = np.arange(shown + 1)
            found = frequency_bins(selected, np.full_like(selected, shown), bins)
            exact = [min(bins - 1, int(Fraction(int(s), int(shown)) * bins)) for s in selected]
            assert found.tolist() == exact
    assert frequency_bins(0, 0) == 0


def test_histograms_count_the_original_set_under_its_own_classes():
    rows = [("original", f"o{i}", "cat", 10, i % 11) for i in range(22)]
    rows += [("original", "o0", "dog", 10, 9), ("pool", "p", "cat", 10, 10)]
    rows += [("original", "few", "cat", 9, 9)]
    table = pd.DataFrame(rows, columns=["origin", "image", "class", "n_annotations", "n_selected"])
    class_of = {f"o{i}": "cat" for i in range(22)} | {"few": "cat"}
    assert class_histograms(table, class_of, ["cat"]).tolist() == [[4, 4, 4, 4, 6]]
    with pytest.raises(InputError, match=r"class 'dog': 0 images .* 20 too few"):
        class_histograms(table, class_of, ["cat", "dog"])
    with pytest.raises(InputError, match=r"class 'cat': 22 images .* 3 too few"):
        class_histograms(table, class_of, ["cat"], min_images=25)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=8).filter(any), st.integers(0, 40))
def test_histogram_targets_have_the_given_sum_and_are_near_the_shares(histogram, total):
    targets = histogram_targets(histogram, total)
    assert sum(targets) == total
    for count, target in zip(histogram, targets, strict=True):
        assert abs(target - total * count / sum(histogram)) < 1
        assert count or not target


def test_equal_remainders_go_to_the_higher_bin():
    assert histogram_targets([1, 1, 1, 1, 0], 10) == [2, 2, 3, 3, 0]


def test_keyword_targets_by_hand():
    counts = {"a": 5, "b": 3, "c": 1, "d": 1}
    assert keyword_targets(counts, 4) == {"a": 2, "b": 1, "c": 1}  # 2, 1.2, 0.4, 0.4: c by name
    assert keyword_targets(counts, 8, top=2) == {"a": 5, "b": 3}
    assert proportional_targets({"a": 61, "b": 60, "c": 15, "d": 14}, 30, 3) == {
        "a": 3, "b": 2, "c": 1,
    }  # fmt: skip
    with pytest.raises(InputError):
        keyword_targets({}, 4)


def pool_of(n, stratum="", prefix=""):
    return [Candidate(f"{prefix}{i:03}", stratum, 10, i % 11) for i in range(n)]


def test_strata_keep_the_round_before_and_are_filled_at_random():
    candidates = pool_of(20, "low", "l") + pool_of(20, "high", "h")
    targets = {"low": 4, "high": 3}
    first = draw_strata(candidates, targets, (), random.Random(0))
    assert Counter(first.taken.values()) == targets
    assert not first.missing
    previous = {"l003", "l004", "h001", "h002", "h003", "h004", "gone"}
    second = draw_strata(candidates, targets, previous, random.Random(1))
    assert {"l003", "l004"} <= set(second.taken)
    assert {name for name in second.taken if name[0] == "h"} < previous
    shuffled = random.Random(2).sample(candidates, 40)
    assert second.taken == draw_strata(shuffled, targets, previous, random.Random(1)).taken


def test_every_candidate_of_a_stratum_is_as_likely():
    candidates, counts = pool_of(8, "s"), Counter()
    for seed in range(4000):
        counts.update(list(draw_strata(candidates, {"s": 3}, (), random.Random(seed)).taken))
    # 1,500 each; the standard deviation is 31.
    assert all(abs(n - 1500) < 4 * 31 for n in counts.values())
    assert len(counts) == 8


@given(
    st.lists(st.integers(0, 6), min_size=3, max_size=5),
    st.lists(st.integers(0, 6), min_size=3, max_size=5),
    st.integers(0, 99),
)
def test_upward_filling_never_lowers_a_bin(have, want, seed):
    n = min(len(have), len(want))
    have, want = have[:n], want[:n]
    candidates = [Candidate(f"{b}-{i}", f"{b}") for b in range(n) for i in range(have[b])]
    targets = {f"{b}": want[b] for b in range(n)}
    draw = draw_strata(candidates, targets, (), random.Random(seed), fill_upward=True)
    for name, place in draw.taken.items():
        assert int(name.split("-")[0]) >= int(place)
    assert len(draw.taken) + sum(draw.missing.values()) == sum(want)
    # No image is missing that a higher bin had left.
    for stratum in draw.missing:
        left = [c.name for c in candidates if c.name not in draw.taken]
        assert not any(int(name.split("-")[0]) > int(stratum) for name in left)
    # Without filling, each bin has only images of its own.
    own = draw_strata(candidates, targets, (), random.Random(seed))
    assert Counter(own.taken.values()) == Counter(
        {f"{b}": min(have[b], want[b]) for b in range(n) if min(have[b], want[b])}
    )


def test_the_highest_short_bin_is_filled_first():
    candidates = [Candidate("a", "2"), Candidate("b", "2")]
    targets = {"0": 1, "1": 1, "2": 1}
    draw = draw_strata(candidates, targets, (), random.Random(0), fill_upward=True)
    assert sorted(draw.taken.values()) == ["1", "2"]
    assert draw.missing == {"0": 1}


def test_the_best_are_ranked_by_frequency_annotations_and_name():
    candidates = [
        Candidate("a", "", 10, 9), Candidate("b", "", 20, 18), Candidate("c", "", 10, 8),
        Candidate("d", "", 10, 9), Candidate("e", "", 10, 10),
    ]  # fmt: skip
    assert list(draw_best(candidates, 3).taken) == ["e", "b", "d"]
    assert list(draw_best(candidates, 3, {"a"}).taken) == ["e", "b", "a"]
    assert draw_best(candidates, 7).missing == {"": 2}


def member(group, selected, blacklisted=False):
    return Member(group, Fraction(selected, 10), blacklisted)


def edges(text):
    """Pairs like `a-b`; an upper-case letter is an image of the training set."""
    return [
        tuple(("train" if name.isupper() else "pool", name) for name in pair.split("-"))
        for pair in text.split()
    ]


def test_components_and_which_candidate_is_kept():
    members = {"a": member("cat", 9), "b": member("cat", 8), "c": member("cat", 7)}
    assert duplicates_among(edges("a-b b-c"), members) == {"b": "pool/a", "c": "pool/a"}
    # A group with an image of another set is excluded as a whole.
    assert duplicates_among(edges("a-b b-T"), members) == {"a": "train/T", "b": "train/T"}
    assert [len(c) for c in connected_components(edges("a-b d-e c-b"))] == [3, 2]
    assert duplicates_among([], members) == {}
    # Other images of the pool are not reported.
    assert duplicates_among(edges("x-y a-z"), members) == {}


def test_the_survivor_is_of_the_class_that_has_fewest():
    members = {
        "a": member("cat", 10), "a2": member("cat", 9), "a3": member("cat", 8),
        "b": member("dog", 7), "c": member("cow", 6),
    }  # fmt: skip
    # Three good cats, one good dog; the cow is below the level that the others reach.
    found = duplicates_among(edges("a-b b-c"), members)
    assert found == {"a": "pool/b", "c": "pool/b"}
    members["b"] = member("dog", 7, blacklisted=True)
    assert set(duplicates_among(edges("a-b b-c"), members)) == {"b", "c"}
    # No frequency is at least 0.6: the class of the best candidate, not the rarest one.
    poor = {"a": member("cat", 3), "b": member("dog", 2)}
    assert set(duplicates_among(edges("a-b"), poor)) == {"b"}


def frequency_table(counts, origin="pool", n_annotations=20):
    rows = [(origin, name, group, n_annotations, n) for name, (group, n) in counts.items()]
    names = ["origin", "image", "class", "n_annotations", "n_selected"]
    return pd.DataFrame(rows, columns=names)


def simple_pool(strategy, n=60, *, per_class=10, blacklist=(), **options):
    """Two classes; candidate i of a class was selected by i % 21 of 20 workers."""
    counts = {f"{g}{i:03}": (g, i % 21) for g in ("cat", "dog") for i in range(n)}
    original = {f"o-{g}{i:03}": (g, 20 if i % 2 else 13) for g in ("cat", "dog") for i in range(40)}
    table = pd.concat([frequency_table(counts), frequency_table(original, "original")])
    given = SamplingSettings.model_validate(
        {"strategy": strategy, "per_class": per_class, **options}
    )
    pool = build_pool(
        {name: group for name, (group, _) in counts.items()},
        ["cat", "dog"],
        given,
        frequencies=table,
        original={name: group for name, (group, _) in original.items()},
        blacklist=blacklist,
    )
    return pool, given, counts


def by_class(sampled):
    return Counter(name[:3] for name in sampled.drawn_for)


def test_matched_frequency_has_the_histogram_of_the_original():
    """Half of the original is in the bin of 13/20 and half in the highest: five and five."""
    pool, given, counts = simple_pool("matched_frequency")
    sampled = sample_in_rounds(pool, given)
    assert by_class(sampled) == {"cat": 10, "dog": 10}
    bins = Counter((name[:3], counts[name][1] * 5 // 20) for name in sampled.drawn_for)
    high = bins["cat", 4] + bins["cat", 5]
    assert (bins["cat", 3], high) == (5, 5)


def test_threshold_and_top_images():
    pool, given, counts = simple_pool("threshold", n=150, thresholds={"dog": 0.9})
    sampled = sample_in_rounds(pool, given)
    least = {g: min(counts[n][1] for n in sampled.drawn_for if n[:3] == g) for g in ("cat", "dog")}
    assert least["cat"] >= 14
    assert least["dog"] >= 18
    assert pool.barred["cat013"] == "below_threshold"
    assert "cat014" not in pool.barred  # 14 of 20 is 0.7 exactly
    pool, given, counts = simple_pool("top_images", per_class=4)
    sampled = sample_in_rounds(pool, given)
    assert sorted(counts[name][1] for name in sampled.drawn_for) == [19] * 4 + [20] * 4


def test_too_few_candidates_are_reported_by_class():
    pool, given, _ = simple_pool(
        "threshold", per_class=25, blacklist=["cat020"], thresholds={"dog": 0.95}
    )
    with pytest.raises(InputError) as caught:
        sample_in_rounds(pool, given)
    message = str(caught.value)
    # Good candidates are 14..20, 35..41 and 56..59: 18 cats, one of them blacklisted.
    assert "class 'cat': 8 of 25 images are missing" in message
    assert "of 60 candidates 42 below_threshold, 1 blacklisted, 17 eligible" in message
    assert "class 'dog': 21 of 25 images are missing" in message
    assert "thresholds" in message
    with pytest.raises(InputError, match="unknown candidate: 'nope'"):
        simple_pool("threshold", blacklist=["nope"])
    with pytest.raises(InputError, match="unknown class: 'cow'"):
        simple_pool("threshold", thresholds={"cow": 0.5})
    pool, _, _ = simple_pool("top_images", min_annotations=21)
    assert set(pool.barred.values()) == {"few_annotations"}
    with pytest.raises(InputError, match=r"class 'cat': 0 images .* 20 too few .*class 'dog'"):
        simple_pool("matched_frequency", min_annotations=21)


def test_a_short_bin_is_named_or_filled_from_above():
    with pytest.raises(InputError) as caught:
        sample_in_rounds(*simple_pool("matched_frequency", n=20)[:2])
    assert "class 'dog': 2 of 10 images are missing (1 of stratum 3, 1 of" in str(caught.value)
    assert "allow 'fill_upward'" in str(caught.value)
    # Of twelve cats in the fourth bin, three are left; the fifth has fifteen.
    gone = [f"cat{i:03}" for i in (12, 13, 14, 15, 33, 34, 35, 36, 54)]
    pool, given, counts = simple_pool("matched_frequency", blacklist=gone, fill_upward=True)
    sampled = sample_in_rounds(pool, given)
    bins = {n: min(4, counts[n][1] * 5 // 20) for n in sampled.drawn_for if n[:3] == "cat"}
    assert Counter(bins.values()) == {3: 3, 4: 7}
    assert Counter(sampled.drawn_for[name] for name in bins) == {"3": 5, "4": 5}


def planted(pairs):
    """A finder that reports the given near duplicates among the images it is given."""

    def find(new, chosen):
        shown = set(chosen)
        for a, b in pairs:
            for first, second in ((a, b), (b, a)):
                if first in new and (second in shown or second.isupper()):
                    yield ("pool", first), ("train" if second.isupper() else "pool", second)

    return find


@pytest.mark.parametrize("seed", range(5))
def test_planted_duplicates_are_all_replaced(seed):
    """Half of the candidates have a copy, a tenth are in the training set; none is sampled."""
    pool, given, _ = simple_pool("threshold", n=400, per_class=60, seed=seed)
    eligible = [
        c.name for g in ("cat", "dog") for c in pool.candidates[g] if c.name not in pool.barred
    ]
    twins = list(zip(eligible[0::4], eligible[2::4], strict=False))
    seen = [(name, "TRAIN") for name in eligible[1::10]]
    sampled = sample_in_rounds(pool, given, find=planted(twins + seen))
    chosen = set(sampled.drawn_for)
    assert by_class(sampled) == {"cat": 60, "dog": 60}
    assert not any(a in chosen and b in chosen for a, b in twins)
    assert not any(name in chosen for name, _ in seen)
    assert len(sampled.rounds) > 1
    assert sampled.rounds[-1].n_duplicates == 0
    # Images that were kept have the round in which they were first sampled.
    assert max(sampled.came_in.values()) == len(sampled.rounds)
    assert sampled.came_in.keys() == chosen
    known = sample_in_rounds(
        pool,
        given,
        known=[(("pool", a), ("train" if b.isupper() else "pool", b)) for a, b in twins + seen],
    )
    assert len(known.rounds) == 1
    assert set(known.duplicates.values()) >= {("train/TRAIN", 0)}


def test_images_of_an_earlier_version_are_kept_where_eligible():
    pool, given, _ = simple_pool("threshold")
    first = sample_in_rounds(pool, given)
    again = sample_in_rounds(pool, given, previous=list(first.drawn_for))
    assert again.drawn_for == first.drawn_for
    assert set(again.came_in.values()) == {0}
    gone = next(iter(first.drawn_for))
    pool, given, _ = simple_pool("threshold", blacklist=[gone], seed=5)
    third = sample_in_rounds(pool, given, previous=list(first.drawn_for))
    assert len(set(first.drawn_for) - set(third.drawn_for)) == 1
    assert Counter(third.came_in.values()) == {0: 19, 1: 1}


def test_too_many_duplicates_are_an_error():
    pool, given, _ = simple_pool("threshold", per_class=10)
    every = [(c.name, "TRAIN") for g in ("cat", "dog") for c in pool.candidates[g]]
    with pytest.raises(InputError, match=r"near_duplicate"):
        sample_in_rounds(pool, given, find=planted(every))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.sampled_from(["matched_frequency", "threshold", "top_images"]))
def test_seeds_decide_and_nothing_barred_is_taken(seed, strategy):
    pool, given, _ = simple_pool(strategy, n=150, seed=seed, fill_upward=True)
    sampled = sample_in_rounds(pool, given)
    assert sampled == sample_in_rounds(pool, given)
    assert not set(sampled.drawn_for) & set(pool.barred)
    assert by_class(sampled) == {"cat": 10, "dog": 10}
