# The run itself: checks before the first job, and what is told at its end; checks of the results.
#
# Of a module, Snakemake runs no handlers. The workflow that uses it may call these: see
# docs/configuration.md.
import time

from matcheval.execution.run_summary import failure_table
from matcheval.stages import undecided
from matcheval.study.stored import mixed_software
from preflight import Preflight
from sigterm import end_at_any_moment

BEGAN = time.time()
PREFLIGHT = Preflight(workflow, STUDY, REQUESTS)
if workflow.is_main_process:
    for warning in undecided(CODE):
        logger.warning(f"Warning: {warning}.")


onstart:
    end_at_any_moment(workflow.scheduler)
    PREFLIGHT.on_start()


onsuccess:
    for page in [
        STUDY.report_page,
        *[one.first_page for one in STUDY.analyses.values()],
    ]:
        if page and Path(page).is_file():
            logger.warning(f"Start reading here: {page}")
            break
    if warning := mixed_software(STUDY):
        logger.warning(f"Warning: {warning}.")


onerror:
    # Snakemake gives a list of files, though it documents one.
    for file in [log] if isinstance(log, str) else log:
        if table := failure_table(file, BEGAN):
            logger.warning(f"\n{table}\n")


# On request: `snakemake --cores 1 check`, every time, as it has no output. It is given the names of
# this study's files: files of an earlier configuration are ignored.
rule check:
    input:
        results=[
            PREDICTING.all_indexes,
            [analysis.targets for analysis in STUDY.analyses.values()],
        ],
        datasets=[
            STUDY.dataset_files(name)
            for name in STUDY.built_datasets
            if name in STUDY.evaluated
        ],
    log:
        f"{OWN}/logs/check.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("check"),
    params:
        function="check:check",
        job={
            "checks": str(HOME / "tests" / "artefacts"),
            "study": OWN,
            "shared": SHARED,
            "batches": STUDY.indexes_of_batches,
            "expected": STUDY.analyses["matching"].expected_runs,
        },
    message:
        "Checking the results of the study"
    script:
        "../workflow_scripts/analyse.py"


# Last, as it compares the names of all rules with those in the profile. A module's are not all.
PREFLIGHT.on_load(is_module=HOME != Path(workflow.basedir))
