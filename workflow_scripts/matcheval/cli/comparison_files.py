"""Writing a comparison's report, tables and figures to a folder, as a study's results lie."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa

from matcheval.cli.comparison_report import ComparedFiles, write_comparison_report
from matcheval.errors import InputError
from matcheval.figures.saving import save_figure
from matcheval.io.files import atomic_file, check_place
from matcheval.io.tables import write_table
from matcheval.protocol.compared_models import ComparedModels
from matcheval.protocol.criteria import Criterion
from matcheval.protocol.figures.confidence import plot_confidence
from matcheval.protocol.figures.gaps import plot_gaps
from matcheval.protocol.figures.matched_accuracy import plot_matched_accuracy
from matcheval.protocol.figures.reliability import plot_reliability
from matcheval.protocol.figures.subsets import reliability_data
from matcheval.protocol.gap_estimates import GapTables
from matcheval.protocol.gap_schemas import GAPS, MEAN_GAPS
from matcheval.protocol.runs import MatchedComparison
from matcheval.protocol.schemas import MODEL_TABLE, join_runs
from matcheval.protocol.summary import write_summary
from matcheval.protocol.suspicions import suspicions_of, with_suspicions
from matcheval.report.sections import ShownFile

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from matcheval.cli.analyses import AnalysisTable

FORMATS = ("pdf", "png", "svg")
LIST = "files.json"  # what a comparison wrote into its folder


@dataclass(frozen=True)
class Compared:
    """A comparison with its results.

    Attributes
    ----------
    known : ComparedModels
    matched : mapping of Criterion to sequence of MatchedComparison
        Every model, in the order of `known`.
    tables : mapping of Criterion to pandas.DataFrame
        Columns of `schemas.MODEL_TABLE`, a row per model.
    gaps : GapTables
        What the gaps consist of, by the names of the criteria.
    analyses : sequence of AnalysisTable
    title, command : str
        What is compared, and what was asked for.
    """

    known: ComparedModels
    matched: Mapping[Criterion, Sequence[MatchedComparison]]
    tables: Mapping[Criterion, pd.DataFrame]
    gaps: GapTables
    analyses: "Sequence[AnalysisTable]"
    title: str
    command: str

    @property
    def pair(self) -> str:
        """Name of the pair."""
        return self.known.pair.name

    @property
    def titles(self) -> dict[str, str]:
        """What readers call the matchings, by name."""
        return {criterion.value: criterion.description for criterion in self.tables}

    @property
    def suspicions(self) -> list[tuple[str, str]]:
        """Models, and what looks wrong about their predictions."""
        return [(one.model, text) for one in self.known.comparisons for text in suspicions_of(one)]


def check_folder(folder: Path) -> None:
    """Check that a folder can be written, and holds nothing but an earlier comparison.

    Parameters
    ----------
    folder : Path

    Raises
    ------
    InputError
        If it cannot be created, or holds files of other origin.
    """
    check_place(folder / LIST)
    if any(folder.iterdir()) and not (folder / LIST).is_file():
        raise InputError(
            "holds files that no comparison wrote",
            file=folder,
            remedy="Name an empty or a new folder with --output",
        )


def write_comparison(compared: Compared, folder: Path) -> Iterator[Path]:
    """Write the files that the workflow writes for a pair, in place of an earlier comparison's.

    Parameters
    ----------
    compared : Compared
    folder : Path
        Output folder. It receives `report.html`, `summary.md`, `matched/`, `tables/`, `gaps/` and
        `figures/`; for a single model also `pairs/` and reliability diagrams.

    Yields
    ------
    Path
        Every file, after it was written.

    Raises
    ------
    InputError
        If a file cannot be written.
    """
    _remove_earlier(folder)
    written: list[str] = []
    for path in _write_all(compared, folder):
        written.append(path.relative_to(folder).as_posix())
        with atomic_file(folder / LIST) as partial:  # after each, for a run that is killed
            partial.write_text(json.dumps(written, indent=1), encoding="utf-8")
        yield path


def _remove_earlier(folder: Path) -> None:
    """Delete the files that an earlier comparison listed, and folders that become empty."""
    listed = folder / LIST
    if not listed.is_file():
        return
    for name in json.loads(listed.read_text(encoding="utf-8")):
        path = folder / name
        if path.resolve().is_relative_to(folder.resolve()):
            path.unlink(missing_ok=True)
            for parent in path.parents:
                if parent == folder or not parent.is_dir() or any(parent.iterdir()):
                    break
                parent.rmdir()


def _write_all(compared: Compared, folder: Path) -> Iterator[Path]:
    figures: list[ShownFile] = []
    for stem, title, figure in _figures(compared):
        paths = [folder / "figures" / f"{stem}.{suffix}" for suffix in FORMATS]
        save_figure(figure, *paths)
        yield from paths
        figures.append(ShownFile(tuple(map(str, paths)), title))
    for path, table in _tables(compared):
        write_table(table, folder / path)
        yield folder / path
    for result in compared.analyses:
        yield from result.write(compared.pair, folder)
    summary = folder / "summary.md"
    with atomic_file(summary) as partial:
        page = write_summary(
            compared.title, compared.gaps.means, compared.titles, compared.suspicions
        )
        partial.write_text(page, encoding="utf-8")
    yield summary
    inputs = [file.path for of_model in compared.known.files for file in of_model.values()]
    yield write_comparison_report(
        compared.title,
        ComparedFiles(folder, compared.pair, compared.titles, figures, compared.analyses, inputs),
        compared.command,
    )


def _tables(compared: Compared) -> Iterator[tuple[str, pa.Table]]:
    """Return tables with their paths, without those of the analyses."""
    pair, comparisons = compared.pair, compared.known.comparisons
    for suffix in ("csv", "parquet"):
        yield f"gaps/{pair}.{suffix}", MEAN_GAPS.from_frame(compared.gaps.means)
    for criterion, table in compared.tables.items():
        place, matched = f"{pair}/{criterion.value}", compared.matched[criterion]
        yield f"matched/{place}.parquet", join_runs([one.runs() for one in matched])
        if len(matched) == 1:
            yield f"pairs/{place}/{_file_name(comparisons[0].model)}.parquet", matched[0].pairs()
        for suffix in ("csv", "parquet"):
            models = with_suspicions(MODEL_TABLE.from_frame(table), compared.suspicions)
            yield f"tables/{place}.{suffix}", models
            gaps = GAPS.from_frame(compared.gaps.models[criterion.value])
            yield f"gaps/{place}.{suffix}", gaps


def _figures(compared: Compared) -> "Iterator[tuple[str, str, Figure]]":
    """Return figures with their paths below `figures/`, without suffix, and titles."""
    pair, known = compared.pair, compared.known
    first = next(iter(compared.tables.values()))
    yield f"{pair}/confidence", "Accuracy and confidence", plot_confidence(first)
    for criterion, table in compared.tables.items():
        place, title = f"{pair}/{criterion.value}", criterion.description
        gaps = compared.gaps.models[criterion.value]
        figure = plot_matched_accuracy(table, gaps=gaps)
        yield f"{place}/matched_accuracy", f"Matched accuracy, {title}", figure
        means = compared.gaps.means
        (mean,) = (row for _, row in means.iterrows() if row["matching"] == criterion.value)
        yield f"{place}/gaps", f"Gaps, {title}", plot_gaps(table, gaps, mean, title)
        if len(known.comparisons) == 1:
            (comparison,), (matched,) = known.comparisons, compared.matched[criterion]
            epsilon = known.methods[criterion.value].epsilon
            data = reliability_data(comparison, matched.pairs(), title, epsilon, known.seeds)
            name = _file_name(comparison.model)
            yield f"{place}/reliability/{name}", f"Reliability, {title}", plot_reliability(data)


def _file_name(model: str) -> str:
    return model.replace("/", "_")
