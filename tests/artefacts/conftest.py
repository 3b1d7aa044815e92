"""What the checks of results are given; `snakemake check` writes it to a file (`check.py`)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--given", type=Path, required=True, help="JSON file of `Results`")


@dataclass(frozen=True)
class Results:
    """The files of a study, of all its analyses and datasets, and what its study file asks for."""

    study: Path
    files: list[Path]
    expected: Mapping[str, Any]

    def of_stage(self, stage: str, suffix: str = "") -> list[Path]:
        """The files in a folder of the study, such as `matched` or `replication`."""
        return self._below(self.study / stage, suffix)

    def shared(self, folder: str, suffix: str = "") -> list[Path]:
        """The files in a folder that studies share, such as `datasets` or `sampling`."""
        return self._below(self.study.parent / folder, suffix)

    def _below(self, folder: Path, suffix: str) -> list[Path]:
        below = [path for path in self.files if path.is_relative_to(folder)]
        return [path for path in below if path.name.endswith(suffix)]


@pytest.fixture(scope="session")
def results(pytestconfig: pytest.Config) -> Results:
    """The files of the study that the configuration asks for."""
    given = pytestconfig.getoption("--given").read_text(encoding="utf-8")
    return TypeAdapter(Results).validate_json(given)
