# Shared by all files in rules/: the checked study, its jobs, and helper functions.
import atexit
import hashlib
import json
import os
import sys
from pathlib import Path

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
        # Folders that cannot be read are reported here, in one line.
        for name in STUDY.used:
            STUDY.dataset_state(name)


envvars:
    same_run.VARIABLE,


# Results that all studies in this results folder share: downloads, weights, datasets; and what is
# kept of trainings and inference, to which the files of studies are links.
SHARED = STUDY.results
# Results of this study only.
OWN = STUDY.folder
# Inputs, parameters and command-line arguments of jobs, as functions of wildcards.
JOBS = StageJobs(STUDY)
# Which models are run on which datasets by which jobs.
PREDICTING = STUDY.predicting

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
        max_runtime=int(DEFAULTS["max_runtime"]) if "max_runtime" in DEFAULTS else None,
    ),
)

# Digests of the code of scripts.
CODE = CodeDigests(SCRIPTS, Path(".snakemake") / "code-digests.json")
if workflow.is_main_process:
    atexit.register(CODE.save)
# Prefix for the command of a job that may run on a GPU: reserves GPUs for this job alone.
LEASE_GPU = 'python "$MATCHEVAL_JOB" lease_gpu {resources.gpu} '
# The script of all rules that call a function of the library: the parameter `function`.
ANALYSE = "../workflow_scripts/analyse.py"
# Option of commands that another job can continue: where the profile has a time limit, they save
# their state and stop shortly before that of their job (execution/jobs.py).
TIME_LIMIT = " --minutes {resources.runtime}" if "max_runtime" in DEFAULTS else ""


wildcard_constraints:
    file=one_of([*published_files(), *STUDY.listed_downloads]),
    dataset=one_of([*STUDY.datasets, *STUDY.derivations]),
    reference=one_of(STUDY.datasets),
    model=one_of(STUDY.runnable),
    pair=one_of(STUDY.pairs),


def digest(*names):
    """Return what computes a digest of code, which begins with scripts, modules or functions.

    It is a parameter of the rules with `script:`, so that an edit of the library repeats their
    jobs: Snakemake itself notices edits of the script only.
    """
    # A function, so that only the code of rules that have jobs is read.
    return lambda wildcards: CODE("analyse", *names)


def arguments(given):
    """Return a parameter, of a mapping or a function of wildcards: JSON that is no HTML."""
    of_job = given if callable(given) else lambda wildcards: given
    return lambda wildcards: json.dumps(of_job(wildcards)).replace("<", "\\u003c")


def as_it_is(value):
    """Return a parameter whose braces are no wildcards."""
    return lambda wildcards: value


def by_content(files):
    """Mark inputs of which something else than their age tells whether they are the same.

    Of images it is the digest in their description: Snakemake compares the contents of small files
    only, of others the times. Of the user's files it is a parameter.
    """

    def marked(name, file):
        is_told = name in ("pretrained", "custom") or Path(file).name == "images.npy"
        return ancient(file) if is_told else file

    return {name: [marked(name, file) for file in each] for name, each in files.items()}


def shown(stem, artifact, **wildcards):
    """Return the files of a table or figure, by path without suffix; the report shows some."""
    entry, files = artifact.of(wildcards).report if wildcards else artifact.report, []
    for suffix in artifact.suffixes:
        file = stem + suffix
        if suffix in artifact.reported:
            # The format tells a table from its figure.
            labels = {**entry.labels, "format": suffix.lstrip(".")}
            file = report(
                file,
                category=entry.category,
                caption=caption_file(entry.caption),
                labels=labels,
            )
        files.append(file)
    return files


def caption_file(text):
    """Return the file with a caption, which Snakemake reads when it makes a report."""
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    file = Path(".snakemake", "captions", f"{name}.rst").absolute()
    if workflow.is_main_process and not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return str(file)
