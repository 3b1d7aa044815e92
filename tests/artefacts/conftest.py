"""Options of the checks of results; `snakemake check` gives `--study FOLDER --results FILE ...`."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from matcheval.io.json_files import read_json


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--study", type=Path, required=True, help="folder of a study's results")
    parser.addoption("--results", type=Path, nargs="+", required=True, help="files of the study")


@dataclass(frozen=True)
class Results:
    """The files of a study: of all its analyses, and datasets, which studies share."""

    study: Path
    files: list[Path]

    def of_stage(self, stage: str, suffix: str = "") -> list[Path]:
        """The files in a folder of the study, such as `matched` or `replication`."""
        return self._below(self.study / stage, suffix)

    def shared(self, folder: str, suffix: str = "") -> list[Path]:
        """The files in a folder that studies share, such as `datasets` or `sampling`."""
        return self._below(self.study.parent / folder, suffix)

    def predictions(self) -> dict[Path, str]:
        """The prediction files that the indexes of inference list, with their SHA-256."""
        return {
            self.study.parent / "predictions" / dataset / f"{model}.parquet": digest
            for path in self.of_stage("inference")
            for dataset, digests in read_json(path)["predictions"].items()
            for model, digest in digests.items()
        }

    def _below(self, folder: Path, suffix: str) -> list[Path]:
        below = [path for path in self.files if path.is_relative_to(folder)]
        return [path for path in below if path.name.endswith(suffix)]


@pytest.fixture(scope="session")
def results(pytestconfig: pytest.Config) -> Results:
    """The files of the study that the configuration asks for."""
    return Results(pytestconfig.getoption("--study"), pytestconfig.getoption("--results"))
