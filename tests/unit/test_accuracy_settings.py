"""Settings of accuracy prediction that are refused before any job, and what they decide."""

import json
from types import SimpleNamespace

import pytest

from matcheval.errors import InputError
from studies import configuration, load

MEMBERS = [
    {"dataset": "digits-known", "group": "a", "subgroup": "x"},
    {"dataset": "digits-new-writers", "group": "b", "subgroup": "y"},
    {"dataset": "digits-validation", "group": "c"},
]


def study(tmp_path, one=None, members=None, inference=None, **settings):
    """The default study with a suite of three sets; `one` are settings of its prediction."""
    config = configuration("digits") | {"results": str(tmp_path / "results")}
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


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"members": with_first(classes=["3"])}, r"has one class, '3'.*restrict_argmax to false"),
        (
            {"members": with_first(groups={"odd": ["eight"]})},
            r"'digits-known'.*unknown class 'eight'",
        ),
        ({"members": with_first(group="all")}, r"the group of 'digits-known' is 'all'"),
        ({"single": list(load(configuration("digits")).models)}, "no model is left for means"),
        ({"one": {"calibrations": SAME}}, r"calibrations\.1.*group 'c' is predicted.*twice"),
        ({"methods": ["ac", "rotation"]}, r"'rotation' needs .*Name sets as 'rotation'"),
        ({"methods": ["ac", "mmd"], "inference": TOP}, r"Add features or statistics to inference"),
    ],
)
def test_what_cannot_be_computed_is_refused(tmp_path, given, said):
    with pytest.raises(InputError, match=said):
        study(tmp_path, **given)


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
