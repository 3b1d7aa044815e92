"""What cannot work on a cluster is refused before anything is submitted."""

import subprocess

import pytest
from runs import ClusterRun, checkpoint
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
    "rule": (["--set-resources", "train_modle:mem_mb=1000"],
             "'set-resources': unknown rule 'train_modle'. Did you mean 'train_model'"),
    "group": (["--group-components", "inferense=5"],
              "'group-components': unknown group 'inferense'. Did you mean 'inference'?"),
    "resource": (["--default-resources", "slurm_partiton=cpu"],
                 "resource 'slurm_partiton' has no effect. Did you mean 'slurm_partition'?"),
    "executor": (["--executor", "slurm"], "the executor 'slurm' does not fit this workflow"),
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
    output = run.run(checkpoint("linear"), *arguments, code=1)
    assert message in output
    assert "has been submitted" not in output
    assert "Traceback" not in output


def test_results_that_nodes_cannot_use(slurm, tmp_path, monkeypatch):
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("in this container no folder can be hidden from a node (unshare --mount)")
    hidden, fixed = tmp_path / "hidden", tmp_path / "fixed"
    hidden.mkdir()
    fixed.mkdir()
    with Cluster.started(hidden=hidden, fixed=fixed) as cluster:
        for name, value in cluster.environment.items():
            monkeypatch.setenv(name, value)
        for results, told in (
            (hidden, f"partition 'cpu' do not see {hidden}"),
            (fixed, f"'cpu' cannot write to {fixed}: .*Read-only file sys"),
        ):
            with pytest.raises(InputError, match=told):
                check_shared(results, [], {"cpu": []}, tmp_path / "seen.json")
