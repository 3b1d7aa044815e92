"""Building a test set from annotated candidates: counting, allocation, sampling, duplicates."""

import json
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matcheval.analyses.sampling import annotations as workers
from matcheval.analyses.sampling import selection
from matcheval.analyses.sampling.selection import Candidate, PoolMetadata, keyword_targets
from matcheval.analyses.sampling.settings import SamplingSettings
from matcheval.errors import InputError
from published import DATA, needs_data

IMAGES = {"pool": {"p1", "p2"}, "original": {"o1", "o2"}}
COUNTS = ["origin", "image", "class", "n_annotations", "n_selected"]


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
    table = workers.selection_frequencies(ANNOTATIONS).set_index(["image", "class"])
    assert table.loc[("p1", "cat"), ["n_annotations", "n_selected"]].tolist() == [3, 2]
    assert table.frequency.loc[[("p1", "cat"), ("p2", "cat")]].tolist() == [2 / 3, 0]
    # o2 is a dog: a negative control, selected once.
    assert workers.control_accuracy(table.reset_index(), {"o1": "cat", "o2": "dog"}) == (1, 0.5)


def test_annotations_are_read_from_csv(tmp_path):
    path = tmp_path / "annotations.csv"
    path.write_text("worker,image,class,selected\nw1,0012,cat,true\nw2,0012,cat,0\n")
    frame = workers.read_annotations(path)
    assert frame.image.tolist() == ["0012"] * 2
    assert frame.origin.tolist() == ["pool"] * 2
    assert frame.selected.tolist() == [True, False]
    path.write_text("worker,image,class,selected\nw,p1,cat,maybe\n")
    with pytest.raises(InputError, match=r"row 0 \(from 0\): 'maybe' is neither"):
        workers.read_annotations(path)


def test_bins_are_exact():
    """3 of 5 is 0.6, in the fourth bin, although 0.6 / 0.2 is below 3 in floating point."""
    for bins in (2, 5, 10):
        for shown in range(1, 30):
            selected = np.arange(shown + 1)
            found = workers.frequency_bins(selected, np.full_like(selected, shown), bins)
            exact = [min(bins - 1, int(Fraction(int(s), shown) * bins)) for s in selected]
            assert found.tolist() == exact
    assert workers.frequency_bins(0, 0) == 0


def test_histograms_count_the_original_set_under_its_own_classes():
    rows = [("original", f"o{i}", "cat", 10, i % 11) for i in range(22)]
    rows += [("original", "o0", "dog", 10, 9), ("pool", "p", "cat", 10, 10)]
    table = pd.DataFrame([*rows, ("original", "few", "cat", 9, 9)], columns=COUNTS)
    class_of = {f"o{i}": "cat" for i in range(22)} | {"few": "cat"}

    def histograms(*classes):
        asked = SamplingSettings(strategy="matched_frequency", per_class=1)
        return workers.class_histograms(table, class_of, classes, asked).tolist()

    assert histograms("cat") == [[4, 4, 4, 4, 6]]
    with pytest.raises(InputError, match=r"^class 'dog': 0 images .* 20 too few"):
        histograms("cat", "dog")


@given(st.lists(st.integers(0, 50), min_size=1, max_size=8).filter(any), st.integers(0, 40))
def test_histogram_targets_have_the_given_sum_and_are_near_the_shares(histogram, total):
    targets = selection.histogram_targets(histogram, total)
    assert sum(targets) == total
    for count, target in zip(histogram, targets, strict=True):
        assert abs(target - total * count / sum(histogram)) < 1
        assert count or not target


def test_targets_by_hand():
    # Equal remainders go to the higher bin.
    assert selection.histogram_targets([1, 1, 1, 1, 0], 10) == [2, 2, 3, 3, 0]
    counts = {"a": 5, "b": 3, "c": 1, "d": 1}
    # 2, 1.2, 0.4, 0.4: c by name
    assert selection.keyword_targets(counts, 4) == {"a": 2, "b": 1, "c": 1}
    assert selection.keyword_targets(counts, 8, top=2) == {"a": 5, "b": 3}
    proportional = selection.proportional_targets({"a": 61, "b": 60, "c": 15, "d": 14}, 30, 3)
    assert proportional == {"a": 3, "b": 2, "c": 1}


def candidates_of(n, stratum="", prefix=""):
    return [Candidate(f"{prefix}{i:03}", "cat", stratum, 10, i % 11) for i in range(n)]


def test_strata_keep_the_round_before_and_are_filled_at_random():
    candidates = candidates_of(20, "low", "l") + candidates_of(20, "high", "h")
    targets = {"low": 4, "high": 3}
    first = selection.draw_strata(candidates, targets, (), random.Random(0))
    assert Counter(first.taken.values()) == targets
    assert not first.missing
    previous = {"l003", "l004", "h001", "h002", "h003", "h004", "gone"}
    second = selection.draw_strata(candidates, targets, previous, random.Random(1))
    assert {"l003", "l004"} <= set(second.taken)
    assert {name for name in second.taken if name[0] == "h"} < previous
    shuffled = random.Random(2).sample(candidates, 40)
    again = selection.draw_strata(shuffled, targets, previous, random.Random(1))
    assert second.taken == again.taken


def test_the_best_are_ranked_by_frequency_annotations_and_name():
    counts = {"a": (10, 9), "b": (20, 18), "c": (10, 8), "d": (10, 9), "e": (10, 10)}
    candidates = [Candidate(name, "", "", *of) for name, of in counts.items()]
    assert list(selection.draw_best(candidates, 3).taken) == ["e", "b", "d"]
    assert list(selection.draw_best(candidates, 3, {"a"}).taken) == ["e", "b", "a"]
    assert selection.draw_best(candidates, 7).missing == {"": 2}


def pair(first, second):
    """Two near duplicates; an upper-case name is an image of the training set."""
    return tuple(("train" if name.isupper() else "pool", name) for name in (first, second))


def duplicates(text, barred="", **candidates):
    """Which candidates, given as `a="cat 9"`, are left out because of pairs like `a-b`."""
    edges = [pair(*names.split("-")) for names in text.split()]
    members = {}
    for name, of in candidates.items():
        group, selected = of.split()
        why = "blacklisted" if name == barred else ""
        members[name] = Candidate(name, group, "", 10, int(selected), why)
    return selection.duplicates_to_leave_out(edges, members)


def test_components_and_which_candidate_is_kept():
    cats = {"a": "cat 9", "b": "cat 8", "c": "cat 7"}
    assert duplicates("a-b b-c", **cats) == {"b": "pool/a", "c": "pool/a"}
    # A group with an image of another set is excluded as a whole.
    assert duplicates("a-b b-T", **cats) == {"a": "train/T", "b": "train/T"}
    # Other images of the pool are not reported.
    assert duplicates("x-y a-z", **cats) == {}


def test_the_survivor_is_of_the_class_that_has_fewest():
    # Three good cats, one good dog; the cow is below the level that the others reach.
    some = {"a": "cat 10", "a2": "cat 9", "a3": "cat 8", "b": "dog 7", "c": "cow 6"}
    assert duplicates("a-b b-c", **some) == {"a": "pool/b", "c": "pool/b"}
    assert set(duplicates("a-b b-c", barred="b", **some)) == {"b", "c"}
    # No frequency is at least 0.6: the class of the best candidate, not the rarest one.
    assert set(duplicates("a-b", a="cat 3", b="dog 2")) == {"b"}


def simple_pool(strategy, n=60, *, per_class=10, blacklist=(), **options):
    """Two classes; candidate i of a class was selected by i % 21 of 20 workers."""
    groups = ("cat", "dog")
    counts = {f"{group}{i:03}": i % 21 for group in groups for i in range(n)}
    original = {f"o-{group}{i:03}": group for group in groups for i in range(40)}
    rows = [("pool", name, name[:3], 20, selected) for name, selected in counts.items()]
    for name, group in original.items():
        rows.append(("original", name, group, 20, 20 if int(name[-3:]) % 2 else 13))
    asked = SamplingSettings(strategy=strategy, per_class=per_class, **options)
    metadata = PoolMetadata(pd.DataFrame(rows, columns=COUNTS), blacklist=blacklist)
    images = {name: name[:3] for name in counts}
    return selection.build_pool(images, original, groups, asked, metadata), asked, counts


def barred(pool):
    return {name: c.barred for name, c in pool.by_name.items() if c.barred}


def test_threshold_and_top_images():
    pool, asked, counts = simple_pool("threshold", n=150, thresholds={"dog": 0.9})
    drawn = selection.sample_in_rounds(pool, asked).drawn_for
    least = {group: min(counts[n] for n in drawn if n[:3] == group) for group in ("cat", "dog")}
    assert least["cat"] >= 14
    assert least["dog"] >= 18
    assert barred(pool)["cat013"] == "below_threshold"
    assert "cat014" not in barred(pool)  # 14 of 20 is 0.7 exactly
    pool, asked, counts = simple_pool("top_images", per_class=4)
    sampled = selection.sample_in_rounds(pool, asked)
    assert sorted(counts[name] for name in sampled.drawn_for) == [19] * 4 + [20] * 4


def test_too_few_candidates_are_reported_by_class():
    pool, asked, _ = simple_pool(
        "threshold", per_class=25, blacklist=["cat020"], thresholds={"dog": 0.95}
    )
    # Good candidates are 14..20, 35..41 and 56..59: 18 cats, one of them blacklisted.
    told = (
        "(?s)class 'cat': 8 of 25 images are missing.*"
        "of 60 candidates 42 below_threshold, 1 blacklisted, 17 eligible.*class 'dog': 21 of 25"
    )
    with pytest.raises(InputError, match=told):
        selection.sample_in_rounds(pool, asked)


def test_a_short_bin_is_named_or_filled_from_above():
    told = r"class 'dog': 2 of 10 images are missing \(1 of stratum 3, 1 of.*allow 'fill_upward'"
    with pytest.raises(InputError, match=told):
        selection.sample_in_rounds(*simple_pool("matched_frequency", n=20)[:2])
    # Of twelve cats in the fourth bin, three are left; the fifth has fifteen.
    gone = [f"cat{i:03}" for i in (12, 13, 14, 15, 33, 34, 35, 36, 54)]
    pool, asked, counts = simple_pool("matched_frequency", blacklist=gone, fill_upward=True)
    drawn = selection.sample_in_rounds(pool, asked).drawn_for
    bins = {name: min(4, counts[name] * 5 // 20) for name in drawn if name[:3] == "cat"}
    assert Counter(bins.values()) == {3: 3, 4: 7}
    assert Counter(drawn[name] for name in bins) == {"3": 5, "4": 5}


def planted(pairs):
    """A finder that reports the given near duplicates among the images it is given."""

    def find(new, chosen):
        for names in pairs:
            for first, second in (names, names[::-1]):
                if first in new and (second in chosen or second.isupper()):
                    yield pair(first, second)

    return find


def test_planted_duplicates_are_all_replaced():
    """Half of the candidates have a copy, a tenth are in the training set; none is sampled."""
    pool, asked, _ = simple_pool("threshold", n=400, per_class=60)
    eligible = [name for name, c in pool.by_name.items() if not c.barred]
    twins = list(zip(eligible[0::4], eligible[2::4], strict=False))
    seen = [(name, "TRAIN") for name in eligible[1::10]]
    sampled = selection.sample_in_rounds(pool, asked, find=planted(twins + seen))
    chosen = set(sampled.drawn_for)
    assert Counter(name[:3] for name in chosen) == {"cat": 60, "dog": 60}
    assert not any(a in chosen and b in chosen for a, b in twins)
    assert not any(name in chosen for name, _ in seen)
    assert len(sampled.rounds) > 1
    assert sampled.rounds[-1]["n_duplicates"] == 0
    assert max(sampled.round_of.values()) == len(sampled.rounds)
    known = selection.sample_in_rounds(
        pool, asked, reviewed=[pair(*names) for names in twins + seen]
    )
    assert len(known.rounds) == 1


def test_unknown_images_and_repeated_annotations_are_refused():
    checked, left_out = workers.check_annotations(ANNOTATIONS, IMAGES, ["cat", "dog"])
    assert (len(checked), left_out) == (len(ANNOTATIONS), 0)
    repeated = pd.concat([ANNOTATIONS, annotations("t1 w2 pool p1 cat 1")], ignore_index=True)
    others = IMAGES | {"pool": {"q"}}
    for table, images, known, message in (
        (ANNOTATIONS, others, "cat", "2 unknown images of the pool: 'p1', 'p2'"),
        (repeated, IMAGES, "cat", "worker 'w2' annotated image 'p1' for class 'cat' more"),
    ):
        with pytest.raises(InputError, match=message):
            workers.check_annotations(table, images, [known])
    checked, left_out = workers.check_annotations(repeated, IMAGES, ["cat"], repeated="first")
    assert left_out == 1
    pd.testing.assert_frame_equal(checked, ANNOTATIONS)


# Published data: keywords of CIFAR-10.1, near duplicates of ImageNetV2


@pytest.fixture(scope="module")
def keywords():
    return json.loads((DATA / "cifar10_1_keywords.json").read_text())


@needs_data
def test_the_published_allocation_of_version_7(keywords):
    """All 299 keywords of CIFAR-10.1 v7, from the keyword counts of CIFAR-10."""
    counts = keywords["cifar10_keyword_counts_v7"]
    targets = {name: keyword_targets(of, 200) for name, of in counts.items()}
    assert targets == keywords["keyword_counts"]["v7"]
    assert sum(map(len, targets.values())) == 299
    assert all(sum(of.values()) == 200 for of in targets.values())
