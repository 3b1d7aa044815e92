"""A whole study on a real SLURM, in its own folder and no other, gives the bytes of a local run."""

from pathlib import Path


def test_the_same_bytes_as_without_a_cluster(on_cluster, prepared, tmp_path):
    run = on_cluster()
    code, output = run.run()
    assert code == 0, output
    # Few submissions: three trainings, and groups of predictions, matchings and tables.
    assert output.count("has been submitted with SLURM jobid") == 6
    local = prepared.copy_to(tmp_path / "local")
    local.run()
    here, there = local.artifacts(), run.workflow.artifacts()
    assert set(here) == set(there)
    assert [name for name in here if here[name] != there[name]] == []


def test_the_cluster_is_private(cluster):
    """Its configuration is its own, not the machine's."""
    configuration = cluster.command("scontrol", "show", "config")
    assert str(Path(cluster.folder) / "slurm.conf") in configuration
