"""Accounting for a test cluster: slurmdbd on MariaDB, in the cluster's folder and nowhere else."""

import contextlib
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

PROGRAMS = ("mariadb-install-db", "mariadbd", "slurmdbd", "sacct", "sacctmgr")
# A user's accounts, of which the first is taken by default, and a quality of service with which two
# jobs may be submitted at a time.
ACCOUNT, OTHER_ACCOUNT, FEW = "biology", "physics", "few"

SLURMDBD_CONF = """\
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser=root
LogFile={folder}/log/slurmdbd.log
PidFile={folder}/run/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm
"""
SLURM_CONF = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
# The name is SLURM's: where munge listens, for connections to slurmdbd.
AccountingStoragePass={folder}/munge.socket
AccountingStorageEnforce=associations,limits,qos
"""


def free_ports(number: int) -> list[int]:
    """Ports nobody listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def why_no_accounting() -> str:
    """Say why no accounting can be had here; empty if it can."""
    if missing := [program for program in PROGRAMS if shutil.which(program) is None]:
        return (
            f"no {', '.join(missing)} on PATH; on Debian and Ubuntu: "
            "apt-get install --no-install-recommends slurmdbd mariadb-server"
        )
    return ""


class Accounting:
    """Database and daemon of a cluster whose folder is given."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (self._port,) = free_ports(1)
        configuration = folder / "slurmdbd.conf"
        configuration.touch(mode=0o600)  # slurmdbd wants it so
        configuration.write_text(SLURMDBD_CONF.format(folder=folder, port=self._port))

    @property
    def configuration(self) -> str:
        """Lines of slurm.conf."""
        return SLURM_CONF.format(folder=self._folder, port=self._port)

    def commands(self) -> Iterator[tuple[str, list[str]]]:
        """Names and commands of the daemons, in the order in which they are started."""
        data, place = self._folder / "mysql", self._folder / "mysql.socket"
        subprocess.run(
            ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--skip-test-db",
             "--auth-root-authentication-method=normal", "--user=root"],
            check=True, capture_output=True,
        )  # fmt: skip
        yield "mariadbd", [
            "mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={place}", "--user=root",
            "--skip-networking", "--innodb-buffer-pool-size=64M", "--innodb-log-file-size=16M",
            "--innodb-lock-wait-timeout=900", "--innodb-flush-log-at-trx-commit=0",
        ]  # fmt: skip
        yield "slurmdbd", ["env", f"MYSQL_UNIX_PORT={place}", "slurmdbd", "-D"]

    def ready(self, name: str, environment: Mapping[str, str]) -> Callable[[], bool]:
        """Return what says whether a daemon answers."""
        if name == "mariadbd":
            return (self._folder / "mysql.socket").exists

        def answers() -> bool:
            command = ["sacctmgr", "-nP", "list", "cluster"]
            result = subprocess.run(
                command, env=dict(environment), capture_output=True, check=False
            )
            return result.returncode == 0

        return answers

    def set_up(self) -> Iterator[list[str]]:
        """Commands that make the account of this user, and the qualities of service."""
        yield ["sacctmgr", "-i", "add", "account", f"{ACCOUNT},{OTHER_ACCOUNT}"]
        yield ["sacctmgr", "-i", "add", "qos", FEW, "set", "MaxSubmitJobsPerUser=2"]
        yield ["sacctmgr", "-i", "add", "user", "root", f"account={ACCOUNT}"]
        yield ["sacctmgr", "-i", "add", "user", "root", f"account={OTHER_ACCOUNT}"]
        yield ["sacctmgr", "-i", "modify", "user", "root", "set", f"qos=normal,{FEW}"]
