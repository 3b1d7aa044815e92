"""Files, inputs and parameters of the jobs that estimate what gaps consist of."""

from typing import Any

from matcheval.protocol.settings import MatchingSettings
from matcheval.study.analysis import Wildcards, file_states
from matcheval.study.artifacts import Artifact
from matcheval.study.study import Study

_TABLE = (".parquet", ".csv")


class GapJobs:
    """One job per pair, for all models and matchings: models share resamples and splits.

    Parameters
    ----------
    settings : MatchingSettings
    study : Study
    """

    def __init__(self, settings: MatchingSettings, study: Study) -> None:
        self._settings, self._study = settings, study
        self.models = Artifact(f"{study.folder}/gaps/{{pair}}/{{matching}}", _TABLE)
        self.means = Artifact(f"{study.folder}/gaps/{{pair}}", _TABLE)

    @property
    def models_of_pair(self) -> list[str]:
        """Tables by model of all matchings, with wildcard `pair`."""
        return self.models.expand(matching=list(self._settings.methods))

    def inputs(self, wildcards: Wildcards) -> list[str]:
        """Return what the job of a pair waits for.

        Parameters
        ----------
        wildcards : Wildcards
            `pair`.
        """
        datasets = self._study.pairs[wildcards.pair].datasets.values()
        predictions = [file for name in datasets for file in self._study.results_inputs(name)]
        datapoints = [file for name in datasets if (file := self._datapoints(name))]
        return [*predictions, *datapoints]

    def parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of the job of a pair.

        Parameters
        ----------
        wildcards : Wildcards
            `pair`.
        """
        study, pair = self._study, self._study.pairs[wildcards.pair]
        return {
            "models": list(study.models),
            "pair": vars(pair),
            "matchings": {
                name: method.model_dump(mode="json")
                for name, method in self._settings.methods.items()
            },
            "seeds": list(range(self._settings.seeds)),
            "groups": {
                origin: {
                    "file": study.group_files.get(pair.name, {}).get(dataset),
                    "kind": study.datasets[dataset].kind if dataset in study.datasets else "",
                    "datapoints": self._datapoints(dataset),
                }
                for origin, dataset in pair.datasets.items()
            },
            **{
                origin: [study.predictions_file(dataset, model) for model in study.models]
                for origin, dataset in pair.datasets.items()
            },
        }

    def custom_files_state(self, wildcards: Wildcards) -> list[tuple[int, int]]:
        """Return size and time of the user's files of groups and predictions.

        Parameters
        ----------
        wildcards : Wildcards
            `pair`.
        """
        study, pair = self._study, self._study.pairs[wildcards.pair]
        own = [name for name in pair.datasets.values() if not study.datasets[name].has_images]
        return file_states(
            [
                *study.group_files.get(pair.name, {}).values(),
                *(study.predictions_file(name, model) for model in study.models for name in own),
            ]
        )

    def _datapoints(self, dataset: str) -> str | None:
        spec = self._study.datasets.get(dataset)
        if spec is not None and not spec.has_images:
            return None
        return self._study.description_files(dataset)[1]
