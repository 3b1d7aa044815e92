"""A whole study on a real SLURM gives the bytes of a local run, and writes to its folder only."""

from pathlib import Path

from runs import checkpoint


def test_the_same_bytes_as_without_a_cluster(on_cluster, prepared, tmp_path):
    run = on_cluster()
    code, output = run.run()
    assert code == 0, output
    # Few submissions: three trainings, and groups of the suite, predictions, matchings and tables.
    assert output.count("has been submitted with SLURM jobid") == 7
    assert (run.folder / "results/digits/suite_accuracies/all.csv").exists()
    local = prepared.copy_to(tmp_path / "local")
    local.run()
    here, there = local.artifacts(), run.workflow.artifacts()
    assert set(here) == set(there)
    assert [name for name in here if here[name] != there[name]] == []


def test_each_job_has_its_own_gpu(on_cluster):
    run = on_cluster("hold.a", "hold.b")
    wanted = ("train_model:gpu=1", "train_model:slurm_partition=gpu")
    process = run.start(checkpoint("hold.a"), checkpoint("hold.b"), "--set-resources", *wanted)
    run.wait(lambda: len(run.starts) == 2, "both trainings at once")
    (run.folder / "go").touch()
    output = run.finish(process)
    assert process.returncode == 0, output
    assert {gpus for _, gpus in run.starts_on} == {"0", "1"}


def test_the_cluster_is_private(cluster):
    """Its configuration is its own, not the machine's."""
    configuration = cluster.command("scontrol", "show", "config")
    assert str(Path(cluster.folder) / "slurm.conf") in configuration
