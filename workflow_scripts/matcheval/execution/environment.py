"""The environment of the workflow's jobs."""

import os
import sys
from pathlib import Path


def set_job_environment(scripts: Path) -> None:
    """Let this process's jobs run with its Python and with the scripts and library of this tree.

    Called by the Snakefile, here and in every job that a cluster starts, so that
    `.venv/bin/snakemake` works without activating anything, and an installed copy of the library
    never stands in for the tree's own. A job in a conda environment has that one's Python first.

    Parameters
    ----------
    scripts : Path
        Folder of the adapters and of the library.
    """
    for variable, first in (
        ("PYTHONPATH", str(scripts)),
        ("PATH", str(Path(sys.executable).parent)),
    ):
        others = [place for place in os.environ.get(variable, "").split(os.pathsep) if place]
        os.environ[variable] = os.pathsep.join([first, *(o for o in others if o != first)])
