"""Random changes of a study and faults of its runs: nothing is lost, and results do not differ.

    .venv/bin/python benchmarks/soak.py [--minutes 90] [--rounds N] [--seed 0] [--slurm]

A round changes one thing in a study of all stages, and disturbs three runs of it: signals, a full
disk, a folder that cannot be written, another user, a second run, a clock that was set back. Then
undisturbed runs follow what the messages say, until one ends and `check` passes. Its results must
be those of a run from nothing of the same study, byte for byte: `differing` and `lost` count files
of that run, `strays` those that no study so far has had. Not compared are logs, times of jobs
(`benchmarks`) and the settings of the last runs. What is wrong at the end of a round
counts for each of its events.

Lines of a run that tell of an error are `unexplained` unless EXPECTED has them, as are all in a
traceback; they are written to soak.log in the current folder. Root is needed (the study is on a
file system of 200 MB of its own), and `faketime` for the clock. With `--slurm`, runs are on the
test cluster of tests/cluster, and jobs are cancelled, too.
"""

import argparse
import contextlib
import csv
import hashlib
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import psutil
import yaml
from common import ROOT, write_results

sys.path.insert(0, str(ROOT / "tests" / "workflow"))
sys.path.insert(0, str(ROOT / "tests" / "cluster"))
from engine import SMALL_CATALOGUE, Workflow, environment
from slurm import Cluster, why_not

STUDY = """\
study: soak
results: results
models: studies/small.csv
datasets:
  digits-train: {kind: digits, part: train, rows: [0, 400]}
  digits-validation: {kind: digits, part: validation}
  digits-known: {kind: digits, part: known}
  digits-new-writers: {kind: digits, part: new-writers}
training: {train: digits-train, validation: digits-validation}
confidence: 0.95
pairs: {new-writers: {original: digits-known, replication: digits-new-writers}}
matching: {epsilon: 0.005, seeds: 3, models_per_job: 2, reliability_models: [mlp]}
replication: {resamples: 1000}
figures: {formats: [png]}
suites:
  shifts:
    members:
      - dataset: {kind: corrupted, of: digits-known, corruption: "{corruption}",
                  severity: "{severity}", size: 32, parameters: 224, jpeg_quality: none,
                  restore: true}
        values: {corruption: [contrast, gaussian_noise], severity: [2]}
        group: "{corruption}"
        severity: "{severity}"
suite_accuracies: {suites: {shifts: digits-known}}
accuracy_prediction:
  suites: {shifts: {base: digits-known}}
  methods: [ac, doc]
  leave_one_out: false
"""
# Reads all that root does, which Python and this folder may need, and writes what others may.
NOBODY = (
    "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
    "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search",
)  # fmt: skip
# Of a file being written, a training that goes on, and its history, which grows with every epoch.
COUNTED = ("times", "told", "differing", "lost", "strays", "unexplained")
UNFINISHED = (".partial", ".history.csv")
NOT_COMPARED = {"logs", "benchmarks"}
TELLS = re.compile(r"traceback|error|exception|warning|cannot|failed|denied|incomplete", re.I)
# Lines with these words may be said after any event, and after those of a kind.
STOPPED = r"KeyboardInterrupt|[Kk]illed by SIG|cannot be locked|LockException"
# Jobs of a killed Snakemake go on, and their files appear while the next run begins.
ORPHANS = r"not present when the DAG was created|^\S*results\S*/\S+(, \S+)*$"
# Jobs have got the signal, too, and two write their tracebacks at once if they were importing; the
# planning may have been about to evaluate an input function, or Python to let go of a log's lock.
INTERRUPTED = (
    rf"{STOPPED}|it has left no message|Exception ignored in atexit callback"
    r"|Exception ignored in: <function _releaseLock"
    r"|^\s+File \"|^Traceback: (?!.*(Error|Exception))|^InputFunctionException in rule|^Error:$"
)
EXPECTED = {
    "": (
        r"no backup found|\(updating job failed\)|^\d+ of \d+ steps|^  \S+ +[\w ]+$"
        r"|^WorkflowError( in file .*)?:$|^At least one job did not complete|^check failed"
        r"|^Exiting because a job|^\d+ jobs? failed:|^Removing output files of failed job"
        r"|^Error in rule|^RuleException:|^CalledProcessError in file|^Command 'set"
        r"|^Logfile \S+ not found"
        r"|^\S+/accuracy_prediction/errors/\S+|^(\S+/\S+\.\w+, )*\S+/\S+\.\w+$"  # names of files
        r"|was never awaited$|Enable tracemalloc"  # of Snakemake
    ),
    "results deleted": r"files are not as they were made|no such file. Make it",
    # A damaged description of a dataset is told by the planning, with Snakemake's words around it.
    "result truncated": (
        r"files are not as they were made|is damaged|[Dd]elete (it|them|the folder)"
        r"|^InputFunctionException in rule|^Error:$"
    ),
    "SIGTERM": STOPPED,
    "SIGINT": INTERRUPTED,
    # Snakemake is interrupted while it ends.
    "SIGINT twice": (
        rf"{INTERRUPTED}|event loop|^Exception in worker$|CancelledError"
        r"|^RuleException:|^CalledProcessError in file|^Error in rule"
        r"|^Exception ignored|Traceback|^\s{2,}"
    ),
    "SIGKILL": STOPPED,
    "SIGKILL of Snakemake alone": rf"{STOPPED}|{ORPHANS}",
    "SIGKILL of a job": r"[Kk]illed by SIG",
    # Snakemake's log cannot be written, either, which Python tells for each of its lines, nor the
    # script that it makes for a job.
    "full disk": (
        r"No space left on device|disk of \S+ is full|Logging error|Arguments: \("
        r"|^RuleException:$|^OSError in file"
    ),
    "read-only folder": (r"Read-only file system|ProtectedOutputException"),
    **dict.fromkeys(
        # Snakemake's marks of unfinished results are by path.
        ("results renamed", "results by absolute path", "results by a link", "folder of all moved"),
        r"it is not recorded what it was made from",
    ),
    "user who may not write": r"Permission denied|^PermissionError in file",
    "user who may write": STOPPED,
    "two runs at once": rf"cannot be locked|LockException|{ORPHANS}",
    # Snakemake compares times of results and of what they were made from. Where SLURM is installed,
    # its plugin asks `scontrol` with a time limit, which faketime makes invalid.
    "clock set back": (
        rf"{STOPPED}|clock skew|^WorkflowError in rule"
        # faketime's sleep fails in a thread of a forked process.
        r"|^Traceback: OSError: \[Errno 22\]|^Exception in thread Thread-\d+ \(watch\):$"
    ),
}


def told_by(output: str) -> list[str]:
    """Return the lines that tell of an error; of tracebacks, the last exception of each chain."""
    found: list[str] = []
    inside = False
    for line in output.splitlines():
        # Where another process wrote between:
        inside &= not re.match(r"\[\w{3} |Terminating processes", line)
        if line.startswith(("During handling of", "The above exception was")):
            found.pop()
        elif line.startswith(("Traceback", "Call stack:")):
            inside = True
        elif line and not (inside and line.startswith((" ", "^", "~", "Message:"))):
            if inside or TELLS.search(line):
                found.append("Traceback: " * inside + line)
            inside = False
    return found


def contents(folder: Path, place: str = "results") -> dict[str, str]:
    """Return the digests of all results that should repeat byte for byte, by path.

    Texts name results by their place, which is `results` where a run starts from nothing.
    """
    return {
        str(path.relative_to(folder)): hashlib.sha256(
            path.read_bytes().replace(f"{place}/".encode(), b"results/")
        ).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not NOT_COMPARED & set(path.relative_to(folder).parts)
        and path.name != ".made_with.json"
        and path.suffix != ".lock"
    }


class Soak:
    """A study that is changed and disturbed, and what came of it."""

    def __init__(self, folder: Path, seed: int, cluster: Cluster | None) -> None:
        self.rng, self.cluster = np.random.default_rng(seed), cluster
        self.study = yaml.safe_load(STUDY)
        self.models = list(csv.DictReader(io.StringIO(SMALL_CATALOGUE)))
        self.remarks = ""
        self.disk = folder
        self.workflow = Workflow.fresh(folder / "tree", STUDY)
        self.whole: dict[str, str] = {}  # of the last run from nothing
        self.names: set[str] = set()  # of all of them
        self.damaged: set[Path] = set()
        self.count: dict[str, Counter[str]] = {}
        self.kinds: list[str] = []  # of this round
        self.number = 0
        self.write()
        self.seconds = 60.0  # of a run from nothing

    # What the events use

    def one(self, values: object) -> object:
        """Draw one of some values."""
        values = list(values)
        return values[self.rng.integers(len(values))]

    @property
    def results(self) -> Path:
        """The folder of results, wherever it is now."""
        return self.workflow.folder / self.study["results"]

    def file(self) -> Path:
        """Draw a result."""
        return self.results / self.one(contents(self.results))

    def write(self) -> None:
        """Write study file and catalogue."""
        text = yaml.safe_dump(self.study, sort_keys=False) + self.remarks
        (self.workflow.folder / "small.yaml").write_text(text)
        with (self.workflow.folder / "studies/small.csv").open("w", newline="") as stream:
            writer = csv.DictWriter(stream, list(self.models[0]))
            writer.writeheader()
            writer.writerows(self.models)

    def start(
        self,
        *targets: str,
        before: tuple[str, ...] = (),
        cold: bool | None = None,
        **variables: str,
    ) -> "Run":
        """Start a run by forks of one interpreter, or, of seven, one by interpreters of its own."""
        workflow = self.workflow
        cold = self.rng.random() < 1 / 7 if cold is None else cold
        command = workflow.command(*targets)
        if cold or self.cluster:
            command[0] = sys.executable
        if self.cluster:
            scripts = str(workflow.folder / "workflow_scripts")
            variables = {**self.cluster.environment, "PYTHONPATH": scripts, **variables}
            command = [
                *command, "--profile", "profiles/slurm", "--seconds-between-status-checks", "1",
                "--slurm-init-seconds-before-status-checks", "1", "--latency-wait", "15",
            ]  # fmt: skip
        return Run([*before, *command], workflow.folder, environment() | variables)

    def moment(self) -> float:
        """Draw a time after which a run is disturbed."""
        return float(self.rng.uniform(0.5, 0.6 * self.seconds))

    def explain(self, output: str, kinds: list[str]) -> bool:
        """Count lines that are not expected after events; whether the last one's are there."""
        own = EXPECTED.get(kinds[-1]) if kinds else None
        patterns = [EXPECTED[kind] for kind in kinds if kind in EXPECTED]
        told = False
        for line in told_by(output):
            told |= bool(own and re.search(own, line))
            if not any(re.search(each, line) for each in [*patterns, EXPECTED[""]]):
                self.wrong(kinds, "unexplained", line)
        return told

    def wrong(self, kinds: list[str], what: str, text: str) -> None:
        """Count something that is wrong for each kind of event that may have caused it."""
        for kind in set(kinds):
            self.count[kind][what] += 1
        self.log(f"{what} {kinds}: {text}")

    def log(self, text: str) -> None:
        """Print a line, and keep it."""
        print(text, flush=True)
        with Path("soak.log").open("a") as stream:
            stream.write(f"{time.strftime('%H:%M:%S')} round {self.number}: {text}\n")

    def event(self, kind: str, happens: "Event") -> None:
        """Have an event happen, and judge what its run says, if there is one."""
        self.kinds.append(kind)
        count = self.count.setdefault(kind, Counter())
        start, output = time.monotonic(), happens(self)
        self.write()
        count["times"] += 1
        if output is not None:
            count["told"] += self.explain(output, self.kinds)
            with Path("soak.log").open("a") as stream:
                stream.write(output)
        self.log(f"{kind}: {time.monotonic() - start:.0f} s")

    # A round

    def round(self) -> None:
        """Make a change, disturb some runs, and compare with a run from nothing."""
        self.number, self.kinds = self.number + 1, []
        faults = ON_CLUSTER if self.cluster else FAULTS
        self.event(*self.one(CHANGES.items()))
        for _ in range(1 if self.cluster else 3):
            if self.rng.random() < 0.5:
                self.event(*self.one(OF_FILES.items()))
            self.event("results deleted", deleted)
            if any((self.workflow.folder / ".snakemake/locks").glob("*")):
                self.workflow.run("--unlock")
            self.event(*self.one(faults.items()))
        self.mend()
        self.compare()

    def mend(self) -> None:
        """Run until a run ends and the check passes, and do what messages say."""
        again: list[str] = []
        for _ in range(20):
            run = self.start(*again, cold=False)
            output = run.end()
            if not run.code:
                run = Run(self.workflow.command("check"), self.workflow.folder, environment())
                output += run.end()
            self.explain(output, self.kinds)
            if "it is not recorded what" in output:
                again = ["--forceall"]
                continue
            if not run.code:
                return
            # The terminal may have the beginning of a message only.
            for log in re.findall(r"\(log: (\S+)\)", output):
                path = self.workflow.folder / log
                output += path.read_text() if path.is_file() else ""
            changed = re.findall(r"as they were made: (.+?)\. Delete .+? all (.+?) all,", output)
            again = re.findall(r"Make it: snakemake --cores all (\S+)", output)
            if changed:
                files, targets = changed[-1]
                for each in files.split(", "):
                    (self.workflow.folder / each).unlink(missing_ok=True)
                again = targets.split()
            if again:
                again = [*dict.fromkeys(again), "all"]
                continue
            named = {each for each in self.damaged if f"{each.parent.name}/{each.name}" in output}
            for file in named:
                file.unlink(missing_ok=True)
            self.damaged -= named
            if "cannot be locked" in output:
                self.workflow.run("--unlock")
            elif not named:
                self.wrong(self.kinds, "unexplained", f"a failure without a remedy:\n{output}")
                shutil.rmtree(self.results.resolve())
                self.results.resolve().mkdir()
        raise RuntimeError("no run ends")

    def compare(self) -> None:
        """Compare the results with those of a run from nothing."""
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder, "tree")
            left = shutil.ignore_patterns(self.results.resolve().name, "results", ".snakemake")
            shutil.copytree(self.workflow.folder, tree, ignore=left)
            again = Workflow(tree, self.workflow.python)
            start = time.monotonic()
            again.run("--config", "results=results")
            self.seconds = time.monotonic() - start
            self.whole = contents(tree / "results")
        self.names |= set(self.whole)
        found = contents(self.results, self.study["results"])
        for name in self.whole.keys() - found.keys():
            self.wrong(self.kinds, "lost", name)
        for name in self.whole.keys() & found.keys():
            if self.whole[name] != found[name]:
                self.wrong(self.kinds, "differing", name)
        for name in found.keys() - self.names:
            if not any(part in name for part in UNFINISHED):
                self.wrong(self.kinds, "strays", name)
        self.damaged = {path for path in self.damaged if path.exists()}


class Run:
    """A run of Snakemake, in a session of its own."""

    def __init__(self, command: list[str], folder: Path, variables: Mapping[str, str]) -> None:
        self._folder = folder
        self._output = tempfile.TemporaryFile("w+")  # noqa: SIM115 - read at the end
        self.process = subprocess.Popen(
            command, cwd=folder, env=dict(variables), start_new_session=True,
            stdout=self._output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def is_over(self, after: float) -> bool:
        """Wait some seconds; whether it has ended."""
        try:
            self.process.wait(after)
        except subprocess.TimeoutExpired:
            return False
        return True

    def tell(self, number: signal.Signals, *, group: bool = False) -> None:
        """Send a signal to Snakemake, or to its jobs as well, as a terminal does."""
        if number == signal.SIGKILL and group:
            os.killpg(self.process.pid, number)
            return
        found = self.processes()
        for process in found if group else found[:1]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def processes(self) -> list[psutil.Process]:
        """Return Snakemake and its jobs; not what stands for forks of the warm interpreter."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):  # ended meanwhile
                here = process.cwd() == str(self._folder)
                if here and not any("warm_client" in word for word in process.cmdline()):
                    found.append((process.create_time(), process.pid, process))
        return [process for *_, process in sorted(found, key=lambda each: each[:2])]

    def end(self) -> str:
        """Wait for the end; what it has said."""
        self.process.wait(1200)
        self._output.seek(0)
        return self._output.read()

    @property
    def code(self) -> int:
        """The status with which it ended."""
        return self.process.returncode


Event = Callable[[Soak], str | None]  # returns what a run said


# Changes of the study


def _other(soak: Soak, where: dict[str, object], key: str, *values: object) -> None:
    where[key] = soak.one(each for each in values if each != where[key])


def model_added(soak: Soak) -> None:
    """Add a model like another; two more than at first at most."""
    soak.models.append(dict(soak.one(soak.models)) | {"name": f"more-{soak.number}"})
    if len(soak.models) > 5:
        _remove_added(soak)


def model_removed(soak: Soak) -> None:
    """Remove a model that was added, or add one."""
    if len(soak.models) == 3:
        model_added(soak)
    else:
        _remove_added(soak)


def _remove_added(soak: Soak) -> None:
    """Remove one that was added: the study file names others."""
    soak.models.remove(next(one for one in soak.models if one["name"].startswith("more-")))


def order_changed(soak: Soak) -> None:
    """Shuffle the catalogue."""
    soak.rng.shuffle(soak.models)


def remarked(soak: Soak) -> None:
    """Add a comment to the study file."""
    soak.remarks += f"# {soak.number}\n"


def figures_code(soak: Soak) -> None:
    """Edit what a figure says."""
    file = soak.workflow.folder / "workflow_scripts/matcheval/protocol/confidence.py"
    text, words = file.read_text(), ('"Accuracy (%)"', '"Accuracy in %"')
    old, new = words if words[0] in text else words[::-1]
    file.write_text(text.replace(old, new))


def code_touched(soak: Soak) -> None:
    """Give all code another time."""
    for folder in ("rules", "workflow_scripts"):
        for path in (soak.workflow.folder / folder).rglob("*.*"):
            path.touch()


def _severity(soak: Soak) -> None:
    _other(soak, soak.study["suites"]["shifts"]["members"][0]["values"], "severity", [1], [2], [3])


CHANGES: dict[str, Event] = {
    "ε": lambda soak: _other(soak, soak.study["matching"], "epsilon", 0.002, 0.005, 0.01),
    "seeds": lambda soak: _other(soak, soak.study["matching"], "seeds", 2, 3, 4),
    "level": lambda soak: _other(soak, soak.study, "confidence", 0.9, 0.95),
    "model added": model_added,
    "model changed": lambda soak: _other(soak, soak.one(soak.models), "epochs", "1", "2", "3"),
    "model removed": model_removed,
    "order of models": order_changed,
    "rows of a set": lambda soak: _other(
        soak, soak.study["datasets"]["digits-train"], "rows", [0, 300], [0, 400], [0, 500]
    ),
    "severity of sets": _severity,
    "comment": remarked,
    "code of a figure": figures_code,
    "code touched": code_touched,
}


# Changes of files


def deleted(soak: Soak) -> None:
    """Delete up to thirty results; not histories of trainings, which no job reads."""
    known = sorted(contents(soak.results))
    names = [name for name in known if not any(part in name for part in UNFINISHED)]
    for name in soak.rng.permutation(names)[: soak.rng.integers(1, 31)]:
        (soak.results / name).unlink()


def touched(soak: Soak) -> None:
    """Give a result another time."""
    if contents(soak.results):
        soak.file().touch()


def truncated(soak: Soak) -> None:
    """Cut off the end of a result."""
    if contents(soak.results):
        file = soak.file()
        os.truncate(file, int(soak.rng.integers(file.stat().st_size)))
        soak.damaged.add(file)


def _elsewhere(soak: Soak, results: str, link: bool = False) -> None:
    """Move the results, and have the study file or a link name the new place."""
    tree, old, new = soak.workflow.folder, soak.results, soak.workflow.folder / results
    if new.is_symlink():
        new.unlink()
    if old.resolve() != new:
        old.resolve().rename(new)
    if old.is_symlink():
        old.unlink()
    soak.damaged = {new / each.relative_to(old) for each in soak.damaged}
    if link:
        shutil.rmtree(tree / "results", ignore_errors=True)  # of a job that still ran
        (tree / "results").symlink_to(results)
        soak.damaged = {tree / "results" / each.relative_to(new) for each in soak.damaged}
        results = "results"
    soak.study["results"] = results


def tree_moved(soak: Soak) -> None:
    """Rename the folder of everything."""
    old, new = soak.workflow.folder, soak.disk / f"tree-{soak.number}"
    if Path(soak.study["results"]).is_absolute():
        return
    new = soak.disk / f"tree-{soak.number}-{soak.rng.integers(10**6)}"
    old.rename(new)
    soak.workflow = Workflow(new, soak.workflow.python)
    soak.damaged = {new / each.relative_to(old) for each in soak.damaged}


OF_FILES: dict[str, Event] = {
    "result touched": touched,
    "result truncated": truncated,
    "results renamed": lambda soak: _elsewhere(soak, f"results-{soak.rng.integers(10**6)}"),
    "results by absolute path": lambda soak: _elsewhere(
        soak, str(soak.workflow.folder / f"results-{soak.rng.integers(10**6)}")
    ),
    "results by a link": lambda soak: _elsewhere(soak, f"kept-{soak.rng.integers(10**6)}", True),
    "folder of all moved": tree_moved,
}


# Faults of runs


def told(*signals: signal.Signals, group: bool = False) -> Event:
    """Send signals to a run after a random time, with a second between two."""

    def happens(soak: Soak) -> str:
        run = soak.start()
        over = run.is_over(soak.moment())
        for number in signals:
            if not over:
                run.tell(number, group=group)
                over = run.is_over(1)
        return run.end()

    return happens


def job_killed(soak: Soak) -> str:
    """Kill one process of a job, and not Snakemake."""
    run = soak.start()
    if not run.is_over(soak.moment()):
        for job in run.processes()[1:2]:
            with contextlib.suppress(psutil.NoSuchProcess):
                job.kill()
    return run.end()


def full_disk(soak: Soak) -> str:
    """Leave less than 256 KiB on the disk."""
    ballast = soak.disk / "ballast"
    free = shutil.disk_usage(soak.disk).free - int(soak.rng.integers(1 << 18))
    with ballast.open("wb") as stream:
        os.posix_fallocate(stream.fileno(), 0, free)
    try:
        return soak.start(cold=False).end()
    finally:
        ballast.unlink()


def read_only(soak: Soak) -> str:
    """Have a run find all, the results or a part of them on a read-only file system."""
    folders = [
        soak.workflow.folder,
        soak.results,
        *soak.results.glob("*/"),
        *soak.results.glob("*/*/"),
    ]
    folder = soak.one(folders).resolve()
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)
        return soak.start(cold=False).end()
    finally:
        subprocess.run(["umount", folder], check=True)


def another_user(*, may_write: bool) -> Event:
    """Have another user run, who may write all files, or none."""

    def happens(soak: Soak) -> str:
        everybody = "a+rwX" if may_write else "go-w"
        subprocess.run(["chmod", "-R", everybody, soak.workflow.folder], check=True)
        with tempfile.TemporaryDirectory() as home:
            shutil.chown(home, 65534, 65534)
            run = soak.start(before=NOBODY, cold=True, HOME=home)
            if not may_write or run.is_over(soak.moment()):
                return run.end()
            run.tell(signal.SIGTERM)
            return run.end()

    return happens


def two_runs(soak: Soak) -> str:
    """Start a second run during the first."""
    first = soak.start(cold=False)
    if first.is_over(soak.moment()):
        return first.end()
    return soak.start(cold=False).end() + first.end()


def clock_set_back(soak: Soak) -> str:
    """Run while all files, and the study file's last change, are of an hour later."""
    # `faketime` itself would get the signals in place of what it starts.
    library = subprocess.check_output(
        ["faketime", "-f", "-1h", "printenv", "LD_PRELOAD"], text=True
    )
    variables = {
        "LD_PRELOAD": library.strip(),
        "FAKETIME": "-1h",
        "NO_FAKE_STAT": "1",
        "DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    run = soak.start(cold=True, **variables)
    if not run.is_over(soak.moment()):
        run.tell(signal.SIGTERM)
    return run.end()


def cancelled(soak: Soak) -> str:
    """Cancel a job of SLURM."""
    run = soak.start()
    if not run.is_over(soak.moment()):
        jobs = soak.cluster.command("squeue", "-h", "-o", "%i").split()
        if jobs:
            soak.cluster.command("scancel", soak.one(jobs))
    return run.end()


def killed(soak: Soak) -> str:
    """Kill Snakemake, whose jobs on SLURM go on, and cancel them as docs/cluster.md says."""
    output = told(signal.SIGKILL, group=True)(soak)
    soak.cluster.command("scancel", "--me")
    return output


FAULTS: dict[str, Event] = {
    "SIGTERM": told(signal.SIGTERM),
    "SIGINT": told(signal.SIGINT, group=True),
    "SIGINT twice": told(signal.SIGINT, signal.SIGINT, group=True),
    "SIGKILL": told(signal.SIGKILL, group=True),
    "SIGKILL of Snakemake alone": told(signal.SIGKILL),
    "SIGKILL of a job": job_killed,
    "SIGSTOP and SIGCONT": told(signal.SIGSTOP, signal.SIGCONT, group=True),
    "full disk": full_disk,
    "read-only folder": read_only,
    "user who may not write": another_user(may_write=False),
    "user who may write": another_user(may_write=True),
    "two runs at once": two_runs,
    "clock set back": clock_set_back,
}
ON_CLUSTER: dict[str, Event] = {
    "SIGTERM": told(signal.SIGTERM),
    "SIGINT": told(signal.SIGINT, group=True),
    "SIGKILL": killed,
    "job cancelled": cancelled,
}


def main() -> None:
    """Run rounds until the time is over, and count what was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=90)
    parser.add_argument("--rounds", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--slurm", action="store_true")
    given = parser.parse_args()
    if os.geteuid() or (given.slurm and why_not()):
        sys.exit(why_not() or "needs root, to mount a file system and to be other users")
    if shutil.which("faketime") is None:
        del FAULTS["clock set back"]
        print("clock set back: skipped, as there is no faketime (apt-get install faketime)")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # runs inherit that it is ignored
    start = time.monotonic()
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(Cluster.started()) if given.slurm else None
        disk = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="soak-")))
        disk.chmod(0o755)
        mount = ["mount", "-t", "tmpfs", "-o", "size=200m,mode=755", "tmpfs", disk]
        subprocess.run(mount, check=True)
        stack.callback(subprocess.run, ["umount", "--lazy", disk], check=True)
        soak = Soak(disk, given.seed, cluster)
        soak.mend()
        soak.compare()
        while soak.number < given.rounds and time.monotonic() - start < 60 * given.minutes:
            soak.round()
            minutes = round((time.monotonic() - start) / 60)
            rows = [
                {"event": kind, **{name: count[name] for name in COUNTED}, "seed": given.seed,
                 "rounds": soak.number, "minutes": minutes}
                for kind, count in soak.count.items()
            ]  # fmt: skip
            write_results("soak_slurm" if cluster else "soak", rows, "snakemake")


if __name__ == "__main__":
    main()
