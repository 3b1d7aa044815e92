"""A whole study on a real SLURM gives the bytes of a local run, and writes to its folder only."""

import re

import pytest
from runs import checkpoint


@pytest.fixture(scope="module")
def local(prepared, tmp_path_factory):
    """What a run of the study makes without a cluster: contents of its results by path."""
    workflow = prepared.copy_to(tmp_path_factory.mktemp("local") / "tree")
    workflow.run()
    return workflow.artifacts()


def test_the_same_bytes_as_without_a_cluster(on_cluster, local):
    """Also where SLURM tells a training and predictions that their time is nearly over.

    They save, stop, and are gone on with in other jobs.
    """
    run = on_cluster()
    held = [run.hold_until_told("train", "mlp"), run.hold_until_told("predict", "linear")]
    process = run.start("--set-resources", "train_model:runtime=30", "predict_datasets:runtime=30")
    for file in held:
        run.wait(lambda file=file: file.exists() and file.read_text(), "a job to be told")
        run.shorten(file.read_text().strip())
    output = run.finish(process)
    for file in held:
        first, second = file.read_text().split()
        ended = f"SLURM-job {first} "
        assert re.search(rf"{ended}\(\w+\) was interrupted: TIME is over, and it has saved", output)
        assert run.state(first) == "FAILED", "it has ended before SLURM ended it"
        assert run.state(second) == "COMPLETED"
    assert output.count("does not count as an attempt") == 2
    assert "Trying to restart" not in output
    # Few submissions: three trainings, groups of the suite, predictions, matchings and tables, and
    # the two that go on.
    assert output.count("has been submitted with SLURM jobid") == 9
    assert (run.folder / "results/digits/suite_accuracies/all.csv").exists()
    made = run.workflow.artifacts()
    assert set(made) == set(local)
    assert [name for name in made if made[name] != local[name]] == []
    # Of a group, all jobs are done.
    summary = run.folder / "results/digits/summary.md"
    summary.unlink()
    run.finish(run.start())
    assert summary.exists()


def test_each_job_has_its_own_gpu(on_cluster):
    run = on_cluster("hold.a", "hold.b")
    wanted = ("train_model:gpu=1", "train_model:slurm_partition=gpu")
    process = run.start(checkpoint("hold.a"), checkpoint("hold.b"), "--set-resources", *wanted)
    run.wait(lambda: len(run.starts) == 2, "both trainings at once")
    (run.folder / "go").touch()
    run.finish(process)
    assert {gpus for _, gpus in run.starts_on} == {"0", "1"}
