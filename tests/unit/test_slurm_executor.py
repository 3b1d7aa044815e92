"""The executor for SLURM: states, refused submissions, versions, and what is submitted.

tests/cluster has it run jobs on a real SLURM.
"""

import logging
import subprocess
import sys
from dataclasses import dataclass, field, replace
from importlib import metadata
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from matcheval.errors import InputError
from matcheval.execution.cluster import slurm
from matcheval.execution.cluster.checks import Request, check_executor
from matcheval.execution.cluster.slurm import Meaning, meaning, parse_states, passes, pause

workflow_errors = pytest.importorskip("snakemake_interface_common.exceptions")
plugin = pytest.importorskip("snakemake_executor_plugin_matcheval_slurm")

from snakemake_executor_plugin_matcheval_slurm import executor, jobs, versions  # noqa: E402
from snakemake_executor_plugin_matcheval_slurm.jobs import WaitingJobs  # noqa: E402


@pytest.mark.parametrize(
    ("expected", "states"),
    [
        ("COMPLETED", ["COMPLETED"]),
        ("TIMEOUT", ["TIMEOUT"]),
        ("INTERRUPTED", ["CANCELLED by 0", "CANCELLED+", "PREEMPTED", "REVOKED", "NODE_FAIL",
                         "BOOT_FAIL"]),
        ("FAILED", ["OUT_OF_MEMORY", "FAILED", "DEADLINE"]),
        ("RUNNING", ["PENDING", "REQUEUED", "SUSPENDED", "COMPLETING", ""]),
    ],
)  # fmt: skip
def test_what_states_mean(expected, states):
    assert {meaning(state) for state in states} == {Meaning[expected]}


def test_the_last_run_of_a_requeued_job_counts():
    text = "7|PREEMPTED\n8|CANCELLED by 0\n7|RUNNING\nno job\n"
    assert parse_states(text) == {"7": "RUNNING", "8": "CANCELLED by 0"}


def test_refusals_that_pass():
    for message in (
        'Munge encode failed: Failed to access "/run/munge/munge.socket.2"',
        "Batch job submission failed: Protocol authentication error",
        "sbatch: error: QOSMaxSubmitJobPerUserLimit\nJob violates accounting/QOS policy",
        "Batch job submission failed: Socket timed out on send/recv operation",
        "Unable to contact slurm controller (connect failure)",
    ):  # fmt: skip
        assert passes(message), message
    for message in (
        "sbatch: error: QOSMaxWallDurationPerJobLimit\nJob violates accounting/QOS policy",
        "Batch job submission failed: Invalid account or account/partition combination",
        "Batch job submission failed: Requested node configuration is not available",
    ):
        assert not passes(message), message


def test_pauses_grow_up_to_five_minutes():
    assert [pause(n, 15) for n in (1, 2, 3, 5, 6, 50)] == [15, 30, 60, 240, 300, 300]


@dataclass(eq=False)
class Job:
    """A job of Snakemake's, as far as the executor looks at it."""

    jobid: str
    resources: dict = field(default_factory=dict)
    threads = 2
    wildcards = ("cnn/a",)

    @property
    def name(self):
        return self.jobid

    def is_group(self):
        return False


@pytest.mark.parametrize(
    ("request_", "given", "changed"),
    [
        ({}, {}, {"slurm_extra": "--nice=5 --no-requeue", "gpu_model": None}),
        ({}, {"requeue": True}, {"slurm_extra": "--nice=5 --requeue", "gpu_model": None}),
        ({"gpus": 1}, {}, {"slurm_extra": "--nice=5 --no-requeue"}),
        ({"gpus": 2}, {"gres": "gpu:a100"},
         {"slurm_extra": "--nice=5 --no-requeue", "gpu": None, "gres": "gpu:a100:2"}),
        # A resumable job is told when its time is nearly over.
        ({"gpus": 1, "resumable": True}, {},
         {"slurm_extra": "--nice=5 --no-requeue --signal=B:USR1@300"}),
        ({"gpus": 1, "resumable": True, "minutes": 1}, {},
         {"slurm_extra": "--nice=5 --no-requeue --signal=B:USR1@30", "runtime": 1}),
    ],
)  # fmt: skip
def test_what_is_submitted(request_, given, changed):
    limited = replace(Request("train_model", 2, 1000, 60), **request_)
    resources = {"mem_mb": 4000, "runtime": 90, "slurm_extra": "--nice=5"}
    found = jobs.changes(Job("a", resources), limited, plugin.ExecutorSettings(**given))
    assert found == {"mem_mb": 1000, "runtime": 60} | changed


def test_comments_name_the_job():
    assert jobs.comment_of(Job("train_model")) == "rule_train_model_wildcards_cnn_a"


class TestWaitingJobs:
    @pytest.fixture
    def clock(self):
        return SimpleNamespace(now=1000.0)

    @pytest.fixture
    def waiting(self, clock):
        return WaitingJobs(10, 3600, clock=lambda: clock.now)

    def test_one_of_each_place_is_tried(self, waiting, clock):
        first, second, third = (Job(name, {"slurm_partition": "gpu"}) for name in "abc")
        other = Job("d", {"slurm_partition": "cpu"})
        assert not waiting.join(first)
        assert "one is submitted again in 10 s" in waiting.refused(first, "limit")
        assert waiting.join(second)
        assert waiting.join(third)
        assert not waiting.join(other)
        assert list(waiting.due()) == []
        clock.now += 10
        assert waiting.tried() == [first]
        tried = []
        for one in waiting.due():
            tried.append(one)
            if one is first:
                waiting.accepted(one)
            else:
                assert waiting.refused(one, "limit") == ""  # told lately
        assert tried == [first, second]
        clock.now += 9
        assert list(waiting.due()) == []  # the pause begins anew

    def test_pauses_grow_and_patience_ends(self, waiting, clock):
        one, other = Job("a"), Job("b")
        waiting.refused(one, "limit")
        waiting.join(other)
        clock.now += 10
        waiting.refused(one, "limit")
        clock.now += 10
        assert list(waiting.due()) == []
        clock.now += 3580
        assert waiting.refused(one, "limit") is None
        assert list(waiting.due()) == [other]
        assert waiting.refused(other, "limit") is None
        assert list(waiting.due()) == []


class TestUnanswered:
    """SLURM does not answer a question that a run asks once: the run goes on, and asks again."""

    @pytest.fixture(autouse=True)
    def answers(self, monkeypatch):
        """Commands and what they print; those that are not named fail as without a controller."""
        answers = {}

        def run_slurm(program, *arguments):
            if program not in answers:
                raise InputError(f"'{program}' failed: Unable to contact slurm controller")
            return answers[program]

        monkeypatch.setattr(slurm, "run_slurm", run_slurm)
        slurm.settings.cache_clear()
        slurm.nodes.cache_clear()
        yield answers
        slurm.settings.cache_clear()
        slurm.nodes.cache_clear()

    def test_whether_there_is_accounting(self, answers):
        submitted = jobs.JobsInSlurm("run", "squeue", logging.getLogger())
        assert submitted.states(["1"]) is None
        answers |= {
            "scontrol": "AccountingStorageType = accounting_storage/none\n",
            "squeue": "1|RUNNING\n",
        }
        assert submitted.states(["1"]) == {"1": "RUNNING"}

    def test_which_nodes_there_are(self, monkeypatch):
        run = object.__new__(executor.SlurmExecutor)
        run._waiting, run.logger = WaitingJobs(0, 3600), logging.getLogger()
        monkeypatch.setattr(Job, "attempt", 2, raising=False)
        job = Job("a", {"slurm_partition": "gpu"})
        run.run_job(job)
        assert run._waiting.tried() == [job]


def test_versions_of_the_plugin_that_this_one_is_based_on(monkeypatch, caplog):
    found = Mock()
    monkeypatch.setattr(metadata, "version", found)
    for found.return_value in ("2.0.0", "2.8.3"):
        versions.check(logging.getLogger())
    assert caplog.text == ""
    found.return_value = "2.9.0"
    versions.check(logging.getLogger())
    assert "2.9.0 is newer than the versions" in caplog.text
    tested, missing = r"tested with 2\.0\.0 to 2\.8\.0", metadata.PackageNotFoundError("it")
    for effect, told in (
        (["1.9.2"], tested), (["3.0.0"], tested), (missing, "is not installed"),
    ):  # fmt: skip
        found.side_effect = effect
        with pytest.raises(workflow_errors.WorkflowError, match=told):
            versions.check(logging.getLogger())


def test_finding_the_executor_loads_no_other():
    """A run without a cluster must not depend on what is installed for one."""
    code = (
        "import sys, snakemake_executor_plugin_matcheval_slurm as plugin; "
        "print('snakemake_executor_plugin_slurm' in sys.modules, plugin.Executor.__name__)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "False Executor\n"


def test_the_executor_that_this_one_is_based_on_is_refused():
    check_executor("local")
    check_executor("matcheval-slurm")
    with pytest.raises(InputError, match=r"at once.*array jobs.*--executor matcheval-slurm"):
        check_executor("slurm")
