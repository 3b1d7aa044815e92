"""Files, inputs and parameters of the jobs that match predictions, or read one model's pairs."""

from dataclasses import asdict
from typing import Any

from matcheval.errors import configuration_error
from matcheval.execution import resources
from matcheval.io.files import file_states
from matcheval.predictions.layout import layout_of
from matcheval.protocol.settings import MatchingSettings
from matcheval.study.requests import dataset_size
from matcheval.study.rules import Artifact, Wildcards
from matcheval.study.study import Study


class RunJobs:
    """Jobs that match batches of models on a pair, once per seed and matching."""

    def __init__(self, settings: MatchingSettings, study: Study) -> None:
        self._settings, self._study = settings, study
        self.files = Artifact(
            f"{study.folder}/matched/{{pair}}/{{matching}}/{{batch}}", (".parquet",)
        )
        self.pairs_of_model = Artifact(
            f"{study.folder}/pairs/{{pair}}/{{matching}}/{{model}}", (".parquet",)
        )

    @property
    def pairs(self) -> list[str]:
        """Names of the pairs that can be matched: both sets have probabilities."""
        return [
            name
            for name, pair in self._study.pairs.items()
            if all(self._study.datasets[d].has_probabilities for d in pair.datasets.values())
        ]

    def check_can_be_matched(self, pair: str) -> None:
        """Check that both sets of a pair have probabilities."""
        if pair not in self.pairs:
            raise configuration_error(
                f"pair '{pair}' cannot be matched: one of its sets has no probabilities",
                field=f"pairs.{pair}",
                remedy="It takes part in the replication tables only",
            )

    @property
    def batches(self) -> dict[str, list[str]]:
        """Names of the models that are matched in one job, by the name of the batch."""
        names, size = list(self._study.models), self._settings.models_per_job
        starts = range(0, len(names), size)
        return {f"{start // size:03d}": names[start : start + size] for start in starts}

    @property
    def saved_models(self) -> list[str]:
        """Models whose matched pairs are written: for reading them, or for a diagram."""
        saved = {*self._settings.save_pairs, *self._settings.reliability_models}
        return [model for model in self._study.models if model in saved]

    @property
    def batches_with_pairs(self) -> list[str]:
        """Batches with models whose pairs are written; one job of a pair matches all of these."""
        saved = set(self.saved_models)
        return [batch for batch, models in self.batches.items() if not saved.isdisjoint(models)]

    @property
    def batches_alone(self) -> list[str]:
        """Batches without saved pairs; each is matched by a job of its own."""
        with_pairs = self.batches_with_pairs
        return [batch for batch in self.batches if batch not in with_pairs]

    @property
    def all_files(self) -> list[str]:
        """Runs of all models, and the matched pairs of some."""
        runs = self.files.expand(pair=self.pairs, matching=self._matchings, batch=self.batches)
        pairs = self.pairs_of_model.expand(
            pair=self.pairs, matching=self._matchings, model=self.saved_models
        )
        return [*runs, *pairs]

    @property
    def of_batch(self) -> list[str]:
        """Runs of a batch by all matchings, with wildcards `pair` and `batch`."""
        return self.files.expand(matching=self._matchings)

    @property
    def with_pairs(self) -> list[str]:
        """Runs of the batches with pairs by all matchings, with wildcard `pair`."""
        return self.files.expand(matching=self._matchings, batch=self.batches_with_pairs)

    @property
    def saved_pairs(self) -> list[str]:
        """Matched pairs of the saved models by all matchings, with wildcard `pair`."""
        return self.pairs_of_model.expand(matching=self._matchings, model=self.saved_models)

    def inputs(self, wildcards: Wildcards) -> list[str]:
        """Return what a matching job, or a job that reads one model's predictions, waits for."""
        self.check_can_be_matched(wildcards.pair)
        models = self._models(wildcards)
        datasets = self._study.pairs[wildcards.pair].datasets.values()
        return [file for name in datasets for file in self._study.results_inputs(name, models)]

    def _predictions(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """Prediction files of a batch, or of one model, by origin."""
        models = self._models(wildcards)
        return {
            origin: [self._study.predictions_file(dataset, model) for model in models]
            for origin, dataset in self._study.pairs[wildcards.pair].datasets.items()
        }

    def layouts(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return how the prediction files of a pair are laid out, by origin."""
        datasets = self._study.pairs[wildcards.pair].datasets
        return {o: asdict(layout_of(self._study.datasets[d])) for o, d in datasets.items()}

    def parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of a matching job."""
        batch = getattr(wildcards, "batch", None)
        return {
            "batches": [self.batches[b] for b in ([batch] if batch else self.batches_with_pairs)],
            "saved": [] if batch else self.saved_models,
            "pair": self._names_of_pair(wildcards),
            "matchings": {
                name: method.model_dump(mode="json")
                for name, method in self._settings.methods.items()
            },
            "seeds": self._seeds,
            **self._predictions(wildcards),
            "layouts": self.layouts(wildcards),
        }

    def _names_of_pair(self, wildcards: Wildcards) -> dict[str, str | None]:
        """Return what the matching knows of a pair; it ignores what belongs together."""
        pair = self._study.pairs[wildcards.pair]
        return {"name": pair.name, **pair.datasets, "source": pair.source}

    def reliability_parameters(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the parameters of a reliability diagram."""
        method = self._settings.methods[wildcards.matching]
        return {
            "pair": self._names_of_pair(wildcards),
            "epsilon": method.epsilon,
            "title": method.title(wildcards.matching),
            "seeds": self._seeds,
            "bins": self._settings.reliability_bins,
            **self._predictions(wildcards),
            "layouts": self.layouts(wildcards),
        }

    def custom_files_state(self, wildcards: Wildcards) -> list[tuple[int, int]]:
        """Return size and time of the user's prediction files of a matching job."""
        datasets = self._study.pairs[wildcards.pair].datasets.values()
        own = [name for name in datasets if not self._study.datasets[name].has_images]
        models = self._models(wildcards)
        return file_states([self._study.predictions_file(d, m) for m in models for d in own])

    def of_tables(self, wildcards: Wildcards) -> list[str]:
        """Return the files of the runs that the tables of a pair average."""
        return self.files.expand(pair=wildcards.pair, matching=self._matchings, batch=self.batches)

    def request(self, wildcards: Wildcards) -> resources.ResourceRequest:
        """Return what a matching job takes: by the number of models and the size of the larger set.

        Parameters
        ----------
        wildcards : Wildcards
            `pair`, and `batch` for a batch alone.
        """
        datasets = self._study.pairs[wildcards.pair].datasets.values()
        images = max(dataset_size(self._study, name).images for name in datasets)
        n_runs = self._settings.seeds * len(self._matchings)
        return resources.of_matching(len(self._models(wildcards)), n_runs, images)

    @property
    def _matchings(self) -> list[str]:
        return list(self._settings.methods)

    @property
    def _seeds(self) -> list[int]:
        return list(range(self._settings.seeds))

    def _models(self, wildcards: Wildcards) -> list[str]:
        """Models of a job: one, those of a batch, or those of all batches with pairs."""
        if hasattr(wildcards, "model"):
            return [wildcards.model]
        batch = getattr(wildcards, "batch", None)
        batches = [batch] if batch else self.batches_with_pairs
        return [model for batch in batches for model in self.batches[batch]]
