# Shared by all files in rules/: the study, what its jobs ask for, and the code they run.
import atexit
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
from matcheval.execution.gpus import visible_gpus
from matcheval.execution.jobs import RUN, begin_run, check_same_study, set_job_environment
from matcheval.io.provenance import CodeDigests
from matcheval.io.user_files import read_yaml
from matcheval.study.configuration import complete_configuration, load_study
from matcheval.study.requests import Requests
from matcheval.study.rules import one_of
from matcheval.study.commands import Commands
from preflight import with_message_only

set_job_environment(SCRIPTS)

with with_message_only():
    # Snakemake takes the second of two equal keys without a word, and aliases without a limit.
    if workflow.is_main_process and not config.get("__use_yte__"):
        for file in workflow.configfiles:
            read_yaml(file)
    CONFIGURATION = complete_configuration(config, HOME / "config.yaml")
    if workflow.is_main_process:
        begin_run(CONFIGURATION)
    else:  # a job, which reads the study again
        check_same_study(CONFIGURATION, workflow.configfiles or [HOME / "config.yaml"])
    STUDY = load_study(CONFIGURATION)
    if workflow.is_main_process:
        # Folders that cannot be read are reported here, in one line.
        for name in STUDY.used:
            STUDY.dataset_state(name)


envvars:
    RUN,


# In paths of rules, `<results>` has what studies share: downloads, datasets, and what is kept of
# trainings and inference, to which the files in `<study>`, the folder of one study, are links.
pathvars:
    results=STUDY.results,
    study=STUDY.folder,


# Arguments of commands, and what tells whether their results are current.
COMMANDS = Commands(STUDY)
INFERENCE = STUDY.predicting  # which models are run on which datasets by which jobs

DEFAULTS = {
    name: getattr(value, "raw", value)
    for name, value in (workflow.resource_settings.default_resources or {}).items()
}
REQUESTS = Requests(
    STUDY,
    n_gpus=len(visible_gpus(os.environ)),
    # Commands that run no jobs, such as `--report` and `--unlock`, have none.
    cores=workflow.resource_settings.cores or 1,
    is_local=workflow.local_exec,
    gpu_partition=DEFAULTS.get("gpu_partition"),
    partition=DEFAULTS.get("slurm_partition"),
    max_runtime=int(DEFAULTS["max_runtime"]) if "max_runtime" in DEFAULTS else None,
)

CODE = CodeDigests(SCRIPTS, Path(".snakemake") / "code-digests.json")
if workflow.is_main_process:
    atexit.register(CODE.save)
# The script of all rules that call a function of the library: the parameter `function`.
ANALYSE = "../workflow_scripts/analyse.py"
# Where the profile has a time limit, commands save their state and stop shortly before it.
TIME_LIMIT = " --minutes {resources.runtime}" if "max_runtime" in DEFAULTS else ""


wildcard_constraints:
    file=one_of([*published_files(), *STUDY.listed_downloads]),
    dataset=one_of([*STUDY.datasets, *STUDY.derivations]),
    reference=one_of(STUDY.datasets),
    model=one_of(STUDY.runnable),
    pair=one_of(STUDY.pairs),
    suite=one_of(STUDY.suites),
    tested=one_of(STUDY.tested),
    weights=one_of(STUDY.inference_plan.weights_urls),
