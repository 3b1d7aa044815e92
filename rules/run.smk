# The run itself: checks before the first job, and the report at its end.
#
# Snakemake runs the handlers of the main workflow only. One that uses this as a module calls the
# functions (docs/configuration.md).
import time

from matcheval.execution.run_summary import failure_table
from matcheval.stages import stage_warnings
from matcheval.study.stored import mixed_software
from preflight import Preflight
from sigterm import end_at_any_moment

BEGAN = time.time()
PREFLIGHT = Preflight(workflow, STUDY, CONFIGURATION)
if workflow.is_main_process:
    for warning in [*stage_warnings(CODE), *STUDY.analyses["matching"].warnings]:
        logger.warning(f"Warning: {warning}.")


def start_run():
    """Before the first job, have SIGTERM end the run, and check what jobs need."""
    end_at_any_moment(workflow.scheduler)
    PREFLIGHT.on_start()


def tell_success():
    """Log which page to read first, and a warning if several software versions made predictions."""
    PREFLIGHT.on_success(BEGAN, has_report=bool(SECTIONS))
    pages = [STUDY.report_page, *[analysis.first_page for analysis in STUDY.analyses.values()]]
    for page in [page for page in pages if page and Path(page).is_file()][:1]:
        logger.warning(f"Start reading here: {page}")
    if warning := mixed_software(STUDY):
        logger.warning(f"Warning: {warning}.")


def tell_failures(log):
    """Log which jobs failed and why, by Snakemake's log file (or a list of such files)."""
    for file in [log] if isinstance(log, str) else log:
        if table := failure_table(file, BEGAN):
            logger.warning(f"\n{table}\n")


onstart:
    start_run()


onsuccess:
    tell_success()


onerror:
    tell_failures(log)


# Last, as it compares the names of all rules with those in the profile. A module's are not all.
PREFLIGHT.on_load(is_module=HOME != Path(workflow.basedir))
