"""Paths of the files that rules write; each is declared once, in an analysis or in `Study`."""

import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

TABLE_SUFFIXES = (".parquet", ".csv", ".tex", ".md")


@dataclass(frozen=True)
class ReportEntry:
    """How an artifact appears in Snakemake's report.

    Attributes
    ----------
    category : str
        The section it is listed in.
    caption : str
        Name of its file in `rules/captions`, without suffix.
    labels : mapping
        Columns of the list; values may hold wildcards.
    """

    category: str
    caption: str
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Artifact:
    """Files of one kind: a path with wildcards in braces, and a suffix for each file.

    Attributes
    ----------
    stem : str
        The path without suffix, such as ``results/digits/tables/{pair}/{criterion}``.
    suffixes : tuple of str
        One file each.
    report : ReportEntry or None
        How it appears in the report; None if it does not.
    reported : tuple of str
        Suffixes of the files that appear there.
    """

    stem: str
    suffixes: tuple[str, ...]
    report: ReportEntry | None = None
    reported: tuple[str, ...] = ()

    @property
    def files(self) -> list[str]:
        """Paths with their wildcards, as the outputs of a rule."""
        return [self.stem + suffix for suffix in self.suffixes]

    def file(self, suffix: str = "", **wildcards: object) -> str:
        """Return one path.

        Parameters
        ----------
        suffix : str
            Which file; the first one by default.
        **wildcards
            Values of wildcards; the others stay in braces.
        """
        path = self.stem + (suffix or self.suffixes[0])
        for name, value in wildcards.items():
            path = path.replace(f"{{{name}}}", str(value))
        return path

    def expand(self, **wildcards: object) -> list[str]:
        """Return all paths for every combination of values.

        Parameters
        ----------
        **wildcards
            For each wildcard a value, or several as a list, tuple or other collection.
        """
        choices = [
            [value] if isinstance(value, str | int) else list(value)  # type: ignore[call-overload]
            for value in wildcards.values()
        ]
        return [
            self.file(suffix, **dict(zip(wildcards, combination, strict=True)))
            for combination in itertools.product(*choices)
            for suffix in self.suffixes
        ]


def one_of(names: Iterable[str]) -> str:
    """Return a regular expression that matches some names only, for a wildcard constraint."""
    return "|".join(map(re.escape, sorted(names))) or "(?!)"
