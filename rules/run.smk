# The run itself: checks before the first job and what it tells on the terminal (see the scripts of
# these names), and checks of the built results.
from preflight import Preflight
from run_messages import RunMessages, shorten_plans
from scheduling import end_at_any_moment, start_jobs_without_polling

PREFLIGHT = Preflight(workflow, STUDY)
MESSAGES = RunMessages(STUDY)
if workflow.is_main_process:
    shorten_plans(REQUESTS)
    MESSAGES.warn_of_stored_results(CODE)


onstart:
    gc.enable()
    start_jobs_without_polling(workflow.scheduler)
    end_at_any_moment(workflow.scheduler)
    PREFLIGHT.on_start()
    MESSAGES.start()


onsuccess:
    MESSAGES.on_success()


onerror:
    MESSAGES.on_error()


CHECKS = Path(workflow.basedir) / "tests" / "artefacts"


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
            "checks": str(CHECKS),
            "study": OWN,
            "shared": SHARED,
            "batches": STUDY.indexes_of_batches,
            "expected": STUDY.analyses["matching"].expected_runs,
        },
    message:
        "Checking the results of the study"
    script:
        "../workflow_scripts/analyse.py"


# Last, as it compares the names of all rules with those in the profile.
PREFLIGHT.on_load()
