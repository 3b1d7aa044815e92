"""A study's configuration: the core's typed settings, and those of the analyses.

The JSON schema in `rules/schemas` is generated from these classes, for editors (`make settings`).
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Union

from pydantic import Field, create_model, field_validator, model_validator

from matcheval import settings
from matcheval.datasets.kind import DatasetKind
from matcheval.datasets.kinds import KINDS, DatasetSpec
from matcheval.datasets.suites import Pair
from matcheval.downloads.sources import PublishedFile, listed_files, published_files
from matcheval.errors import InputError, configuration_error
from matcheval.inference.settings import InferencePlan, InferenceSettings
from matcheval.io.user_files import read_yaml
from matcheval.models.published import describe_published
from matcheval.names import MODEL, PREDICTIONS_KIND
from matcheval.registry import ANALYSES
from matcheval.settings import Name, Named, PathText, Settings, read_settings
from matcheval.study.catalogue import read_catalogue
from matcheval.study.checks import check_names, check_needs, check_study
from matcheval.study.study import SHARED_FOLDERS, Study
from matcheval.study.suites import SuiteSettings, expand_suites
from matcheval.training.settings import TrainingSettings


class PairSettings(Settings):
    """Two datasets to compare."""

    original: Name = Field(description="The set that models were developed on")
    replication: Name = Field(description="The similar, but not identical set")
    source: Name | None = Field(
        None, description="The source of the matching; the larger set by default"
    )
    paired: bool = Field(
        False,
        description="Both sets show the same images, row by row; sizes and labels are checked",
    )
    groups: Named[PathText] = Field(
        {}, description="By set: a CSV file with the group (writer, video) of every datapoint"
    )
    groups_shared: bool = Field(
        False, description="A name means the same group in both sets; otherwise in each by itself"
    )


class FigureSettings(Settings):
    """How all figures are saved."""

    formats: settings.SomeUnique[Literal["pdf", "png", "svg"]] = Field(
        ("pdf", "png"), description="A file of every figure for each"
    )


class DownloadSettings(Settings):
    """When a download is given up that would otherwise not end."""

    hours: Annotated[settings.Number, Field(gt=0)] = Field(
        24, description="The longest a file may take"
    )

    @property
    def options(self) -> str:
        """Command-line options for the settings that differ from their defaults."""
        return f" --hours {self.hours:g}" if self.model_dump(exclude_defaults=True) else ""


class CoreConfiguration(Settings):
    """The configuration of a study, without the blocks of its analyses."""

    study: Name = Field(description="Results go to <results>/<study>/")
    results: PathText = Field("results", description="Folder that studies share")
    mirror: str = Field("", description="Folder or address that replaces all hosts of downloads")
    downloads: DownloadSettings = DownloadSettings()
    models: Annotated[str, Field(pattern=r"\.(csv|ya?ml)$")] | None = Field(
        None, description="Model catalogue; may be left out if an analysis trains all models"
    )
    training: TrainingSettings | None = None
    pairs: Named[PairSettings] = Field({}, description="Datasets to compare, two by two")
    suites: Named[SuiteSettings] = Field({}, description="Collections of datasets")
    inference: InferenceSettings = InferenceSettings()
    confidence: settings.OpenFraction = Field(0.95, description="Level of all intervals")
    figures: FigureSettings = FigureSettings()

    @model_validator(mode="after")
    def _require_pair_or_suite(self) -> "CoreConfiguration":
        if not self.pairs and not self.suites:
            raise ValueError("names neither pairs nor suites of datasets to evaluate models on")
        return self

    @field_validator("study")
    @classmethod
    def _refuse_shared_folder(cls, name: str) -> str:
        if name.casefold() in SHARED_FOLDERS:
            raise ValueError("is a name of the results folder itself. Choose another")
        return name

    @field_validator("results")
    @classmethod
    def _normalize_results_folder(cls, folder: str) -> str:
        if "{" in folder or "}" in folder:
            raise ValueError("is not a folder for results: Snakemake takes braces for wildcards")
        return os.path.normpath(folder)


def configuration_model() -> type[CoreConfiguration]:
    """Build the class of the whole configuration: with all dataset kinds and analyses."""
    kinds: dict[str, type[DatasetKind]] = dict(KINDS)
    for analysis in ANALYSES:
        kinds |= analysis.dataset_kinds
    choice: Any = Annotated[Union[tuple(kinds.values())], Field(discriminator="kind")]  # noqa: UP007
    datasets: Any = Annotated[Named[choice], Field(min_length=1)]
    blocks: dict[str, Any] = {a.name: (a.Settings, a.Settings()) for a in ANALYSES}
    return create_model(
        "Configuration", __base__=CoreConfiguration, datasets=(datasets, ...), **blocks
    )


def complete_configuration(
    configuration: Mapping[str, Any], default_study: str | os.PathLike[str]
) -> dict[str, Any]:
    """Return the configuration if it names a study, else the default study updated by it."""
    if "study" in configuration:
        return dict(configuration)
    own = [key for key in ("datasets", "pairs") if key in configuration]
    if own:
        problem = f"the configuration has its own {' and '.join(own)} but no name"
        raise InputError(problem, field="study", remedy="Name the study, as in 'study: mine'")
    default = read_yaml(default_study)
    default["models"] = str(Path(default_study).parent / default["models"])
    return _merge(default, configuration)


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two mappings recursively: values of `over` win, and lists are replaced."""
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        are_mappings = isinstance(value, Mapping) and isinstance(old, Mapping)
        merged[key] = _merge(old, value) if are_mappings else value  # type: ignore[arg-type]
    return merged


def _with_downloads(
    kinds: Mapping[str, DatasetKind], results: str
) -> tuple[dict[str, DatasetSpec], dict[str, list[PublishedFile]]]:
    """Return dataset specifications, with paths of their downloads, and the published files."""
    specs, published = {}, dict[str, list[PublishedFile]]()
    for name, kind in kinds.items():
        options = kind.options
        if "download" in options:
            files = listed_files(**options.pop("download"))  # by model
            published[name] = [*files.values()]
            folder, _, first = next(iter(files.values())).name.rpartition("/")
            suffix = first.removeprefix(next(iter(files)))
            options["files"] = f"{results}/downloads/{folder}/{MODEL}{suffix}"
        if kind.kind == PREDICTIONS_KIND and options.get("labels") in published_files():
            published.setdefault(name, []).append(published_files()[options["labels"]])
            options["labels"] = f"{results}/downloads/{options['labels']}"
        specs[name] = DatasetSpec(name, kind.kind, options)
    return specs, published


def load_study(configuration: Mapping[str, Any]) -> Study:
    """Read and check a configuration, its catalogue and the files that it names, as a study."""
    blocks = configuration.get("datasets")
    named = blocks if isinstance(blocks, Mapping) else {}
    suites, expanded = expand_suites(configuration.get("suites") or {}, named)
    if expanded:
        configuration = {**configuration, "datasets": {**named, **expanded}}
    read: CoreConfiguration = read_settings(configuration_model(), configuration)
    kinds: Mapping[str, DatasetKind] = read.datasets  # type: ignore[attr-defined]
    models = read_catalogue(read.models) if read.models else {}
    sources = [model.source for model in models.values() if model.source]
    published = describe_published(sources, Path(read.results) / "weights")
    specs, downloads = _with_downloads(kinds, read.results)
    study = Study(
        name=read.study,
        results=read.results,
        mirror=read.mirror,
        download_options=read.downloads.options,
        confidence=read.confidence,
        formats=read.figures.formats,
        models=models,
        datasets=specs,
        published=downloads,
        pairs={
            name: Pair(name, **pair.model_dump(exclude={"groups"}), confidence=read.confidence)
            for name, pair in read.pairs.items()
        },
        group_files={name: pair.groups for name, pair in read.pairs.items()},
        suites=suites,
        training=read.training,
        inference=read.inference,
        inference_plan=InferencePlan(read.inference, published),
    )
    blocks = {analysis.name: getattr(read, analysis.name) for analysis in ANALYSES}
    all_settings = blocks | {f"datasets.{name}": kind for name, kind in kinds.items()}
    for name, block in all_settings.items():
        check_names(study, block, name)
    for analysis in ANALYSES:
        study.analyses[analysis.name] = analysis(blocks[analysis.name], study)
    check_study(study)
    for name, block in all_settings.items():
        check_needs(study, block, name)
    for loaded in study.analyses.values():
        loaded.check()
    # Without a catalogue, an analysis has to train the models, and pairs have none.
    if not study.models and (study.pairs or not study.trained):
        problem = "missing: names the catalogue of the models that are compared"
        raise configuration_error(problem, field="models")
    return study
