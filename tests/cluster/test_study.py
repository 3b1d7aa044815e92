"""A whole study on a real SLURM gives the bytes of a local run, and goes on at its time limit."""

import pytest
from engine import Workflow
from runs import StudyRun

# Trainings on their own, though they are short, as of large models.
ALONE = "training: {models_per_job: 1}\n"
# Put into train.py. Trainings note their starts, and wait until there are two; on a GPU, one of
# them goes no further than its first epoch at its first start, until its time limit is near.
HELD = """
import os, pathlib, time

_train = train

def train(name, *given, stops, **named):
    starts = pathlib.Path("starts")
    if "SLURM_JOB_ID" in os.environ:
        gpu = os.environ.get("CUDA_VISIBLE_DEVICES")
        with starts.open("a") as file:
            file.write(f"{name}:{gpu} {os.environ['SLURM_JOB_ID']}\\n")
        while len(starts.read_text().splitlines()) < 2:
            time.sleep(0.1)
        while gpu and name == "mlp" and starts.read_text().count("mlp:") == 1 and not stops():
            time.sleep(0.1)
    _train(name, *given, stops=stops, **named)

"""
TOGETHER = "def train_models("
LIMIT = "MARGIN_MINUTES, SHORT_MINUTES = "


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """The small study, whose datasets are made."""
    workflow = Workflow.fresh(tmp_path_factory.mktemp("prepared") / "tree")
    with (workflow.folder / "small.yaml").open("a") as stream:
        stream.write(ALONE)
    names = ("digits-train", "digits-validation", "digits-known", "digits-new-writers")
    workflow.run(*(f"results/datasets/{name}/dataset.json" for name in names))
    return workflow


def test_the_bytes_of_a_local_run(cluster, prepared, tmp_path):
    local = prepared.copy_to(tmp_path / "local")
    local.run()
    run = StudyRun(prepared.copy_to(tmp_path / "slurm"), cluster)
    run.workflow.edit("workflow_scripts/train.py", TOGETHER, HELD + TOGETHER)
    # Twelve seconds after the start of a job of fifteen minutes.
    run.workflow.edit("workflow_scripts/matcheval/execution/jobs.py", f"{LIMIT}5", f"{LIMIT}14.8")
    runtime = "runtime=15 if wildcards.model == 'mlp' else 10"
    wanted = ("gpu=1", "slurm_partition=gpu", "mem_mb=2000", runtime)
    output = run.run("--set-resources", *(f"train_model:{one}" for one in wanted))
    assert "mlp: stopped as its time is nearly over; the state after epoch 1 is in" in output
    gpus = {name.partition(":")[2] for name, _ in run.starts}
    assert gpus == {"0", "1"}
    mine, expected = run.workflow.artifacts(), local.artifacts()
    assert set(mine) == set(expected)
    assert [name for name in mine if mine[name] != expected[name]] == []
