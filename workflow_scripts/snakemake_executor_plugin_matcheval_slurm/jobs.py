"""Snakemake's jobs as SLURM is asked for them."""

import glob
import time
from pathlib import Path
from typing import Any

from matcheval.execution.cluster.checks import Request


def request_of(job: Any) -> Request:
    """Return what a job or group requests from SLURM."""
    resource = job.resources.get
    return Request(
        job=job.name,
        cpus=int(resource("cpus_per_task") or job.threads),
        mem_mb=int(resource("mem_mb") or 0),
        minutes=int(resource("runtime") or 0),
        gpus=int(resource("gpu") or 0),
        partition=resource("slurm_partition"),
        account=resource("slurm_account"),
        qos=resource("qos"),
        constraint=resource("constraint"),
        group=job.is_group(),
        resumable=bool(resource("saves")),
    )


def comment_of(job: Any) -> str:
    """Return the comment with which a job is submitted, which identifies it in SLURM."""
    wildcards = "" if job.is_group() else "_".join(job.wildcards).replace("/", "_")
    return f"rule_{job.name}" + (f"_wildcards_{wildcards}" if wildcards else "")


def changes(job: Any, limited: Request, settings: Any) -> dict[str, Any]:
    """Return the resources that a job is submitted with in place of its own."""
    given = job.resources.get
    options = ["--requeue" if settings.requeue else "--no-requeue"]
    if limited.resumable:
        # At most half of its time before the end, should that be short.
        seconds = min(settings.signal_seconds, 30 * limited.minutes)
        options.append(f"--signal=B:USR1@{seconds}")
    changed = {
        "mem_mb": limited.mem_mb or None,
        "runtime": limited.minutes or None,
        "slurm_extra": " ".join(filter(None, [given("slurm_extra"), *options])),
    }
    if not limited.gpus:
        changed["gpu_model"] = None  # would request a GPU
    elif settings.gres:
        changed |= {"gpu": None, "gres": f"{settings.gres}:{limited.gpus}"}
    return changed


class SubmittedAs:
    """A job that is submitted with other resources; on the node, it has its original ones."""

    def __init__(self, job: Any, changed: dict[str, Any]) -> None:
        self.job, self.since = job, time.time()
        resources = {**dict(job.resources.items()), **changed}
        kept = {name: value for name, value in resources.items() if value is not None}
        self.resources = type(job.resources)(fromdict=kept)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.job, name)


def original(job: Any) -> Any:
    """Return Snakemake's own job."""
    return job.job if isinstance(job, SubmittedAs) else job


def has_saved(job: Any, since: float) -> bool:
    """Whether a resumable job has saved something since it was submitted."""
    files = map(Path, glob.glob(job.resources.get("saves")))  # noqa: PTH207 - may be absolute
    return any(file.stat().st_mtime >= since for file in files)


def has_written_all(job: Any, since: float) -> bool:
    """Whether all output files of a job exist and are newer than its submission."""
    files = [Path(file) for file in job.products(include_logfiles=False)]
    return all(file.exists() and file.stat().st_mtime >= since for file in files)
