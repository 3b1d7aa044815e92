"""What a job costs on SLURM beyond its own work: 1, 10 and 100 jobs that do nothing.

Brings up the tests' cluster on this machine (root, Debian's packages), and runs the jobs within
this workflow, whose Snakefile is read for each of them: here, one by one on SLURM, and in groups.

python benchmarks/slurm_overhead.py [1 10 100]
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import ROOT, copy_workflow, write_results

sys.path.insert(0, str(ROOT / "tests" / "cluster"))

from slurm import Cluster, why_not

NUMBERS = (1, 10, 100)
GROUP = 20
JOBS = """
include: "Snakefile"


rule nothing:
    output:
        "nothing/{way}/{number}/{i}",
    resources:
        mem_mb=800,
        runtime=10,
    shell:
        "touch {output}"
"""
# The profile's 15 s between two looks at the jobs would be most of what is measured.
POLL = [
    "--slurm-init-seconds-before-status-checks", "1", "--seconds-between-status-checks", "1",
    "--latency-wait", "5",
]  # fmt: skip
ON_SLURM = ["--profile", "profiles/slurm", *POLL]
WAYS = {
    "local": ["--cores", "2"],
    "slurm": ON_SLURM,
    "slurm, groups": [
        *ON_SLURM, "--groups", "nothing=some", "--group-components", f"some={GROUP}",
    ],
}  # fmt: skip


def timed(folder: Path, cluster: Cluster, way: str, number: int) -> tuple[float, float]:
    """Seconds on the clock, and of the local processors in Snakemake itself, of so many jobs."""
    place = f"nothing/{way.replace(', ', '-')}/{number}"
    targets = [f"{place}/{i}" for i in range(number)]
    command = [sys.executable, "-m", "snakemake", "-s", "nothing.smk", *targets, *WAYS[way]]
    start, used = time.perf_counter(), processor_seconds()
    result = subprocess.run(
        command, cwd=folder, check=False, capture_output=True, text=True,
        env=dict(cluster.environment),
    )  # fmt: skip
    if result.returncode:
        raise SystemExit(result.stderr)
    return time.perf_counter() - start, processor_seconds() - used


def processor_seconds() -> float:
    """Of this process's children so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main(numbers: list[int]) -> None:
    """Time all ways, with a dry run's time, which all of them spend, beside them."""
    if reason := why_not():
        raise SystemExit(f"error: {reason}")
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "tree"
        folder.mkdir()
        copy_workflow(folder)
        (folder / "nothing.smk").write_text(JOBS)
        with Cluster.started() as cluster:
            timed(folder, cluster, "slurm", 2)  # finds out once whether nodes see the folder
            for number in numbers:
                for way in WAYS:
                    seconds, used = timed(folder, cluster, way, number)
                    rows.append(
                        {
                            "jobs": number,
                            "way": way,
                            "seconds": round(seconds, 1),
                            "seconds_per_job": round(seconds / number, 2),
                            "processor_seconds_of_snakemake": round(used, 1),
                        }
                    )
                    print(rows[-1], flush=True)
    write_results("slurm_overhead", rows, "snakemake", "snakemake-executor-plugin-slurm")


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or list(NUMBERS))
