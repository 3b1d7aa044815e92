"""Several models on the same sets: scores of agreement, and ensembles."""

import dataclasses

import numpy as np
import pytest

from matcheval.accuracy_prediction.gaps import single_labels
from matcheval.accuracy_prediction.output_files import OutputFiles, average
from matcheval.accuracy_prediction.scores import POOL_SCORES, SCORES
from matcheval.accuracy_prediction.scores.outputs import ClassRule, from_logits, restrict
from matcheval.accuracy_prediction.scores.score import Sides, Sources
from matcheval.accuracy_prediction.scoring import (
    ModelScorer,
    SuiteOutputs,
    SuiteReader,
    Views,
    score_pool,
)
from matcheval.datasets.suites import Member, Suite
from matcheval.errors import InputError

CLASSES, MODELS = ["ape", "bee", "cat", "dog"], ["m0", "m1", "m2", "m3"]
SUITE = Suite("s", (Member("whole"), Member("part", classes=("cat", "ape"))))
COLUMNS = {"whole": (), "part": ((0,), (2,))}


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


@pytest.mark.parametrize("whole_accuracy", [False, True])
def test_parts_of_sets_are_those_of_the_scores_of_single_models(whole_accuracy):
    views = Views((20,), 2, "singles", "whole" if whole_accuracy else "drawn")
    found = score(outputs_of, (), views).set_index(["dataset", "view", "seed", "model"])
    assert found.loc["part"].index.get_level_values("view").nunique() == 4  # all, 2 classes, n=20
    outputs = {model: outputs_of("whole", model) for model in MODELS}
    seen = set()
    _, *parts = views.parts(outputs["m0"], "whole", CLASSES)
    for view, draw, rows in parts:
        part = outputs["m0"].rows(rows)
        row = found.loc["whole", view, draw, "m0"]
        others = [outputs[m].rows(part.index).predicted for m in MODELS[1:]]
        agree = [(part.predicted == one).mean() for one in others]
        assert row["score"] == pytest.approx(np.mean(agree), abs=1e-15)
        full = whole_accuracy and view == "n=20"
        assert row["accuracy"] == (outputs["m0"].accuracy if full else part.accuracy)
        assert row["n"] == len(part)
        seen.add((view, draw))
    assert seen == {("n=20", 0), ("n=20", 1), *((f"without {name}", 0) for name in CLASSES)}


def test_scores_are_of_the_datapoints_and_classes_that_count():
    found = score(outputs_of).set_index(["dataset", "model"])
    for dataset, columns in COLUMNS.items():
        rule = ClassRule(columns)
        cut = {m: restrict(outputs_of(dataset, m), rule, is_base=False) for m in MODELS}
        for model, one in cut.items():
            row = found.loc[dataset, model]
            of_base = restrict(outputs_of("base", model), rule, is_base=True)
            agree = [(one.predicted == cut[m].predicted).mean() for m in MODELS if m != model]
            assert row["score"] == pytest.approx(np.mean(agree), abs=1e-15)
            assert (row["n"], row["n_base"]) == (len(one), len(of_base))
            assert (row["accuracy"], row["accuracy_base"]) == (one.accuracy, of_base.accuracy)


def test_single_models_are_compared_with_the_pool_only():
    found = score(outputs_of, ("m1", "m3")).set_index(["dataset", "model"])
    assert len(found) == 2 * len(MODELS)
    whole = {m: outputs_of("whole", m).predicted for m in MODELS}
    for model, others in {"m0": ["m2"], "m1": ["m0", "m2"], "m3": ["m0", "m2"]}.items():
        expected = np.mean([whole[model] == whole[other] for other in others])
        assert found.loc[("whole", model), "score"] == pytest.approx(expected, abs=1e-15)


CHANGES = {
    "datapoints, and model 'm0' 50": lambda one: one.rows(np.arange(49)),
    "other datapoints than": lambda one: dataclasses.replace(one, index=one.index + 1),
    "other labels than": lambda one: dataclasses.replace(one, labels=one.labels[::-1]),
}


@pytest.mark.parametrize("message", CHANGES)
def test_models_on_other_datapoints_are_refused(message):
    def read(dataset, model):
        found = outputs_of(dataset, model)
        return CHANGES[message](found) if (dataset, model) == ("whole", "m2") else found

    with pytest.raises(InputError, match=f"'whole' model 'm2' has.*{message}"):
        score(read)
    with pytest.raises(InputError, match=f"'whole' model 'm2' has.*{message}"):
        average({model: read("whole", model) for model in MODELS}, "all", "whole")


def test_an_ensemble_has_the_mean_probabilities():
    members = {model: outputs_of("whole", model) for model in MODELS}
    found = average(members, "all", "whole")
    mean = sum(one.probabilities for one in members.values()) / 4
    np.testing.assert_allclose(found.probabilities, mean, rtol=1e-12)
    np.testing.assert_array_equal(found.index, np.arange(50))
    narrow = dataclasses.replace(members["m1"], probabilities=members["m1"].probabilities[:, :3])
    with pytest.raises(InputError, match="classes: 'm0' 4, 'm1' 3"):
        average({"m0": members["m0"], "m1": narrow}, "both", "whole")


def test_groups_and_several_labels_of_a_member():
    """A prediction is right if the most probable of the groups is one of the labels' groups."""
    groups = (("small", ("bee", "ape")), ("pet", ("dog",)))  # no cat
    member = Member("whole", groups=groups)
    every = outputs_of("whole", "m0")
    several = np.stack([every.labels, np.where(every.labels == 3, 1, -1)], 1)
    files = {"base": outputs_of("base", "m0"), "whole": dataclasses.replace(every, labels=several)}
    reader = SuiteReader(given(group_probability="sum"), files.get)
    base, found = reader.sides(member)
    assert reader.names(member) == ["small", "pet"]
    assert len(base) == (outputs_of("base", "m0").labels != 2).sum()
    rows = np.flatnonzero(every.labels != 2)
    p = every.probabilities[rows]
    small = p[:, 0] + p[:, 1] > p[:, 3]
    labels = every.labels[rows]
    assert found.correct.tolist() == (small | (labels == 3)).tolist()
    np.testing.assert_allclose(found.confidences, np.maximum(p[:, 0] + p[:, 1], p[:, 3]))
    known = single_labels(found)
    assert ((known == found.predicted) == found.correct).all()
    assert set(known) == {0, 1}


def test_outputs_of_other_classes_and_of_no_numbers():
    base, target = outputs_of("base", "m0"), outputs_of("whole", "m0")
    files = {"base": base, "whole": from_logits(target.logits[:, :3], target.labels % 3)}
    reader = SuiteReader(given(), files.get)
    with pytest.raises(InputError, match="3 classes on 'whole', and 4 on the base"):
        reader.sides(Member("whole"))
    files["whole"] = from_logits(np.full((50, 4), np.nan), target.labels)
    scorer = ModelScorer(Sources(base), [SCORES[name] for name in ("atc_mc", "nuclear_norm")])
    rows = list(scorer.rows(Sides(*reader.sides(Member("whole"))), of_pool=True))
    assert [row["reason"] for row in rows] == ["confidences are not finite numbers"] * 2


def test_only_wanted_outputs_are_read(tmp_path, monkeypatch):
    from matcheval.accuracy_prediction import output_files

    # In place of outputs, the kinds of files that would be read.
    monkeypatch.setattr(output_files, "read_outputs", lambda files: (set(files), {}))
    files = OutputFiles(tmp_path, ("logits", "features", "statistics"))
    assert files.read("d", "m") == {"predictions", "logits", "features", "statistics"}
    assert files.read("d", "m", wanted=["logits"]) == {"predictions", "logits"}
    assert files.read("d", "m", wanted=()) == {"predictions"}
