"""What rules write: files, how they appear in reports, and the rules of tables."""

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from matcheval.io.kept import FOLDER as KEPT


@dataclass(frozen=True)
class ReportEntry:
    """How an artifact appears in Snakemake's report.

    Attributes
    ----------
    category : str
        The section it is listed in.
    caption : str
        What it shows, in reStructuredText; `{{ snakemake.wildcards.pair }}` is a wildcard's value.
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

    def of(self, wildcards: Mapping[str, object]) -> "Artifact":
        """Return the artifact with values of some wildcards, in path, caption and labels."""
        stem, entry = self.file("", **wildcards).removesuffix(self.suffixes[0]), self.report
        if entry is not None:
            caption, labels = entry.caption, dict(entry.labels)
            for name, value in wildcards.items():
                caption = re.sub(rf"snakemake\.wildcards\.{name}\b", f"'{value}'", caption)
                labels = {k: v.replace(f"{{{name}}}", str(value)) for k, v in labels.items()}
            entry = ReportEntry(entry.category, caption, labels)
        return replace(self, stem=stem, report=entry)


class Wildcards(Protocol):
    """Values of a job's wildcards, as attributes."""

    def __getattr__(self, name: str) -> str:
        """Return the value of the wildcard that has this name."""


@dataclass(frozen=True)
class Rule:
    """An analysis whose rule writes a table per pair, dataset or suite (rules/analyses.smk).

    Attributes
    ----------
    name : str
        Such as `tabulate_severity`.
    wildcard : str
        What there is a table for each of.
    values : sequence of str
        The values of the wildcard.
    inputs, arguments, custom_files : callable
        Functions of the wildcards that return the paths that are read, the arguments of
        `study.tables.make_table`, and size and time of the user's files.
    table : Artifact
    figure : Artifact or None
    code : sequence of str
        What the job runs, as for `io.provenance.code_digest`.
    message : str
        What a run says of it; `{wildcards.pair}` is a wildcard's value.
    """

    name: str
    wildcard: str
    values: Sequence[str]
    inputs: Callable[[Any], list[str]]
    arguments: Callable[[Any], Mapping[str, Any]]
    custom_files: Callable[[Any], Any]
    table: Artifact
    figure: Artifact | None
    code: Sequence[str]
    message: str


def call(function: Callable[..., None], **arguments: Any) -> dict[str, Any]:
    """Return a call of a library function as JSON values, for `execution.batches.make_all`."""
    return {"function": function_name(function), "arguments": arguments}


def kept_calls(study: Any, function: Callable[..., None], place: str) -> dict[str, Any]:
    """Return where `execution.batches.make_calls` keeps the files of a study, and links to them."""
    return {
        "makes": function_name(function), "results": study.results,
        "kept": f"{study.folder}/{KEPT}/{place}", "declared": f"{study.folder}/{place}",
    }  # fmt: skip


def function_name(function: Callable[..., Any]) -> str:
    """Return a function as `module:name`."""
    return f"{function.__module__}:{function.__name__}"


def one_of(names: Iterable[str]) -> str:
    """Return a regular expression that matches some names only, for a wildcard constraint."""
    return "|".join(map(re.escape, sorted(names))) or "(?!)"


_WILDCARD = re.compile(r"\\\{([A-Za-z_]\w*)\\\}")  # in an escaped text


def path_pattern(path: str, value: str = ".+", unnamed: str = "") -> re.Pattern[str]:
    """Return an expression whose groups are the wildcards of a path, but for an unnamed one."""
    seen: set[str] = set()

    def group(match: re.Match[str]) -> str:
        name = match[1]
        if name == unnamed:
            return value
        if name in seen:
            return f"(?P={name})"
        seen.add(name)
        return f"(?P<{name}>{value})"

    return re.compile(_WILDCARD.sub(group, re.escape(path)))
