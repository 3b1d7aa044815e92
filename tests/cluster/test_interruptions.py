"""Jobs that the cluster ends, and submissions that it refuses: nothing is lost, no attempt counts.

docs/cluster.md has a table of faults.
"""

import pytest
from accounting import FEW
from brief import BriefRun
from runs import Run

AGAIN = "It is submitted again with the same request"


@pytest.fixture(scope="module", params=["squeue", "sacct"])
def interrupted(request, tmp_path_factory):
    """A run of which each job is interrupted once, with and without accounting."""
    name = {"squeue": "cluster", "sacct": "accounted"}[request.param]
    cluster = request.getfixturevalue(name)
    run = BriefRun(tmp_path_factory.mktemp("interrupted") / "tree", cluster)
    options = ["--matcheval-slurm-status-command", request.param, "--matcheval-slurm-requeue"]
    process = run.start("spare,again,gpu", *options)
    run.wait(lambda: sorted(run.starts) == ["again", "gpu", "spare"], "the jobs")
    # Preempts `spare` (PreemptMode=CANCEL) and `again` (REQUEUE).
    urgent = ["--partition=urgent", "--nodes=2", "--exclusive", "--time=5", "--output=/dev/null"]
    cluster.command("sbatch", *urgent, "--wrap=true")
    numbers = dict(map(str.split, (run.folder / "starts").read_text().splitlines()))
    cluster.command("scancel", numbers["gpu"])
    run.wait(lambda: run.starts.count("gpu") == 2, "the second start of what was cancelled")
    # SLURM holds a requeued job back for two minutes.
    run.wait(lambda: is_pending(run, numbers["again"]), "the requeued job")
    cluster.command("scontrol", "update", f"jobid={numbers['again']}", "starttime=now")
    run.wait(lambda: len(run.starts) == 6, "the second starts")
    (run.folder / "go").touch()
    run.finish(process)
    return run, numbers


def is_pending(run: Run, number: str) -> bool:
    state = run.cluster.command("squeue", "-h", "-j", number, "-o", "%T").strip()
    return state == "PENDING"


class TestInterruptedJobs:
    def test_preempted_and_cancelled_by_slurm(self, interrupted):
        run, numbers = interrupted
        assert (
            f"SLURM-job {numbers['spare']} (work) was interrupted: PREEMPTED. {AGAIN}" in run.output
        )

    def test_preempted_and_requeued_by_slurm(self, interrupted):
        """SLURM runs it again itself, under the same number."""
        run, numbers = interrupted
        lines = (run.folder / "starts").read_text().splitlines()
        assert lines.count(f"again {numbers['again']}") == 2
        assert f"SLURM-job {numbers['again']} " not in run.output

    def test_cancelled_by_hand(self, interrupted):
        run, numbers = interrupted
        assert (
            f"SLURM-job {numbers['gpu']} (work) was interrupted: CANCELLED. {AGAIN}" in run.output
        )

    def test_no_attempt_counts(self, interrupted):
        run, _ = interrupted
        assert "Trying to restart" not in run.output
        assert run.memory == {"1000M"}


def test_submissions_that_slurm_refuses_for_now(accounted, oldest_plugin, tmp_path):
    """First munged is down, then a quality of service accepts two jobs at a time.

    The plugin that the executor is based on has the oldest version that is allowed.
    """
    run = BriefRun(tmp_path / "tree", accounted, packages=oldest_plugin)
    (run.folder / "go").touch()
    accounted.kill_munge()
    process = run.start("a,b,c,d", "--matcheval-slurm-qos", FEW)
    run.wait(lambda: "SLURM does not accept job" in run.output, "a refusal")
    accounted.start_munge()
    output = run.finish(process)
    assert "Munge" in output or "authentication" in output
    assert "QOSMaxSubmitJobPerUserLimit" in output
    assert sorted(run.starts) == ["a", "b", "c", "d"]
    assert "Trying to restart" not in output
    assert run.memory == {"1000M"}
