"""Settings of accuracy prediction that are refused before any job, and what they decide."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from matcheval.accuracy_prediction.figures import procedures
from matcheval.errors import InputError
from studies import configuration, load

MEMBERS = [
    {"dataset": "digits-known", "group": "a", "subgroup": "x"},
    {"dataset": "digits-new-writers", "group": "b", "subgroup": "y"},
    {"dataset": "digits-validation", "group": "c"},
]


def study(tmp_path, one=None, members=None, inference=None, datasets=None, **settings):
    """The default study with a suite of three sets; `one` are settings of its prediction."""
    config = configuration("digits") | {"results": str(tmp_path / "results")}
    config["datasets"] = config["datasets"] | (datasets or {})
    config["suites"] = {"s": {"members": members or MEMBERS}}
    config["inference"] = {"outputs": ["logits", "features"], **(inference or {})}
    suite = {"base": "digits-train", **(one or {})}
    config["accuracy_prediction"] = {"suites": {"s": suite}, **settings}
    return load(config)


def prediction(tmp_path, **settings):
    return study(tmp_path, **settings).analyses["accuracy_prediction"]


def with_first(**values):
    return [MEMBERS[0] | values, *MEMBERS[1:]]


ALL_BUT_TWO = list(load(configuration("digits")).models)[2:]
TOP = {"outputs": ["top"]}
SAME = [{"fit": ["a", "b"]}, {"fit": ["b", "a"], "predict": "c"}]
FIRST = ALL_BUT_TWO[:1]
OF_SET = {"histograms": [{"model": FIRST[0], "dataset": "digits-train"}]}


def of_class(name):
    return {"embeddings": [{"model": FIRST[0], "class_name": name}]}


def grouped(**groups):
    return with_first(groups=groups)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"members": with_first(classes=["3"])}, r"has one class, '3'.*restrict_argmax to false"),
        ({"members": grouped(odd=["1"], even=["eight"])}, r"'digits-known'.*unknown class 'eight'"),
        ({"members": grouped(odd=["1"], even=["2"]), "inference": TOP}, r"a part .*Add logits"),
        ({"members": with_first(group="all")}, r"the group of 'digits-known' is 'all'"),
        ({"single": list(load(configuration("digits")).models)}, "no model is left for means"),
        ({"ensembles": {"e": [*FIRST, "tow"]}}, r"ensembles\.e.*unknown model 'tow'"),
        ({"one": {"calibrations": SAME}}, r"calibrations\.1.*group 'c' is predicted.*twice"),
        ({"methods": ["ac", "ms_aol"], "without": ALL_BUT_TWO}, "'ms_aol' needs predictions of"),
        ({"methods": ["ac", "rotation"]}, r"'rotation' needs .*Name sets as 'rotation'"),
        ({"methods": ["ac", "mmd"], "inference": TOP}, r"Add features or statistics to inference"),
        ({"ensembles": {"e": ALL_BUT_TWO}, "inference": TOP}, r"ensembles'.*Add logits to infer"),
        ({"one": of_class("10")}, r"embeddings.*unknown class '10'"),
        ({"methods": ["doc"], "leave_one_out": False}, r"suites\.s.*nothing is predicted"),
        ({"one": OF_SET}, "unknown set 'digits-train'"),
        ({"one": of_class("1"), "inference": TOP}, "needs features"),
    ],
)
def test_what_cannot_be_computed_is_refused(tmp_path, given, said):
    with pytest.raises(InputError, match=said):
        study(tmp_path, **given)


def test_a_base_without_images_cannot_be_rotated(tmp_path):
    for model in load(configuration("digits")).models:
        np.savez(tmp_path / f"{model}.npz", logits=np.eye(10), labels=np.arange(10))
    given = {"kind": "predictions", "files": str(tmp_path / "{model}.npz")}
    one = {"base": "given", "rotation": ["digits-known"]}
    with pytest.raises(InputError, match="'given' has predictions only, no images"):
        study(tmp_path, one, datasets={"given": given})


def test_images_are_rotated_for_the_scores_that_are_asked_for(tmp_path):
    one = {"rotation": ["digits-known"]}
    wildcards = SimpleNamespace(suite="s", model=ALL_BUT_TWO[0])

    def jobs(**settings):
        found = prediction(tmp_path, one=one, **settings)
        job = found.rotation_arguments(wildcards)[1]
        return found.rotated("s") == ["digits-known"], json.loads(job)["methods"]

    assert jobs(methods=["ac"]) == (False, [])
    assert jobs(methods=["ac", "rotation:auc"]) == (True, ["rotation:auc"])
    assert jobs()[1] == ["rotation"]


def test_frost_without_photographs_is_noted(tmp_path):
    block = {"kind": "corrupted", "of": "digits-known", "corruption": "{corruption}", "severity": 1}
    names = {"corruption": ["frost_procedural", "fog"]}
    found = prediction(tmp_path, members=[*MEMBERS, {"dataset": block, "values": names}])
    noted = found.prediction_arguments(SimpleNamespace(suite="s"))["settings"]
    assert noted["frost"] == "computed (frost_procedural), no photographs, in 1 set"


def test_single_models_have_scores_and_are_not_counted(tmp_path):
    single = ALL_BUT_TWO[:2]
    found = prediction(tmp_path, single=single, ensembles={"e": ALL_BUT_TWO[2:4]})
    suite = SimpleNamespace(suite="s")
    pool = found.agreement_arguments(suite)
    assert set(single) < set(pool["models"]) == set(found.models) < set(found.scored)
    assert pool["single"] == tuple(single)
    assert pool["methods"] == ["ms_aol", "gde"]
    job = found.prediction_arguments(suite)
    assert job["excluded_from_mean"] == [*single, "e"]
    assert job["pool"]["models"] == len(ALL_BUT_TWO)
    assert job["pool"]["single models, not counted"] == ", ".join(single)


def test_regressions_on_the_same_groups_are_drawn_together(tmp_path):
    fits = [
        {"fit": ["a", "b"], "predict": "c"}, {"fit": ["b", "a"], "predict": "d"},
        {"fit": "c", "predict": "a"}, {"fit": "c", "predict": "b"},
    ]  # fmt: skip
    members = [*MEMBERS, {"dataset": "digits-train", "group": "d"}]
    found = prediction(tmp_path, members=members, one={"calibrations": fits})
    job = found.prediction_arguments(SimpleNamespace(suite="s"))
    assert [on for on, _ in job["calibrations"][:2]] == [("a", "b")] * 2
    names = ["leave-one-out", "calibrated-a-b", "calibrated-c"]
    assert list(procedures(found.settings, "s")) == names


def test_names_of_groups_repeat_no_scores(tmp_path):
    def parameters(members):
        found = prediction(tmp_path, members=members, one={"rotation": "all"})
        of = SimpleNamespace(suite="s", scored=ALL_BUT_TWO[0], model=ALL_BUT_TWO[0])
        scores = (
            found.score_arguments(of), found.agreement_arguments(of), found.rotation_arguments(of),
        )  # fmt: skip
        return scores, found.prediction_arguments(of)["places"]["digits-known"]

    first, others = parameters(MEMBERS), parameters(with_first(group="z", severity=2))
    assert others[0] == first[0]
    assert others[1] == {"group": "z", "subgroup": "x", "severity": 2.0}
    assert parameters(with_first(classes=["1", "2"]))[0] != first[0]


def test_jobs_wait_for_the_description_that_they_read(tmp_path):
    """Without it as an input, nobody made it again."""
    analysis = prediction(tmp_path)
    base = f"{tmp_path}/results/datasets/digits-train/dataset.json"
    assert base in analysis.inputs("s", analysis.all_models)
