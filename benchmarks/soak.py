"""Random changes of a study and disturbed runs of it: nothing is lost, and results do not differ.

    .venv/bin/python benchmarks/soak.py [--minutes 90] [--seed 0]

A round changes the study or its results, and stops runs of it by signals. Then it runs until a run
ends, deleting what messages say is damaged, and compares the results, byte for byte, with those of
a run from nothing of the same study. Whatever differs or is missing counts for each kind of event
of the round. The runs' output is in soak.log in the current folder.
"""

import argparse
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
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from common import ROOT, write_results

sys.path.insert(0, str(ROOT / "tests" / "workflow"))
from engine import SMALL_CATALOGUE, Workflow, environment

STUDY = """\
study: soak
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
      - dataset: {kind: corrupted, of: digits-known, corruption: "{corruption}", severity: 2,
                  size: 32, parameters: 224, jpeg_quality: none, restore: true}
        values: {corruption: [contrast, gaussian_noise]}
        group: "{corruption}"
accuracy_prediction:
  suites: {shifts: {base: digits-known}}
  methods: [ac, doc]
  leave_one_out: false
"""
NOT_COMPARED = {"logs", "benchmarks"}
SIGNALS = {
    "SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM, "SIGKILL": signal.SIGKILL,
}  # fmt: skip


class Soak:
    """A study that is changed at random and whose runs are disturbed, with counts of faults."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.study: dict[str, Any] = yaml.safe_load(STUDY)
        self.models = list(csv.DictReader(io.StringIO(SMALL_CATALOGUE)))
        self.workflow = Workflow.fresh(folder / "tree", STUDY)
        self.count: dict[str, Counter[str]] = {}
        self.seconds = 60.0  # of a run from nothing

    def choose(self, values: Any) -> Any:
        """Draw one of some values at random."""
        values = list(values)
        return values[self.rng.integers(len(values))]

    def files(self, folder: Path) -> dict[str, str]:
        """Return digests of all results that should repeat byte for byte, by path."""
        return {
            str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
            and not NOT_COMPARED & set(path.relative_to(folder).parts)
            and not path.name.startswith(".")
            and ".partial" not in path.name
        }

    def write(self) -> None:
        """Write the study file and the catalogue."""
        (self.workflow.folder / "small.yaml").write_text(yaml.safe_dump(self.study))
        with (self.workflow.folder / "studies/small.csv").open("w", newline="") as stream:
            writer = csv.DictWriter(stream, list(self.models[0]))
            writer.writeheader()
            writer.writerows(self.models)

    # Events: changes of the study, of its results, and disturbed runs

    def change_setting(self) -> None:
        """Change settings of matching and confidence at random."""
        self.study["matching"]["epsilon"] = self.choose([0.005, 0.01, 0.02])
        self.study["matching"]["seeds"] = self.choose([2, 3, 4])
        self.study["confidence"] = self.choose([0.9, 0.95])

    def change_recipe(self) -> None:
        """Change the number of epochs of a model."""
        self.choose(self.models)["epochs"] = str(self.choose([1, 2, 3]))

    def change_data(self) -> None:
        """Change which rows are in the training set."""
        self.study["datasets"]["digits-train"]["rows"] = [0, self.choose([300, 400, 500])]

    def delete(self) -> None:
        """Delete up to four results."""
        names = list(self.files(self.workflow.results))
        for name in {self.choose(names) for _ in range(4)} if names else ():
            (self.workflow.results / name).unlink(missing_ok=True)

    def damage(self) -> None:
        """Cut a result in half."""
        names = list(self.files(self.workflow.results))
        if names:
            path = self.workflow.results / self.choose(names)
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    def stop(self, number: signal.Signals) -> None:
        """Start a run, and send it and its jobs a signal at some moment."""
        process = self.start()
        try:
            process.wait(float(self.rng.uniform(0.5, 0.7 * self.seconds)))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, number)
            process.wait(600)

    def start(self) -> subprocess.Popen[str]:
        """Start a run as a process of its own, whose output goes to soak.log."""
        with Path("soak.log").open("a") as log:
            return subprocess.Popen(
                self.workflow.command(), cwd=self.workflow.folder, env=environment(), text=True,
                start_new_session=True, stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip

    # A round

    def round(self) -> list[str]:
        """Change and disturb the study, run it to its end, and return the files that are wrong."""
        changes: list[Callable[[], None]] = [
            self.change_setting, self.change_recipe, self.change_data, self.delete, self.damage,
        ]  # fmt: skip
        kinds = []
        for _ in range(3):
            change, name = self.choose(changes), self.choose(SIGNALS)
            change()
            self.write()
            self.stop(SIGNALS[name])
            if any((self.workflow.folder / ".snakemake/locks").glob("*")):
                self.workflow.run("--unlock")
            kinds += [change.__name__, name]
        self.mend()
        wrong = self.compare()
        for kind in kinds:
            self.count.setdefault(kind, Counter())["times"] += 1
        for kind in set(kinds):
            self.count[kind]["wrong"] += len(wrong)
        return wrong

    def mend(self) -> None:
        """Run until a run and its check pass, deleting the files that error messages name."""
        for _ in range(20):
            commands = (self.workflow.command(*target) for target in ((), ("check",)))
            for command in commands:
                done = subprocess.run(
                    command, cwd=self.workflow.folder, env=environment(), text=True, check=False,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                )  # fmt: skip
                if done.returncode:
                    break
            else:
                return
            output = done.stdout
            for log in re.findall(r"log: (\S+\.log)", output):
                path = self.workflow.folder / log
                output += path.read_text() if path.is_file() else ""
            named = [
                path for path in self.workflow.results.rglob("*")
                if f"{path.parent.name}/{path.name}" in output and path.name[0] != "."
                and path.suffix not in (".log", ".tsv")
            ]  # fmt: skip
            if not named:
                raise RuntimeError(f"a failure that names no file:\n{output}")
            for path in named:
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        raise RuntimeError("no run ends")

    def compare(self) -> list[str]:
        """Return the files that are missing or differ from those of a run from nothing."""
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder, "tree")
            ignored = shutil.ignore_patterns("results", ".snakemake")
            shutil.copytree(self.workflow.folder, tree, ignore=ignored)
            start = time.monotonic()
            Workflow(tree, self.workflow.python).run()
            self.seconds = time.monotonic() - start
            expected, actual = self.files(tree / "results"), self.files(self.workflow.results)
        return [name for name, digest in expected.items() if actual.get(name) != digest]


def main() -> None:
    """Do rounds for some minutes, and write how often files were wrong, by kind of event."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=90)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    end, rounds = time.monotonic() + 60 * arguments.minutes, 0
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(Path(folder), arguments.seed)
        while time.monotonic() < end:
            wrong, rounds = soak.round(), rounds + 1
            print(f"round {rounds}: {wrong or 'nothing wrong'}", flush=True)
    rows = [
        {"event": kind, "times": count["times"], "wrong": count["wrong"], "rounds": rounds,
         "minutes": arguments.minutes, "seed": arguments.seed}
        for kind, count in soak.count.items()
    ]  # fmt: skip
    write_results("soak", rows, "snakemake")


if __name__ == "__main__":
    main()
