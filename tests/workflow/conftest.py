"""One complete run of a small study, shared by the tests.

Processes of one test run (pytest-xdist) share it too: the first that asks for it makes it.
"""

import os
import shutil
from pathlib import Path

import pytest
from engine import Workflow
from filelock import FileLock


@pytest.fixture(scope="session")
def workflow(tmp_path_factory: pytest.TempPathFactory) -> Workflow:
    """The small study, run whole: not to be changed. Some files override it with their study."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # which all processes have in common
    folder, whole = base / "small", base / "small.whole"
    with FileLock(base / "small.lock"):
        if not whole.exists():
            shutil.rmtree(folder, ignore_errors=True)  # what a run that failed has left
            Workflow.fresh(folder).run()
            whole.touch()
    return Workflow(folder)


@pytest.fixture
def copy(workflow: Workflow, tmp_path: Path) -> Workflow:
    """A copy of the study's run, to be changed."""
    return workflow.copy_to(tmp_path / "tree")
