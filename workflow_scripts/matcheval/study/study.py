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
STUDIES_FOLDER = "studies"  # what the names of each study stand for: `shared_names`
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
    """What a study compares and computes, and its files."""

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
        """Folder of this study's own results; the others are shared by studies."""
        return f"{self.results}/{self.name}"

    @property
    def figure_suffixes(self) -> tuple[str, ...]:
        """Suffixes of the files of a figure."""
        return tuple(f".{name}" for name in self.formats)

    def analysis(self, kind: type[AnAnalysis]) -> AnAnalysis:
        """Return the analysis of a class, for one that builds upon it."""
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
        """All models that are trained, those of analyses included, by name."""
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
        """Models of analyses that are run together on datasets of their own, by the job's name."""
        return {k: v for analysis in self.analyses.values() for k, v in analysis.tested.items()}

    @cached_property
    def runnable(self) -> dict[str, Model]:
        """All models that may be run, those of analyses included, by name."""
        return {**self.models, **{name: trained.model for name, trained in self.trained.items()}}

    @cached_property
    def trainings(self) -> Trainings:
        """Its trainings that are run together."""
        return Trainings(self)

    @cached_property
    def predicting(self) -> Predicting:
        """Its inference jobs."""
        return Predicting(self)

    # --- datasets and pairs

    @cached_property
    def paired(self) -> list[str]:
        """Names of the datasets of all pairs."""
        return sorted({name for pair in self.pairs.values() for name in pair.datasets.values()})

    @cached_property
    def _in_suites(self) -> list[str]:
        return [name for suite in self.suites.values() for name in suite.datasets]

    @cached_property
    def single(self) -> list[str]:
        """Names of the datasets evaluated individually: those of pairs, and others of analyses."""
        names = {name for analysis in self.analyses.values() for name in analysis.evaluated}
        return sorted({*self.paired, *names.difference(self._in_suites)})

    @cached_property
    def evaluated(self) -> list[str]:
        """Names of all datasets that models are evaluated on, individually or in a suite."""
        return list(dict.fromkeys([*self.single, *self._in_suites]))

    @property
    def used(self) -> list[str]:
        """Names of the datasets of the configuration that this study needs."""
        names = [*self.evaluated]
        if self.training is not None:
            own = (name for model in self.models.values() for name in model.train)
            names += [*self.training.train, *own, *self.training.validation_sets]
        names += [name for analysis in self.analyses.values() for name in analysis.trained_on]
        names = list(dict.fromkeys(names))
        for name in names:  # grows while it is read: a source may be built from others
            names += [source for source in self.sources_of(name) if source not in names]
        return names

    def sources_of(self, dataset: str) -> list[str]:
        """Return the names of the datasets that one of the configuration is built from."""
        built = self.built_datasets.get(dataset)
        return list(built.sources) if built else self.datasets[dataset].settings.sources

    def labelled_like(self, dataset: str) -> DatasetSpec:
        """Return a dataset itself, or the one that it is made from, which has the same classes."""
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
        """Names of the datasets whose images are made when they are read."""
        return frozenset(n for n, spec in self.datasets.items() if spec.settings.is_made)

    @property
    def pairs_compared_late(self) -> list[str]:
        """Names of the pairs whose classes can be compared only once the datasets are built."""
        late = []
        for name, pair in self.pairs.items():
            specs = [self.labelled_like(dataset) for dataset in pair.datasets.values()]
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
            return [description, datapoints, *self.files_before(dataset)]
        return [description, f"{self.dataset_folder(dataset)}/images.npy", datapoints]

    def description_files(self, dataset: str) -> list[str]:
        """Return the files of a dataset without its images: description, and a table of labels."""
        folder = self.dataset_folder(dataset)
        return [f"{folder}/dataset.json", f"{folder}/datapoints.parquet"]

    @cached_property
    def made_batches(self) -> dict[str, tuple[str, ...]]:
        """Made datasets by the name of the job that prepares them: of a suite, or its own name."""
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
        """Return the folder of links to the descriptions of datasets that a job prepares."""
        return f"{self.folder}/datasets/{batch}"

    @cached_property
    def _made_by(self) -> dict[str, str]:
        return {name: batch for batch, names in self.made_batches.items() for name in names}

    def dataset_inputs(self, dataset: str) -> list[str]:
        """Return the files that rules wait for before they read a dataset."""
        if dataset in self.made:
            return [self.made_folder(self._made_by[dataset]), *self.files_before(dataset)]
        return self.dataset_files(dataset)

    def description_inputs(self, dataset: str) -> list[str]:
        """Return the files that rules wait for before they read a dataset's labels and classes."""
        if dataset in self.made:
            return [self.made_folder(self._made_by[dataset])]
        return self.description_files(dataset)

    def files_before(self, dataset: str) -> list[str]:
        """Return what a dataset is prepared from: downloads, and files of other datasets."""
        settings = self.datasets[dataset].settings
        downloads = [self.download(file) for file in settings.published_files]
        return downloads + [f for name in settings.sources for f in self.dataset_inputs(name)]

    @property
    def report_page(self) -> str:
        """Path of the study's HTML report."""
        return f"{self.folder}/report.html"

    def weights_file(self, model: str) -> str | None:
        """Return where a model's weights lie; None if code or a package has them, or if not run."""
        source = self.runnable[model].source
        if source is None or source.kind in FROM_CODE:
            return None
        if source.kind in PUBLISHED and not source.own_weights:
            return f"{self.results}/weights/{self.inference_plan.published[model].file_name}"
        return source.own_weights or f"{self.folder}/checkpoints/{model}.safetensors"

    @cached_property
    def suite_of(self) -> dict[str, str]:
        """The suite in whose folder the results on a dataset lie, if not in one of its own."""
        own, suite_of = {*self.single}, dict[str, str]()
        for suite in self.suites.values():
            for name in suite.datasets:
                if name not in own and self.datasets[name].has_images:
                    suite_of.setdefault(name, suite.name)
        return suite_of

    def predictions_stem(self, dataset: str, model: str) -> str:
        """Return the path, without suffixes, of a model's outputs on a dataset; `MODEL` is any."""
        in_catalogue = model in self.models or model == MODEL
        suite = self.suite_of.get(dataset) if in_catalogue else None
        place = f"{suite}/{model}/{dataset}" if suite else f"{dataset}/{model}"
        return f"{self.folder}/predictions/{place}"

    def predictions_file(self, dataset: str, model: str) -> str:
        """Return where a model's predictions on a dataset lie: the user's file, or ours."""
        spec = self.datasets.get(dataset)
        if spec is None or spec.has_images:
            return f"{self.predictions_stem(dataset, model)}.parquet"
        return spec.results_file(model)

    def results_inputs(
        self, dataset: str, models: Iterable[str] | None = None,
        suffixes: Sequence[str] = (".parquet",),
    ) -> list[str]:  # fmt: skip
        """Return what rules read of models' results on a dataset: files, or folders of suites."""
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
        """Return what rules read of models' outputs on a suite and on others, and its labels."""
        chosen, suffixes = list(models), self.predicting.suffixes
        files, folders = list[str](), set[str]()
        for name in (*others, *self.suites[suite].datasets):
            home = self.suite_of.get(name, "")
            if home not in folders:  # one folder has all sets
                files += self.results_inputs(name, chosen, suffixes)
            folders |= {home} if home else set()
        labels = (member.all_labels for member in self.suites[suite].members)
        files += [file for file in labels if Path(file).is_file()]  # a plan can lack them
        return list(dict.fromkeys(files))

    @cache  # noqa: B019 - lives as long as the study; to look at many files may take seconds
    def dataset_state(self, dataset: str) -> str:
        """Return a digest of names, sizes and times of the user's files of a dataset's images."""
        spec = self.datasets.get(dataset)
        if spec is None:
            return ""
        return "-".join([spec.custom_files_state, *map(self.dataset_state, spec.settings.sources)])

    def probability_files(self, dataset: str, models: Iterable[str]) -> list[str]:
        """Return the prediction files of models on a dataset, none if it has no probabilities."""
        has_predictions = self.datasets[dataset].has_probabilities
        return [self.predictions_file(dataset, model) for model in models if has_predictions]

    @cached_property
    def _custom_results(self) -> frozenset[str]:
        """The user's files of results, which may lie in the results folder."""
        known = [spec for spec in self.datasets.values() if not spec.has_images]
        files = {file for spec in known for file in spec.results_files(self.models)}
        return frozenset(files - self.downloaded)

    def custom_files_state(self, files: Iterable[str]) -> list[tuple[int, int]]:
        """Return size and time of those files of a job that are the user's, not of a study."""
        folders = tuple(f"{self.results}/{name}/" for name in (*SHARED_FOLDERS, self.name))
        named = self._custom_results
        own = [f for f in map(str, files) if f in named or not f.startswith(folders)]
        return file_states(list(dict.fromkeys(own)))

    def accuracies_file(self, dataset: str) -> str:
        """Return the table of all models' accuracies on a dataset."""
        return f"{self.folder}/accuracies/{dataset}.parquet"

    @property
    def downloads(self) -> list[str]:
        """All that is downloaded for this study: files of datasets, and weights."""
        used = (self.datasets[name].settings.published_files for name in self.used)
        others = (analysis.published_files for analysis in self.analyses.values())
        published = sorted({file for files in (*used, *others) for file in files})
        published += [file.name for name in self.used for file in self.published.get(name, ())]
        weights = [f"{self.results}/weights/{file}" for file in self.inference_plan.weights_urls]
        return list(dict.fromkeys([*map(self.download, published), *weights]))

    @cached_property
    def listed_downloads(self) -> dict[str, PublishedFile]:
        """Files of published predictions, and of their true classes, by name."""
        return {file.name: file for files in self.published.values() for file in files}

    def published_file(self, name: str) -> PublishedFile:
        """Return a published file of a list of the user's, or of the package's."""
        return self.listed_downloads.get(name) or published_file(name)

    @cached_property
    def downloaded(self) -> frozenset[str]:
        """All files that are downloaded."""
        return frozenset(self.downloads)

    def download(self, file: str) -> str:
        """Return where a published file is downloaded to."""
        return f"{self.results}/downloads/{file}"
