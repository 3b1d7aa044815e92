"""Environment variables of the workflow's jobs."""

import os
import sys
from pathlib import Path


def set_job_environment(scripts: Path) -> None:
    """Set up PATH and PYTHONPATH so that jobs use this process's Python and this source tree."""
    for variable, first in (
        ("PYTHONPATH", str(scripts)),
        ("PATH", str(Path(sys.executable).parent)),
    ):
        others = [place for place in os.environ.get(variable, "").split(os.pathsep) if place]
        os.environ[variable] = os.pathsep.join([first, *(o for o in others if o != first)])
