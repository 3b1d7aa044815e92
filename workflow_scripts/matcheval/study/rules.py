"""What rules write: files, how they appear in reports, and the calls that make them."""

import itertools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from matcheval.io.provenance import KEPT


@dataclass(frozen=True)
class ReportEntry:
    """How an artifact appears in Snakemake's report."""

    category: str  # the section it is listed in
    caption: str  # in reStructuredText, with values such as `{{ snakemake.wildcards.pair }}`
    labels: Mapping[str, str] = field(default_factory=dict)  # columns; values may hold wildcards


@dataclass(frozen=True)
class Artifact:
    """Files of one kind: a path with wildcards, such as `results/digits/tables/{pair}/{matching}`.

    There is a file for each suffix; those with `reported` suffixes appear in Snakemake's report.
    """

    stem: str
    suffixes: tuple[str, ...]
    report: ReportEntry | None = None
    reported: tuple[str, ...] = ()

    def file(self, suffix: str = "", **wildcards: object) -> str:
        """Return one path: with this suffix or the first; wildcards without a value stay in it."""
        path = self.stem + (suffix or self.suffixes[0])
        for name, value in wildcards.items():
            path = path.replace(f"{{{name}}}", str(value))
        return path

    def expand(self, **wildcards: object) -> list[str]:
        """Return the paths for all combinations of wildcard values, and all suffixes."""
        choices = [
            [value] if isinstance(value, str | int) else list(value)  # type: ignore[call-overload]
            for value in wildcards.values()
        ]
        return [
            self.file(suffix, **dict(zip(wildcards, combination, strict=True)))
            for combination in itertools.product(*choices)
            for suffix in self.suffixes
        ]

    def with_wildcards(self, wildcards: Mapping[str, object]) -> "Artifact":
        """Return a copy with some wildcards replaced by values, in path, caption and labels."""
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


def call(function: Callable[..., None], **arguments: Any) -> dict[str, Any]:
    """Describe a call of a library function as JSON values, for `execution.batches.run_calls`."""
    return {"function": function_name(function), "arguments": arguments}


def kept_calls(study: Any, function: Callable[..., None], place: str) -> dict[str, Any]:
    """Return the arguments of `make_calls` that name a function, and folders of files and links."""
    return {
        "makes": function_name(function), "results": study.results,
        "kept": f"{study.folder}/{KEPT}/{place}", "declared": f"{study.folder}/{place}",
    }  # fmt: skip


def function_name(function: Callable[..., Any]) -> str:
    """Return a function's name as `module:name`."""
    return f"{function.__module__}:{function.__name__}"


def one_of(names: Iterable[str]) -> str:
    """Return a regular expression that matches only these names, for a wildcard constraint."""
    return "|".join(map(re.escape, sorted(names))) or "(?!)"


_WILDCARD = re.compile(r"\\\{([A-Za-z_]\w*)\\\}")  # in an escaped text


def path_pattern(path: str, value: str = ".+", unnamed: str = "") -> re.Pattern[str]:
    """Compile a path to a regular expression, with a named group per wildcard but `unnamed`."""
    seen: set[str] = set()

    def replacement(match: re.Match[str]) -> str:
        name = match[1]
        if name == unnamed:
            return value
        if name in seen:
            return f"(?P={name})"
        seen.add(name)
        return f"(?P<{name}>{value})"

    return re.compile(_WILDCARD.sub(replacement, re.escape(path)))
