"""A copy of the workflow in a folder of its own, and the real Snakemake that runs it."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from warm import warm_python

from matcheval.io.provenance import CodeDigests
from matcheval.predictions.records import check_predictions
from matcheval.protocol.matching import match, plan_matching
from matcheval.protocol.settings import Criterion, MatchingMethod
from matcheval.statistics.lines import bootstrap_lines

ROOT = Path(__file__).parents[2]
PARTS = (
    "Snakefile", "config.yaml", "rules", "workflow_scripts", "studies", "envs", "profiles",
    "tests/artefacts",
)  # fmt: skip

# A whole study in seconds: three models, one of them with a reliability diagram.
SMALL_CATALOGUE = """\
name,kind,architecture,width,depth,loss,loss_parameter,augmentation,schedule,epochs,batch_size,learning_rate,weight_decay,train_fraction,seed,note
linear,trained,linear,0,0,cross_entropy,,none,constant,3,64,0.1,0,1,0,
mlp,trained,mlp,16,1,focal,2,none,cosine,3,64,0.1,0,1,0,
cnn.v1,trained,cnn,4,1,brier,,shift,step,2,64,0.1,0,0.5,1,
"""
SMALL_CONFIG = """\
models: studies/small.csv
matching: {seeds: 4, models_per_job: 2, reliability_models: [mlp]}
figures: {formats: [png]}
"""


@dataclass(frozen=True)
class Planned:
    """What a dry run would do: jobs by rule, and the models it would predict with."""

    jobs: dict[str, int]
    predicted: list[str]


class Workflow:
    """The workflow's files copied to a folder, where tests may change them.

    Snakemake and its jobs run in the given Python: by default one that starts quickly.
    """

    def __init__(self, folder: Path, python: str | None = None) -> None:
        self.folder, self.python = folder, python or warm_python()

    @classmethod
    def fresh(
        cls, folder: Path, config: str | None = SMALL_CONFIG, models: str = SMALL_CATALOGUE
    ) -> "Workflow":
        """Copy the sources; runs are of the given study, or without one of the default study."""
        compile_loops()
        folder.mkdir(parents=True)
        for part in PARTS:
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy2
            copy(ROOT / part, folder / part)
        (folder / DIGESTS).parent.mkdir()
        (folder / DIGESTS).write_text(json.dumps({"sources": sources(), "digests": KNOWN}))
        if config is not None:
            (folder / "studies" / "small.csv").write_text(models)
            (folder / "small.yaml").write_text(config)
        return cls(folder)

    @property
    def results(self) -> Path:
        """The folder of results."""
        return self.folder / "results"

    def table(self, path: str) -> pd.DataFrame:
        """A table of the results, from Parquet."""
        return pd.read_parquet(self.results / f"{path}.parquet")

    def copy_to(self, folder: Path) -> "Workflow":
        """Copy sources, results and Snakemake's records, times included."""
        shutil.copytree(self.folder, folder, symlinks=True)
        return Workflow(folder, self.python)

    def command(self, *arguments: str) -> list[str]:
        """The command line of a run, by default of the study in `small.yaml`."""
        own = "--configfile" not in arguments and (self.folder / "small.yaml").exists()
        study = ["--configfile", "small.yaml"] if own else []
        return [self.python, "-m", "snakemake", "--cores", "2", "--nocolor", *arguments, *study]

    def run(self, *arguments: str, fails: bool = False, **variables: str) -> str:
        """Run Snakemake, which must end as is said; return its output."""
        result = subprocess.run(
            self.command(*arguments), cwd=self.folder, text=True, check=False, timeout=1800,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment() | variables,
        )  # fmt: skip
        assert bool(result.returncode) is fails, f"snakemake:\n{result.stdout}"
        if (kept := self.folder / DIGESTS).exists():
            digests = json.loads(kept.read_bytes())
            KNOWN.update(digests["digests"] if digests["sources"] == sources() else {})
        return result.stdout

    def plan(self, *arguments: str) -> Planned:
        """Dry-run, and read what it would do."""
        text = self.run("--dry-run", *arguments)
        table = re.search(r"^Job stats:\njob +count\n[- ]+\n((?:\w+ +\d+\n)+)", text, re.MULTILINE)
        counts = re.findall(r"(\w+) +(\d+)", table[1]) if table else []
        return Planned(
            jobs={rule: int(n) for rule, n in counts if rule != "total"},
            predicted=sorted(re.findall(r"^Job \d+: Predicting .*with (.+)$", text, re.MULTILINE)),
        )

    def kill_when(
        self, condition: Callable[[], bool], *arguments: str, timeout: float = 600
    ) -> None:
        """Start a run and SIGKILL it, jobs included, once `condition` holds."""
        process = subprocess.Popen(
            self.command(*arguments), cwd=self.folder, env=environment(), start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        deadline = time.monotonic() + timeout
        while not condition():
            if process.poll() is not None or time.monotonic() > deadline:
                os.killpg(process.pid, signal.SIGKILL)
                raise AssertionError("the run ended before it could be killed")
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace text in a source file, which must be there."""
        file = self.folder / path
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new, 1))

    def keep_models(self, catalogue: str, names: Collection[str]) -> None:
        """Leave out all other rows of a catalogue."""
        file = self.folder / catalogue
        head, *rows = file.read_text().splitlines(keepends=True)
        kept = [row for row in rows if row.partition(",")[0] in names]
        assert len(kept) == len(names)
        file.write_text("".join([head, *kept]))

    def artifacts(self, folder: str = "") -> dict[str, bytes]:
        """Contents of every result that should repeat byte for byte, by path in the folder."""
        top = self.results / folder
        return {
            str(path.relative_to(top)): path.read_bytes()
            for path in sorted(top.rglob("*"))
            if path.is_file()
            and not {"logs", "benchmarks"} & set(path.relative_to(top).parts)
            and path.name != ".made_with.json"
        }


# Digests of code, whose computation takes a second, go from tree to tree as long as it is the same.
DIGESTS = Path(".snakemake/code-digests.json")
KNOWN: dict[str, str] = {}


@cache
def sources() -> str:
    """What digests of the original tree's code are kept by."""
    return CodeDigests(ROOT / "workflow_scripts", DIGESTS).sources


@cache
def compile_loops() -> None:
    """Have Numba compile in the original tree, in whose copies every job would do it again.

    That takes seconds; the machine code is copied with the sources.
    """
    some = check_predictions({
        "label": np.zeros(4, int), "prediction": np.zeros(4, int), "probability": np.ones(4),
    })  # fmt: skip
    for criterion in Criterion:
        plan = plan_matching(some, some, MatchingMethod(criterion=criterion))
        match(plan, np.random.default_rng(0))
    bootstrap_lines([0.1, 0.2, 0.3], [0.1, 0.2, 0.3], resamples=10)


def environment() -> dict[str, str]:
    """The environment of runs: this tree's library must not leak in by PYTHONPATH."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}


def known(*models: str) -> str:
    """A catalogue of models that are known by their predictions."""
    return "name,kind\n" + "".join(f"{model},predictions\n" for model in models)


def custom_study(folder: Path) -> Workflow:
    """A study of two models known by CSV files of predictions."""
    workflow = Workflow.fresh(
        folder,
        "study: mine\nmodels: studies/small.csv\n"
        "datasets:\n"
        "  old: {kind: predictions, files: 'old/{model}.csv'}\n"
        "  new: {kind: predictions, files: 'new/{model}.csv'}\n"
        "pairs: {both: {original: old, replication: new}}\n",
        known("a", "b"),
    )
    for dataset in ("old", "new"):
        (folder / dataset).mkdir()
        for model, most in (("a", 200), ("b", 201)):
            rows = "".join(f"{i % 3},{i % 3},{0.5 + i / most}\n" for i in range(60))
            (folder / dataset / f"{model}.csv").write_text("label,prediction,probability\n" + rows)
    return workflow
