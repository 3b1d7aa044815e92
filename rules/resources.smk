# What every job asks for: its needs by model, data and attempt, all in this file.
#
# The numbers behind them are in workflow_scripts/matcheval/resources.py, the table for people in
# docs/cluster.md. Profiles and the command line have the last word: `set-resources`, `set-threads`.
from matcheval.execution.gpus import visible_gpus
from matcheval.execution.requests import Needs

LOCAL_GPUS = len(visible_gpus())

# On this machine, never more jobs on GPUs than there are GPUs. A profile or `--resources gpu=N` says
# otherwise; profiles/slurm does, whose jobs have their GPUs from the cluster.
if LOCAL_GPUS and "gpu" not in workflow.global_resources:
    workflow.register_resource("gpu", LOCAL_GPUS)


def default_resource(name):
    """A default resource as the profile or the command line has it, None if it has none."""
    defaults = workflow.resource_settings.default_resources or {}
    value = defaults.get(name)
    return getattr(value, "raw", value)


# Where a cluster's jobs with a GPU go. A cluster whose profile names no such place has no GPUs.
GPU_PARTITION = default_resource("gpu_partition")


def gpus_of(device):
    """GPUs of a job on a device; `auto` has one wherever there are some."""
    if device == "auto":
        return 1 if (LOCAL_GPUS if GPU_PARTITION is None else GPU_PARTITION) else 0
    return int(device.startswith("cuda"))


NEEDS = Needs(STUDY, gpus_of)
# Whose jobs may run on a GPU.
GPU_RULES = ("train_model", "predict_dataset")


def resources_of(name):
    """Resources, to be given as `**resources_of("name")`."""

    def one(field):
        """One resource as a function of wildcards and attempt, as Snakemake calls it."""
        return lambda wildcards, attempt: getattr(
            NEEDS.of(name, wildcards).on_attempt(attempt), field
        )

    given = {field: one(field) for field in ("mem_mb", "runtime")}
    # Jobs of a group on a cluster are done one by one: see profiles/slurm.
    given["turn"] = 1
    if name not in GPU_RULES:
        return given
    given["gpu"] = one("gpu")
    if GPU_PARTITION is not None:
        given["slurm_partition"] = lambda wildcards: (
            GPU_PARTITION
            if NEEDS.of(name, wildcards).gpu
            else default_resource("slurm_partition")
        )
    return given


def threads_of(name):
    """Threads, to be given as `threads_of("name")`.

    On this machine all its GPUs have their share of the processors, so that all can be at work.
    """

    def threads(wildcards):
        need = NEEDS.of(name, wildcards)
        if need.gpu and LOCAL_GPUS and workflow.local_exec:
            return min(need.threads, max(1, (workflow.cores or 1) // LOCAL_GPUS))
        return need.threads

    return threads


# Put before the command of a job that may run on a GPU: it gets one of its own.
LEASE_GPU = "python -m lease_gpu {resources.gpu} "
