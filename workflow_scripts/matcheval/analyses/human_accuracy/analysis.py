"""The analysis of human accuracy: settings, checks and files."""

from typing import Any, ClassVar

from pydantic import Field

from matcheval.analyses.human_accuracy import COLUMNS
from matcheval.io.files import file_states
from matcheval.settings import Named, Names, PathText, Settings
from matcheval.study.analysis import Analysis
from matcheval.study.rules import Wildcards
from matcheval.study.study import Study


class HumanAccuracySettings(Settings):
    """Pairs whose images participants classified, each with the file of their annotations."""

    pairs: Named[PathText] = Field(
        {}, description="CSV file of the participants' annotations, by pair"
    )
    without: Names = Field((), description="Models to leave out")


class HumanAccuracy(Analysis):
    """Compare accuracies of participants and models on the images that participants classified."""

    name: ClassVar[str] = "human_accuracy"
    Settings: ClassVar[type[HumanAccuracySettings]] = HumanAccuracySettings
    settings: HumanAccuracySettings

    def __init__(self, settings: HumanAccuracySettings, study: Study) -> None:
        super().__init__(settings, study)
        labels = {"table": self.name, "of": "{pair}"}
        self.result = self.table("{pair}", "human_accuracy", labels)

    def check(self) -> None:
        """Check names of pairs and models, and that the files exist."""
        self.study.check_models(self.settings.without, self.field("without"))
        for pair, file in self.settings.pairs.items():
            self.study.check_pair(pair, self.field("pairs"))
            for dataset in self.study.pairs[pair].datasets.values():
                self.check_has_correctness(dataset, self.field("pairs"))
            self.check_file(file, self.field("pairs"), COLUMNS)

    @property
    def targets(self) -> list[str]:
        """A table for every pair."""
        return self.result.expand(pair=self.settings.pairs)

    def inputs(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the input files of the table of a pair."""
        return {
            "annotations": self.settings.pairs[wildcards.pair],
            "results": [
                file
                for name in self.study.pairs[wildcards.pair].datasets.values()
                for file in self.study.results_inputs(name, self.models)
            ],
        }

    def parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of the table of a pair."""
        datasets = self.study.pairs[wildcards.pair].datasets
        return {
            "specs": {o: vars(self.study.datasets[name]) for o, name in datasets.items()},
            "models": self.models,
            "predictions": {
                o: self.study.probability_files(name, self.models) for o, name in datasets.items()
            },
            "confidence": self.study.confidence,
        }

    def custom_files_state(self, wildcards: Wildcards) -> list[list[tuple[int, int]]]:
        """Return size and modification time of the user's files that the table of a pair reads."""
        datasets = self.study.pairs[wildcards.pair].datasets.values()
        return [
            file_states([self.settings.pairs[wildcards.pair]]),
            *(self.study.custom_results_state(name, self.models) for name in datasets),
        ]
