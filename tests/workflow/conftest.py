"""One complete run of a digits study and one of a small study, shared by the tests.

Processes of one test run (pytest-xdist) share them too: the first that asks for one makes it.
"""

import os
import shutil
from pathlib import Path

import pytest
from engine import Workflow
from filelock import FileLock

# Of the models of the digits study, those that are trained here. `test_digits.py` checks that no
# architecture, loss, augmentation or schedule is missing; `make demo` trains all models.
DIGITS_MODELS = (
    "linear-ce", "mlp-16-ce-eighth", "mlp-64-ce", "mlp-64-deep-mmce", "cnn-16-focal",
    "cnn-16-brier", "cnn-32-smooth", "resnet-16-mixup",
)  # fmt: skip


def shared(factory: pytest.TempPathFactory, name: str) -> tuple[Path, FileLock]:
    """A folder that all processes of this test run have in common, and a lock for making it."""
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    return base / name, FileLock(base / f"{name}.lock")


def built_once(folder: Path, lock: FileLock, *, small: bool) -> Workflow:
    """Run a study whole, unless another process has."""
    whole = folder.with_suffix(".whole")
    with lock:
        if not whole.exists():
            shutil.rmtree(folder, ignore_errors=True)  # what a run that failed has left
            workflow = Workflow.fresh(folder, small=small)
            if not small:
                workflow.keep_models("studies/digits-models.csv", DIGITS_MODELS)
            workflow.run()
            whole.touch()
    return Workflow(folder)


@pytest.fixture(scope="session")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Workflow:
    """The default study with fewer models, run whole. Not to be changed."""
    return built_once(*shared(tmp_path_factory, "digits"), small=False)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Workflow:
    """The small study, run whole. Not to be changed."""
    return built_once(*shared(tmp_path_factory, "small"), small=True)


@pytest.fixture
def small(built: Workflow, tmp_path) -> Workflow:
    """A copy of the small study's run, to be changed."""
    return built.copy_to(tmp_path / "tree")
