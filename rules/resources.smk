# What every job asks for: its needs by model, data and attempt, all in this file.
#
# The numbers behind them are in workflow_scripts/matcheval/resources.py, the table for people in
# docs/cluster.md. Profiles and the command line have the last word: `set-resources`, `set-threads`.
from matcheval import resources, workloads
from matcheval.gpus import visible_gpus

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


def size_of_set(name):
    """How large a dataset is: by its description where it is prepared, else by its kind."""
    return workloads.size_of_dataset(
        STUDY.datasets[name].kind, f"{SHARED}/datasets/{name}"
    )


def largest_set(names):
    """The largest of some datasets, in images."""
    return max((size_of_set(name) for name in names), key=lambda size: size.images)


def size_of_model(name, data):
    """How large a model is: by its recipe, else by its name."""
    recipe = STUDY.models[name].recipe
    if recipe is None:
        return workloads.size_of_published(name)
    return workloads.size_of_architecture(
        recipe.architecture,
        recipe.width,
        recipe.depth,
        data,
        groups=getattr(recipe, "groups", 1),
    )


def sets_of_pair(name):
    """Names of the two sets of a pair."""
    return STUDY.pairs[name].original, STUDY.pairs[name].replication


def need_of_training(wildcards):
    recipe = STUDY.models[wildcards.model].recipe
    data = size_of_set(STUDY.training["train"])
    return resources.of_training(
        size_of_model(wildcards.model, data),
        data,
        epochs=recipe.epochs,
        batch_size=recipe.batch_size,
        gpus=gpus_of(STUDY.training.get("device", "cpu")),
    )


def need_of_inference(wildcards):
    data = size_of_set(wildcards.dataset)
    return resources.of_inference(
        size_of_model(wildcards.model, data),
        data,
        batch_size=int(STUDY.inference["batch_size"]),
        logits="logits" in STUDY.inference["outputs"],
        gpus=gpus_of(STUDY.inference["device"]),
    )


def need_of_matching(wildcards, n_models):
    images = largest_set(sets_of_pair(wildcards.pair)).images
    return resources.of_matching(n_models, len(STUDY.seeds), images)


# Those that are not named are small: seconds, whatever the study.
NEEDS = {
    "prepare_dataset": lambda w: resources.of_preparing(size_of_set(w.dataset)),
    "cache_pixels": lambda w: resources.of_pixels(size_of_set(w.dataset)),
    "train_model": need_of_training,
    "predict_dataset": need_of_inference,
    "match_predictions": lambda w: need_of_matching(w, len(STUDY.batches[w.batch])),
    "save_pairs": lambda w: need_of_matching(w, 1),
    "count_correct": lambda w: resources.of_reading(
        len(STUDY.models), size_of_set(w.dataset).images
    ),
}
# Whose jobs may run on a GPU.
GPU_RULES = ("train_model", "predict_dataset")


def need_of(name, wildcards):
    """A job's need at its first attempt."""
    return NEEDS[name](wildcards) if name in NEEDS else resources.SMALL


def resources_of(name):
    """Resources, to be given as `**resources_of("name")`."""

    def one(field):
        """One resource as a function of wildcards and attempt, as Snakemake calls it."""
        return lambda wildcards, attempt: getattr(
            need_of(name, wildcards).on_attempt(attempt), field
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
            if need_of(name, wildcards).gpu
            else default_resource("slurm_partition")
        )
    return given


def threads_of(name):
    """Threads, to be given as `threads_of("name")`.

    On this machine all its GPUs have their share of the processors, so that all can be at work.
    """

    def threads(wildcards):
        need = need_of(name, wildcards)
        if need.gpu and LOCAL_GPUS and workflow.local_exec:
            return min(need.threads, max(1, (workflow.cores or 1) // LOCAL_GPUS))
        return need.threads

    return threads


# Put before the command of a job that may run on a GPU: it gets one of its own.
LEASE_GPU = "python -m lease_gpu {resources.gpu} "
