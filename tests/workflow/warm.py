"""A `python` command that starts in milliseconds, for the many jobs of the tests' runs.

Nearly all the time of a small job is spent on importing torch, pandas and their like. A server
imports them once and forks a process for every command; of this project's own code it imports
nothing, so that each process reads the tree it was started in. The command sends the server its
arguments, folder, environment and open files, waits for the process, and ends as that ended.
Interpreters of their own run the same code to the same bytes, which `test_rebuilding.py` checks.
"""

import atexit
import gc
import marshal
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import weakref
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path

# Those of other projects that the library and Snakemake import.
MODULES = (
    "filelock", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_pdf", "numba",
    "numpy", "pandas", "PIL.Image", "psutil", "pyarrow.csv", "pyarrow.parquet", "pydantic",
    "pytest", "requests", "safetensors.torch", "scipy.optimize", "scipy.special", "scipy.stats",
    "sklearn.datasets", "snakemake.cli", "snakemake.dag", "snakemake.executors.local",
    "snakemake.report", "snakemake.scheduling.job_scheduler", "snakemake.script",
    "snakemake_executor_plugin_slurm", "timm", "torch", "torch.optim.swa_utils",
    "torchvision", "tqdm", "yaml",
)  # fmt: skip
# Of OpenMP, and of pyarrow's allocator.
SINGLE_THREADED = {"OMP_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
COMMAND = """\
#!/bin/sh
exec '{python}' -IS '{client}' '{address}' "$0" "$@"
"""


@cache
def warm_python() -> str:
    """The command, whose server ends with this process.

    It is the interpreter itself where MATCHEVAL_COLD_TESTS is set, and where forks of a process
    with such libraries are not safe.
    """
    if os.environ.get("MATCHEVAL_COLD_TESTS") or sys.platform != "linux":
        return sys.executable
    folder = Path(tempfile.mkdtemp(prefix="matcheval-"))
    command = folder / "python"
    command.write_text(
        COMMAND.format(
            python=sys.executable,
            client=Path(__file__).with_name("warm_client.py"),
            address=folder / "socket",
        )
    )
    command.chmod(0o700)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    server = subprocess.Popen(
        [sys.executable, __file__, str(folder)], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, env=environment | SINGLE_THREADED,
    )  # fmt: skip
    line = server.stdout.readline()
    assert line == b"ready\n", f"{line!r}: the server ended with {server.wait()}"
    atexit.register(server.communicate)  # closes its standard input, which ends it
    return str(command)


def serve(folder: Path) -> dict:
    """Fork a process per command, and tell its client how it ended; in the processes, return."""
    for name in MODULES:
        import_module(name)
    threads = [path.read_text() for path in Path("/proc/self/task").glob("*/comm")]
    assert len(threads) == 1, f"threads do not survive a fork: {threads}"
    for one in list(weakref.finalize._registry):  # torch's take each process 0.1 s at its end
        one.atexit = False
    gc.collect()
    gc.freeze()  # else the processes copy these pages
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "socket"))
    listener.listen(128)
    os.write(1, b"ready\n")
    running: dict[int, tuple[int, socket.socket]] = {}  # process and client, by what tells its end
    ready: list = []
    while 0 not in ready:
        clients = [client for _, client in running.values()]
        ready, _, _ = select.select([0, listener, *running, *clients], [], [])
        for ended, (process, client) in list(running.items()):
            if {0, ended, client}.intersection(ready):
                if ended not in ready:  # the client or the tests were killed
                    os.killpg(process, signal.SIGKILL)
                code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
                with suppress(OSError):
                    client.send(code.to_bytes(4, "big", signed=True))
                del running[ended]
                client.close()
                os.close(ended)
        if listener in ready and (request := receive(client := listener.accept()[0])):
            command, files = request
            process = os.fork()
            if not process:
                os.setpgid(0, 0)
                for other in (listener, client, *(one for _, one in running.values())):
                    other.close()
                for number, file in enumerate(files):
                    os.dup2(file, number)
                    os.close(file)
                return command
            os.setpgid(process, process)  # here too, as it may have to be killed before it runs
            for file in files:
                os.close(file)
            running[os.pidfd_open(process)] = process, client
    for file in ("python", "socket"):
        (folder / file).unlink()
    folder.rmdir()
    os._exit(0)


def receive(client: socket.socket) -> tuple[dict, list[int]] | None:
    """A command and its open files; nothing if its client was killed just now."""
    size, files, _, _ = socket.recv_fds(client, 4, 3)
    with client.makefile("rb") as stream:
        text = stream.read(int.from_bytes(size, "big"))
    if text and len(text) == int.from_bytes(size, "big"):
        return marshal.loads(text), files
    for file in files:
        os.close(file)
    client.close()
    return None


def become(argv: list[str], folder: str, environment: dict[str, str]) -> None:
    """Run what the interpreter would run with these arguments, here."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.executable, *arguments = argv
    module = arguments.pop(0) if arguments[0] != "-m" else arguments.pop(1)
    is_module = arguments[:1] == ["-m"]
    sys.argv = [module, *arguments[is_module:]]
    places = environment.get("PYTHONPATH", "").split(os.pathsep)
    first = folder if is_module else str(Path(module).parent.resolve())
    sys.path[:1] = [first, *filter(None, places)]
    try:
        if is_module:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(module, run_name="__main__")
    except SystemExit as error:
        EXIT.code = error.code if isinstance(error.code, int) else int(error.code is not None)
        raise
    else:
        EXIT.code = 0


class Exit:
    """The end of a process: the interpreter's own spends 0.4 s on freeing torch and its like."""

    code = 1

    def __call__(self) -> None:
        """Exit after all other functions that were registered for it."""
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(self.code)


EXIT = Exit()

if __name__ == "__main__":
    atexit.register(EXIT)
    become(**serve(Path(sys.argv[1])))
