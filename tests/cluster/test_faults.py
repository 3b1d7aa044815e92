"""No fault of a cluster costs a result: each fault is caused on a real SLURM.

docs/cluster.md has a table of faults.
"""

import os
import signal
import time

import pytest
from runs import ClusterRun, checkpoint, without


def test_a_node_killed_with_its_jobs(own_cluster):
    run = own_cluster("hold")
    process = run.start(checkpoint("hold"))
    run.wait(lambda: run.starts == ["hold"], "the training")
    (job,) = run.jobs_of("hold")
    node = run.cluster.command("squeue", "-h", "-j", job["id"], "-o", "%N").strip()
    (run.folder / "go").touch()  # for the next attempt
    run.cluster.kill_node(node)
    output = run.finish(process)
    assert "NODE_FAIL" in output
    assert "does not count as an attempt" in output
    assert run.starts == ["hold", "hold"]
    assert (run.folder / checkpoint("hold")).exists()


def test_the_controller_gone_and_back(on_cluster):
    """Longer than the executor's patience with one question (10 s)."""
    run = on_cluster("hold")
    process = run.start(checkpoint("hold"))
    run.wait(lambda: run.starts == ["hold"], "the training")
    run.cluster.wait_until_saved()
    run.cluster.kill_controller()
    time.sleep(15)
    run.cluster.start_controller()
    (run.folder / "go").touch()
    run.finish(process)
    assert run.starts == ["hold"]


def test_a_controller_that_lost_its_memory(own_cluster):
    """One of its jobs ends while it is away, the other does not: only that one is done again."""
    run = own_cluster("hold.a", "hold.b")
    process = run.start(checkpoint("hold.a"), checkpoint("hold.b"))
    run.wait(lambda: sorted(run.starts) == ["hold.a", "hold.b"], "the trainings")
    run.cluster.kill_controller()
    (run.folder / "go.hold.a").touch()
    end = run.folder / "results" / "benchmarks" / "train_model" / "hold.a.tsv"
    run.wait(end.exists, "the end of one")
    run.cluster.start_controller(fresh=True)
    run.wait(lambda: len(run.starts) == 3, "the other's second start")
    (run.folder / "go").touch()
    output = run.finish(process)
    assert sorted(run.starts) == ["hold.a", "hold.b", "hold.b"]
    assert "SLURM no longer knows it" in output


def test_snakemake_killed_and_restarted(on_cluster):
    run = on_cluster("hold", "late")
    targets = [checkpoint("hold"), checkpoint("late")]
    process = run.start(*targets, "--jobs", "1")
    run.wait(lambda: "hold" in run.starts, "the training")
    before = run.starts
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    run.workflow.run("--unlock")

    output = run.run(*targets, code=1)
    (job,) = run.jobs_of("hold")
    assert f"still in the queue and would be run twice: {job['id']}" in output
    assert f"scancel {job['id']}" in output

    (run.folder / "go").touch()
    run.wait(lambda: run.jobs_of("hold")[0]["state"] == "COMPLETED", "the job's end")
    made = (run.folder / checkpoint("hold")).stat().st_mtime_ns
    run.run(*targets)
    # The job that outlived Snakemake is not done again; the one that was not begun, once.
    assert sorted(run.starts) == sorted({*before, "hold", "late"})
    assert (run.folder / checkpoint("hold")).stat().st_mtime_ns == made


def test_without_sacct(on_cluster, tmp_path):
    run = on_cluster("fine")
    path = without("sacct", tmp_path / "bin", run.environment["PATH"])
    environment = {**run.environment, "PATH": path}
    run.run(checkpoint("fine"), environment=environment)
    assert run.starts == ["fine"]


def test_retries_stay_within_the_partition(on_cluster):
    """A node has 12,000 MB, which the last attempt asks for; a job may take a day."""
    run = on_cluster("broken")
    wanted = ("train_model:mem_mb=3500*2**(attempt-1)", "train_model:runtime=1000*attempt")
    output = run.run(checkpoint("broken"), "--set-resources", *wanted, code=1)
    jobs = run.jobs_of("broken")
    assert [job["state"] for job in jobs] == ["FAILED"] * 3
    assert [megabytes(job["memory"]) for job in jobs] == [3500, 7000, 12_000]
    assert [job["limit"] for job in jobs] == ["16:40:00", "1-00:00:00", "1-00:00:00"]
    assert "requests 12000 MB and 1440 minutes instead of 14000 and 3000" in output


@pytest.fixture(scope="module", autouse=True)
def misbehaving(cluster, prepared, tmp_path_factory):
    """A run of four trainings: too much memory, too much time, an error, and none of these.

    If a job's limit is a minute, SLURM ends it up to a minute and a half after its start; so this
    runs beside the other tests.
    """
    run = ClusterRun(prepared.copy_to(tmp_path_factory.mktemp("misbehaving") / "tree"), cluster)
    models = ("greedy", "slow", "broken", "fine")
    run.add_models(*models)
    runtime = "1 if wildcards.model == 'slow' and attempt == 1 else 60"
    limits = ("--set-resources", f"train_model:runtime={runtime}")
    return run, run.start(*map(checkpoint, models), *limits)


@pytest.fixture(scope="module")
def misbehaved(misbehaving):
    """That run, ended."""
    run, process = misbehaving
    output = run.finish(process, code=1)
    assert run.starts, output
    return run


class TestMisbehavingJobs:
    """One run with all of them, begun before the other tests; see `misbehaving`."""

    def test_too_much_memory(self, misbehaved):
        first, *_, last = misbehaved.jobs_of("greedy")
        # Without control groups SLURM says why in the log only; with them, OUT_OF_MEMORY.
        assert first["state"] == "FAILED"
        assert "exceeded memory limit" in misbehaved.slurm_log("greedy", first["id"])
        assert last["state"] == "COMPLETED"
        assert megabytes(last["memory"]) == 2 * megabytes(first["memory"])
        assert (misbehaved.folder / checkpoint("greedy")).exists()

    def test_too_much_time(self, misbehaved):
        first, *_, last = misbehaved.jobs_of("slow")
        assert (first["state"], first["limit"]) == ("TIMEOUT", "1:00")
        assert (last["state"], last["limit"]) == ("COMPLETED", "1:00:00")
        assert (misbehaved.folder / checkpoint("slow")).exists()

    def test_an_error_each_time(self, misbehaved):
        """It is tried three times and told with its log; the others are finished."""
        assert misbehaved.starts.count("broken") == 3
        assert [job["state"] for job in misbehaved.jobs_of("broken")] == ["FAILED"] * 3
        assert "results/logs/train_model/broken.log" in misbehaved.output
        assert "this model fails for good" in misbehaved.output
        assert not (misbehaved.folder / checkpoint("broken")).exists()
        assert (misbehaved.folder / checkpoint("fine")).exists()


def megabytes(text: str) -> float:
    """Read a memory of squeue's."""
    units = {"M": 1, "G": 1024, "T": 1024**2}
    return float(text[:-1]) * units[text[-1]]
