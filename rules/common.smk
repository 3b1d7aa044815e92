# Shared by all files in rules/: the checked study, its jobs, and helper functions.
import atexit
import hashlib
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import snakemake.workflow

# Where the workflow is, also as a module of another one.
HOME = Path(str(workflow.current_basedir)).parent
SCRIPTS = HOME / "workflow_scripts"
if not SCRIPTS.is_dir():
    raise WorkflowError(
        f"{SCRIPTS} is no folder: a module of this workflow names the Snakefile in a clone of it."
    )

sys.path.insert(0, str(SCRIPTS))

from matcheval.downloads.sources import published_files
from matcheval.execution import same_run
from matcheval.execution.batches import remove_outdated
from matcheval.execution.gpus import visible_gpus
from matcheval.execution.jobs import set_job_environment
from matcheval.io.provenance import CodeDigests
from matcheval.io.user_files import read_yaml
from matcheval.registry import ANALYSES
from matcheval.study.configuration import complete_configuration, load_study
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
    GIVEN = complete_configuration(config, HOME / "config.yaml")
    if workflow.is_main_process:
        same_run.begin_run(GIVEN)
    else:  # a job, which reads the study again
        same_run.check_same_study(GIVEN, workflow.configfiles or [HOME / "config.yaml"])
    STUDY = load_study(GIVEN, default_study=HOME / "config.yaml", analyses=ANALYSES)
    if workflow.is_main_process:
        # Folders that cannot be read are told here, in one line.
        for name in STUDY.used:
            STUDY.dataset_state(name)


envvars:
    same_run.VARIABLE,


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

DEFAULTS = {
    name: getattr(value, "raw", value)
    for name, value in (workflow.resource_settings.default_resources or {}).items()
}
REQUESTS = Requests(
    STUDY,
    Machine(
        n_gpus=len(visible_gpus(os.environ)),
        # Commands that run no jobs, such as `--report` and `--unlock`, have none.
        cores=workflow.resource_settings.cores or 1,
        is_local=workflow.local_exec,
        gpu_partition=DEFAULTS.get("gpu_partition"),
        partition=DEFAULTS.get("slurm_partition"),
    ),
)

# Digests of the code of scripts.
CODE = CodeDigests(SCRIPTS, Path(".snakemake") / "code-digests.json")
if workflow.is_main_process:
    atexit.register(CODE.save)

# Prefix for the command of a job that may run on a GPU: reserves GPUs for this job alone.
LEASE_GPU = "python -m lease_gpu {resources.gpu} "


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
