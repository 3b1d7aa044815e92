"""Accuracy prediction in the real workflow, on prediction files of the user's own."""

import numpy as np
import pytest
from engine import Workflow, known

pytestmark = pytest.mark.slow

MODELS = ["one", "two", "three", "four"]
N = 1500
SETS = [f"{kind}-{severity}" for kind in ("noise", "blur") for severity in (1, 2, 3)]
MADE = "shifts/accuracy_prediction"
CONFIG = """\
study: shifts
models: studies/small.csv
datasets:
  base: {kind: predictions, files: "sets/base/{model}.npz"}
suites:
  shifts:
    members:
      - dataset: {kind: predictions, files: "sets/{kind}-{severity}/{model}.npz"}
        name: "{kind}-{severity}"
        group: "{kind}"
        severity: "{severity}"
figures: {formats: [png]}
accuracy_prediction:
  suites:
    shifts: {base: base, calibrations: [{fit: blur, predict: noise}]}
  ensembles: {both: [one, two]}
  single: [four]
  figure_models: [one, both]
  test_sizes: [100]
  draws: 2
  missing_classes: singles
"""


def write_predictions(workflow):
    """Calibrated models: of a class's unit vector u and normal z, the softmax of s² u + s z is the
    chance of each class."""
    rng = np.random.default_rng(0)
    for name in ("base", *SETS):
        strength = int(name[-1]) if name[-1].isdigit() else 0
        labels = rng.integers(0, 4, N)
        for number, model in enumerate(MODELS):
            s = 2.0 - 0.3 * strength - 0.1 * number
            logits = s**2 * np.eye(4)[labels] + s * rng.normal(size=(N, 4))
            file = workflow.folder / "sets" / name / f"{model}.npz"
            file.parent.mkdir(parents=True, exist_ok=True)
            np.savez(file, logits=logits.astype(np.float32), labels=labels)


@pytest.fixture(scope="module")
def workflow(tmp_path_factory):
    workflow = Workflow.fresh(tmp_path_factory.mktemp("accuracy") / "w", CONFIG, known(*MODELS))
    write_predictions(workflow)
    assert workflow.plan().jobs["score_accuracy"] == 1
    workflow.run()  # a study without pairs
    return workflow


def test_calibrated_models_are_predicted_by_their_confidence(workflow):
    predicted = workflow.table(f"{MADE}/predicted/shifts")
    whole = predicted[(predicted["view"] == "all") & predicted["model"].isin(MODELS)]
    errors = whole[whole["protocol"] == "direct"].groupby("method")["error"].mean()
    # Two standard deviations of an accuracy of 0.7: 0.024.
    assert errors["ac"] < 0.024 < errors["base_accuracy"]
    assert errors["doc_feat"] < 0.034


def test_every_model_set_and_method_has_a_row_or_a_reason(workflow):
    predicted = workflow.table(f"{MADE}/predicted/shifts")
    assert set(predicted["view"]) == {"all", "n=100", *(f"without {name}" for name in "0123")}
    whole = predicted[predicted["view"] == "all"]
    left_out = whole[whole["protocol"] == "leave_one_out"]
    sizes = left_out.groupby(["method", "variant"]).size()
    assert set(sizes) == {5 * 6}
    reasons = left_out.loc[left_out["predicted"].isna(), "reason"]
    known = ("needs ", "no other model is trained by the same recipe")
    assert reasons.str.startswith(known).all(), reasons.unique()
    calibrated = whole[whole["protocol"] == "calibrated"]
    assert set(calibrated["calibrated_on"] + calibrated["group"]) == {"blurnoise"}


def test_a_file_that_is_replaced_repeats_what_is_made_from_it(copy):
    assert copy.plan().jobs == {}
    sets = copy.folder / "sets"
    (sets / "blur-3/three.npz").write_bytes((sets / "blur-2/three.npz").read_bytes())
    jobs = copy.plan().jobs
    assert (jobs["score_accuracy"], jobs["score_agreement"]) == (1, 1)
