"""What a report consists of: sections with tables, figures, headlines and notes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matcheval.report.charts import Chart


@dataclass(frozen=True)
class ShownFile:
    """A table or figure on file."""

    paths: tuple[str, ...]
    title: str
    caption: str = ""
    wildcards: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_table(self) -> bool:
        """Whether it is a table for reading."""
        return self.paths[0].endswith(".md")


@dataclass(frozen=True)
class Section:
    """The part of a report that one analysis gives.

    Attributes
    ----------
    name, title : str
        Of the analysis: its key in study files, and its name for a reader.
    room : str
        Full name of the package of the analysis.
    shown : tuple of ShownFile
    data : mapping of str to sequence of str
        Files, by name, that the function `content` of the room's module `report` reads. Without
        any, the section shows the tables and figures only.
    values : mapping
        Further arguments of that function.
    settings : mapping
        Settings of the analysis.
    """

    name: str
    title: str
    room: str
    shown: tuple[ShownFile, ...] = ()
    data: Mapping[str, Sequence[str]] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Sentence:
    """A sentence of a headline; `strength` is how far data support it, if it is a claim."""

    text: str
    strength: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Headline:
    """A result that the page begins with.

    Attributes
    ----------
    subject : str
        What it is about.
    lines : tuple of Sentence
    next_step : str
        What to do, if that follows.
    charts : tuple of Chart
    notes : tuple of str
        What looks wrong, or is to be known.
    """

    subject: str
    lines: tuple[Sentence, ...]
    next_step: str = ""
    charts: "tuple[Chart, ...]" = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Content:
    """What the module `report` of a room makes of a section's data.

    Attributes
    ----------
    headlines : tuple of Headline
    variables : mapping
        Variables of the room's template.
    notes : tuple of str
        What was left out and why, and what looks wrong.
    heading : str
        Where the section is shown, and not in a drawer: its heading.
    """

    headlines: tuple[Headline, ...] = ()
    variables: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    heading: str = ""
