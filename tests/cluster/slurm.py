"""A real SLURM on this machine's loopback interface, for tests: started, and stopped by process id.

All of its files are in one folder: configuration, keys, state, sockets, logs. The machine's
/etc/slurm and munge are neither read nor written; commands find this cluster by `SLURM_CONF`.

    with Cluster.started() as cluster:
        subprocess.run(["sinfo"], env=cluster.environment)

A separate process (keeper.py) kills all processes that use the folder and removes it as soon as the
process that started the cluster has ended, also if it was interrupted or killed.

Nodes are processes: `slurmd -N cpu1` and so on, each with a port of its own. Their size is
declared, not real. GPUs are links to /dev/null, which SLURM schedules, counts and assigns like real
ones.
"""

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import keeper

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "sinfo", "scontrol", "srun")
# Of the last two, one is killed, and of one jobs are preempted.
GPU_NODE = "gpu1"
NODES = ("cpu1", "cpu2", GPU_NODE, "frail1", "spare1")
CPUS_PER_NODE, MEM_MB_PER_NODE = 4, 12000
GPUS = ("a100", "v100")  # a type each
_PATIENCE = 300  # seconds for what takes a few on an idle machine

SLURM_CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[slurmctld]}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd-%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd-%n.log
# No control groups, which a container may not have: memory is watched instead, every second.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherParams=OverMemoryKill
JobAcctGatherFrequency=task=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
GresTypes=gpu
# Without an accounting database finished jobs are known for this long; tests ask at their end.
MinJobAge=3600
EnforcePartLimits=ALL
# A dead node is noticed in seconds, not minutes; a killed job gets a second to end.
SlurmdTimeout=10
KillWait=2
UnkillableStepTimeout=10
ReturnToService=2
SchedulerParameters=sched_interval=2,bf_interval=2
MailProg=/bin/true
PropagateResourceLimits=NONE
NodeName=DEFAULT Sockets=1 CoresPerSocket={cpus} ThreadsPerCore=1 RealMemory={memory} Feature=fast
{nodes}
PartitionName=cpu Nodes=cpu[1-2] Default=YES DefMemPerCPU=100 MaxTime=1440 PreemptMode=OFF
PartitionName=gpu Nodes=gpu1 DefMemPerCPU=100 MaxTime=1440 PreemptMode=OFF
PartitionName=frail Nodes=frail1 DefMemPerCPU=100 MaxTime=1440 PreemptMode=OFF
# Jobs of `urgent` take the node of `spare` away from its jobs, which SLURM starts again.
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=spare Nodes=spare1 DefMemPerCPU=100 MaxTime=1440 PriorityTier=1 PreemptMode=REQUEUE
PartitionName=urgent Nodes=spare1 DefMemPerCPU=100 MaxTime=1440 PriorityTier=9 PreemptMode=OFF
"""
GRES_CONF = "NodeName={node} Name=gpu Type={type} File={folder}/dev/nvidia{number} AutoDetect=off\n"


class ClusterError(RuntimeError):
    """The cluster did not come up; the message holds the ends of its logs."""


def why_not() -> str:
    """Say why no cluster can be brought up here; empty if one can."""
    if os.geteuid() != 0:
        return "a test cluster needs root: its nodes start jobs as other users"
    if missing := [program for program in PROGRAMS if shutil.which(program) is None]:
        return (
            f"no {', '.join(missing)} on PATH; on Debian and Ubuntu: "
            "apt-get install --no-install-recommends slurm-wlm munge"
        )
    return ""


def free_ports(number: int) -> list[int]:
    """Ports nobody listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@dataclass
class Cluster:
    """A running cluster.

    Attributes
    ----------
    folder : Path
        All it keeps.
    environment : mapping
        Environment variables with which SLURM's commands talk to it.
    """

    folder: Path
    environment: Mapping[str, str]
    _daemons: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict, repr=False)

    @classmethod
    @contextlib.contextmanager
    def started(cls) -> Iterator["Cluster"]:
        """Bring a cluster up, and down again whatever happens."""
        with _temporary() as folder:
            for name in ("state", "spool", "run", "log", "dev", "bin"):
                (folder / name).mkdir()
            environment = {k: v for k, v in os.environ.items() if not k.startswith("SLURM")}
            environment |= {"SLURM_CONF": str(folder / "slurm.conf"), "LC_ALL": "C"}
            environment["PATH"] = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
            cluster = cls(folder, environment)
            cluster._write_configuration()
            cluster.start_munge()
            cluster.start_controller()
            for node in NODES:
                cluster.start_node(node)
            cluster.wait_for_nodes()
            yield cluster

    def _write_configuration(self) -> None:
        host = socket.gethostname().split(".")[0]
        ports = dict(zip(("slurmctld", *NODES), free_ports(1 + len(NODES)), strict=True))
        nodes = "\n".join(
            f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[node]}"
            + (f" Gres={','.join(f'gpu:{kind}:1' for kind in GPUS)}" if node == GPU_NODE else "")
            for node in NODES
        )
        # Jobs start their steps without SLURM_CONF, which the executor plugin does not hand on.
        srun = self.folder / "bin" / "srun"
        srun.write_text(
            f'#!/bin/sh\nSLURM_CONF={self.folder}/slurm.conf exec {shutil.which("srun")} "$@"\n'
        )
        srun.chmod(0o755)
        for i in range(len(GPUS)):
            (self.folder / "dev" / f"nvidia{i}").symlink_to("/dev/null")
        (self.folder / "slurm.conf").write_text(
            SLURM_CONF.format(
                host=host, ports=ports, folder=self.folder, nodes=nodes,
                cpus=CPUS_PER_NODE, memory=MEM_MB_PER_NODE,
            )
        )  # fmt: skip
        gpus = (
            GRES_CONF.format(node=GPU_NODE, folder=self.folder, type=kind, number=i)
            for i, kind in enumerate(GPUS)
        )
        (self.folder / "gres.conf").write_text("".join(gpus))

    def start_munge(self) -> None:
        """Start munged, without which SLURM's commands cannot say who asks."""
        key, place = self.folder / "munge.key", self.folder / "munge.socket"
        if not key.exists():
            key.write_bytes(secrets.token_bytes(128))
            key.chmod(0o400)
        self._start(
            "munged", "munged", "--foreground", "--force", f"--key-file={key}",
            f"--socket={place}", f"--pid-file={self.folder}/run/munged.pid",
            f"--seed-file={self.folder}/munge.seed",
        )  # fmt: skip
        self._wait(place.exists, "munged made no socket")

    def start_controller(self) -> None:
        """Start slurmctld, with the state of an earlier one."""
        self._start("slurmctld", "slurmctld", "-D")
        self._wait(self._answers, "slurmctld does not answer")

    def start_node(self, node: str) -> None:
        """Start a node's slurmd."""
        self._start(node, "slurmd", "-D", "-N", node)

    def _start(self, name: str, *command: str) -> None:
        """Start a daemon as a child of this process, with a session of its own."""
        with (self.folder / "log" / f"{name}.output.log").open("ab") as output:
            self._daemons[name] = subprocess.Popen(
                command, env=dict(self.environment), stdin=subprocess.DEVNULL, stdout=output,
                stderr=output, start_new_session=True,
            )  # fmt: skip

    def wait_for_nodes(self) -> None:
        """Wait until all nodes take jobs."""

        def ready() -> bool:
            idle = self.command("sinfo", "-h", "-N", "-t", "idle,mix,alloc", "-o", "%N")
            return set(idle.split()) == set(NODES)

        self._wait(ready, "nodes did not come up")

    def command(self, *words: str) -> str:
        """Run a command in the cluster's environment; its standard output."""
        result = subprocess.run(
            words, capture_output=True, text=True, env=dict(self.environment), check=False,
            timeout=_PATIENCE,
        )  # fmt: skip
        if result.returncode:
            raise ClusterError(f"{' '.join(words)}: {result.stderr.strip()}\n{self._logs()}")
        return result.stdout

    def kill_controller(self) -> None:
        """End slurmctld as a power cut would."""
        self._kill("slurmctld")

    def kill_node(self, node: str) -> None:
        """End a node with all that runs on it, as a power cut would."""
        self._kill(node)
        log = self.folder / "log" / f"slurmd-{node}.log"
        keeper.end_all(lambda process: keeper.has_open(process, log))

    def _kill(self, name: str) -> None:
        """End a daemon, and wait until it is gone."""
        daemon = self._daemons.pop(name)
        daemon.kill()
        daemon.wait()

    def wait_until_saved(self) -> None:
        """Wait until the controller has written down what it knows of jobs, which it does later."""
        now, file = time.time(), self.folder / "state" / "job_state"
        # A change that it has to write, should there be no other.
        self.command("sbatch", "--hold", "--output=/dev/null", "--wrap=true")

        def saved() -> bool:
            with contextlib.suppress(FileNotFoundError):  # while it is replaced
                return file.stat().st_mtime > now
            return False

        self._wait(saved, "slurmctld saved nothing")

    def _answers(self) -> bool:
        """Whether the controller is there; asks its log and port before the patient clients."""
        log = self.folder / "log" / "slurmctld.log"
        if log.exists() and "fatal:" in log.read_text(errors="replace"):
            raise ClusterError(f"slurmctld ended:\n{self._logs()}")
        result = subprocess.run(
            ["scontrol", "ping"], capture_output=True, env=dict(self.environment), check=False
        )
        return result.returncode == 0

    def _wait(self, condition: Callable[[], bool], failure: str) -> None:
        deadline = time.monotonic() + _PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                raise ClusterError(f"{failure}\n{self._logs()}")
            time.sleep(0.1)

    def _logs(self) -> str:
        """The last lines of every daemon's log."""
        logs = sorted((self.folder / "log").glob("*.log"))
        tails = ["\n".join(log.read_text(errors="replace").splitlines()[-8:]) for log in logs]
        return "\n".join(f"--- {log.name}\n{tail}" for log, tail in zip(logs, tails, strict=True))


@contextlib.contextmanager
def _temporary() -> Iterator[Path]:
    """Make a folder; at this process's end, however that comes, its users end and it goes."""
    # Not in pytest's folders: sockets have short names only. Nodes and munge look into it.
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))
    folder.chmod(0o755)
    process = subprocess.Popen(
        [sys.executable, keeper.__file__, str(folder)], stdin=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    assert process.stdin is not None
    try:
        yield folder
    finally:
        process.stdin.close()
        process.wait()
