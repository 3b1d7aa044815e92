# What the run tells on the terminal: see workflow_scripts/run_messages.py.
from run_messages import RunMessages

MESSAGES = RunMessages(STUDY)


onstart:
    PREFLIGHT.on_start()
    MESSAGES.start()


onsuccess:
    MESSAGES.on_success()


onerror:
    MESSAGES.on_error()
