# Before the first job, and what the run tells on the terminal (workflow_scripts/run_messages.py).
from run_messages import RunMessages
from scheduling import start_jobs_without_polling

MESSAGES = RunMessages(STUDY)
if workflow.is_main_process:
    MESSAGES.warn_of_stored_results(CODE)


onstart:
    start_jobs_without_polling(workflow.scheduler)
    PREFLIGHT.on_start()
    MESSAGES.start()


onsuccess:
    MESSAGES.on_success()


onerror:
    MESSAGES.on_error()
