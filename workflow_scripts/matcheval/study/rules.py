"""What rules write, and the rules of analyses: each is declared once, where it belongs."""

import itertools
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from matcheval.execution.resources import ResourceRequest

TABLE_SUFFIXES = (".parquet", ".csv", ".tex", ".md")


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


class Wildcards(Protocol):
    """Values of a job's wildcards, as attributes."""

    def __getattr__(self, name: str) -> str:
        """Return the value of a wildcard."""


@dataclass(frozen=True, kw_only=True)
class DeclaredRule:
    """What a rule that runs a function and one that runs a command have in common.

    Attributes
    ----------
    name : str
        Such as `tabulate_severity`.
    message : str
        What a run says of it; `{wildcards.pair}` is a wildcard's value.
    output : mapping
        Artifacts or paths by name; the first one has all wildcards.
    input : mapping
        Paths with wildcards by name, or functions of the wildcards that return paths.
    request : callable, optional
        Returns what it takes; without, it is small: seconds in any study.
    values : mapping, optional
        Values that a wildcard can have, by its name, where that is not declared for all rules.
    environment : str
        `analysis`, or `models` for jobs that import torch or decode images.
    threads : int
    """

    name: str
    message: str
    output: Mapping[str, Artifact | str | Sequence[str]]
    input: Mapping[str, str | Sequence[str] | Callable[[Any], Any]] = field(default_factory=dict)
    request: Callable[[Any], ResourceRequest] | None = None
    values: Mapping[str, Iterable[str]] = field(default_factory=dict)
    environment: str = "analysis"
    threads: int = 1

    @property
    def place(self) -> str:
        """Its name and wildcards as a path: where its log is, below the folder of logs."""
        first = next(iter(self.output.values()))
        path = first.stem if isinstance(first, Artifact) else first
        path = path if isinstance(path, str) else path[0]
        return "/".join([self.name, *dict.fromkeys(re.findall(r"\{\w+\}", path))])

    def inputs(self, wildcards: Any) -> dict[str, Any]:
        """Return the paths of the input files by name."""
        values = dict(wildcards.items())

        def filled(given: Any) -> Any:
            if callable(given):
                return given(wildcards)
            if isinstance(given, str):
                return given.format_map(values)
            return [path.format_map(values) for path in given]

        return {name: filled(given) for name, given in self.input.items()}


@dataclass(frozen=True, kw_only=True)
class Rule(DeclaredRule):
    """A rule of an analysis: which function makes which files from which (rules/analyses.smk).

    Attributes
    ----------
    run : callable
        A function of a module, with annotated keyword-only arguments. They are found by name in
        `arguments`, the inputs, the outputs and the wildcards, and converted to the annotated types
        (`execution.entry_points.job_arguments`).
    arguments : callable, optional
        Returns further arguments, as JSON values, from the wildcards. The job is repeated when they
        change.
    custom_files : callable, optional
        Returns size and time of the user's files that it reads.
    code : sequence of str
        What `run` finds by name, as for `io.provenance.code_digest`.
    """

    run: Callable[..., None]
    arguments: Callable[[Any], Mapping[str, Any]] | None = None
    custom_files: Callable[[Any], Any] | None = None
    code: Sequence[str] = ()

    @property
    def function(self) -> str:
        """`run` as `module:name`."""
        return f"{self.run.__module__}:{self.run.__name__}"

    def parameters(self, wildcards: Any) -> Mapping[str, Any]:
        """Return the further arguments."""
        found = self.arguments(wildcards) if self.arguments else {}
        json.dumps(found)  # an object's text could change from run to run, and repeat the job
        return found


@dataclass(frozen=True, kw_only=True)
class Command(DeclaredRule):
    """A stage whose results are kept when its code is edited, since much depends on them.

    Attributes
    ----------
    command : str
        A script with its command line, in which `{params.arguments:q}` and the like are filled in.
    params : mapping
        Parameters by name, or functions of the wildcards that return them. The job is repeated when
        they change; one is `version`, raised by hand when results change, or a `state` that has it.
    """

    command: str
    params: Mapping[str, Any]
    environment: str = "models"


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
