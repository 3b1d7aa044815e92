"""Analyses that are a table, perhaps with a figure, for each dataset or for each suite of a study.

Such an analysis is one file, which holds its settings, a class derived from `DatasetTableAnalysis`,
`SuiteTableAnalysis` or `protocol.analysis.PairTableAnalysis`, and what the class names by
convention: `SCHEMA` (a `TableSchema`), `tabulate` and, for a figure, `plot`.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from matcheval.datasets.kinds import DatasetSpec
from matcheval.datasets.suites import Suite
from matcheval.errors import ErrorCollector, InputError
from matcheval.execution.entry_points import Call, run_call
from matcheval.figures.style import save_figure
from matcheval.io.tables import TableSchema
from matcheval.io.text_tables import TABLE_SUFFIXES, markdown
from matcheval.names import MODEL
from matcheval.predictions.correctness import Correctness, dataset_correctness
from matcheval.predictions.files import read_predictions
from matcheval.predictions.layout import Layout, layout_of
from matcheval.predictions.records import Predictions
from matcheval.report.sections import Section, ShownFile
from matcheval.settings import (
    CorrectName,
    EvaluatedName,
    ModelNames,
    PathText,
    Settings,
    SuiteName,
    UniqueTuple,
)
from matcheval.study.analysis import Analysis
from matcheval.study.rules import Wildcards, call

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from matcheval.study.study import Study


class TableAnalysis(Analysis):
    """An analysis with one table, and perhaps a figure, for each pair, dataset or suite.

    `per` is one of these words, the wildcard of its files. `read` is called with `arguments`, and
    `tabulate` with the tuple that it returns; if there is a figure, its file has `plot(table)`. The
    caption says what they show, for reports (`ReportEntry`).
    """

    per: ClassVar[str]
    read: ClassVar[Callable[..., Any]]
    has_figure: ClassVar[bool] = False
    caption: ClassVar[str] = ""

    def __init__(self, settings: Any, study: "Study") -> None:
        super().__init__(settings, study)
        self.module = type(self).__module__
        place = f"{{{self.per}}}"
        labels = {"table": self.name, "of": place}
        self.result = self.table(place, self.caption, labels)
        self.plot = self.figure(f"{self.name}/{place}", self.caption, labels)

    @property
    def subjects(self) -> list[str]:
        """Names of the pairs, datasets or suites that a table is made for, as configured."""
        return list(getattr(self.settings, f"{self.per}s"))

    def inputs(self, wildcards: Wildcards) -> list[str]:
        """Return the files that the table of a pair, dataset or suite is made from."""
        raise NotImplementedError

    def arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the arguments of `read` for the table of a pair, dataset or suite."""
        raise NotImplementedError

    def check(self) -> None:
        """Check that some models are left, if there is a table to make."""
        if self.subjects:
            self.check_some_models()

    @property
    def targets(self) -> list[str]:
        """Paths of all tables and, if the analysis has them, figures."""
        names = {self.per: self.subjects}
        figures = self.plot.expand(**names) if self.has_figure else []
        return [*self.result.expand(**names), *figures]

    @property
    def options(self) -> dict[str, Any]:
        """Those settings, and the level of intervals, that `tabulate` has parameters for."""
        options = self.settings.model_dump(mode="json") | {"confidence": self.study.confidence}
        parameters = signature(import_module(self.module).tabulate).parameters
        return {name: value for name, value in options.items() if name in parameters}

    def subject_options(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return further options of `tabulate` for one pair, dataset or suite."""
        return {}

    def job_arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the arguments of `make_table` for one pair, dataset or suite."""
        return {
            "read": call(type(self).read, **self.arguments(wildcards)),
            "analysis": self.module,
            "options": self.options | self.subject_options(wildcards),
            "confidence": self.study.confidence,
        }


def make_table(
    *, read: Call, analysis: str, options: Mapping[str, Any], confidence: float,
    outputs: Sequence[Path], figure: Sequence[Path],
) -> None:  # fmt: skip
    """Read an analysis's files, tabulate, write the table, and plot it if a figure is named."""
    module = import_module(analysis)
    files = run_call(read)
    table = module.tabulate(*files, **options)
    write_page = getattr(module, "write_page", lambda *_: "")
    schema: TableSchema = module.SCHEMA.at_level(confidence)
    schema.write(table, outputs, page=write_page(table, *files))
    logging.info("%d rows", len(table))
    if figure:
        level = (
            {"confidence": confidence} if "confidence" in signature(module.plot).parameters else {}
        )
        save_figure(module.plot(module.SCHEMA.read(outputs[0]).to_pandas(), **level), *figure)


class DatasetTableSettings(Settings):
    """The datasets that tables are made for, and the models in these tables."""

    datasets: UniqueTuple[CorrectName] = Field((), description="Datasets that a table is made for")
    without: ModelNames = Field((), description="Models to leave out")


class DatasetFileSettings(Settings):
    """The datasets that tables are made for, with a file of the user's for each."""

    datasets: dict[CorrectName, PathText] = Field({}, description="The user's file, by dataset")
    without: ModelNames = Field((), description="Models to leave out")


def read_dataset(
    *, spec: DatasetSpec, models: Sequence[str], predictions: Sequence[str], file: str
) -> tuple[Correctness, str, str]:
    """Return what models classify correctly, with the dataset's name and the user's file."""
    return dataset_correctness(spec, models, predictions), spec.name, file


class DatasetTableAnalysis(TableAnalysis):
    """An analysis with a table per dataset, made from what models classify correctly.

    `tabulate(correctness, dataset, file, **options)` makes the table from a `Correctness`, the
    dataset's name and the user's file, with the columns `file_columns` (empty if there is none).
    """

    per = "dataset"
    read = read_dataset
    file_columns: ClassVar[tuple[str, ...]] = ("index",)

    @property
    def dataset_files(self) -> Mapping[str, str]:
        """The user's file for each dataset, by its name; empty where there is none."""
        datasets = self.settings.datasets
        return datasets if isinstance(datasets, Mapping) else dict.fromkeys(datasets, "")

    @property
    def subjects(self) -> list[str]:
        """Names of the datasets that a table is made for."""
        return list(self.dataset_files)

    def check(self) -> None:
        """Check that models are left, and the user's files of the datasets."""
        super().check()
        for file in self.dataset_files.values():
            if file:
                self.check_file(file, self.field("datasets"), self.file_columns)

    def file_of(self, dataset: str) -> str:
        """Return the file to read besides predictions; empty if there is none."""
        return self.dataset_files[dataset]

    def inputs(self, wildcards: Wildcards) -> list[str]:
        """Return the predictions, and the user's file if there is one."""
        files = filter(None, [self.file_of(wildcards.dataset)])
        return [*self.study.results_inputs(wildcards.dataset, self.models), *files]

    def arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the arguments of `read_dataset`."""
        return {
            "spec": asdict(self.study.datasets[wildcards.dataset]),
            "models": self.models,
            "predictions": self.study.probability_files(wildcards.dataset, self.models),
            "file": self.file_of(wildcards.dataset),
        }


@dataclass(frozen=True)
class SuiteFiles:
    """The prediction files of models on a suite and on the base that its sets are compared with."""

    suite: Suite
    base: str
    specs: Mapping[str, DatasetSpec]  # of the base and all sets, by name
    folders: Mapping[str, Path]  # of those that have images
    stems: Mapping[str, str]  # of predictions on those: paths without suffix, with `{model}`
    models: Sequence[str]

    def paths(self, dataset: str) -> list[str]:
        """Return the prediction files of all models on a dataset."""
        if dataset in self.stems:
            return [f"{self.stems[dataset].format(model=m)}.parquet" for m in self.models]
        return [self.specs[dataset].results_file(model) for model in self.models]

    def layout(self, dataset: str) -> Layout:
        """Return the layout of prediction files on a dataset: the study's own, or the user's."""
        return Layout() if dataset in self.stems else layout_of(self.specs[dataset])

    def read(self, dataset: str) -> list[Predictions]:
        """Read the predictions of all models on a dataset."""
        problems, predictions, layout = ErrorCollector(), [], self.layout(dataset)
        for path in self.paths(dataset):
            with problems.collected():
                predictions.append(read_predictions(Path(path), layout=layout))
        problems.raise_any()
        return predictions


class SuiteTableSettings(Settings):
    """Suites that a table is made for, each with the set that its sets are compared with."""

    suites: dict[SuiteName, EvaluatedName] = Field(
        {}, description="The base, a dataset that models are evaluated on, by suite"
    )
    without: ModelNames = Field((), description="Models to leave out")


def read_suite(*, files: SuiteFiles) -> tuple[SuiteFiles]:
    """Return a suite's files unread, as the arguments of `tabulate`."""
    return (files,)


class SuiteTableAnalysis(TableAnalysis):
    """An analysis with a table and a figure per suite, whose sets are compared with a base.

    `tabulate(files, **options)` makes the table from `SuiteFiles`. A subclass says what it asks of
    a suite (`check_suite`), and the options.
    """

    per = "suite"
    read = read_suite
    has_figure = True
    Settings: ClassVar[type[SuiteTableSettings]] = SuiteTableSettings
    settings: SuiteTableSettings

    def check(self) -> None:
        """Check that models are left, and each suite with its base."""
        super().check()
        for name, base in self.settings.suites.items():
            self.check_suite(name, base)

    def check_suite(self, name: str, base: str) -> None:
        """Check that a suite can be compared with its base; both are names."""
        raise NotImplementedError

    def collection(self, name: str) -> tuple[Suite, str]:
        """Return a suite and the name of its base."""
        return self.study.suites[name], self.settings.suites[name]

    def datasets_of(self, suite: str) -> list[str]:
        """Return the names of a suite's base and of its sets, each once."""
        collection, base = self.collection(suite)
        return list(dict.fromkeys([base, *collection.datasets]))

    def inputs(self, wildcards: Wildcards) -> list[str]:
        """Return the files that the table of a suite is made from."""
        base = self.settings.suites[wildcards.suite]
        return self.study.suite_inputs(wildcards.suite, self.models, [base])

    def arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the arguments of `read_suite`."""
        study, name = self.study, getattr(wildcards, self.per)
        suite, base = self.collection(name)
        specs = {dataset: study.datasets[dataset] for dataset in self.datasets_of(name)}
        with_images = [name for name, spec in specs.items() if spec.has_images]
        files = {
            "suite": asdict(suite),
            "base": base,
            "specs": {n: asdict(spec) for n, spec in specs.items()},
            "folders": {name: study.dataset_folder(name) for name in with_images},
            "stems": {name: study.predictions_stem(name, MODEL) for name in with_images},
            "models": self.models,
        }
        return {"files": files}


# --- The table of a further analysis of a comparison, outside of studies

_MAX_ROWS = 20  # of a text: all classes of CIFAR-10 by both criteria


@dataclass(frozen=True, eq=False)
class AnalysisTable:
    """The table that a further analysis makes of a comparison, and in which forms it is shown."""

    kind: type[TableAnalysis]
    table: "pd.DataFrame"

    @property
    def module(self) -> ModuleType:
        """The analysis's module, with `SCHEMA`, `tabulate` and `plot`."""
        # No field, as a module cannot be copied.
        return import_module(self.kind.__module__)

    def figure(self) -> "Figure":
        """Draw the analysis's figure; raise an error if it has none."""
        if not self.kind.has_figure:
            raise InputError(f"the analysis '{self.kind.name}' has no figure")
        return self.module.plot(self.table)

    def lines(self, where: str) -> list[str]:
        """Return heading and first rows as lines of text; `where` says where the others are."""
        name, columns = self.kind.name, self.module.SCHEMA.text_columns(self.table)
        head, rule, *rows = markdown(columns).splitlines()
        more = len(rows) - _MAX_ROWS
        rest = [f"... and {more:,} more rows: {where}"] if more > 0 else []
        return [f"{name} (docs/analyses.md#{name})", "", head, rule, *rows[:_MAX_ROWS], *rest]

    def write(self, folder: Path, pair: str, formats: Sequence[str]) -> Iterator[Path]:
        """Write the table in all formats, and the figure in those given; yield the paths."""
        name = self.kind.name
        paths = [folder / name / f"{pair}{suffix}" for suffix in TABLE_SUFFIXES]
        self.module.SCHEMA.write(self.table, paths)
        yield from paths
        if self.kind.has_figure:
            paths = [folder / "figures" / name / f"{pair}.{end}" for end in formats]
            save_figure(self.figure(), *paths)
            yield from paths

    def section(self, folder: Path, pair: str) -> Section:
        """Return the analysis's section of the report, of the files that `write` has written."""
        kind, name, title = self.kind, self.kind.name, self.kind.title()
        shown = [ShownFile((str(folder / name / f"{pair}.md"),), title)]
        if kind.has_figure:
            shown.append(ShownFile((str(folder / "figures" / name / f"{pair}.svg"),), title))
        return Section(name, title, kind.__module__.rpartition(".")[0], tuple(shown))
