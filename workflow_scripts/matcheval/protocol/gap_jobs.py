"""Files, inputs and parameters of the jobs that read all models' predictions on a pair."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from matcheval.io.files import file_states
from matcheval.predictions.layout import layout_of
from matcheval.protocol.settings import MatchingSettings
from matcheval.study.rules import Artifact, Wildcards
from matcheval.study.study import Study

_TABLE = (".parquet", ".csv")


class GapJobs:
    """Jobs of a pair that are of many models and all matchings."""

    def __init__(self, settings: MatchingSettings, study: Study) -> None:
        self._settings, self._study = settings, study
        self.models = Artifact(f"{study.folder}/gaps/{{pair}}/{{matching}}", _TABLE)
        self.means = Artifact(f"{study.folder}/gaps/{{pair}}", _TABLE)

    @property
    def models_of_pair(self) -> list[str]:
        """Tables by model of all matchings, with wildcard `pair`."""
        return self.models.expand(matching=list(self._settings.methods))

    def inputs(self, wildcards: Wildcards, models: Iterable[str] | None = None) -> list[str]:
        """Return what a job of a pair waits for."""
        datasets = self._study.pairs[wildcards.pair].datasets.values()
        results = [file for name in datasets for file in self._study.results_inputs(name, models)]
        return [*results, *(file for name in datasets if (file := self._datapoints(name)))]

    def parameters(
        self, wildcards: Wildcards, models: Iterable[str] | None = None
    ) -> dict[str, Any]:
        """Return the parameters of a job of a pair, which `compared_models.read_models` takes."""
        study, pair = self._study, self._study.pairs[wildcards.pair]
        chosen = list(study.models if models is None else models)
        files = study.group_files.get(pair.name, {})
        return {
            "pair": vars(pair),
            "models": chosen,
            **{
                origin: [study.predictions_file(dataset, model) for model in chosen]
                for origin, dataset in pair.datasets.items()
            },
            "matchings": {
                name: method.model_dump(mode="json")
                for name, method in self._settings.methods.items()
            },
            "seeds": list(range(self._settings.seeds)),
            "layouts": {
                origin: asdict(layout_of(study.datasets[dataset]))
                for origin, dataset in pair.datasets.items()
            },
            "groups": {
                origin: {
                    "file": files.get(dataset),
                    "kind": study.datasets[dataset].kind,
                    "datapoints": self._datapoints(dataset),
                }
                for origin, dataset in pair.datasets.items()
            },
        }

    def custom_files_state(
        self, wildcards: Wildcards, models: Iterable[str] | None = None
    ) -> list[tuple[int, int]]:
        """Return size and time of the user's files of groups and predictions."""
        study, pair = self._study, self._study.pairs[wildcards.pair]
        chosen = list(study.models if models is None else models)
        states = [study.custom_results_state(name, chosen) for name in pair.datasets.values()]
        groups = file_states(list(study.group_files.get(pair.name, {}).values()))
        return [*groups, *(state for of_set in states for state in of_set)]

    def _datapoints(self, dataset: str) -> str | None:
        spec = self._study.datasets.get(dataset)
        if spec is not None and not spec.has_images:
            return None
        return self._study.description_files(dataset)[1]
