"""Rendering of a report: sections, figures and style become one HTML file."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matcheval.report.embedding import FigureSpace, read_result
from matcheval.report.sections import Content, Section, ShownFile
from matcheval.report.tables import HtmlTable, read_markdown

if TYPE_CHECKING:
    from jinja2 import Environment

_LIBRARY = Path(__file__).parents[1]
_CODE, _BOLD = re.compile(r"`+([^`]+)`+"), re.compile(r"\*\*(.+?)\*\*")
_PATTERNS = ("*/report.html", "*/*/report.html", "report/*.html", "report/*.css", "report/*.js")


@dataclass(frozen=True)
class Rendered:
    """A section as part of a page."""

    section: Section
    content: Content
    html: str


@dataclass(frozen=True)
class Provenance:
    """What a reader needs to make the results again."""

    versions: Mapping[str, str]
    settings: str
    tables: Sequence[HtmlTable] = ()


def render_report(
    title: str, sections: Sequence[Section], provenance: Provenance, notes: Sequence[str] = ()
) -> str:
    """Render a report."""
    space = FigureSpace()
    rendered = [_render_section(section, space) for section in sections]
    return (
        _environment()
        .get_template("report/page.html")
        .render(
            title=title,
            sections=rendered,
            headlines=[line for one in rendered for line in one.content.headlines],
            notes=[*(note for one in rendered for note in one.content.notes), *notes],
            left_out=space.left_out,
            provenance=provenance,
        )
    )


def template_digest() -> str:
    """Return a digest of all templates, for rules that have to follow their edits."""
    files = sorted({file for pattern in _PATTERNS for file in _LIBRARY.glob(pattern)})
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()[:16]


def _render_section(section: Section, space: FigureSpace) -> Rendered:
    content = Content()
    if section.data:
        content = import_module(f"{section.room}.report").content(section.data, section.values)
    tables = [one for shown in section.shown if shown.is_table for one in _tables(shown)]
    figures = [space.embed(shown, _caption(shown)) for shown in section.shown if not shown.is_table]
    own = "/".join(section.room.split(".")[1:]) + "/report.html"
    template = own if (_LIBRARY / own).is_file() else "report/section.html"
    html = (
        _environment()
        .get_template(template)
        .render(section=section, tables=tables, figures=figures, **content.variables)
    )
    return Rendered(section, content, html)


def _tables(shown: ShownFile) -> list[tuple[HtmlTable, list[str]]]:
    """Read the tables of a file with the paragraphs around them; the caption follows the last."""
    path = shown.paths[0]
    found = read_markdown(read_result(path).decode("utf-8"), path)
    tables = []
    for number, one in enumerate(found, 1):
        title = f"{shown.title}: {one.heading}" if one.heading else shown.title
        caption = [_caption(shown)] if number == len(found) else []
        tables.append((HtmlTable(title, one.columns, path), [*one.paragraphs, *caption]))
    return tables


def _caption(shown: ShownFile) -> str:
    """Enter the wildcards into a caption."""
    template = _environment().overlay(autoescape=False).from_string(shown.caption)
    return " ".join(template.render(snakemake={"wildcards": shown.wildcards}).split())


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup, escape

    environment = Environment(
        loader=FileSystemLoader(_LIBRARY), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip

    def raw(name: str) -> Any:
        """Return a file of the library as it is."""
        return Markup((_LIBRARY / name).read_text(encoding="utf-8"))

    def prose(text: str) -> Any:
        """Set what is between backticks as code, and between double asterisks in bold."""
        marked = _CODE.sub(r"<code>\1</code>", str(escape(text)))
        return Markup(_BOLD.sub(r"<strong>\1</strong>", marked))

    environment.globals["raw"] = raw
    environment.filters["prose"] = prose
    return environment
