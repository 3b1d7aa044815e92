"""How long studies take on 1 to 1,000 GPUs, and where the time goes: a simulation.

Jobs are dealt to GPUs as Snakemake deals them on SLURM. What a job and a submission cost beyond
the work is measured (`Costs`; benchmarks/slurm_overhead.py); what models cost on a GPU is counted
or stated (`STUDIES`). No queue is simulated: all GPUs are ours from the start.

python benchmarks/scale.py
"""

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass

from common import write_results

GPUS = (1, 10, 100, 1_000)
HOUR = 3600.0


@dataclass(frozen=True)
class Costs:
    """Seconds that are no work of the study.

    Attributes
    ----------
    parse : float
        Snakemake's start: Python and the Snakefile (1.6 s; benchmarks/dry_run.py).
    plan : float
        Of the main process per job: planning, and noting its end. Measured: a workflow of 25,000
        jobs that do nothing takes Snakemake 9.27 320 s of its own, 13 ms a job.
    submit : float
        Of the main process per submission: sbatch, in two threads (20 ms each on the test cluster).
    start : float
        On the node per submission: the Snakemake that SLURM starts.
    python : float
        On the node per job: Python with torch and CUDA, and a model's weights from a warm cache.
    notice : float
        From a submission's end until the main process knows: half the time between two looks.
    plan_memory : float
        Bytes of the main process per job (570 MB for 25,000).
    """

    parse: float = 1.6
    plan: float = 0.013
    submit: float = 0.010
    start: float = 2.0
    python: float = 6.0
    notice: float = 8.0
    plan_memory: float = 23_000.0


COSTS = Costs()


@dataclass(frozen=True)
class Kind:
    """Jobs of one kind.

    Attributes
    ----------
    jobs : int
        How many.
    seconds : float
        Of GPU work each, on the mean; they are spread from a fifth to five times that.
    group : int
        How many are one submission, where there are groups.
    """

    jobs: int
    seconds: float
    group: int = 1


# The paper's: operations as counted (results/paper_cost.csv: 23,105 and 58 PFLOP for CIFAR-10, 755
# for ImageNet), at 30 TFLOP/s, which is between the two rates there; and a second or two a pass for
# reading and writing. Images of ImageNet are decoded and resized once for all (pixel cache).
# Stated, for the large ones: 5 s a pass.
STUDIES: dict[str, tuple[Kind, ...]] = {
    "CIFAR-10 (278 models trained, 5 sets)": (
        Kind(278, 0.77 * HOUR),
        Kind(278 * 5, 3.0, group=20),
    ),
    "ImageNet (286 published models, 4 sets)": (Kind(286 * 4, 23.0, group=20),),
    "10,000 models × 200 sets of 10,000": (Kind(10_000 * 200, 5.0, group=200),),
    # What to do where the plan itself is too large: a job takes a model through all sets.
    "10,000 models × 200 sets, a job per model": (Kind(10_000, 200 * 5.0),),
}


def spread(number: int) -> Iterator[float]:
    """Factors of jobs' durations, from 0.2 to 5, with mean 1, in an order without pattern."""
    low, high = math.log(0.2), math.log(5.0)
    mean = (math.exp(high) - math.exp(low)) / (high - low)
    golden = (math.sqrt(5) - 1) / 2
    for i in range(number):
        yield math.exp(low + (high - low) * ((i * golden) % 1.0)) / mean


@dataclass(frozen=True)
class Outcome:
    """Of one simulation: seconds on the clock, GPU seconds held and worked, submissions."""

    seconds: float
    held: float
    worked: float
    submissions: int
    main: float


def simulate(kinds: tuple[Kind, ...], gpus: int, *, grouped: bool, costs: Costs = COSTS) -> Outcome:
    """Deal the jobs of a study to GPUs, a kind after the other.

    A submission starts once the main process has made it and a GPU is free. The main process makes
    one after the other; it learns of an end later, which delays what comes next, not the GPU.

    Parameters
    ----------
    kinds : tuple of Kind
        In the order in which they depend on each other.
    gpus : int
        At least 1.
    grouped : bool
        Whether short jobs share a submission.
    costs : Costs
        Overheads.
    """
    clock = main = costs.parse + costs.plan * sum(kind.jobs for kind in kinds) / 2
    held = worked = 0.0
    submissions = 0
    for kind in kinds:
        free = [clock] * gpus
        heapq.heapify(free)
        size = kind.group if grouped else 1
        factors = spread(kind.jobs)
        dealt, end = clock, clock
        for first in range(0, kind.jobs, size):
            inside = min(size, kind.jobs - first)
            work = sum(kind.seconds * next(factors) for _ in range(inside))
            # Half of the main process's work on a job is planning, above; half is noting its end.
            busy = costs.submit + inside * costs.plan / 2
            dealt += busy
            main += busy
            begin = max(dealt, heapq.heappop(free))
            duration = costs.start + inside * costs.python + work
            heapq.heappush(free, begin + duration)
            end = max(end, begin + duration)
            held += duration
            worked += work
            submissions += 1
        clock = end + costs.notice
    return Outcome(clock, held, worked, submissions, main)


def main() -> None:
    """Simulate all studies, with and without groups."""
    rows = []
    for name, kinds in STUDIES.items():
        jobs = sum(kind.jobs for kind in kinds)
        for gpus in GPUS:
            for grouped in (False, True):
                outcome = simulate(kinds, gpus, grouped=grouped)
                rows.append(
                    {
                        "study": name,
                        "gpus": gpus,
                        "groups": "yes" if grouped else "no",
                        "jobs": jobs,
                        "submissions": outcome.submissions,
                        "wall_hours": f"{outcome.seconds / HOUR:.3g}",
                        "gpu_hours_held": f"{outcome.held / HOUR:.3g}",
                        "gpu_hours_worked": f"{outcome.worked / HOUR:.3g}",
                        "gpus_busy_percent": round(100 * outcome.held / gpus / outcome.seconds),
                        "snakemake_hours": f"{outcome.main / HOUR:.3g}",
                        "snakemake_gigabytes": f"{jobs * COSTS.plan_memory / 1e9:.2g}",
                    }
                )
    write_results("scale", rows, "snakemake")


if __name__ == "__main__":
    main()
