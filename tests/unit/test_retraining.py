"""What experiments of retraining train and test, and what they conclude."""

import json
from dataclasses import replace

import pandas as pd
import pytest
from test_catalogues import ROW

from helpers import predictions
from matcheval.analyses import retraining
from matcheval.analyses.retraining import Trial, tabulate
from matcheval.datasets.kinds import DatasetSpec
from matcheval.datasets.suites import Pair
from matcheval.errors import InputError
from matcheval.inference.settings import InferenceSettings
from matcheval.models.rows import ModelSource
from matcheval.predictions.records import write_predictions
from matcheval.settings import read_settings
from matcheval.study.catalogue import Model
from matcheval.study.study import Study
from matcheval.training.recipe import Recipe
from matcheval.training.settings import TrainingSettings

PAIR = Pair("p", original="old", replication="new")
TRAINING = TrainingSettings(train="train", validation="val")
DATASETS = {
    **{name: DatasetSpec(name, "digits", {}) for name in ("train", "val", "old", "new")},
    "published": DatasetSpec("published", "predictions", {}),
}


@pytest.fixture
def models():
    row = {key: value for key, value in ROW.items() if key not in ("name", "kind")}
    recipe = Recipe.from_mapping(row | {"weight_decay": 0.0005})
    trained = Model("cnn", recipe, ModelSource("cnn", "trained"))
    return {"cnn": trained, "known": Model("known", None, None)}


def design(catalogue, *, training=TRAINING, **spec):
    """The design of an experiment `e`, given as in a configuration."""
    study = Study(
        name="s", results="r", mirror="", confidence=0.95, formats=("pdf",), models=catalogue,
        datasets=DATASETS, pairs={"p": PAIR, "late": Pair("late", "old", "published")},
        training=training, inference=InferenceSettings(), inference_plan=None,
    )  # fmt: skip
    given = {"experiments": {"e": {"models": ["cnn"], "pair": "p"} | spec}}
    settings = read_settings(retraining.RetrainingSettings, given)
    return retraining.Retraining(settings, study).experiments["e"]


def test_half_of_the_new_set_is_added_and_the_other_half_tests(models):
    found = design(models, kind="half_of_new", seeds=2)
    assert len(found.trained) == 2
    for seed, (name, trained) in enumerate(found.trained.items()):
        added, tested = (f"new.part-{i}-of-2.seed-{seed}" for i in (1, 2))
        assert found.derivations[trained.train[0]].of == ("train", added)
        on_half = [t.model for t in found.trials if t.dataset == tested]
        assert on_half == ["cnn", name]
    # What the study's own model does on the original is told once.
    assert [t.model for t in found.trials if t.dataset == "old"].count("cnn") == 1
    # Sets come after those they are made of.
    known = {"train", "val", "old", "new"}
    for name, derivation in found.derivations.items():
        assert set(derivation.of) <= known
        known.add(name)


def test_each_fold_is_tested_by_a_model_that_has_not_seen_it(models):
    found = design(models, kind="cross_validation", folds=3, seed=1)
    folds = [t for t in found.trials if t.variant != "baseline"]
    assert [t.dataset for t in folds] == [f"train.part-{i}-of-3.seed-1" for i in (1, 2, 3)]
    for i, trial in enumerate(folds, 1):
        joined = found.derivations[found.trained[trial.model].train[0]]
        assert joined.of == (f"train.without-{i}-of-3.seed-1", "old")


def test_a_grid_has_every_combination_once_and_the_baseline(models):
    values = {"learning_rate": [0.05, 0.1], "weight_decay": [0.0005, 0.005]}
    found = design(models, kind="grid", values=values)
    tried = [tuple(t.values.values()) for t in found.trials if t.dataset == "new"]
    assert sorted(tried) == [(0.05, 0.0005), (0.05, 0.005), (0.1, 0.0005), (0.1, 0.005)]
    assert len(found.trained) == 3  # the fourth is the study's own model
    changed = found.trained["cnn.grid.learning_rate-0.05.weight_decay-0.005"].model.recipe
    assert (changed.learning_rate, changed.weight_decay) == (0.05, 0.005)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"models": ["known"]}, "'known' is not trained by a recipe"),
        ({"values": {"lr": [1]}}, "'lr': unknown field"),
        ({"training": None}, "'training': missing: experiments derive datasets"),
    ],
)
def test_what_cannot_be_is_refused(models, spec, message):
    with pytest.raises(InputError, match=message):
        design(models, **({"kind": "grid", "values": {"seed": [1]}} | spec))


@pytest.mark.parametrize("own", [True, False])
def test_models_of_several_training_sets(models, own):
    """Their recipes can be varied; no experiment changes one set of several."""
    several = ("train", "old")
    training = TRAINING if own else TrainingSettings(train=several, validation="val")
    if own:
        models = models | {"cnn": replace(models["cnn"], train=several)}
    found = design(models, kind="grid", values={"seed": [1]}, training=training)
    assert {each.train for each in found.trained.values()} == {several}
    with pytest.raises(InputError, match=r"'cnn' is trained on several sets \(train, old\)"):
        design(models, training=training, kind="half_of_new", seeds=1)


def page_of(kind, *rows):
    """The page of trials: variant, test set, correct of 100, and values of a grid."""
    frame = pd.DataFrame(rows, columns=["variant", "test", "n_correct", "values"]).assign(
        experiment="e", kind=kind, base="m", train="", n=100, confidence=0.95
    )
    frame["values"] = frame["values"].map(json.dumps)
    frame["model"] = "m." + frame["variant"].str.replace("baseline", "")
    frame["model"] = frame["model"].where(frame["variant"] != "baseline", "m")
    for end, reach in (("", 0), ("_low", -0.04), ("_high", 0.04)):
        frame[f"accuracy{end}"] = frame["n_correct"] / 100 + reach
    return retraining.write_page(frame[retraining.SCHEMA.names], Pair("p", "old", "new"))


def test_trials_are_counted_with_their_intervals(tmp_path):
    trials = [Trial("m", name, "new", "baseline", "train") for name in "ab"]
    files = [str(tmp_path / f"{name}.parquet") for name in "ab"]
    with pytest.raises(InputError, match=r"(?s)a\.parquet.*b\.parquet"):
        tabulate("e", "grid", trials, files, Pair("p", "old", "new"), confidence=0.95)
    for file, right in zip(files, (8, 10), strict=True):
        predicted = [0] * right + [1] * (10 - right)
        write_predictions(predictions([0.9] * 10, predicted, [0] * 10), file)
    found = tabulate("e", "grid", trials, files, Pair("p", "old", "new"), confidence=0.95)
    assert found["n_correct"].tolist() == [8, 10]
    # Clopper-Pearson's interval of 8 in 10 as tables have it.
    assert found["accuracy_low"][0] == pytest.approx(0.4439, abs=5e-5)
    assert found["accuracy_high"].tolist() == [pytest.approx(0.9748, abs=5e-5), 1.0]


BASELINES = [("baseline", "old", 95, {}), ("baseline", "new", 85, {})]
FOLDS = [(f"fold {k}", f"f{k}", k, {}) for k in (94, 95, 96)]
GRID = [
    (variant, test, right, {"learning_rate": rate})
    for variant, rate, *of_sets in (("baseline", 0.1, 95, 85), ("a", 0.05, 96, 84),
                                    ("b", 0.2, 90, 87))
    for test, right in zip(("old", "new"), of_sets, strict=True)
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "rows", "said"),
    [
        ("cross_validation", BASELINES + FOLDS, "drop of 10.0 points is 5.0 times the folds' r"),
        ("grid", GRID, "best on new: 87.0 % (learning_rate 0.2), +2.0 points relative to"),
    ],
)  # fmt: skip
def test_findings_are_said_in_words(kind, rows, said):
    assert said in page_of(kind, *rows)
