"""Where no cluster can be started, its tests are skipped, and the reason is given."""

import os

from slurm import why_not


def test_without_root(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert why_not() == "a test cluster needs root: its nodes start jobs as other users"


def test_without_packages(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert why_not().startswith(
        "no munged, slurmctld, slurmd, sbatch, squeue, sinfo, scontrol, srun"
    )
    assert "apt-get install --no-install-recommends slurm-wlm munge" in why_not()
