"""Settings of Sphinx for the documentation site: `make site` builds it into build/site."""

import os
import re
from pathlib import Path
from typing import Any

from pygments.lexers.special import TextLexer

from matcheval import __version__

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
# Where files beside docs/ can be read. Without an address of the repository, links become names.
SERVER, REPOSITORY = (os.environ.get(f"GITHUB_{name}", "") for name in ("SERVER_URL", "REPOSITORY"))
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#:\s]+)(#[^)\s]*)?\)")

project = "matched-eval"
author = "the authors of matched-eval"
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
myst_heading_anchors = 4
exclude_patterns = ["_build"]
highlight_language = "none"
default_role = "code"  # single backticks in docstrings
html_theme = "furo"
html_title = "matched-eval"
html_show_sourcelink = False
autodoc_typehints = "none"  # docstrings give types, with shapes
napoleon_google_docstring = False


def replace_outside_links(source: str, docname: str) -> str:
    """Point links to files outside the site at the repository, or replace them by names.

    Parameters
    ----------
    source : str
        Text of a page in Markdown.
    docname : str
        Name of the page, its path below docs/ without suffix.
    """

    def replace(link: re.Match[str]) -> str:
        text, target, anchor = link[1], link[2], link[3] or ""
        path = (DOCS / docname).parent.joinpath(target).resolve()
        if path.is_relative_to(DOCS) and path.suffix == ".md":
            return link[0]
        if not path.exists():
            raise FileNotFoundError(f"docs/{docname}.md: no {target}, to which it links")
        inside = path.relative_to(ROOT).as_posix()
        if REPOSITORY:
            kind = "tree" if path.is_dir() else "blob"
            return f"[{text}]({SERVER}/{REPOSITORY}/{kind}/main/{inside}{anchor})"
        name = f"`{inside}`"
        return name if text.strip("`") in inside else f"{text} ({name})"

    return LINK.sub(replace, source)


def setup(app: Any) -> None:
    """Register the functions that change sources and HTML of pages."""

    def change_source(_: Any, docname: str, source: list[str]) -> None:
        source[0] = replace_outside_links(source[0], docname)
        if "/" in docname:  # other pages lead to it, not the navigation
            source[0] = f"---\norphan: true\n---\n{source[0]}"

    def change_html(_: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
        """Give captions the level of a heading, and let keys scroll wide tables."""
        for part in {"body", "furo_navigation_tree"} & context.keys():
            text = context[part].replace('role="heading"', 'role="heading" aria-level="2"')
            context[part] = text.replace(
                'class="table-wrapper', 'tabindex="0" class="table-wrapper'
            )

    app.add_lexer("csv", TextLexer)
    app.connect("source-read", change_source)
    app.connect("html-page-context", change_html, priority=900)  # after the theme
