"""The report of a comparison that the command line made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from matcheval.io.files import atomic_file
from matcheval.io.provenance import software_versions
from matcheval.report.pages import Provenance, render_report
from matcheval.report.provenance import PACKAGES, digests
from matcheval.report.sections import Section, ShownFile

if TYPE_CHECKING:
    from matcheval.api.pair_analyses import AnalysisTable


@dataclass(frozen=True)
class ComparedFiles:
    """What the report of a comparison is made from.

    Attributes
    ----------
    folder : Path
        Where tables and figures lie, laid out like a study's results.
    pair : str
    titles : mapping of str to str
        What readers call the matchings, by name.
    figures : sequence of ShownFile
    analyses : sequence of AnalysisTable
        Further analyses, whose tables are written.
    inputs : sequence of Path
        The prediction files.
    """

    folder: Path
    pair: str
    titles: Mapping[str, str]
    figures: Sequence[ShownFile]
    analyses: "Sequence[AnalysisTable]"
    inputs: Sequence[Path]


def write_comparison_report(title: str, files: ComparedFiles, command: str) -> Path:
    """Write `report.html` into the folder of a comparison.

    Parameters
    ----------
    title : str
    files : ComparedFiles
    command : str
        What was asked for.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InputError
        If a file cannot be read or written.
    """
    folder, pair = files.folder, files.pair
    data = {
        "means": [str(folder / "gaps" / f"{pair}.parquet")],
        "tables": [str(folder / "tables" / pair / f"{m}.parquet") for m in files.titles],
        "gaps": [str(folder / "gaps" / pair / f"{m}.parquet") for m in files.titles],
    }
    values = {"titles": dict(files.titles), "places": [[pair, m] for m in files.titles]}
    gaps = Section(
        "matching", "Gaps before and after matching", "matcheval.protocol",
        tuple(files.figures), data, values,
    )  # fmt: skip
    sections = [gaps, *(_section(one, pair, folder) for one in files.analyses)]
    inputs = list(files.inputs)
    provenance = Provenance(
        software_versions(*PACKAGES), command, [digests(inputs, "Prediction files")]
    )
    page = folder / "report.html"
    with atomic_file(page) as partial:
        partial.write_text(render_report(title, sections, provenance), encoding="utf-8")
    return page


def _section(result: "AnalysisTable", pair: str, folder: Path) -> Section:
    kind = result.analysis.kind
    title = kind.title()
    shown = [ShownFile((str(folder / kind.name / f"{pair}.md"),), title)]
    if kind.has_figure:
        stem = folder / "figures" / kind.name / pair
        paths = tuple(f"{stem}{suffix}" for suffix in (".svg", ".png"))
        shown.append(ShownFile(paths, title))
    return Section(kind.name, title, kind.__module__.rpartition(".")[0], tuple(shown))
