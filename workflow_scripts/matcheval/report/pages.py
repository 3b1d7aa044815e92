"""Rendering of a report: sections, figures and style become one HTML file."""

import base64
import hashlib
import io
import itertools
import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from matcheval.errors import InputError
from matcheval.figures.style import PAGE_COLORS
from matcheval.io.files import write_text
from matcheval.io.provenance import software_versions
from matcheval.io.self_digests import read_json
from matcheval.io.text_tables import TextColumn
from matcheval.report.sections import Content, Section, ShownFile

if TYPE_CHECKING:
    from jinja2 import Environment

LONGEST = 2500  # rows of a table that are shown
_CELLS = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True)
class HtmlTable:
    """A table of an HTML report."""

    caption: str
    columns: tuple[TextColumn, ...]
    file: str = ""
    paragraphs: tuple[str, ...] = ()  # below it

    @property
    def n_rows(self) -> int:
        """Number of rows, also of those that are not shown."""
        return len(self.columns[0].cells) if self.columns else 0

    @property
    def rows(self) -> Iterator[tuple[str, ...]]:
        """The cells of each row that is shown."""
        shown = [column.cells[:LONGEST] for column in self.columns]
        return zip(*shown, strict=True)

    @property
    def n_hidden(self) -> int:
        """Number of rows that are not shown because there are too many."""
        return max(0, self.n_rows - LONGEST)


def read_markdown(text: str, file: str) -> list[HtmlTable]:
    """Read a Markdown page that the workflow wrote: its tables, with the paragraphs below each."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("<!--")]
    headings = [
        i
        for i, (line, following) in enumerate(itertools.pairwise(lines))
        if line.startswith("**") and line.endswith("**") and following.startswith("|")
    ]
    pieces = itertools.pairwise(dict.fromkeys([0, *headings, len(lines)]))
    return [_read_table(lines[start:end], start in headings, file) for start, end in pieces]


def _read_table(lines: Sequence[str], has_heading: bool, file: str) -> HtmlTable:
    """Read a table from Markdown lines, with its heading and paragraphs; empty if there is none."""
    heading, others = (lines[0].strip("*"), lines[1:]) if has_heading else ("", lines)
    rows = [
        [cell.strip().replace(r"\|", "|") for cell in _CELLS.split(line)[1:-1]]
        for line in lines
        if line.startswith("|")
    ]
    paragraphs = tuple(line.strip("# ") for line in others if not line.startswith("|"))
    if len(rows) < 2:
        return HtmlTable(heading, (), file, paragraphs)
    if len({len(row) for row in rows}) != 1:
        remedy = "If the workflow wrote it, delete it and run again"
        raise InputError("is not a table: its rows differ in length", file=file, remedy=remedy)
    columns = tuple(
        TextColumn(head, cells, is_number=mark.endswith(":"))
        for head, mark, *cells in zip(*rows, strict=True)
    )
    return HtmlTable(heading, columns, file, paragraphs)


MOST_BYTES = 4_000_000  # of all figures of a page, as characters in it
LARGEST_SVG = 300_000  # bytes; a larger drawing is shown as PNG if there is one
_REDUCTION = 2  # from the 300 dpi of print
_COLORS = 64


@dataclass(frozen=True)
class ShownFigure:
    """A figure of an HTML report."""

    title: str
    caption: str
    source: str  # a data URL; empty if the figure is not in the page
    path: str


@dataclass
class FigureSpace:
    """The room that is left on a page for figures, and the figures that it had no room for."""

    left: int = MOST_BYTES
    left_out: list[str] = field(default_factory=list)

    def embed(self, shown: ShownFile, caption: str) -> ShownFigure:
        """Return a figure with its data, or without and noted as left out if there is no room."""
        source = _data_url(shown.paths)
        if not source or len(source) > self.left:
            self.left_out.append(shown.paths[0])
            source = ""
        self.left -= len(source)
        return ShownFigure(shown.title, caption, source, shown.paths[0])


def _data_url(paths: tuple[str, ...]) -> str:
    """Return a figure as a data URL, of its SVG or PNG file; empty if there is only a PDF file."""
    by_suffix = {Path(path).suffix: path for path in paths}
    svg, png = by_suffix.get(".svg"), by_suffix.get(".png")
    if svg and (not png or Path(svg).stat().st_size <= LARGEST_SVG):
        kind, content = "svg+xml", read_result(svg)
    elif png:
        kind, content = "png", _reduce_png(read_result(png))
    else:
        return ""
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def _reduce_png(content: bytes) -> bytes:
    """Halve the resolution of a PNG file, made for print, and reduce it to 64 colours."""
    from PIL import Image

    with Image.open(io.BytesIO(content), formats=("PNG",)) as image:
        small = image.convert("RGB").reduce(_REDUCTION)
    reduced = io.BytesIO()
    small.quantize(_COLORS).save(reduced, "png")
    return reduced.getvalue()


def read_result(path: str | os.PathLike[str]) -> bytes:
    """Read the bytes of a file that the workflow wrote; raise `InputError` if it is gone."""
    try:
        return Path(path).read_bytes()
    except FileNotFoundError as error:
        raise InputError("no such file", file=path, remedy="Run the study again") from error


_LIBRARY = Path(__file__).parents[1]
_CODE, _BOLD = re.compile(r"`+([^`]+)`+"), re.compile(r"\*\*(.+?)\*\*")
_PATTERNS = ("*/report.html", "*/*/report.html", "report/*.html", "report/*.css", "report/*.js")


@dataclass(frozen=True)
class Provenance:
    """What a reader needs to make the results again: versions, settings and tables of inputs."""

    versions: Mapping[str, str]
    settings: str
    tables: Sequence[HtmlTable] = ()


def render_report(
    title: str, sections: Sequence[Section], provenance: Provenance, notes: Sequence[str] = ()
) -> str:
    """Render a report as an HTML page: headlines, notes, sections and where they come from."""
    space = FigureSpace()
    contents = list(map(_section_content, sections))
    rendered = [
        {"section": section, "content": content, "html": _render_section(section, content, space)}
        for section, content in zip(sections, contents, strict=True)
    ]
    template = _template_environment().get_template("report/page.html")
    return template.render(
        title=title, sections=rendered, left_out=space.left_out, provenance=provenance,
        colors=PAGE_COLORS,
        headlines=[line for content in contents for line in content.headlines], notes=notes,
    )  # fmt: skip


def template_digest() -> str:
    """Return a digest of all templates, so that rules notice when one is edited."""
    files = sorted({file for pattern in _PATTERNS for file in _LIBRARY.glob(pattern)})
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()[:16]


def _section_content(section: Section) -> Content:
    """Return what the `report` module of a section's package makes of its data, if it has any."""
    if not section.data:
        return Content()
    return import_module(f"{section.package}.report").content(section.data, section.values)


def _render_section(section: Section, content: Content, space: FigureSpace) -> str:
    """Render a section by its package's template `report.html` or, without one, the common one."""
    tables = [table for shown in section.shown if shown.is_table for table in _read_tables(shown)]
    drawn = [shown for shown in section.shown if not shown.is_table]
    figures = [space.embed(shown, _fill_caption(shown)) for shown in drawn]
    own = "/".join(section.package.split(".")[1:]) + "/report.html"
    name = own if (_LIBRARY / own).is_file() else "report/section.html"
    template = _template_environment().get_template(name)
    return template.render(section=section, tables=tables, figures=figures, **content.variables)


def _read_tables(shown: ShownFile) -> list[HtmlTable]:
    """Read the tables of a file, under the file's title; its caption is below the last."""
    path = shown.paths[0]
    tables = read_markdown(read_result(path).decode("utf-8"), path)
    *others, last = [
        replace(table, caption=": ".join(filter(None, (shown.title, table.caption))))
        for table in tables
    ]
    return [*others, replace(last, paragraphs=(*last.paragraphs, _fill_caption(shown)))]


def _fill_caption(shown: ShownFile) -> str:
    """Return the caption of a file with the values of its wildcards, such as the pair's name."""
    template = _template_environment().overlay(autoescape=False).from_string(shown.caption)
    return " ".join(template.render(snakemake={"wildcards": shown.wildcards}).split())


@cache
def _template_environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup, escape

    environment = Environment(
        loader=FileSystemLoader(_LIBRARY), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip

    def raw(name: str) -> Any:
        """Return the text of a file of the library, not to be escaped."""
        return Markup((_LIBRARY / name).read_text(encoding="utf-8"))

    def prose(text: str) -> Any:
        """Convert text to HTML: backticks to code, double asterisks to bold, `5 %` on one line."""
        text = text.replace(" %", "\N{NO-BREAK SPACE}%")
        marked = _CODE.sub(r"<code>\1</code>", str(escape(text)))
        return Markup(_BOLD.sub(r"<strong>\1</strong>", marked))

    environment.globals["raw"] = raw
    environment.filters["prose"] = prose
    return environment


PACKAGES = ("jinja2", "matplotlib", "numba", "numpy", "pandas", "pyarrow", "scipy")
_UNKNOWN = "–"
_METADATA = {  # headings by key of the metadata of prediction files
    "weights_sha256": "SHA-256 of the weights", "transform": "Transform", "dtype": "Precision",
    "device": "Device", "torch": "torch",
}  # fmt: skip


def digests(files: Sequence[Path], caption: str) -> HtmlTable:
    """Make a table that lists files with the SHA-256 of their bytes."""
    sums = [hashlib.sha256(read_result(path)).hexdigest() for path in files]
    return table_of_columns(caption, {"File": [str(path) for path in files], "SHA-256": sums})


def table_of_columns(
    caption: str, columns: Mapping[str, Sequence[str]], numbers: Sequence[str] = ()
) -> HtmlTable:
    """Make a table from its columns by heading; those in `numbers` are aligned right."""
    cells = columns.items()
    return HtmlTable(caption, tuple(TextColumn(h, list(c), h in numbers) for h, c in cells))


def _table_of_models(models: Mapping[str, Mapping[str, str]]) -> HtmlTable:
    """Make a table of models: their sources, and what the metadata of their predictions say."""
    stored_metadata = []
    for model in models.values():
        path = model["predictions"]
        stored = pq.read_schema(path).metadata if path.endswith(".parquet") else None
        stored_metadata.append(
            {key.decode(): v.decode(errors="replace") for key, v in (stored or {}).items()}
        )
    columns = {
        head: [metadata.get(key, _UNKNOWN) for metadata in stored_metadata]
        for key, head in _METADATA.items()
    }
    filled = {head: cells for head, cells in columns.items() if set(cells) != {_UNKNOWN}}
    sources = [model["source"] for model in models.values()]
    return table_of_columns("Models", {"Model": list(models), "From": sources, **filled})


def _table_of_datasets(datasets: Mapping[str, Mapping[str, str]]) -> HtmlTable:
    """Make a table of datasets: kind, options and, unless they were deleted, their images."""
    paths = [Path(dataset["description"]) for dataset in datasets.values()]
    described = [read_json(path) if path.is_file() else {} for path in paths]
    columns = {
        "Dataset": list(datasets),
        "Kind": [dataset["kind"] for dataset in datasets.values()],
        "Options": [dataset["options"] for dataset in datasets.values()],
        "Images": [f"{dataset['n']:,}" if dataset else _UNKNOWN for dataset in described],
        "SHA-256 of the images": [dataset.get("sha256", _UNKNOWN) for dataset in described],
    }
    return table_of_columns("Datasets", columns, numbers=["Images"])


def write_report(
    *,
    study: str,
    sections: Sequence[Section],
    notes: Sequence[str],
    asked: str,
    models: Mapping[str, Mapping[str, str]],
    datasets: Mapping[str, Mapping[str, str]],
    files: Sequence[Path],
    page: Path,
) -> None:
    """Write the report of a study as one HTML file."""
    sources = [path for path in files if path.suffix == ".parquet"]
    tables = digests(sources, "Tables that this page is made from")
    described = [_table_of_models(models), _table_of_datasets(datasets), tables]
    provenance = Provenance(software_versions(*PACKAGES), asked, described)
    text = render_report(f"Study {study}", sections, provenance, notes)
    write_text(page, text)
    logging.info("%d sections, %d bytes", len(sections), len(text))
