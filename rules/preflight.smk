# Checks before the first job: see workflow_scripts/preflight.py.
from preflight import Preflight

PREFLIGHT = Preflight(workflow, STUDY)
PREFLIGHT.on_load()
