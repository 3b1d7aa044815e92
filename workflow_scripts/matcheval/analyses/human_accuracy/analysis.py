"""Accuracy of people beside that of models, as an analysis."""

from typing import Any, ClassVar

from pydantic import Field

from matcheval.settings import Named, Names, PathText, Settings
from matcheval.study.analysis import Analysis, Wildcards, file_states
from matcheval.study.study import Study


class HumanAccuracySettings(Settings):
    """Which pairs of datasets people were shown, each with the file of what they said."""

    pairs: Named[PathText] = Field({}, description="The participants' annotations (.csv), by pair")
    without: Names = Field((), description="Models that are not counted")


class HumanAccuracy(Analysis):
    """Compares accuracies of participants and of models on the images that participants saw."""

    name: ClassVar[str] = "human_accuracy"
    Settings: ClassVar[type[HumanAccuracySettings]] = HumanAccuracySettings
    settings: HumanAccuracySettings

    def __init__(self, settings: HumanAccuracySettings, study: Study) -> None:
        super().__init__(settings, study)
        labels = {"table": self.name, "of": "{pair}"}
        self.result = self.table("{pair}", "human_accuracy", labels)

    def check(self) -> None:
        """Check pairs, files and models."""
        self.study.check_models(self.settings.without, self.field("without"))
        for pair, file in self.settings.pairs.items():
            self.study.check_pair(pair, self.field("pairs"))
            for dataset in self.study.pairs[pair].datasets.values():
                self.check_has_correctness(dataset, self.field("pairs"))
            self.check_file(file, self.field("pairs"))

    @property
    def targets(self) -> list[str]:
        """A table per pair."""
        return self.result.expand(pair=self.settings.pairs)

    @property
    def models(self) -> list[str]:
        """Names of the models that are counted."""
        return [name for name in self.study.models if name not in self.settings.without]

    def inputs(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the input files of a pair's table.

        Parameters
        ----------
        wildcards : Wildcards
            `pair`.
        """
        return {
            "annotations": self.settings.pairs[wildcards.pair],
            "results": [
                file
                for name in self.study.pairs[wildcards.pair].datasets.values()
                for file in self.study.results_files(name, self.models)
            ],
        }

    def parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of a pair's table.

        Parameters
        ----------
        wildcards : Wildcards
            `pair`.
        """
        datasets = self.study.pairs[wildcards.pair].datasets
        return {
            "specs": {o: vars(self.study.datasets[name]) for o, name in datasets.items()},
            "models": self.models,
            "predictions": {
                o: self.study.prediction_files(name, self.models) for o, name in datasets.items()
            },
            "confidence": self.study.confidence,
        }

    def custom_files_state(self, wildcards: Wildcards) -> list[list[tuple[int, int]]]:
        """Return size and time of the user's files of a pair's table.

        Parameters
        ----------
        wildcards : Wildcards
            `pair`.
        """
        datasets = self.study.pairs[wildcards.pair].datasets.values()
        return [
            file_states([self.settings.pairs[wildcards.pair]]),
            *(self.study.custom_results_state(name) for name in datasets),
        ]
