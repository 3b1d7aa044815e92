"""Where the predictions on the sets of a suite, and on the base they are compared with, are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matcheval.datasets.specs import DatasetSpec
from matcheval.datasets.suites import Suite
from matcheval.errors import ErrorCollector
from matcheval.inference.store import predictions_file
from matcheval.predictions.files import read_predictions
from matcheval.predictions.layout import Layout, layout_of
from matcheval.predictions.records import Predictions


@dataclass(frozen=True)
class SuiteFiles:
    """The predictions of some models on a suite and its base.

    Attributes
    ----------
    suite : Suite
    base : str
        Name of the set that its sets are compared with.
    specs : mapping of str to DatasetSpec
        The base and all sets, by name.
    folders : mapping of str to Path
        Folders of those that have images.
    predictions : Path
        Folder of the files that inference wrote.
    models : sequence of str
    """

    suite: Suite
    base: str
    specs: Mapping[str, DatasetSpec]
    folders: Mapping[str, Path]
    predictions: Path
    models: Sequence[str]

    def paths(self, dataset: str) -> list[str]:
        """Return the files of all models on a set: the user's if it has no images.

        Parameters
        ----------
        dataset : str
            The base, or a set of the suite.
        """
        if dataset in self.folders:
            folder = self.predictions
            return [str(predictions_file(folder, dataset, model)) for model in self.models]
        return [self.specs[dataset].results_file(model) for model in self.models]

    def read(self, dataset: str) -> list[Predictions]:
        """Read the predictions of all models on a set.

        Parameters
        ----------
        dataset : str
            The base, or a set of the suite.

        Raises
        ------
        InputError
            If files are missing or invalid, naming all of them.
        """
        problems, found = ErrorCollector(), []
        layout = Layout() if dataset in self.folders else layout_of(self.specs[dataset])
        for path in self.paths(dataset):
            with problems.collected():
                found.append(read_predictions(Path(path), layout=layout))
        problems.raise_any()
        return found
