"""Several models on the same sets: agreement, ALine, ensembles; and parts of sets."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import norm

from matcheval.accuracy_prediction.output_files import average
from matcheval.accuracy_prediction.scores import POOL_SCORES, SCORES
from matcheval.accuracy_prediction.scores.agreement import (
    Agreements,
    agreement,
    agreement_of_seeds,
    aline_d,
    aline_s,
)
from matcheval.accuracy_prediction.scores.outputs import ClassRule, Outputs, from_logits, restrict
from matcheval.accuracy_prediction.scores.score import NotAvailableError, Sides, Sources
from matcheval.accuracy_prediction.scoring import (
    ModelScorer,
    Subsets,
    SuiteOutputs,
    SuiteReader,
    score_pool,
)
from matcheval.datasets.suites import Member, Suite
from matcheval.errors import InputError


def models(generator, labels, accuracy, k=10):
    """Predictions of models that err independently."""
    wrong = (labels + generator.integers(1, k, (len(accuracy), len(labels)))) % k
    right = generator.random(wrong.shape) < np.asarray(accuracy)[:, None]
    return np.where(right, labels, wrong).astype(np.int16)


def pool(seed=0, n=400, accuracy=(0.6, 0.7, 0.75, 0.8, 0.85, 0.9), drop=0.15):
    generator = np.random.default_rng(seed)
    y = generator.integers(0, 10, (2, n))
    base = models(generator, y[0], accuracy)
    target = models(generator, y[1], np.array(accuracy) - drop)
    return base, y[0], target


def of(base, labels, target):
    return Agreements(agreement(target), agreement(base), (base == labels).mean(axis=1))


def literally(base, labels, target):
    """ALine-S and ALine-D as the specification has them, in loops over pairs."""
    n = len(base)
    acc = [norm.ppf(np.mean(one == labels)) for one in base]
    pairs = []
    for i in range(n):
        for j in range(n):
            known, new = np.mean(base[i] == base[j]), np.mean(target[i] == target[j])
            if i != j and 0.05 <= known <= 0.98 and 0.05 <= new <= 0.98:
                pairs.append((i, j, norm.ppf(known), norm.ppf(new)))
    slope, bias = np.polyfit([p[2] for p in pairs], [p[3] for p in pairs], 1)
    rows, wanted = [], []
    for i, j, known, new in pairs:
        rows.append([(k == i) / 2 + (k == j) / 2 for k in range(n)])
        wanted.append(new + slope * ((acc[i] + acc[j]) / 2 - known))
    w = np.linalg.pinv(np.array(rows)) @ wanted
    return norm.cdf(slope * np.array(acc) + bias), norm.cdf(w)


@pytest.mark.parametrize("seed", range(3))
def test_aline_by_literal_loops(seed):
    some = pool(seed)
    np.testing.assert_allclose(
        [aline_s(of(*some)), aline_d(of(*some))], literally(*some), atol=1e-9
    )


def test_models_outside_of_the_pool_have_no_influence_on_it():
    agreements = dataclasses.replace(of(*pool()), recipes=np.array([0, 0, 1, 2, 3, 0]))
    inside = np.array([True, True, True, True, False, False])
    for score in POOL_SCORES.values():
        found = score.of_models(agreements, inside)
        alone = score.compute(agreements.among(np.arange(4)))
        np.testing.assert_array_equal(found[:4], alone)
        joined = score.compute(agreements.among(np.array([0, 1, 2, 3, 5])))
        assert found[5] == joined[4]


def test_agreement_of_seeds_by_hand():
    """Of pairs of one recipe; beside it, of each model with all others of other recipes."""
    matrix = np.array(
        [[1, 0.9, 0.8, 0.5], [0.9, 1, 0.7, 0.4], [0.8, 0.7, 1, 0.3], [0.5, 0.4, 0.3, 1]]
    )
    some = Agreements(matrix, matrix, np.full(4, 0.8), np.array([0, 0, 0, 1]))
    mean = (0.9 + 0.8 + 0.7) / 3
    np.testing.assert_allclose(agreement_of_seeds(some), [mean, mean, mean, np.nan])
    np.testing.assert_allclose(agreement_of_seeds(some, cross=True), [0.5, 0.4, 0.3, 0.4])


def test_too_few_pairs_and_models_that_no_pair_determines():
    base, labels, target = pool()
    with pytest.raises(NotAvailableError, match=r"in \[0.05, 0.98\] on base and target: 1; .* 3"):
        aline_s(of(base[:2], labels, target[:2]))
    same = np.repeat(base[:1], 6, axis=0)
    with pytest.raises(NotAvailableError, match="target: 0;"):
        aline_d(of(same, labels, same))
    agreements = of(base, labels, target)
    agreements.target[5, :] = agreements.target[:, 5] = 0.99  # no usable pair
    assert np.isnan(aline_d(agreements)).tolist() == [False] * 5 + [True]
    square = Agreements(np.ones((4, 4)), agreements.base[:4, :4], agreements.accuracy[:4])
    for i, j in ((0, 1), (1, 2), (2, 3), (3, 0)):  # a constant may be moved along such a cycle
        square.target[i, j] = square.target[j, i] = 0.5 + 0.1 * i
    assert np.isnan(aline_d(square)).all()
    perfect = of(
        np.concatenate([base, labels[None].astype(np.int16)]), labels, target[[*range(6), 0]]
    )
    for estimate in (aline_s, aline_d):  # the probit of the last one's accuracy is infinite
        assert np.isnan(estimate(perfect)).tolist() == [False] * 6 + [True]
    level = Agreements(agreements.target[:5, :5], np.full((5, 5), 0.7), agreements.accuracy[:5])
    with pytest.raises(NotAvailableError, match="agree equally often on the base"):
        aline_s(level)


CLASSES, MODELS = ["ape", "bee", "cat", "dog"], ["m0", "m1", "m2", "m3"]
SUITE = Suite("s", (Member("whole"), Member("part", classes=("cat", "ape"))))
COLUMNS = {"whole": (), "part": ((0,), (2,))}
NAMES = {"whole": CLASSES, "part": ["ape", "cat"]}


def outputs_of(dataset, model):
    n = {"base": 60, "whole": 50, "part": 40}[dataset]
    labels = np.random.default_rng(n).integers(0, 4, n)
    logits = np.random.default_rng([n, MODELS.index(model)]).normal(size=(n, 4))
    logits[np.arange(n), labels] += 1
    return from_logits(logits, labels, index=np.arange(n))


def given(**rule):
    return SuiteOutputs(SUITE, "base", CLASSES, ClassRule(**rule), None)


def score(read, *options):
    return score_pool(given(), MODELS, [POOL_SCORES["ms_aol"]], read, *options)


@pytest.mark.parametrize("dataset", COLUMNS)
def test_scores_are_of_the_parts_datapoints_and_classes_that_count(dataset):
    views = Subsets((20,), 2, "singles")
    found = score(outputs_of, (), views).set_index(["dataset", "view", "seed", "model"])
    rule = ClassRule(COLUMNS[dataset])
    cut = {m: restrict(outputs_of(dataset, m), rule, is_base=False) for m in MODELS}
    base = restrict(outputs_of("base", "m0"), rule, is_base=True)
    seen = set()
    for view, draw, rows in views.parts(cut["m0"], dataset, NAMES[dataset], CLASSES):
        first, *others = (one if rows is None else one.rows(rows) for one in cut.values())
        row = found.loc[dataset, view, draw, "m0"]
        agree = [(first.predicted == one.predicted).mean() for one in others]
        assert row["score"] == pytest.approx(np.mean(agree), abs=1e-15)
        assert row["accuracy"] == first.accuracy
        assert (row["n"], row["n_base"]) == (len(first), len(base))
        assert row["accuracy_base"] == base.accuracy
        seen.add((view, draw))
    missing = {(f"without {name}", 0) for name in CLASSES}
    assert seen == {("all", 0), ("n=20", 0), ("n=20", 1), *missing}


def test_single_models_are_compared_with_the_pool_only():
    found = score(outputs_of, ("m1", "m3")).set_index(["dataset", "model"])
    assert len(found) == 2 * len(MODELS)
    whole = {m: outputs_of("whole", m).predicted for m in MODELS}
    for model, others in {"m0": ["m2"], "m1": ["m0", "m2"], "m3": ["m0", "m2"]}.items():
        expected = np.mean([whole[model] == whole[other] for other in others])
        assert found.loc[("whole", model), "score"] == pytest.approx(expected, abs=1e-15)


CHANGES = {
    "datapoints, and": lambda one: one.rows(np.arange(49)),
    "other datapoints than": lambda one: dataclasses.replace(one, index=one.index + 1),
    "other labels than": lambda one: dataclasses.replace(one, labels=one.labels[::-1]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_models_on_other_datapoints_are_refused(change):
    def read(dataset, model):
        found = outputs_of(dataset, model)
        return CHANGES[change](found) if (dataset, model) == ("whole", "m2") else found

    with pytest.raises(InputError, match=f"'whole' model 'm2' has .*{change}.* model 'm0'"):
        score(read)
    with pytest.raises(InputError, match=f"'whole' model 'm2' has .*{change}.* model 'm0'"):
        average({model: read("whole", model) for model in MODELS}, "all", "whole")


def test_an_ensemble_has_the_mean_probabilities():
    members = {model: outputs_of("whole", model) for model in MODELS}
    found = average(members, "all", "whole")
    mean = sum(one.probabilities for one in members.values()) / 4
    np.testing.assert_allclose(found.probabilities, mean, rtol=1e-12)
    np.testing.assert_array_equal(found.index, np.arange(50))


def test_groups_and_several_labels_of_a_member():
    """A prediction is right if the most probable of the groups is one of the labels' groups."""
    every = outputs_of("whole", "m0")
    several = np.stack([every.labels, np.where(every.labels == 3, 1, -1)], 1)
    files = {"base": outputs_of("base", "m0"), "whole": dataclasses.replace(every, labels=several)}
    member = Member("whole", groups=(("small", ("bee", "ape")), ("pet", ("dog",))))  # no cat
    _, found = SuiteReader(given(), files.get).sides(member)
    rows = every.labels != 2
    p, labels = every.probabilities[rows], every.labels[rows]
    small = np.maximum(p[:, 0], p[:, 1]) > p[:, 3]
    assert found.correct.tolist() == (small | (labels == 3)).tolist()


def test_outputs_of_other_classes_and_of_no_numbers():
    base, target = outputs_of("base", "m0"), outputs_of("whole", "m0")
    files = {"base": base, "whole": from_logits(target.logits[:, :3], target.labels % 3)}
    reader = SuiteReader(given(), files.get)
    with pytest.raises(InputError, match="3 classes on 'whole', and 4 on the base"):
        reader.sides(Member("whole"))
    files["whole"] = from_logits(np.full((50, 4), np.nan), target.labels)
    scorer = ModelScorer(Sources(base), [SCORES[name] for name in ("atc_mc", "nuclear_norm")])
    rows = list(scorer.rows(Sides(*reader.sides(Member("whole"))), with_pool_scores=True))
    assert [row["reason"] for row in rows] == ["confidences are not finite numbers"] * 2


def test_random_parts_are_those_of_the_set_and_the_same_for_all_models():
    outputs = Outputs(np.zeros(99, int), np.zeros(99, int), np.ones(99))
    (_, one), (_, other) = (
        [rows for *_, rows in Subsets((20,), 1).parts(outputs, name, CLASSES)] for name in "ab"
    )
    assert len(set(one)) == len(set(other)) == 20
    assert set(one) != set(other)


def test_missing_classes_are_those_of_the_suite_singly_and_in_pairs():

    def sizes(labels, missing):
        outputs = Outputs(labels, np.zeros(6, int), np.ones(6))
        _, *found = Subsets(missing_classes=missing).parts(outputs, "set", CLASSES, CLASSES)
        return {view.removeprefix("without "): int(rows.sum()) for view, _, rows in found}

    labels = np.array([0, 0, 1, 1, 1, 2])  # no dog is in the set, which stays whole without dogs
    assert sizes(labels, "pairs") == {
        "ape": 4, "bee": 3, "cat": 5, "dog": 6, "ape+bee": 1, "ape+cat": 3, "ape+dog": 4,
        "bee+cat": 2, "bee+dog": 3, "cat+dog": 5,
    }  # fmt: skip
    several = np.stack([labels, [-1, -1, 2, -1, -1, -1]], axis=1)
    assert [*sizes(several, "singles").values()] == [4, 3, 4, 6]
