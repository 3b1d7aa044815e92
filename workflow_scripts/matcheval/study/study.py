"""What a study holds, and where the files of its stages lie."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from matcheval.datasets.derived import Derivation
from matcheval.datasets.kinds import DatasetSpec
from matcheval.datasets.suites import Pair, Suite
from matcheval.downloads.sources import PublishedFile, published_file
from matcheval.inference.settings import InferencePlan, InferenceSettings
from matcheval.io.files import file_states
from matcheval.models.rows import FROM_CODE, PUBLISHED
from matcheval.names import MODEL
from matcheval.study.catalogue import Model, TestedModels, TrainedModel
from matcheval.study.work import Predicting, Trainings
from matcheval.training.settings import TrainingSettings

if TYPE_CHECKING:
    from matcheval.study.analysis import Analysis

AnAnalysis = TypeVar("AnAnalysis", bound="Analysis")
STUDIES_FOLDER = "studies"  # what the names of each study stand for (`study.stored`)
# Folders of the results that studies share; no study can have their names.
SHARED_FOLDERS = (
    "benchmarks", "checkpoints", "datasets", "downloads", "logs", "pools", "predictions",
    "sampling", STUDIES_FOLDER, "warehouses", "weights",
)  # fmt: skip


@dataclass(frozen=True)
class BuiltDataset:
    """A dataset of the configuration that an analysis builds from other datasets.

    `version` is raised by hand when an edit changes what is built. `selection_frequencies` is a
    file with columns `index`, `n_annotations`, `n_selected` and `frequency` of its images.
    """

    sources: tuple[str, ...]  # of which the first tells how large it can be
    version: int
    selection_frequencies: str = ""
    is_vectors: bool = False  # whether its datapoints are feature vectors, not images


@dataclass(frozen=True, eq=False)
class Study:
    """A study: its models, datasets, pairs, suites and analyses, and the paths of its files."""

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
    download_options: str = ""
    published: Mapping[str, Sequence[PublishedFile]] = field(default_factory=dict)
    group_files: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    suites: Mapping[str, Suite] = field(default_factory=dict)
    analyses: dict[str, "Analysis"] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """Folder of the study's own results; other results are shared by studies."""
        return f"{self.results}/{self.name}"

    @property
    def figure_suffixes(self) -> tuple[str, ...]:
        """Suffixes of the files in which every figure is saved."""
        return tuple(f".{name}" for name in self.formats)

    def analysis(self, kind: type[AnAnalysis]) -> AnAnalysis:
        """Return the study's analysis of this class."""
        analysis = self.analyses[kind.name]
        assert isinstance(analysis, kind)
        return analysis

    # --- what analyses add

    @cached_property
    def derivations(self) -> dict[str, Derivation]:
        """Datasets that analyses derive from the study's, by name."""
        analyses = self.analyses.values()
        return {k: v for analysis in analyses for k, v in analysis.derivations.items()}

    @cached_property
    def built_datasets(self) -> dict[str, BuiltDataset]:
        """Datasets of the configuration that analyses build, by name."""
        return {
            k: v for analysis in self.analyses.values() for k, v in analysis.built_datasets.items()
        }

    @cached_property
    def trained(self) -> dict[str, TrainedModel]:
        """All models to train, including those of analyses, by name."""
        training = self.training
        if training is None:
            return {}
        trained = {
            name: TrainedModel(model, model.train or training.train, training.validation_sets)
            for name, model in self.models.items()
            if model.recipe is not None
        }
        for analysis in self.analyses.values():
            trained |= analysis.trained
        return trained

    @cached_property
    def tested(self) -> dict[str, TestedModels]:
        """Models of analyses that one job runs on their own datasets, by the job's name."""
        return {k: v for analysis in self.analyses.values() for k, v in analysis.tested.items()}

    @cached_property
    def runnable(self) -> dict[str, Model]:
        """All models of the catalogue and of analyses, by name."""
        return {**self.models, **{name: trained.model for name, trained in self.trained.items()}}

    @cached_property
    def trainings(self) -> Trainings:
        """How the study's trainings are divided among jobs."""
        return Trainings(self)

    @cached_property
    def predicting(self) -> Predicting:
        """How the study's inference is divided among jobs."""
        return Predicting(self)

    # --- datasets and pairs

    @cached_property
    def paired(self) -> list[str]:
        """Sorted names of the datasets of all pairs."""
        return sorted({name for pair in self.pairs.values() for name in pair.datasets.values()})

    @cached_property
    def _suite_datasets(self) -> list[str]:
        return [name for suite in self.suites.values() for name in suite.datasets]

    @cached_property
    def single(self) -> list[str]:
        """Names of the datasets evaluated individually: those of pairs, and others of analyses."""
        names = {name for analysis in self.analyses.values() for name in analysis.evaluated}
        return sorted({*self.paired, *names.difference(self._suite_datasets)})

    @cached_property
    def evaluated(self) -> list[str]:
        """Names of all datasets that models are evaluated on, individually or in a suite."""
        return list(dict.fromkeys([*self.single, *self._suite_datasets]))

    @property
    def used(self) -> list[str]:
        """Names of all datasets of the configuration that the study needs, sources included."""
        names = [*self.evaluated]
        if self.training is not None:
            model_sets = (name for model in self.models.values() for name in model.train)
            names += [*self.training.train, *model_sets, *self.training.validation_sets]
        names += [name for analysis in self.analyses.values() for name in analysis.trained_on]
        names = list(dict.fromkeys(names))
        for name in names:  # grows while it is read: a source may be built from others
            names += [source for source in self.sources_of(name) if source not in names]
        return names

    def sources_of(self, dataset: str) -> list[str]:
        """Return the names of the datasets that a dataset of the configuration is made from."""
        built = self.built_datasets.get(dataset)
        return list(built.sources) if built else self.datasets[dataset].settings.sources

    def label_source(self, dataset: str) -> DatasetSpec:
        """Return the dataset that one is made from in the end, with the same classes, or itself."""
        while sources := self.datasets[dataset].settings.sources:
            (dataset,) = sources
        return self.datasets[dataset]

    @property
    def prepared(self) -> list[str]:
        """Names of the datasets that no analysis builds and whose images are stored."""
        others = {*self.built_datasets, *self.made}
        return [name for name in self.datasets if name not in others]

    @cached_property
    def made(self) -> frozenset[str]:
        """Names of the datasets whose images are computed from others when they are read."""
        return frozenset(n for n, spec in self.datasets.items() if spec.settings.is_made)

    @property
    def pairs_compared_late(self) -> list[str]:
        """Names of the pairs whose classes can be compared only once the datasets are built."""
        late = []
        for name, pair in self.pairs.items():
            specs = [self.label_source(dataset) for dataset in pair.datasets.values()]
            unknown = any(spec.settings.known_classes is None for spec in specs)
            if unknown and all(spec.has_images for spec in specs):
                late.append(name)
        return late

    # --- files

    def dataset_folder(self, dataset: str) -> str:
        """Return the folder of a prepared dataset."""
        return f"{self.results}/datasets/{dataset}"

    def dataset_files(self, dataset: str) -> list[str]:
        """Return the files that a dataset is read from, the description first."""
        description, datapoints = self.description_files(dataset)
        if dataset in self.made:
            return [description, datapoints, *self.preparation_inputs(dataset)]
        return [description, f"{self.dataset_folder(dataset)}/images.npy", datapoints]

    def description_files(self, dataset: str) -> list[str]:
        """Return a dataset's files without the images: its description and its table of labels."""
        folder = self.dataset_folder(dataset)
        return [f"{folder}/dataset.json", f"{folder}/datapoints.parquet"]

    @cached_property
    def made_batches(self) -> dict[str, tuple[str, ...]]:
        """Names of the `made` datasets that one job prepares, by name of a suite or dataset."""
        suite_of: dict[str, str] = {}
        for suite in self.suites.values():
            for name in suite.datasets:
                suite_of.setdefault(name, suite.name)
        batches: dict[str, list[str]] = {}
        for name in sorted((n for n in self.datasets if n in self.made), key=self._depth):
            batches.setdefault(suite_of.get(name, name), []).append(name)
        return {batch: tuple(names) for batch, names in batches.items()}

    def _depth(self, dataset: str) -> int:
        """Sorting key by which a dataset comes after those it is made from."""
        sources = self.datasets[dataset].settings.sources
        return 1 + max(map(self._depth, sources), default=0)

    def made_folder(self, batch: str) -> str:
        """Return the folder of links to the descriptions of a batch of `made` datasets."""
        return f"{self.folder}/datasets/{batch}"

    @cached_property
    def _made_batch(self) -> dict[str, str]:
        """The batch that each `made` dataset is in."""
        return {name: batch for batch, names in self.made_batches.items() for name in names}

    def dataset_inputs(self, dataset: str) -> list[str]:
        """Return the files that rules wait for before they read a dataset."""
        if dataset in self.made:
            return [self.made_folder(self._made_batch[dataset]), *self.preparation_inputs(dataset)]
        return self.dataset_files(dataset)

    def description_inputs(self, dataset: str) -> list[str]:
        """Return the files that rules wait for before they read a dataset's labels and classes."""
        if dataset in self.made:
            return [self.made_folder(self._made_batch[dataset])]
        return self.description_files(dataset)

    def preparation_inputs(self, dataset: str) -> list[str]:
        """Return the files that a dataset is made from: downloads, and files of other datasets."""
        settings = self.datasets[dataset].settings
        downloads = [self.download_path(file) for file in settings.published_files]
        return downloads + [f for name in settings.sources for f in self.dataset_inputs(name)]

    @property
    def report_page(self) -> str:
        """Path of the study's HTML report."""
        return f"{self.folder}/report.html"

    def weights_file(self, model: str) -> str | None:
        """Return the path of a model's weights; None if it has no such file or is not run."""
        source = self.runnable[model].source
        if source is None or source.kind in FROM_CODE:
            return None
        if source.kind in PUBLISHED and not source.own_weights:
            return f"{self.results}/weights/{self.inference_plan.published[model].file_name}"
        return source.own_weights or f"{self.folder}/checkpoints/{model}.safetensors"

    @cached_property
    def suite_of(self) -> dict[str, str]:
        """Suite whose folder has a dataset's results, by dataset; `single` ones have their own."""
        single, suite_of = {*self.single}, dict[str, str]()
        for suite in self.suites.values():
            for name in suite.datasets:
                if name not in single and self.datasets[name].has_images:
                    suite_of.setdefault(name, suite.name)
        return suite_of

    def predictions_stem(self, dataset: str, model: str) -> str:
        """Return the path of a model's outputs on a dataset, without suffix; `MODEL` for any."""
        in_catalogue = model in self.models or model == MODEL
        suite = self.suite_of.get(dataset) if in_catalogue else None
        place = f"{suite}/{model}/{dataset}" if suite else f"{dataset}/{model}"
        return f"{self.folder}/predictions/{place}"

    def predictions_file(self, dataset: str, model: str) -> str:
        """Return the path of a model's predictions on a dataset: the user's, or the study's."""
        spec = self.datasets.get(dataset)
        if spec is None or spec.has_images:
            return f"{self.predictions_stem(dataset, model)}.parquet"
        return spec.results_file(model)

    def results_inputs(
        self, dataset: str, models: Iterable[str] | None = None,
        suffixes: Sequence[str] = (".parquet",),
    ) -> list[str]:  # fmt: skip
        """Return the files, or suites' folders, that rules read for results on a dataset."""
        chosen = dict.fromkeys(self.models if models is None else models)
        spec = self.datasets.get(dataset)
        if spec and not spec.has_images:
            return spec.results_files(chosen)
        suite, files = self.suite_of.get(dataset), list[str]()
        for model in chosen:
            if suite and model in self.models:
                files.append(f"{self.folder}/predictions/{suite}/{model}")
            else:
                stem = self.predictions_stem(dataset, model)
                files += [stem + suffix for suffix in suffixes]
        return files

    def suite_inputs(
        self, suite: str, models: Iterable[str], others: Iterable[str] = ()
    ) -> list[str]:
        """Return what rules read for models' outputs on a suite and other sets, and its labels."""
        chosen, suffixes = list(models), self.predicting.suffixes
        files, folders = list[str](), set[str]()
        for name in (*others, *self.suites[suite].datasets):
            folder = self.suite_of.get(name, "")
            if folder not in folders:  # one folder has all sets
                files += self.results_inputs(name, chosen, suffixes)
            folders |= {folder} if folder else set()
        labels = (member.all_labels for member in self.suites[suite].members)
        files += [file for file in labels if Path(file).is_file()]  # a plan can lack them
        return list(dict.fromkeys(files))

    @cache  # noqa: B019 - lives as long as the study; to look at many files may take seconds
    def dataset_state(self, dataset: str) -> str:
        """Return a digest of names, sizes and times of the user's image files of a dataset."""
        spec = self.datasets.get(dataset)
        if spec is None:
            return ""
        return "-".join([spec.custom_files_state, *map(self.dataset_state, spec.settings.sources)])

    def probability_files(self, dataset: str, models: Iterable[str]) -> list[str]:
        """Return models' prediction files on a dataset; none if it has no probabilities."""
        has_predictions = self.datasets[dataset].has_probabilities
        return [self.predictions_file(dataset, model) for model in models if has_predictions]

    @cached_property
    def _custom_results(self) -> frozenset[str]:
        """The user's files of results, some of which may lie in the results folder."""
        specs = [spec for spec in self.datasets.values() if not spec.has_images]
        files = {file for spec in specs for file in spec.results_files(self.models)}
        return frozenset(files - self.downloaded)

    def custom_files_state(self, files: Iterable[str]) -> list[tuple[int, int]]:
        """Return size and modification time of those files that are the user's, not of a study."""
        folders = tuple(f"{self.results}/{name}/" for name in (*SHARED_FOLDERS, self.name))
        named = self._custom_results
        custom = [f for f in map(str, files) if f in named or not f.startswith(folders)]
        return file_states(list(dict.fromkeys(custom)))

    def accuracies_file(self, dataset: str) -> str:
        """Return the path of the table of all models' accuracies on a dataset."""
        return f"{self.folder}/accuracies/{dataset}.parquet"

    @property
    def downloads(self) -> list[str]:
        """Paths of all files that are downloaded for the study, of datasets and of weights."""
        dataset_files = (self.datasets[name].settings.published_files for name in self.used)
        analysis_files = (analysis.published_files for analysis in self.analyses.values())
        published = sorted({file for files in (*dataset_files, *analysis_files) for file in files})
        published += [file.name for name in self.used for file in self.published.get(name, ())]
        weights = [f"{self.results}/weights/{file}" for file in self.inference_plan.weights_urls]
        return list(dict.fromkeys([*map(self.download_path, published), *weights]))

    @cached_property
    def listed_downloads(self) -> dict[str, PublishedFile]:
        """Published files of predictions and of their true classes, by name."""
        return {file.name: file for files in self.published.values() for file in files}

    def published_file(self, name: str) -> PublishedFile:
        """Return a published file by name, from the user's lists or else from the package's."""
        return self.listed_downloads.get(name) or published_file(name)

    @cached_property
    def downloaded(self) -> frozenset[str]:
        """The paths in `downloads`, as a set."""
        return frozenset(self.downloads)

    def download_path(self, name: str) -> str:
        """Return the path that a published file is downloaded to."""
        return f"{self.results}/downloads/{name}"
