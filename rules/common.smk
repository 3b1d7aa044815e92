# Shared by all files in rules/: the checked study, its jobs, and helper functions.
import atexit
import gc
import hashlib
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import snakemake.workflow

# A plan holds next to no garbage, and looking for it took a tenth of the time of large ones.
gc.disable()

SCRIPTS = Path(workflow.basedir) / "workflow_scripts"

sys.path.insert(0, str(SCRIPTS))

from matcheval.downloads.sources import published_files
from matcheval.execution.batches import remove_outdated
from matcheval.execution.gpus import visible_gpus
from matcheval.execution.jobs import keep_study, set_job_environment
from matcheval.io.json_files import digest_of
from matcheval.io.provenance import CodeDigests
from matcheval.io.user_files import read_yaml
from matcheval.registry import ANALYSES
from matcheval.study.configuration import load_study
from matcheval.study.requests import Machine, Requests
from matcheval.study.rules import one_of
from matcheval.study.stages import StageJobs
from preflight import with_message_only
from result_records import ResultRecords

set_job_environment(SCRIPTS)

with with_message_only():
    # Snakemake takes the second of two equal keys without a word, and aliases without a limit.
    if workflow.is_main_process and not config.get("__use_yte__"):
        for file in workflow.configfiles:
            read_yaml(file)
    STUDY = load_study(
        config,
        default_study=Path(workflow.basedir) / "config.yaml",
        analyses=ANALYSES,
    )
    if workflow.is_main_process:
        # Folders that cannot be read are told here, in one line.
        for name in STUDY.used:
            STUDY.dataset_state(name)

# What results were made from is recorded beside them, so that it moves with them.
ResultRecords.results, ResultRecords.is_main = STUDY.results, workflow.is_main_process
snakemake.workflow.FilePersistence = ResultRecords

# Results that all studies in this results folder share: datasets, checkpoints, predictions, logs.
SHARED = STUDY.results
# Results of this study only: matched runs, tables, figures, summary.
OWN = STUDY.folder
# Inputs, parameters and command-line arguments of jobs, as functions of wildcards.
JOBS = StageJobs(STUDY)
# Which models are run on which datasets by which jobs.
PREDICTING = STUDY.predicting
if workflow.is_main_process:
    with with_message_only():
        remove_outdated(STUDY.indexes_of_batches, Path(SHARED))
        STUDY.predicted.remove_outdated_indexes()

# On one machine, the number of GPUs limits the number of simultaneous GPU jobs. A profile or
# `--resources gpu=N` overrides this, as profiles/slurm does: there, the cluster assigns the GPUs.
N_GPUS = len(visible_gpus(os.environ))
if N_GPUS and "gpu" not in workflow.global_resources:
    workflow.register_resource("gpu", N_GPUS)

DEFAULTS = {
    name: getattr(value, "raw", value)
    for name, value in (workflow.resource_settings.default_resources or {}).items()
}
REQUESTS = Requests(
    STUDY,
    Machine(
        n_gpus=N_GPUS,
        # Commands that run no jobs, such as `--report` and `--unlock`, have none.
        cores=workflow.resource_settings.cores or 1,
        is_local=workflow.local_exec,
        gpu_partition=DEFAULTS.get("gpu_partition"),
        partition=DEFAULTS.get("slurm_partition"),
        max_runtime=int(DEFAULTS["max_runtime"]) if "max_runtime" in DEFAULTS else None,
    ),
)

# Digests of the code of scripts.
CODE = CodeDigests(SCRIPTS, Path(".snakemake") / "code-digests.json")
if workflow.is_main_process:
    atexit.register(CODE.save)
with with_message_only():
    study_at_start = digest_of([config, repr(STUDY.models), CODE.sources])
    keep_study(study_at_start, is_main=workflow.is_main_process)

# Prefix for the command of a job that may run on a GPU: reserves GPUs for this job alone.
LEASE_GPU = "python -m lease_gpu {resources.gpu} "

# Option of commands that another job can continue: where the profile has a time limit, they save
# their state and stop shortly before that of their job (execution/jobs.py).
TIME_LIMIT = " --minutes {resources.runtime}" if "max_runtime" in DEFAULTS else ""


wildcard_constraints:
    file=one_of([*published_files(), *STUDY.listed_downloads]),
    dataset=one_of([*STUDY.datasets, *STUDY.derivations]),
    reference=one_of(STUDY.datasets),
    model=one_of(STUDY.runnable),
    pair=one_of(STUDY.pairs),


def in_report(files):
    """Return outputs; files of an artifact that are meant for readers go into the report."""
    if isinstance(files, (list, tuple)):
        return [
            file
            for one in files
            for file in ([one] if isinstance(one, str) else in_report(one))
        ]
    if not getattr(files, "report", None):
        return getattr(files, "files", files)
    entry, outputs = files.report, []
    for file in files.files:
        if file.endswith(files.reported):
            file = report(
                file,
                category=entry.category,
                caption=caption_file(entry.caption),
                # The format tells a table from its figure.
                labels={**entry.labels, "format": file.rpartition(".")[2]},
            )
        outputs.append(file)
    return outputs


def caption_file(text):
    """Return the file with a caption, which Snakemake reads when it makes a report."""
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    file = Path(".snakemake", "captions", f"{name}.rst").absolute()
    if workflow.is_main_process and not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return str(file)


def digest(*names):
    """Return what computes a digest of code, which begins with scripts, modules or functions.

    It is a parameter of the rules with `script:`, so that an edit of the library repeats their
    jobs: Snakemake itself notices edits of the script only.
    """
    # A function, so that only the code of rules that have jobs is read.
    return lambda wildcards: CODE(*names)


# Indexes of predictions that no job has to make anew, though the job that wrote them runs again for
# other datasets. Rules that read them are not repeated because of that.
SETTLED = STUDY.predicted.settled_indexes if workflow.is_main_process else set()


def settled(files):
    """Mark the settled indexes among inputs: they are read as they are before the update."""
    if callable(files):
        return lambda wildcards: settled(files(wildcards))
    if isinstance(files, dict):
        return {name: settled(each) for name, each in files.items()}
    if isinstance(files, str):
        return before_update(files) if files in SETTLED else files
    return [settled(each) for each in files]


def of_job(function, job):
    """Return a function of wildcards for the rule of one job, which has no wildcards."""
    named = SimpleNamespace(batch=job)
    return lambda wildcards: function(named)


def by_description(files):
    """Mark images among inputs: the digest in their description tells whether they are the same.

    Snakemake compares the contents of small files only. Of large ones, such as images after a copy,
    it compares the times.
    """
    return {
        name: [
            ancient(file) if Path(file).name == "images.npy" else file for file in each
        ]
        for name, each in files.items()
    }
