"""One complete run of the digits study and one of a small study, shared by the tests."""

import pytest
from engine import Workflow


@pytest.fixture(scope="session")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Workflow:
    """The default study, run whole. Not to be changed."""
    workflow = Workflow.fresh(tmp_path_factory.mktemp("digits") / "tree", small=False)
    workflow.run()
    return workflow


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Workflow:
    """The small study, run whole. Not to be changed."""
    workflow = Workflow.fresh(tmp_path_factory.mktemp("small") / "tree")
    workflow.run()
    return workflow


@pytest.fixture
def small(built: Workflow, tmp_path) -> Workflow:
    """A copy of the small study's run, to be changed."""
    return built.copy_to(tmp_path / "tree")
