# Checks before the first job: see workflow_scripts/preflight.py.
from preflight import Preflight

PREFLIGHT = Preflight(workflow, STUDY, REQUESTS)
PREFLIGHT.on_load()
