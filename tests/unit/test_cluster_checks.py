"""Checks of a cluster before jobs are submitted, given the answers of SLURM's commands.

The commands are replaced by scripts that print SLURM's answers; tests/cluster uses a real SLURM.
"""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from matcheval.errors import InputError
from matcheval.execution.cluster import checks
from matcheval.execution.cluster import slurm as asking
from matcheval.execution.cluster.checks import Request, check_requests, largest
from matcheval.execution.cluster.slurm import Node, count_gpus, minutes

CPU = Node("c1", "cpu", True, cpus=32, mem_mb=128_000, gpus=0, minutes=1440, up=True)
LARGE = Node("c2", "cpu", True, cpus=8, mem_mb=512_000, gpus=0, minutes=1440, up=True)
GPU = Node("g1", "gpu", False, cpus=64, mem_mb=256_000, gpus=4, minutes=float("inf"), up=True)
NODES = [CPU, LARGE, GPU]
SMALL = Request("train_model", cpus=1, mem_mb=1500, minutes=10, partition="cpu")


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """Put stand-ins for commands first on PATH: `commands(name, shell script)`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    forget()

    def add(name: str, script: str) -> None:
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)

    yield add
    forget()


def forget() -> None:
    """Forget what SLURM's commands said."""
    asking.settings.cache_clear()
    asking.nodes.cache_clear()


def test_gpus_and_time_limits_of_nodes():
    numbers = {
        "(null)": 0, "gpu:2": 2, "gpu:a100:4(S:0-1)": 4, "gpu": 1, "shard:8": 0,
        "gpu:a100:2,gpu:v100:1,shard:8": 3, "gpu:h100:8(S:0,2)": 8,
    }  # fmt: skip
    assert {gres: count_gpus(gres) for gres in numbers} == numbers
    limits = {
        "infinite": float("inf"), "30": 30, "30:00": 30, "1:30:00": 90, "2-00:00:00": 2880,
        "1-12": 2160, "1-12:30": 2190, "0:30": 0.5,
    }  # fmt: skip
    assert {limit: minutes(limit) for limit in limits} == limits


def test_nodes_as_sinfo_lists_them(commands):
    commands(
        "sinfo",
        "echo 'n1|cpu*|64|256000|(null)|2-00:00:00|mix\nn1|long|64|256000|(null)|infinite|mix\n"
        "g1|gpu|16|64000+|gpu:a100:2|30:00|drain*'",
    )
    assert asking.nodes() == (
        Node("n1", "cpu", True, 64, 256_000, 0, 2880, True),
        Node("n1", "long", False, 64, 256_000, 0, float("inf"), True),
        Node("g1", "gpu", False, 16, 64_000, 2, 30, False),
    )


def test_no_command_and_a_failing_one(commands, monkeypatch):
    commands("sinfo", "echo 'Unable to contact slurm controller' >&2; exit 1")
    with pytest.raises(InputError, match=r"'sinfo' failed: Unable to contact slurm controller"):
        asking.nodes()
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InputError, match=r"no 'sinfo' on PATH.*login node.*profiles/laptop"):
        asking.nodes()


def test_what_fits_is_let_through():
    check_requests([SMALL, Request("predict", 4, 8000, 60, gpus=4, partition="gpu")], NODES)
    check_requests([Request("anywhere", 32, 128_000, 1440)], NODES)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request("a", 1, 600_000, 10), r"600000 MB of memory \(at most 512000\) in .*'cpu'"),
        (Request("a", 1, 100, 2000), r"2000 minutes \(at most 1440\).*s a:runtime=1440'"),
        (Request("a", 33, 9**9, 10), r"33 processors \(at most 32\).*"
         "'--set-resources a:mem_mb=512000 a:cpus_per_task=32'"),
        (Request("a", 1, 100, 2000, group=True), r"'--group-components a=1' \(fewer jobs"),
        (Request("a", 1, 100, 10, gpus=1), r"1 GPUs \(at most 0\).*inference\.device=cpu"),
        (Request("a", 32, 500_000, 10), "32 processors, 500000 MB, 0 GPUs and 10 minutes together"),
        (Request("a", 1, 100, 10, partition="x"), r"no partition 'x'.*one of: cpu, gpu"),
    ],
)  # fmt: skip
def test_requests_that_exceed_the_partition(request_, message):
    with pytest.raises(InputError, match=message):
        check_requests([SMALL, request_], NODES)


def test_all_that_is_wrong_is_told_at_once():
    message = r"a requests 99 processors(?s:.*)no partition 'x'"
    with pytest.raises(InputError, match=message):
        check_requests([Request("a", 99, 1, 1), Request("b", 1, 1, 1, partition="x"), SMALL], NODES)


def test_nodes_that_are_down_are_waited_for(caplog):
    down = Node("g1", "gpu", False, 64, 256_000, 4, 100, up=False)
    check_requests([Request("predict", 1, 100, 10, gpus=1, partition="gpu")], [CPU, down])
    assert "predict will wait until a node of partition 'gpu' that is down" in caplog.text


def test_jobs_of_one_kind_count_as_their_largest():
    many = [Request("a", 1, 100, 90), Request("a", 2, 50, 10), Request("b", 1, 1, 1)]
    assert largest(many) == [Request("a", 2, 100, 90), Request("b", 1, 1, 1)]


@pytest.mark.parametrize(
    ("request_", "mem_mb", "minutes"),
    [
        (Request("a", 1, 3000, 20), 3000, 20),  # as it is, where there is as much
        (Request("a", 1, 600_000, 2000), 512_000, 1440),
        (Request("a", 16, 600_000, 20), 128_000, 20),  # more memory is with too few processors
        (Request("a", 1, 600_000, 9000, gpus=1, partition="gpu"), 256_000, 9000),
        (Request("a", 1, 600_000, 9000, partition="cpu,gpu"), 256_000, 9000),  # better than 1440
        (Request("a", 99, 600_000, 2000), 600_000, 2000),  # fits nowhere: SLURM is to say so
    ],
)
def test_retries_ask_for_what_there_is_at_most(request_, mem_mb, minutes):
    granted = replace(request_, mem_mb=mem_mb, minutes=minutes)
    assert checks.within(request_, NODES) == granted


def test_a_job_that_another_one_continues_fits_the_time_limit():
    long = Request("train_model", 1, 1000, 6970, partition="cpu", resumable=True)
    assert checks.startable(long, NODES) == replace(long, minutes=1440)
    check_requests([checks.startable(long, NODES)], NODES)
    for as_it_is in (replace(long, resumable=False), replace(long, partition="gpu")):
        assert checks.startable(as_it_is, NODES) == as_it_is


def test_groups_are_cut_by_time():
    """ImageNet's longest job asks for 318 minutes: 4 of them fit into a day."""
    sizes, groups = {"inference": 20, "tables": 50}, {"predict": "inference", "plot": "tables"}
    for longest, partition, size in (
        (318, "cpu", 4), (10, None, 20), (5000, None, 1), (5000, "gpu", 20),
    ):  # fmt: skip
        cut = checks.sizes_of_groups(sizes, groups, {"predict": (longest, partition)}, NODES)
        assert cut == {"inference": size, "tables": 50}
    assert checks.sizes_of_groups(sizes, {}, {"predict": (5000, "cpu")}, NODES) == sizes


def test_accounts(commands):
    commands("scontrol", "echo 'AccountingStorageType = accounting_storage/slurmdbd'")
    commands("sacctmgr", "echo biology; echo Chemistry; echo biology")
    checks.check_accounts([SMALL, Request("a", 1, 1, 1, account="chemistry")])
    message = r"'physics' is not one of your accounts \(Chemistry, biology\)"
    with pytest.raises(InputError, match=message):
        checks.check_accounts([Request("a", 1, 1, 1, account="physics")])


@pytest.mark.parametrize(
    ("qos", "jobs", "message"),
    [
        (None, 40, "accepts 3 jobs at a time (QOS long), and up to 40 are submitted"),
        ("normal", 40, ""), (None, 3, ""),
    ],
)  # fmt: skip
def test_submit_limits(commands, caplog, qos, jobs, message):
    commands("scontrol", "echo 'AccountingStorageType = accounting_storage/slurmdbd'")
    commands(
        "sacctmgr",
        'case "$*" in *users*) echo biology;; '
        "*associations*) echo 'biology|long|60|'; echo 'chemistry|normal|2|';; "
        "*) echo 'normal||100|'; echo 'long|3||';; esac",
    )
    for account in ("Biology", None):
        caplog.clear()
        checks.check_submit_limit([replace(SMALL, account=account, qos=qos)] * 50, jobs)
        assert message in caplog.text
        assert caplog.text.count("accepts") == bool(message)


def test_the_schedulers_own_words(commands, tmp_path):
    commands(
        "sbatch",
        f'echo "$@" >> {tmp_path}/asked\ncase "$*" in *long*) '
        "echo 'Invalid qos specification' >&2; exit 1;; esac",
    )
    checks.check_with_scheduler([SMALL])
    asked = "--test-only --partition=cpu --cpus-per-task=1 --mem=1500 --time=10 --wrap=true\n"
    assert (tmp_path / "asked").read_text() == asked
    with pytest.raises(InputError, match=r"refuse a \(--qos=long .*Invalid qos specification"):
        checks.check_with_scheduler([Request("a", 1, 1, 1, qos="long"), SMALL])


def test_how_jobs_are_watched(commands):
    def cluster(storage: str, age: int) -> None:
        commands(
            "scontrol",
            f"echo 'AccountingStorageType = accounting_storage/{storage}'\n"
            f"echo 'MinJobAge = {age} sec'",
        )
        asking.settings.cache_clear()

    cluster("slurmdbd", 2)
    checks.check_status_command("sacct", 40)
    cluster("none", 300)
    checks.check_status_command("squeue", 15)
    with pytest.raises(InputError, match="--matcheval-slurm-status-command squeue"):
        checks.check_status_command("sacct", 15)
    with pytest.raises(InputError, match=r"after 300 s.*shorter than 303 s"):
        checks.check_status_command("squeue", 101)
    cluster("none", 60)
    with pytest.raises(InputError, match="finished jobs leave the queue after 60 s"):
        checks.check_status_command("squeue", 15)


class TestFolders:
    @pytest.fixture
    def results(self, tmp_path) -> Path:
        return tmp_path / "results"

    def check(self, results: Path) -> None:
        account, record = {"cpu": ["--account=biology"]}, results.parent / "seen.json"
        checks.check_shared(results, [Path("/bin/sh")], account, record)

    def run_command(self, before: str = "") -> str:
        """An srun that runs its command here."""
        return f'{before}\nwhile [ "$1" != sh ]; do shift; done\nexec "$@"'

    def test_seen_by_nodes(self, commands, results):
        """In the name of the account of the jobs."""
        asked = results.parent / "asked"
        commands("srun", self.run_command(f'echo "$*" > {asked}'))
        self.check(results)
        assert "--partition=cpu --account=biology sh -c" in asked.read_text()
        assert list(results.iterdir()) == []
        # It is remembered, and not asked again.
        commands("srun", "exit 1")
        self.check(results)
        known = json.loads((results.parent / "seen.json").read_text())
        assert known == [f"{results} written in cpu"]

    def test_not_written_by_nodes(self, commands, results):
        """The system's own words are shown."""
        said = "sh: 1: cannot create probe: Read-only file system"
        commands("srun", f"echo '{said}'; echo looked")
        with pytest.raises(InputError, match=f"'cpu' cannot write to {results}: {said}"):
            self.check(results)

    def test_not_seen_by_nodes(self, commands, results):
        # A node on which everything of that name is missing.
        absent = results.parent / "absent"
        commands("srun", self.run_command().replace('exec "$@"', f'exec "$@" {absent}'))
        with pytest.raises(InputError, match=f"partition 'cpu' do not see {absent}"):
            self.check(results)
        missing = f"case $f in {results}/*) echo missing $f; esac"
        commands("srun", f"for f; do {missing}; done; echo looked")
        with pytest.raises(InputError, match=f"partition 'cpu' do not see {results}"):
            self.check(results)

    def test_busy_nodes_tell_nothing(self, commands, results, caplog):
        commands("srun", "echo 'srun: error: Unable to allocate resources' >&2; exit 1")
        self.check(results)
        assert "was not checked: no node is free (srun: error: Unable to" in caplog.text
        assert json.loads((results.parent / "seen.json").read_text()) == []

    def test_jobs_of_an_earlier_run(self, commands, tmp_path):
        rows = f"7|rule_a_wildcards_x|{tmp_path}\n8|rule_a_wildcards_x|/x\n9|rule_b|{tmp_path}"
        commands("squeue", f"echo '{rows}'")
        checks.check_no_earlier_jobs(["rule_a_wildcards_y"], tmp_path)
        with pytest.raises(InputError, match=r"twice: 7 9\. .*scancel 7 9$"):
            checks.check_no_earlier_jobs(["rule_a_wildcards_x", "rule_b"], tmp_path)


def test_names_of_rules_and_groups():
    checks.check_names(["match"], ["match"], "rule", "set-resources")
    checks.check_groups(["tables", "another"], ["tables"], "group-components")
    with pytest.raises(InputError, match=r"'groups': unknown rule 'matchs'. Did you mean 'match'"):
        checks.check_names(["matchs", "zzz"], ["match", "train"], "rule", "groups")
    with pytest.raises(InputError, match=r"unknown group 'tabels'. Did you mean 'tables'\?"):
        checks.check_groups(["tabels"], ["tables"], "group-components")


def test_resources_that_have_no_effect():
    """Those of a site are let through."""
    checks.check_resources([*checks.RESOURCES, "matlab_licences"], "default-resources")
    for name, meant in (
        ("slurm_acount", "slurm_account"), ("partition", "slurm_partition"), ("gpus", "gpu"),
        ("mem_bm", "mem_mb"), ("run_time", "runtime"), ("walltime", "runtime"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=f"'{name}' has no effect. Did you mean '{meant}'"):
            checks.check_resources([name], "default-resources")
