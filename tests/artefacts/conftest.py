"""Checks of built results, which `snakemake check` names: `--results FILE ...`."""

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--results", type=Path, nargs="+", required=True, help="files of a study")


@pytest.fixture(scope="session")
def results(pytestconfig: pytest.Config) -> list[Path]:
    """The files of the study: matched runs and pairs, tables, figures, summary, sampled sets."""
    return pytestconfig.getoption("--results")
