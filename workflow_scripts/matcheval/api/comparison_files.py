"""Writing a comparison's report, tables and figures to a folder, as a study's results lie."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from matcheval.api.compared import Compared
from matcheval.api.comparison_report import ComparedFiles, write_comparison_report
from matcheval.errors import InputError
from matcheval.figures.saving import save_figure
from matcheval.io.files import atomic_file, check_place
from matcheval.io.tables import write_table
from matcheval.protocol.comparisons import with_suspicions
from matcheval.protocol.schemas import GAPS, MEAN_GAPS, MODEL_TABLE
from matcheval.protocol.tables import join_runs
from matcheval.protocol.words import write_summary
from matcheval.report.sections import ShownFile

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("pdf", "png", "svg")
LIST = "files.json"  # what a comparison wrote into its folder
_WRITER = "matched-eval compare"


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
    if any(folder.iterdir()) and _earlier(folder) is None:
        raise InputError(
            "holds files that no comparison wrote",
            file=folder,
            remedy="Name an empty or a new folder with --output",
        )


def write_comparison(compared: Compared, folder: Path, command: str) -> Iterator[Path]:
    """Write the files that the workflow writes for a pair, in place of an earlier comparison's.

    Parameters
    ----------
    compared : Compared
    folder : Path
        Output folder, as `check_folder` wants it. It receives `report.html`, `summary.md`,
        `matched/`, `tables/`, `gaps/` and `figures/`; for a single model also `pairs/`
        and reliability diagrams.
    command : str
        What was asked for, for the report.

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
    for path in _write_all(compared, folder, command):
        written.append(path.relative_to(folder).as_posix())
        with atomic_file(folder / LIST) as partial:  # after each, for a run that is killed
            text = json.dumps({"written_by": _WRITER, "files": written}, indent=1)
            partial.write_text(text, encoding="utf-8")
        yield path


def _earlier(folder: Path) -> list[str] | None:
    """Return the names of the files that an earlier comparison wrote; None if there was none."""
    try:
        known = json.loads((folder / LIST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(known, dict) or known.get("written_by") != _WRITER:
        return None
    return [name for name in known.get("files", []) if isinstance(name, str)]


def _remove_earlier(folder: Path) -> None:
    """Delete the files that an earlier comparison listed, and folders that become empty."""
    for name in _earlier(folder) or []:
        path = folder / name
        if path.resolve().is_relative_to(folder.resolve()):
            path.unlink(missing_ok=True)
            for parent in path.parents:
                if parent == folder or not parent.is_dir() or any(parent.iterdir()):
                    break
                parent.rmdir()


def _write_all(compared: Compared, folder: Path, command: str) -> Iterator[Path]:
    figures: list[ShownFile] = []
    for stem, title, figure in _figures(compared):
        paths = [folder / "figures" / f"{stem}.{suffix}" for suffix in FORMATS]
        save_figure(figure, *paths)
        yield from paths
        figures.append(ShownFile(tuple(map(str, paths)), title))
    for path, table in _tables(compared):
        write_table(table, folder / path)
        yield folder / path
    analyses = [*compared.analyses.values()]
    for result in analyses:
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
        ComparedFiles(folder, compared.pair, compared.titles, figures, analyses, inputs),
        command,
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
    yield f"{pair}/confidence", "Accuracy and confidence", compared.figure("confidence")
    for criterion in compared.tables:
        place, title = f"{pair}/{criterion.value}", criterion.description
        figure = compared.figure("matched_accuracy", criterion)
        yield f"{place}/matched_accuracy", f"Matched accuracy, {title}", figure
        yield f"{place}/gaps", f"Gaps, {title}", compared.figure("gaps", criterion)
        if len(known.comparisons) == 1:
            name = _file_name(known.comparisons[0].model)
            figure = compared.figure("reliability", criterion)
            yield f"{place}/reliability/{name}", f"Reliability, {title}", figure


def _file_name(model: str) -> str:
    return model.replace("/", "_")
