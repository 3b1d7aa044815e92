# The run itself: checks before the first job and what it tells on the terminal (see the scripts of
# these names), and checks of the built results.
from preflight import Preflight
from run_messages import RunMessages, shorten_plans
from scheduling import end_at_any_moment, start_jobs_without_polling

PREFLIGHT = Preflight(workflow, STUDY, REQUESTS)
MESSAGES = RunMessages(STUDY)
if workflow.is_main_process:
    shorten_plans(REQUESTS)
    MESSAGES.warn_of_stored_results(CODE)


onstart:
    start_jobs_without_polling(workflow.scheduler)
    end_at_any_moment(workflow.scheduler)
    PREFLIGHT.on_start()
    MESSAGES.start()


onsuccess:
    MESSAGES.on_success()


onerror:
    MESSAGES.on_error()


# Last, as it compares the names of all rules with those in the profile.
PREFLIGHT.on_load()
