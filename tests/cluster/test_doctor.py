"""`matched-eval doctor --slurm` on a real cluster."""

import pytest
import yaml
from runs import PROFILE

from conftest import banner
from matcheval.health import OK, PROBLEM
from matcheval.slurm_checks import check_profile


@pytest.fixture
def told(tmp_path, monkeypatch):
    """What is said of a cluster and a profile: `told(cluster, results)`."""
    monkeypatch.chdir(tmp_path)

    def told(cluster, results, path="", **resources):
        for name, value in cluster.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("PATH", f"{path}:{cluster.environment['PATH']}")
        given = yaml.safe_load((PROFILE / "config.yaml").read_text())
        given["default-resources"].update(resources)
        (tmp_path / "config.yaml").write_text(yaml.safe_dump(given))
        return [
            (one.subject, one.state, one.found)
            for one in check_profile(results, tmp_path / "config.yaml")
        ]

    return told


def test_a_cluster_that_takes_the_jobs(cluster, told, tmp_path):
    found = told(cluster, tmp_path / "results")
    assert [one[:2] for one in found] == [
        ("status", OK), ("slurm_partition", OK), ("gpu_partition", OK),
    ]  # fmt: skip
    assert not list((tmp_path / "results").iterdir())
    # What it submitted, to begin later, is gone.
    assert "BeginTime" not in cluster.command("squeue", "-h", "-o", "%r", "--partition=cpu,gpu")


def test_what_does_not_fit(cluster, told, tmp_path):
    site = banner(tmp_path / "site", "Your quota: 12 of 100 TB")
    found = told(cluster, tmp_path, site, gpu_partition="urgent", constraint="fast")
    problems = {subject: text for subject, state, text in found if state == PROBLEM}
    assert "sbatch says more than the job's number" in problems["slurm_partition"]
    assert "Requested node configuration is not available" in problems["gpu_partition"]
    ((_, _, text),) = (
        one for one in told(cluster, tmp_path, constraint="none") if one[0] == "slurm_partition"
    )
    assert "Invalid feature specification" in text
