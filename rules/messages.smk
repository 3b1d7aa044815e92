# What the run tells on the terminal: see workflow_scripts/run_messages.py.
from run_messages import RunMessages

MESSAGES = RunMessages(STUDY)
if workflow.is_main_process:
    MESSAGES.warn_of_stored_results(CODE)


onstart:
    PREFLIGHT.on_start()
    MESSAGES.start()


onsuccess:
    MESSAGES.on_success()


onerror:
    MESSAGES.on_error()
