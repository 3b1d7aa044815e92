"""Kill all processes that use a folder, and remove it, as soon as standard input is closed.

    python keeper.py FOLDER

Standard input is closed when the process at its other end exits, however that happens.
"""

import contextlib
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil


def keep(folder: Path) -> None:
    """Wait until standard input ends, then end all that uses a folder, and remove it."""
    sys.stdin.read()
    end_all(lambda process: has_open(process, folder) or _names(process, folder))
    shutil.rmtree(folder)


def _names(process: psutil.Process, folder: Path) -> bool:
    """Whether the folder is in a process's environment, which daemons and jobs have from here."""
    return any(str(folder) in value for value in process.environ().values())


def has_open(process: psutil.Process, place: Path) -> bool:
    """Whether a process has a file open that is a given one or in a given folder.

    A slurmstepd has its node's log open; its environment is lost under its title.
    """
    return any(Path(file.path).is_relative_to(place) for file in process.open_files())


def end_all(wanted: Callable[[psutil.Process], bool]) -> None:
    """End processes and all that they started, until there are none."""
    deadline = time.monotonic() + 30
    while family := _family(wanted):
        for member in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                member.kill()
        if time.monotonic() > deadline:
            raise RuntimeError(f"cannot be ended: {family}")
        time.sleep(0.05)


def _family(wanted: Callable[[psutil.Process], bool]) -> list[psutil.Process]:
    family = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):  # those that end meanwhile
            if process.status() != psutil.STATUS_ZOMBIE and wanted(process):
                family += [process, *process.children(recursive=True)]
    return family


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
