"""Pretrained models in the real workflow: weights, shared transforms, and what is rebuilt."""

import os
import re

import pytest
import torch
from engine import Workflow
from safetensors.torch import save_file

from matcheval.datasets.folders import write_dataset
from matcheval.models.packages import load_timm
from photos import photos

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
    workflow = Workflow.fresh(tmp_path_factory.mktemp("pretrained") / "w", small=True)
    (workflow.folder / "small.yaml").write_text(CONFIG)
    results = workflow.folder / "results"
    for seed, name in enumerate(("old", "new")):
        dataset = photos(12, seed=seed, edges=(90, 200))
        write_dataset(type(dataset)(**{**vars(dataset), "name": name}), results / "datasets" / name)
    (results / "weights").mkdir()
    torch.manual_seed(0)
    for model in MODELS:
        made = load_timm().create_model(model.partition(".")[0])
        save_file(made.state_dict(), results / "weights" / f"{model}.safetensors")
    write_catalogue(workflow, *MODELS[:2])
    workflow.run("predictions")
    return workflow


def test_models_that_share_a_transform_are_run_by_one_job(workflow):
    results = workflow.folder / "results"
    for name in ("old", "new"):
        assert len(list((results / "predictions" / name).iterdir())) == 2
    (index,) = (results / "pretrained" / "inference" / "old").iterdir()
    log = (results / "pretrained/logs/predict_datasets" / f"{index.stem}.log").read_text()
    assert f"{', '.join(MODELS[:2])} on old: " in log
    assert "2 model(s), 2 dataset(s)" in log


def test_a_second_run_has_nothing_to_do_however_the_machine_is_used(workflow):
    assert workflow.plan("predictions").jobs == {}
    for setting in ("threads: 2", "batch_size: 7", "top: 10"):
        config = f"inference={{models_per_job: 2, {setting}}}"
        assert workflow.plan("predictions", "--config", config).jobs.keys() <= {"all"}


def test_an_output_that_is_added_and_left_out_again(workflow, tmp_path):
    """It takes a pass of its own; without it, predictions stay as they are."""
    copy = workflow.copy_to(tmp_path / "w")
    wanted = ("predictions", "--config", "inference={models_per_job: 2, outputs: [top]}")
    assert copy.plan(*wanted).jobs["predict_datasets"] == 1
    copy.run(*wanted)
    assert copy.plan("predictions").jobs == {}
    assert copy.plan(*wanted).jobs.keys() <= {"all"}


def test_a_model_that_is_added_makes_no_other_again(workflow, tmp_path):
    copy = workflow.copy_to(tmp_path / "w")
    write_catalogue(copy, *MODELS)
    plan = copy.plan("predictions")
    assert plan.jobs == {"predict_datasets": 1, "predictions": 1}
    assert plan.predicted[0].endswith(".batch-2")


def test_predictions_do_not_depend_on_the_other_models_of_a_job(workflow, tmp_path):
    copy = workflow.copy_to(tmp_path / "w")
    file = copy.folder / "results" / "predictions" / "old" / f"{MODELS[0]}.parquet"
    before = file.read_bytes()
    file.unlink()
    copy.run("predictions", "--config", "inference={models_per_job: 1}")
    assert file.read_bytes() == before
    log = copy.folder / "results/pretrained/logs/predict_datasets" / f"{MODELS[0]}.log"
    assert f"{MODELS[0]} on old: " in log.read_text()
    assert "on new" not in log.read_text()


def test_unknown_models_are_told_when_the_study_is_read(workflow, tmp_path):
    copy = workflow.copy_to(tmp_path / "w")
    write_catalogue(copy, MODELS[0], "test_byobnet.r161_in1k")
    failed = copy.run("--dry-run", check=False)
    text = failed.stdout + failed.stderr
    assert failed.returncode
    assert re.search(r"model 'test_byobnet\.r161_in1k'.*Did you mean '(test_byobnet)", text)
    assert "Traceback" not in text


def test_weights_that_cannot_be_had_say_how_to_place_them(workflow, tmp_path):
    copy = workflow.copy_to(tmp_path / "w")
    weights = copy.folder / "results" / "weights" / f"{MODELS[0]}.safetensors"
    weights.unlink()
    os.environ["HTTPS_PROXY"] = "http://127.0.0.1:9"  # nobody there
    try:
        failed = copy.run(str(weights.relative_to(copy.folder)), check=False)
    finally:
        del os.environ["HTTPS_PROXY"]
    text = failed.stdout + failed.stderr
    assert failed.returncode
    assert f"put the file at results/weights/{MODELS[0]}.safetensors by hand" in text
    assert f"https://huggingface.co/timm/{MODELS[0]}/resolve/main/model.safetensors" in text
