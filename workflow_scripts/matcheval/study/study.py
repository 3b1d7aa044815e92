"""A study: its datasets, models and pairs, its analyses, and where the files of its stages lie."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from matcheval.datasets.derivations import Derivation
from matcheval.datasets.kinds import builder_version
from matcheval.datasets.pairs import Pair
from matcheval.datasets.specs import DatasetSpec
from matcheval.errors import InputError, unknown_name_error
from matcheval.inference import OUTPUT_SUFFIXES
from matcheval.inference.planning import InferencePlan, PixelJob
from matcheval.inference.settings import InferenceSettings
from matcheval.models.rows import CALLABLE, PUBLISHED
from matcheval.study.analysis import Analysis, BuiltDataset, TrainedModel, file_states
from matcheval.study.catalogue import Model
from matcheval.training.settings import TrainingSettings

STUDIES_FOLDER = "studies"  # what the names of each study stand for: `shared_names`
# Folders of the results that studies share; no study can have their names.
SHARED_FOLDERS = (
    "benchmarks",
    "checkpoints",
    "datasets",
    "downloads",
    "logs",
    "pixels",
    "pools",
    "predictions",
    "sampling",
    STUDIES_FOLDER,
    "weights",
)

AnAnalysis = TypeVar("AnAnalysis", bound=Analysis)


@dataclass(frozen=True)
class Study:
    """What a study compares and computes.

    Attributes
    ----------
    name, results : str
        Its name; the folder of all results.
    mirror : str
        Folder or address that replaces every host of downloads; empty for none.
    confidence : float
        Level of all intervals, in (0, 1).
    formats : tuple of str
        File formats of the figures.
    models : mapping of str to Model
        In catalogue order.
    datasets : mapping of str to DatasetSpec
    pairs : mapping of str to Pair
    training : TrainingSettings or None
        None if nothing is trained.
    inference : InferenceSettings
    inference_plan : InferencePlan
        Weights and pixel caches that the models need.
    analyses : mapping of str to Analysis
        In the order of the registry.
    """

    name: str
    results: str
    mirror: str
    confidence: float
    formats: tuple[str, ...]
    models: Mapping[str, Model]
    datasets: Mapping[str, DatasetSpec]
    pairs: Mapping[str, Pair]
    training: TrainingSettings | None
    inference: InferenceSettings
    inference_plan: InferencePlan
    analyses: dict[str, Analysis] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """Folder of this study's own results; the others are shared by studies."""
        return f"{self.results}/{self.name}"

    @property
    def figure_suffixes(self) -> tuple[str, ...]:
        """Suffixes of the files of a figure."""
        return tuple(f".{name}" for name in self.formats)

    def analysis(self, kind: type[AnAnalysis]) -> AnAnalysis:
        """Return the analysis of a class, for one that builds upon it.

        Parameters
        ----------
        kind : type of Analysis
            A class in the registry.
        """
        found = self.analyses[kind.name]
        assert isinstance(found, kind)
        return found

    # --- what analyses add

    @cached_property
    def derivations(self) -> dict[str, Derivation]:
        """Datasets that analyses derive from the study's, by name."""
        return {k: v for each in self.analyses.values() for k, v in each.derivations.items()}

    @cached_property
    def built_datasets(self) -> dict[str, BuiltDataset]:
        """Datasets of the configuration that analyses build, by name."""
        return {k: v for each in self.analyses.values() for k, v in each.built_datasets.items()}

    @cached_property
    def trained(self) -> dict[str, TrainedModel]:
        """All models that are trained, those of analyses included, by name."""
        training = self.training
        if training is None:
            return {}
        trained = {
            name: TrainedModel(model, training.train, training.validation)
            for name, model in self.models.items()
            if model.recipe is not None
        }
        for analysis in self.analyses.values():
            trained |= analysis.trained
        return trained

    @cached_property
    def runnable(self) -> dict[str, Model]:
        """All models that may be run, those of analyses included, by name."""
        return {**self.models, **{name: each.model for name, each in self.trained.items()}}

    # --- datasets and pairs

    @property
    def compared(self) -> list[str]:
        """Names of the datasets that are in a pair."""
        return sorted({name for pair in self.pairs.values() for name in pair.datasets.values()})

    @property
    def training_sets(self) -> list[str]:
        """Names of the datasets that models are trained and validated on."""
        return [] if self.training is None else [self.training.train, self.training.validation]

    @property
    def used(self) -> list[str]:
        """Names of the datasets of the configuration that this study needs."""
        names = list(dict.fromkeys([*self.compared, *self.training_sets]))
        for name in names:  # grows while it is read: a source may be built from others
            sources = self.built_datasets[name].sources if name in self.built_datasets else ()
            names += [source for source in sources if source not in names]
        return names

    @property
    def prepared(self) -> list[str]:
        """Names of the datasets that are prepared from files, not from other datasets."""
        return [name for name in self.datasets if name not in self.built_datasets]

    @property
    def pairs_compared_late(self) -> list[str]:
        """Names of the pairs whose classes can be compared only once the datasets are built."""
        both = {
            name: [self.datasets[dataset] for dataset in pair.datasets.values()]
            for name, pair in self.pairs.items()
        }
        return [
            name
            for name, sets in both.items()
            if all(one.has_images for one in sets)
            and any(one.settings.known_classes is None for one in sets)
        ]

    def dataset_identity(self, dataset: str) -> str:
        """Return what a dataset is built from and how, as text.

        Parameters
        ----------
        dataset : str
            Name of a dataset, perhaps a derived one.
        """
        if dataset in self.derivations:
            return self.derivations[dataset].json
        spec, built = self.datasets[dataset], self.built_datasets.get(dataset)
        version = built.version if built else builder_version(spec.kind)
        return f"{spec.kind} {spec.options_json} {version}"

    def dataset_folder(self, dataset: str) -> str:
        """Return the folder of a prepared dataset.

        Parameters
        ----------
        dataset : str
            Its name, or a wildcard in braces.
        """
        return f"{self.results}/datasets/{dataset}"

    def dataset_files(self, dataset: str) -> list[str]:
        """Return the files of a prepared dataset, the description first.

        Parameters
        ----------
        dataset : str
            Its name, or a wildcard in braces.
        """
        names = ("dataset.json", "images.npy", "datapoints.parquet")
        return [f"{self.dataset_folder(dataset)}/{name}" for name in names]

    # --- models and predictions

    def weights_file(self, model: str) -> str | None:
        """Return where a model's weights lie; None for a callable, and for known predictions.

        Parameters
        ----------
        model : str
            Name of a model.
        """
        source = self.runnable[model].source
        if source is None or source.kind == CALLABLE:
            return None
        if source.kind in PUBLISHED:
            return f"{self.results}/weights/{self.inference_plan.published[model].file_name}"
        return source.source or f"{self.results}/checkpoints/{model}.safetensors"

    def predictions_file(self, dataset: str, model: str) -> str:
        """Return where a model's predictions on a dataset lie: the user's file, or ours.

        Parameters
        ----------
        dataset, model : str
            Names.
        """
        spec = self.datasets.get(dataset)
        if spec is None or spec.has_images:
            return f"{self.results}/predictions/{dataset}/{model}.parquet"
        return spec.results_file(model)

    def inference_files(self, dataset: str, model: str) -> list[str]:
        """Return all that is wanted of a model on a dataset: predictions, then other outputs.

        Parameters
        ----------
        dataset, model : str
            Names.
        """
        predictions = self.predictions_file(dataset, model)
        if not self.datasets[dataset].has_images:
            return [predictions]
        stem = predictions.removesuffix(".parquet")
        return [
            predictions, *(stem + OUTPUT_SUFFIXES[output] for output in self.inference.outputs)
        ]  # fmt: skip

    @property
    def predictions_files(self) -> list[str]:
        """All that inference is asked for, and the user's files in its place."""
        return [
            file
            for pair in self.pairs.values()
            for dataset in pair.datasets.values()
            for model in self.models
            for file in self.inference_files(dataset, model)
        ]

    def results_files(self, dataset: str, models: Iterable[str] | None = None) -> list[str]:
        """Return all files that models' accuracies on a dataset are counted from, each once.

        Parameters
        ----------
        dataset : str
            Name of a dataset.
        models : iterable of str, optional
            Names of models; all of the study by default.
        """
        spec, chosen = self.datasets[dataset], list(self.models if models is None else models)
        if spec.has_images:
            return [self.predictions_file(dataset, model) for model in chosen]
        return spec.results_files(chosen)

    def prediction_files(self, dataset: str, models: Iterable[str]) -> list[str]:
        """Return the prediction files of models on a dataset, none if it has no probabilities.

        Parameters
        ----------
        dataset : str
            Name of a dataset.
        models : iterable of str
            Names of models.
        """
        has_predictions = self.datasets[dataset].has_probabilities
        return self.results_files(dataset, models) if has_predictions else []

    def custom_results_state(
        self, dataset: str, models: Iterable[str] | None = None
    ) -> list[tuple[int, int]]:
        """Return size and time of the user's files that accuracies are counted from.

        Parameters
        ----------
        dataset : str
            Name of a dataset.
        models : iterable of str, optional
            Names of models; all of the study by default.
        """
        if self.datasets[dataset].has_images:
            return []
        return file_states(self.results_files(dataset, models))

    def accuracies_file(self, dataset: str) -> str:
        """Return the table of all models' accuracies on a dataset.

        Parameters
        ----------
        dataset : str
            Its name, or a wildcard in braces.
        """
        return f"{self.folder}/accuracies/{dataset}.parquet"

    # --- downloads and pixel caches

    @property
    def downloads(self) -> list[str]:
        """All that is downloaded for this study: files of datasets, and weights."""
        used = (self.datasets[name].settings.published_files for name in self.used)
        published = sorted({file for files in used for file in files})
        weights = self.inference_plan.weights_urls
        return [
            *(f"{self.results}/downloads/{file}" for file in published),
            *(f"{self.results}/weights/{file}" for file in weights),
        ]

    def manifest_file(self, dataset: str, model: str) -> str | None:
        """Return the manifest of a model's pixel cache; None if it takes pixels as stored.

        Parameters
        ----------
        dataset, model : str
            Names.
        """
        return self.inference_plan.manifest(model, dataset, self.dataset_identity(dataset))

    @cached_property
    def pixel_jobs(self) -> dict[str, PixelJob]:
        """Pixel caches that this run builds, or finds not to be worth it, by manifest."""
        jobs: dict[str, PixelJob] = {}
        for dataset in self.compared:
            if self.datasets[dataset].has_images:
                files = {model: self.inference_files(dataset, model) for model in self.models}
                identity = self.dataset_identity(dataset)
                jobs |= self.inference_plan.pixel_jobs(dataset, identity, files)
        return jobs

    # --- checks that analyses share

    def check_dataset(self, name: str, field: str, *, images: bool = False) -> None:
        """Check the name of a dataset.

        Parameters
        ----------
        name, field : str
            The name, and the key of the configuration that gives it.
        images : bool
            Whether it has to have images.

        Raises
        ------
        InputError
            If it is unknown, or has predictions only where images are needed.
        """
        if name not in self.datasets:
            raise unknown_name_error(
                "dataset", name, self.datasets, file="configuration", field=field
            )
        if images and not self.datasets[name].has_images:
            raise InputError(
                f"'{name}' has predictions only, no images", file="configuration", field=field
            )

    def check_pair(self, name: str, field: str) -> None:
        """Check the name of a pair.

        Parameters
        ----------
        name, field : str
            The name, and the key of the configuration that gives it.

        Raises
        ------
        InputError
            If it is unknown.
        """
        if name not in self.pairs:
            raise unknown_name_error("pair", name, self.pairs, file="configuration", field=field)

    def check_models(self, names: Iterable[str], field: str) -> None:
        """Check names of models.

        Parameters
        ----------
        names : iterable of str
        field : str
            The key of the configuration that gives them.

        Raises
        ------
        InputError
            If one is unknown.
        """
        for name in names:
            if name not in self.models:
                raise unknown_name_error(
                    "model", name, self.models, file="configuration", field=field
                )

    def missing_images(self) -> dict[str, list[Path]]:
        """Return the user's images that are not there, by the key that names them.

        Not part of loading a study, so that it can be planned without ImageNet at hand.
        """
        missing: dict[str, list[Path]] = {}
        for name in self.used:
            for key, paths in self.datasets[name].settings.custom_paths.items():
                absent = [path for path in paths if not path.exists()]
                if absent:
                    missing[f"datasets.{name}.{key}"] = absent
        return missing
