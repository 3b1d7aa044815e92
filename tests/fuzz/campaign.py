"""How a campaign counts what became of its inputs, and runs them where a crash is noticed."""

import json
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from matcheval.errors import InputError

Result = Literal["right", "refused", "traceback", "wrong"]
_MEMORY = 4 * 2**30  # bytes a campaign may address; more is a crash
_MAX_KEPT = 20


@dataclass
class Outcome:
    """Counts of results, and the inputs that were neither read rightly nor refused."""

    name: str
    seed: int
    counts: Counter[Result] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    crashes: int = 0
    last: Result = "right"

    def note(self, result: Result, what: str) -> None:
        """Count a result; `what` tells the input and what happened."""
        self.counts[result] += 1
        self.last = result
        if result in ("traceback", "wrong") and len(self.failures) < _MAX_KEPT:
            self.failures.append(f"{result}: {what}")

    def attempt(self, what: str, read: Callable[[], bool]) -> None:
        """Count what a call does: it says whether what it read is right, or raises."""
        try:
            self.note("right" if read() else "wrong", what)
        except InputError:
            self.note("refused", what)
        except Exception as error:
            self.note("traceback", f"{what}: {type(error).__name__}: {error}")


def in_subprocess(module: str, n: int, seed: int) -> Outcome:
    """Run `outcome(n, seed)` of a module of this package where a crash ends that process only."""
    code = (
        "import json, sys; from importlib import import_module\n"
        f"o = import_module('fuzz.{module}').outcome({n}, {seed})\n"
        "json.dump([o.counts, o.failures], sys.stdout)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        env={"PYTHONPATH": ":".join(sys.path), "OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY)),
    )  # fmt: skip
    found = Outcome(module, seed)
    if done.returncode:
        found.crashes = n
        found.failures = [f"exit status {done.returncode}: {done.stderr[-1000:]}"]
        return found
    counts, failures = json.loads(done.stdout)
    found.counts.update(counts)
    found.failures += failures
    return found


def main() -> None:
    """Run a campaign, its name, number of inputs and seed given as arguments, and print its row."""
    name, n, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    found = in_subprocess(name, n, seed)
    counts = [found.counts[result] for result in ("right", "refused", "traceback", "wrong")]
    row = " | ".join(map(str, (name, seed, n, *counts, found.crashes)))
    sys.stdout.write("\n".join([f"| {row} |", *found.failures, ""]))


if __name__ == "__main__":
    main()
