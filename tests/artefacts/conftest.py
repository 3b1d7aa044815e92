"""Checks of built results: `pytest tests/artefacts --study results/digits`."""

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--study", type=Path, required=True, help="folder of a study's results")


@pytest.fixture(scope="session")
def study(pytestconfig: pytest.Config) -> Path:
    """The results folder of the study."""
    return pytestconfig.getoption("--study")
