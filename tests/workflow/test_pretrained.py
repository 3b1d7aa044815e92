"""Pretrained models in the real workflow: weights, shared transforms, and what is rebuilt."""

from dataclasses import replace

import pytest
import torch
from engine import Workflow
from safetensors.torch import save_file

from image_sets import photos
from matcheval.datasets.folders import write_dataset
from matcheval.models.packages import load_timm

pytestmark = pytest.mark.slow

# Three small models of timm that share a transform.
MODELS = ("test_byobnet.r160_in1k", "test_efficientnet.r160_in1k", "test_convnext.r160_in1k")
CONFIG = """\
study: pretrained
models: studies/small.csv
datasets:
  old: {kind: digits, part: known}
  new: {kind: digits, part: validation}
pairs: {both: {original: old, replication: new}}
inference: {models_per_job: 2}
"""


def write_catalogue(workflow, *models):
    rows = [f"{model},timm,{model}" for model in models]
    (workflow.folder / "studies" / "small.csv").write_text("\n".join(["name,kind,source", *rows]))


@pytest.fixture(scope="module")
def workflow(tmp_path_factory):
    """A study of two pretrained models on two sets of photographs, predictions made.

    The photographs lie where the workflow would have put prepared datasets, and the weights,
    random ones, where a user without network puts them.
    """
    workflow = Workflow.fresh(tmp_path_factory.mktemp("pretrained") / "w", CONFIG)
    for seed, name in enumerate(("old", "new")):
        dataset = replace(photos(12, seed=seed, edges=(90, 200)), name=name)
        write_dataset(dataset, workflow.results / "datasets" / name)
    (workflow.results / "weights").mkdir()
    torch.manual_seed(0)
    for model in MODELS:
        made = load_timm().create_model(model.partition(".")[0])
        save_file(made.state_dict(), workflow.results / "weights" / f"{model}.safetensors")
    write_catalogue(workflow, *MODELS[:2])
    workflow.run("predictions")
    return workflow


def test_models_that_share_a_transform_are_run_by_one_job(workflow):
    for name in ("old", "new"):
        assert len(workflow.artifacts(f"predictions/{name}")) == 2
    log = (workflow.results / "pretrained/logs/predict_models/1.log").read_text()
    assert f"{', '.join(MODELS[:2])} on old: " in log
    assert "2 model(s), 2 dataset(s)" in log


def test_an_output_that_is_added_and_left_out_again(copy):
    """It takes a pass of its own; without it, predictions stay as they are."""
    wanted = ("predictions", "--config", "inference={models_per_job: 2, outputs: [top]}")
    assert copy.plan(*wanted).jobs["predict_models_1"] == 1
    copy.run(*wanted)
    assert copy.plan("predictions").jobs == {}
    assert copy.plan(*wanted).jobs.keys() <= {"all"}


def test_a_model_that_is_added_makes_no_other_again(copy):
    write_catalogue(copy, *MODELS)
    plan = copy.plan("predictions")
    assert plan.jobs == {"predict_datasets": 1, "predictions": 1}
    assert plan.predicted == [MODELS[2]]
