"""The base class of analyses: settings, checks, files, jobs, and what one adds to a study.

An analysis is a class derived from `Analysis`, in a file or folder of its own, and has one line in
`matcheval.registry`. CONTRIBUTING.md tells how to add one.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from matcheval.datasets.derived import Derivation
from matcheval.datasets.kind import DatasetKind
from matcheval.errors import configuration_error
from matcheval.io.text_tables import TABLE_SUFFIXES
from matcheval.io.user_files import check_header
from matcheval.report.sections import Section, ShownFile
from matcheval.settings import Settings
from matcheval.statistics.intervals import at_level
from matcheval.study.catalogue import TestedModels, TrainedModel
from matcheval.study.rules import Artifact, ReportEntry, path_pattern
from matcheval.study.study import BuiltDataset, Study


class Analysis:
    """Base class of analyses: their settings and checks, and what they add to a study.

    `name` is its key in the configuration, and the name of its target, folder of results and page.
    `Settings` is the class of its block of the study file, with defaults for all that can be left
    out. `dataset_kinds` are kinds of dataset that it builds. When one is made, those that precede
    it in the registry are in the study already.
    """

    name: ClassVar[str]
    Settings: ClassVar[type[Settings]]
    dataset_kinds: ClassVar[Mapping[str, type[DatasetKind]]] = {}
    added: Sequence[str] = ()  # files of rules that `targets` does not list (rules/report.smk)

    def __init__(self, settings: Any, study: Study) -> None:
        self.settings, self.study = settings, study

    def check(self) -> None:
        """Check names, choices and files in the settings before any job; raise `InputError`."""

    # --- what it adds to a study: by default nothing

    @property
    def targets(self) -> list[str]:
        """Paths of files that the analysis builds for the study; `added` has those not listed."""
        return []

    @property
    def derivations(self) -> Mapping[str, Derivation]:
        """Datasets that the analysis derives from those of the study, by name."""
        return {}

    @property
    def published_files(self) -> Sequence[str]:
        """Names of the published files that the analysis downloads, besides those of datasets."""
        return ()

    @property
    def built_datasets(self) -> Mapping[str, BuiltDataset]:
        """Datasets of the configuration that the analysis builds, by name."""
        return {}

    @property
    def trained(self) -> Mapping[str, TrainedModel]:
        """Models that the analysis trains, by name."""
        return {}

    @property
    def tested(self) -> Mapping[str, TestedModels]:
        """Models of `trained` and the datasets to test them on, by name of the inference job."""
        return {}

    @property
    def trained_on(self) -> tuple[str, ...]:
        """Names of datasets that the analysis trains on, besides the study's training sets."""
        return ()

    @property
    def evaluated(self) -> tuple[str, ...]:
        """Names of datasets that the analysis needs predictions on, besides pairs and suites."""
        return ()

    @property
    def shared_meanings(self) -> Mapping[str, Mapping[str, Any]]:
        """Definitions of the names whose files several studies share, by category and name."""
        return {}

    # --- what it is, for its files and the report

    @property
    def models(self) -> list[str]:
        """Names of the study's models, without those that the setting `without` lists."""
        left_out = getattr(self.settings, "without", ())
        return [name for name in self.study.models if name not in left_out]

    @property
    def package(self) -> str:
        """Name of the analysis's package, which has a module `report` if that makes its section."""
        return type(self).__module__.rpartition(".")[0]

    @property
    def first_page(self) -> str:
        """The target to read first: a page, else a table, else a figure; empty if there is none."""
        suffixes = (".md", ".html", ".csv", *self.study.figure_suffixes)
        return next((file for end in suffixes for file in self.targets if file.endswith(end)), "")

    @property
    def report_section(self) -> Section:
        """The analysis's section of the report: by default, its tables for readers and figures.

        An analysis with a section of its own design names further files in `data`, which the
        function `content` of the module `report` of its package reads, and has a template
        `report.html` there.
        """
        return self.section()

    def section(
        self, data: Mapping[str, Sequence[str]] | None = None,
        values: Mapping[str, Any] | None = None, left_out: Iterable[Artifact] = (),
    ) -> Section:  # fmt: skip
        """Build the report's section: tables and figures, `data` files by name, and `values`."""
        files = shown_files(self, left_out)
        settings = self.settings.model_dump(mode="json") if files or data else {}
        return Section(
            self.name, self.title(), self.package, files, data or {}, values or {}, settings
        )

    def shown_wildcards(self, wildcards: Mapping[str, str]) -> Mapping[str, str]:
        """Return a file's wildcard values as the report shows them: by default, unchanged."""
        return wildcards

    def table(self, stem: str, caption: str, labels: Mapping[str, str]) -> Artifact:
        """Declare a table, written as Parquet, CSV, LaTeX and Markdown; reports show the latter.

        `stem` is a path below the analysis's folder, with wildcards; the others: `ReportEntry`.
        """
        entry = ReportEntry(self.title(), at_level(caption, self.study.confidence), labels)
        return Artifact(f"{self.study.folder}/{self.name}/{stem}", TABLE_SUFFIXES, entry, (".md",))

    def figure(self, stem: str, caption: str, labels: Mapping[str, str]) -> Artifact:
        """Declare a figure, written in the formats that the study names; reports show it."""
        entry = ReportEntry(self.title(), at_level(caption, self.study.confidence), labels)
        suffixes = self.study.figure_suffixes
        return Artifact(f"{self.study.folder}/figures/{stem}", suffixes, entry, suffixes)

    @classmethod
    def title(cls) -> str:
        """Return the name that readers see, such as `Class gaps`."""
        return cls.name.replace("_", " ").capitalize()

    def field(self, *keys: str) -> str:
        """Return the full name of a setting, such as `groups.datasets`, for error messages."""
        return ".".join((self.name, *keys))

    def check_some_models(self) -> None:
        """Raise an error if the setting `without` leaves out all models."""
        if not self.models:
            raise configuration_error("all models are left out", field=self.field("without"))

    def check_file(self, path: str, field: str, columns: Sequence[str] = ()) -> None:
        """Check that a user's file exists and, unless it is Parquet, that it has the columns."""
        if not Path(path).is_file():
            raise configuration_error(f"no such file: {path}", field=field)
        if columns and not path.endswith(".parquet"):
            check_header(path, columns)


_READABLE = (".md", ".svg", ".png", ".pdf")


def shown_files(analysis: Analysis, left_out: Iterable[Artifact] = ()) -> tuple[ShownFile, ...]:
    """List an analysis's tables for readers and its figures, without those `left_out`."""
    formats: dict[str, list[str]] = defaultdict(list)
    for path in (*analysis.targets, *analysis.added):
        stem, dot, suffix = path.rpartition(".")
        if dot + suffix in _READABLE:
            formats[stem].append(path)
    artifacts = [value for value in vars(analysis).values() if isinstance(value, Artifact)]
    patterns = [(path_pattern(a.stem), a.report, a) for a in artifacts if a.report]
    hidden = [artifact.stem for artifact in left_out]
    in_heading = {analysis.name, analysis.title()}  # which the heading of the section says
    files = []
    for stem, paths in formats.items():
        matching = [(m, entry, a) for p, entry, a in patterns if (m := p.fullmatch(stem))]
        if not matching:
            files.append(ShownFile(tuple(paths), Path(stem).name))
            continue
        match, entry, artifact = matching[0]
        if artifact.stem not in hidden:
            wildcards = analysis.shown_wildcards(match.groupdict())
            labels = [entry.category, *(text.format(**wildcards) for text in entry.labels.values())]
            title = ", ".join(dict.fromkeys(label for label in labels if label not in in_heading))
            title = title or entry.category
            files.append(ShownFile(tuple(paths), title, entry.caption, dict(wildcards)))
    return tuple(files)


# --- what the report of a study shows besides


def study_sections(study: Study) -> list[Section]:
    """Return the non-empty sections of a study's report, in the order of the registry."""
    sections = (analysis.report_section for analysis in study.analyses.values())
    return [section for section in sections if section.shown or section.data]


def section_files(sections: Iterable[Section]) -> list[str]:
    """Return the files that sections are made from, data first, each once."""
    shown = [path for section in sections for file in section.shown for path in file.paths]
    data = [path for section in sections for paths in section.data.values() for path in paths]
    return list(dict.fromkeys([*data, *shown]))


def describe_models(study: Study) -> dict[str, dict[str, str]]:
    """Describe where each model comes from, with a prediction file that records its weights."""
    with_files = [name for name in study.paired if study.datasets[name].has_probabilities]
    described = {}
    for name, model in study.models.items():
        source = model.source
        text = "predictions on file" if source is None else f"{source.kind} {source.source}".strip()
        files = [study.predictions_file(dataset, name) for dataset in with_files[:1]]
        described[name] = {"source": text, "predictions": files[0] if files else ""}
    return described


def describe_datasets(study: Study) -> dict[str, dict[str, Any]]:
    """Describe each evaluated dataset: kind, options, and the file that describes its images."""
    described = {}
    for name in study.evaluated:
        spec = study.datasets[name]
        description = study.description_files(name)[0] if spec.has_images else ""
        described[name] = {
            "kind": spec.kind, "options": spec.options_json, "description": description,
        }  # fmt: skip
    return described


def describe_omissions(study: Study) -> list[str]:
    """List in sentences the pairs and analyses that the results do not have, and why."""
    notes = [
        f"Pair `{name}` is not matched: one of its sets has no probabilities."
        for name, pair in study.pairs.items()
        if not all(study.datasets[d].has_probabilities for d in pair.datasets.values())
    ]
    idle = [name for name, analysis in study.analyses.items() if not analysis.targets]
    if idle:
        names = ", ".join(f"`{name}`" for name in idle)
        notes.append(f"Analyses that the study does not ask for: {names}.")
    return notes
