"""What the official executor does with our profile where a cluster has faults.

Each is caused on a real SLURM (`disturbed` in conftest.py); docs/cluster.md has a table of them.
"""

import signal

import pytest
from runs import Run

from conftest import FAULTS, banner


def test_ctrl_c_cancels_the_jobs(cluster, tmp_path):
    run = Run(tmp_path / "run", cluster)
    process = run.start("one,other")
    run.wait(lambda: len(run.starts) == 2, "the jobs")
    process.send_signal(signal.SIGINT)
    run.finish(process, code=1)
    assert {run.state(number) for _, number in run.starts} <= {"CANCELLED", "COMPLETING"}


@pytest.fixture(scope="module")
def ended(disturbed):
    """The run with all the faults, ended."""
    run, process = disturbed
    run.finish(process, code=1)
    return run


class TestDisturbedJobs:
    def test_all_but_the_broken_are_done(self, ended):
        """Though `sbatch` prints a banner, if it has no numbers."""
        assert {file.name for file in (ended.folder / "out").iterdir()} == {*FAULTS} - {"broken"}

    def test_too_much_memory(self, ended):
        """Without control groups SLURM says FAILED, with them OUT_OF_MEMORY."""
        first, second = ended.numbers("greedy")
        assert ended.state(first) == "FAILED"
        assert ended.state(second) == "COMPLETED"

    def test_too_much_time(self, ended):
        first, second = ended.numbers("slow")
        assert f"SLURM-job '{first}' failed, SLURM status is: 'TIMEOUT'" in ended.output
        assert ended.state(second) == "COMPLETED"

    def test_an_error_each_time(self, ended):
        assert len(ended.numbers("broken")) == 2
        assert ended.output.count("Error in rule broken:") >= 2

    def test_cancelled_by_hand(self, ended):
        """It counts as an attempt."""
        first, second = ended.numbers("cancelled")
        assert f"SLURM-job '{first}' failed, SLURM status is: 'CANCELLED'" in ended.output
        assert first != second

    @pytest.mark.parametrize("name", ["spare", "frail"])
    def test_preempted_and_on_a_node_that_died(self, ended, name):
        """SLURM runs it again itself, under the same number: no attempt counts."""
        first, second = ended.numbers(name)
        assert first == second
        assert ended.state(first) == "COMPLETED"

    def test_no_other_job_started_twice(self, ended):
        """Also where the controller was restarted."""
        assert len(ended.numbers("fine")) == 1


# The remedy of docs/cluster.md.
REMEDY = '#!/bin/bash\nset -o pipefail\n{} "$@" | tail -n 1\n'


def test_a_banner_with_numbers_needs_the_remedy(cluster, tmp_path):
    """Upstream issue 374: it is not submitted once more than it is tried."""
    site = banner(tmp_path / "site", "Your quota: 12 of 100 TB")
    run = Run(tmp_path / "run", cluster, site)
    output = run.run("fine", "--retries", "0", code=1)
    assert "Multiple possible SLURM job IDs found" in output
    (tmp_path / "remedy").mkdir()
    remedy = tmp_path / "remedy" / "sbatch"
    remedy.write_text(REMEDY.format(f"{site}/sbatch"))
    remedy.chmod(0o755)
    Run(tmp_path / "run", cluster, str(remedy.parent)).run("fine")
