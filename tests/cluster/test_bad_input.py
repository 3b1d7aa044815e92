"""What cannot work on a cluster is refused before anything is submitted."""

import subprocess

import pytest
from runs import ClusterRun, checkpoint, without
from slurm import Cluster

from matcheval.errors import InputError
from matcheval.execution.cluster.checks import check_shared

CPU = ["--default-resources", "slurm_partition=cpu"]
NEVER = "in partition '{}': it would never start"
CASES = {
    "partition": (["--default-resources", "slurm_partition=cpus"],
                  "the cluster has no partition 'cpus'. Set 'slurm_partition' or 'gpu_partition' "
                  "in profiles/slurm/config.yaml to one of: again, cpu, gpu, spare, urgent"),
    "account": ([*CPU, "slurm_account=physics"],
                "account 'physics' is set, but the cluster has no accounting"),
    "feature": ([*CPU, "constraint=a100"], "Invalid feature specification"),
    "memory": (["--set-resources", "train_model:mem_mb=64000"],
               f"train_model requests 64000 MB of memory (at most 12000) {NEVER.format('cpu')}"),
    "processors": (["--set-resources", "train_model:cpus_per_task=16"],
                   f"train_model requests 16 processors (at most 4) {NEVER.format('cpu')}"),
    "gpus": (["--set-resources", "train_model:gpu=3", "train_model:slurm_partition=gpu"],
             f"train_model requests 3 GPUs (at most 2) {NEVER.format('gpu')}"),
    "rule": (["--set-resources", "train_modle:mem_mb=1000"],
             "'set-resources': unknown rule 'train_modle'. Did you mean 'train_model'"),
    "group": (["--group-components", "inferense=5"],
              "'group-components': unknown group 'inferense'. Did you mean 'inference'?"),
    "resource": (["--default-resources", "slurm_partiton=cpu"],
                 "resource 'slurm_partiton' has no effect. Did you mean 'slurm_partition'?"),
    "executor": (["--executor", "slurm"], "the executor 'slurm' does not fit this workflow"),
    "arrays": (["--executor", "slurm", "--slurm-array-jobs", "train_model"],
               "groups in the profile replace array jobs"),
    "sacct": (["--matcheval-slurm-status-command", "sacct"],
              "sacct cannot monitor jobs here: the cluster has no accounting"),
}  # fmt: skip


@pytest.fixture(scope="module")
def run(cluster, prepared, tmp_path_factory):
    """A tree, and a Snakemake that starts quickly, as no job of it starts."""
    run = ClusterRun(prepared.copy_to(tmp_path_factory.mktemp("bad") / "tree"), cluster)
    run.python = prepared.python
    return run


@pytest.mark.parametrize("case", CASES)
def test_refused(run, case):
    arguments, message = CASES[case]
    code, output = run.run(checkpoint("linear"), *arguments)
    assert code == 1
    assert message in output
    assert "has been submitted" not in output
    assert "Traceback" not in output


def test_a_misspelt_key_of_the_profile(run):
    run.workflow.edit("profiles/slurm/config.yaml", "latency-wait", "latency-wiat")
    code, output = run.run(checkpoint("linear"))
    run.workflow.edit("profiles/slurm/config.yaml", "latency-wiat", "latency-wait")
    assert code == 2
    assert "unrecognized arguments: --latency-wiat=60" in output


def test_no_sbatch(run, tmp_path):
    path = without("sinfo", tmp_path / "bin", run.environment["PATH"])
    (tmp_path / "bin" / "sbatch").unlink()
    code, output = run.run(checkpoint("linear"), environment={**run.environment, "PATH": path})
    assert code == 1
    assert "there is no 'sinfo' on PATH" in output
    assert "on a login node of the cluster" in output


@pytest.fixture(scope="module")
def limited(slurm, tmp_path_factory):
    """A cluster whose nodes do not see a folder, and may not write to another."""
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("in this container no folder can be hidden from a node (unshare --mount)")
    folder = tmp_path_factory.mktemp("limited")
    for name in ("hidden", "fixed"):
        (folder / name).mkdir()
    with Cluster.started(hidden=folder / "hidden", fixed=folder / "fixed") as cluster:
        yield folder, cluster


@pytest.fixture
def check(limited, tmp_path, monkeypatch):
    """Check a results folder of the nodes."""
    folder, cluster = limited
    for name, value in cluster.environment.items():
        monkeypatch.setenv(name, value)
    return lambda name: check_shared(folder / name, [], {"cpu": []}, tmp_path / "seen.json")


def test_results_that_nodes_do_not_see(check, limited):
    with pytest.raises(InputError, match=f"partition 'cpu' do not see {limited[0]}/hidden"):
        check("hidden")


def test_results_that_nodes_cannot_write(check):
    with pytest.raises(InputError, match=r"'cpu' cannot write to .*/fixed: .*Read-only file sys"):
        check("fixed")
