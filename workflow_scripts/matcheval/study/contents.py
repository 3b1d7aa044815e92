"""What a study holds: its datasets, models, pairs and analyses."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from matcheval.datasets.derivations import Derivation
from matcheval.datasets.kinds import builder_version
from matcheval.datasets.pairs import Pair
from matcheval.datasets.specs import DatasetSpec
from matcheval.datasets.suites import Suite
from matcheval.errors import check_known, configuration_error, unknown_name_error
from matcheval.inference.settings import InferencePlan, InferenceSettings
from matcheval.models.packages import is_file_of_weights
from matcheval.models.rows import CHECKPOINT
from matcheval.study.analysis import Analysis, BuiltDataset
from matcheval.study.catalogue import Model
from matcheval.study.trained_models import TestedModels, TrainedModel
from matcheval.training.settings import TrainingSettings

AnAnalysis = TypeVar("AnAnalysis", bound=Analysis)


@dataclass(frozen=True)
class StudyContents:
    """What a study compares and computes; `study.Study` adds where files lie."""

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
    group_files: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    suites: Mapping[str, Suite] = field(default_factory=dict)
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
        """Return the analysis of a class, for one that builds upon it."""
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
        return {k: v for each in self.analyses.values() for k, v in each.tested.items()}

    @cached_property
    def runnable(self) -> dict[str, Model]:
        """All models that may be run, those of analyses included, by name."""
        return {**self.models, **{name: each.model for name, each in self.trained.items()}}

    # --- datasets and pairs

    @cached_property
    def paired(self) -> list[str]:
        """Names of the datasets that are in a pair."""
        return sorted({name for pair in self.pairs.values() for name in pair.datasets.values()})

    @cached_property
    def single(self) -> list[str]:
        """Names of the datasets that are evaluated by themselves: in a pair, or for an analysis."""
        in_suites = {name for suite in self.suites.values() for name in suite.datasets}
        asked = {name for each in self.analyses.values() for name in each.evaluated}
        return sorted({*self.paired, *(asked - in_suites)})

    @cached_property
    def evaluated(self) -> list[str]:
        """Names of the datasets that models are evaluated on: in a suite, or by themselves."""
        in_suites = (name for suite in self.suites.values() for name in suite.datasets)
        return list(dict.fromkeys([*self.single, *in_suites]))

    @property
    def training_sets(self) -> list[str]:
        """Names of the datasets that models are trained and validated on."""
        if self.training is None:
            return []
        own = [name for model in self.models.values() for name in model.train]
        return list(dict.fromkeys([*self.training.train, *own, *self.training.validation_sets]))

    @property
    def used(self) -> list[str]:
        """Names of the datasets of the configuration that this study needs."""
        others = (name for each in self.analyses.values() for name in each.trained_on)
        names = list(dict.fromkeys([*self.evaluated, *self.training_sets, *others]))
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
        both = {
            name: [self.labelled_like(dataset) for dataset in pair.datasets.values()]
            for name, pair in self.pairs.items()
        }
        return [
            name
            for name, sets in both.items()
            if all(one.has_images for one in sets)
            and any(one.settings.known_classes is None for one in sets)
        ]

    def dataset_identity(self, dataset: str) -> str:
        """Return what a dataset is built from and how, as text."""
        if dataset in self.derivations:
            return self.derivations[dataset].json
        spec, built = self.datasets[dataset], self.built_datasets.get(dataset)
        version = built.version if built else builder_version(spec.kind)
        of = "".join(f" of {self.dataset_identity(name)}" for name in spec.settings.sources)
        return f"{spec.kind} {spec.options_json} {version}{of}"

    # --- checks that analyses share

    def check_dataset(self, name: str, field: str, *, images: bool = False) -> None:
        """Check that a dataset is one of the study's."""
        if name not in self.datasets:
            raise unknown_name_error(
                "dataset", name, self.datasets, file="configuration", field=field
            )
        if images and not self.datasets[name].has_images:
            raise configuration_error(f"'{name}' has predictions only, no images", field=field)

    def check_pair(self, name: str, field: str) -> None:
        """Check that a pair is one of the study's."""
        if name not in self.pairs:
            raise unknown_name_error("pair", name, self.pairs, file="configuration", field=field)

    def check_models(self, names: Iterable[str], field: str) -> None:
        """Check that models are those of the study."""
        check_known("model", names, self.models, file="configuration", field=field)

    def missing_files(self) -> dict[str, list[Path]]:
        """Return the user's images and checkpoints that are not there, by the key that names them.

        Not part of loading a study, so that it can be planned without ImageNet at hand.
        """
        missing: dict[str, list[Path]] = {}
        for name in self.used:
            for key, paths in self.datasets[name].settings.custom_paths.items():
                absent = [path for path in paths if not path.exists()]
                if absent:
                    missing[f"datasets.{name}.{key}"] = absent
        for suite in self.suites.values():
            for member in suite.members:
                if member.all_labels and not Path(member.all_labels).is_file():
                    field = f"suites.{suite.name}: all_labels of '{member.dataset}'"
                    missing[field] = [Path(member.all_labels)]
        for name, model in self.models.items():
            if model.source and model.source.kind == CHECKPOINT:
                file = Path(model.source.source)
                missing |= {} if file.is_file() else {f"model '{name}': source": [file]}
        for name, trained in self.trained.items():
            start = trained.model.recipe.pretrained if trained.model.recipe else ""
            absent = [Path(start)] if is_file_of_weights(start) else []
            if absent and not absent[0].is_file() and absent not in missing.values():
                missing[f"model '{name}': pretrained"] = absent
        return missing
