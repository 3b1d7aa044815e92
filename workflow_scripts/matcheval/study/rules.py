"""What rules write, and the rules of analyses: each is declared once, where it belongs."""

import inspect
import itertools
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, Protocol

from matcheval.execution.batches import make_calls
from matcheval.execution.calls import make_all
from matcheval.execution.resources import SMALL, ResourceRequest
from matcheval.io.json_files import digest_of

_MANY = 1000  # names in an expression
_PROCESSES = 2  # that make the members of a batch: as many cores as every machine has
_FEW_FIGURES = 8  # drawn before a second process has imported what it needs


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

    def of(self, wildcards: Mapping[str, str]) -> "Artifact":
        """Return the artifact of some values of its wildcards, in path, caption and labels."""
        stem, entry = self.file("", **wildcards).removesuffix(self.suffixes[0]), self.report
        if entry is not None:
            caption = entry.caption
            for name, value in wildcards.items():
                caption = re.sub(rf"snakemake\.wildcards\.{name}\b", f"'{value}'", caption)
            labels = {key: label.format_map(wildcards) for key, label in entry.labels.items()}
            entry = ReportEntry(entry.category, caption, labels)
        return replace(self, stem=stem, report=entry)


class Wildcards(Protocol):
    """Values of a job's wildcards, as attributes."""

    def __getattr__(self, name: str) -> str:
        """Return the value of the wildcard that has this name."""


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
    output: Mapping[str, Artifact | str | Sequence[str | Artifact]]
    input: Mapping[str, str | Sequence[str] | Callable[[Any], Any]] = field(default_factory=dict)
    request: Callable[[Any], ResourceRequest] | None = None
    values: Mapping[str, Iterable[str]] = field(default_factory=dict)
    environment: str = "analysis"
    threads: int = 1

    @property
    def place(self) -> str:
        """Its name and wildcards as a path: where its log is, below the folder of logs."""
        first: Any = next(iter(self.output.values()))
        if isinstance(first, list | tuple):
            first = first[0] if first else ""
        path = first.stem if isinstance(first, Artifact) else first
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
    draws : bool
        Whether it draws figures: those of an analysis are drawn by one job (`drawn_together`).
    members : Members, optional
        The values of a wildcard whose files one job makes, those that are missing or outdated
        (`made_together`).
    """

    run: Callable[..., None]
    arguments: Callable[[Any], Mapping[str, Any]] | None = None
    custom_files: Callable[[Any], Any] | None = None
    code: Sequence[str] = ()
    draws: bool = False
    members: "Members | None" = None

    @property
    def function(self) -> str:
        """`run` as `module:name`."""
        return f"{self.run.__module__}:{self.run.__name__}"

    def parameters(self, wildcards: Any) -> Mapping[str, Any]:
        """Return the further arguments."""
        return self.arguments(wildcards) if self.arguments else {}

    def packed(self, wildcards: Any) -> str:
        """Return them as JSON that is no HTML: Snakemake writes parameters into its report."""
        return json.dumps(self.parameters(wildcards)).replace("<", "\\u003c")

    def call(self, wildcards: Mapping[str, str]) -> dict[str, Any]:
        """Return what one job of it would run: the function, and its arguments as JSON values."""
        given = {
            **self.parameters(_attributes(wildcards)), **self.inputs(_attributes(wildcards)),
            **{name: _filled(files, wildcards) for name, files in self.output.items()},
        }  # fmt: skip
        expected = inspect.signature(self.run).parameters
        arguments = {n: given[n] if n in given else wildcards[n] for n in expected}
        return {"function": self.function, "arguments": arguments}


def _attributes(wildcards: Mapping[str, str]) -> Any:
    return SimpleNamespace(**wildcards, items=wildcards.items)


def _filled(files: Any, wildcards: Mapping[str, str]) -> Any:
    """Return the paths of outputs: one, or the list of those of an artifact."""
    if isinstance(files, str):
        return files.format_map(wildcards)
    listed = files.files if isinstance(files, Artifact) else files
    return [path.format_map(wildcards) for path in listed]


@dataclass(frozen=True)
class Members:
    """Jobs of a rule that are run as one, because to start one takes longer than its work.

    Attributes
    ----------
    wildcard : str
        Its values are the members.
    values : callable
        Returns them, from the other wildcards.
    reads : callable
        Returns the files that a member is made from, from all wildcards; a job may wait for others.
    index : Artifact
        The list of all members' files, which rules that read these wait for.
    results : str
        The folder of all results.
    """

    wildcard: str
    values: Callable[[Any], Sequence[str]]
    reads: Callable[[Any], Sequence[str]]
    index: Artifact
    results: str


def made_together(rule: Rule) -> Rule:
    """Return the rule whose job makes all members of a rule with members."""
    members = rule.members
    assert members is not None, rule.name

    def each(wildcards: Any) -> list[dict[str, str]]:
        others = dict(wildcards.items())
        return [{**others, members.wildcard: value} for value in members.values(wildcards)]

    def call(wildcards: dict[str, str]) -> dict[str, Any]:
        attributes = _attributes(wildcards)
        made, custom = rule.call(wildcards), rule.custom_files
        outputs = [_filled(files, wildcards) for files in rule.output.values()]
        anywhere = json.dumps(made, sort_keys=True).replace(f'"{members.results}/', '"<results>/')
        return {
            "member": wildcards[members.wildcard], "call": made, "files": outputs,
            "reads": list(members.reads(attributes)),
            "key": digest_of([anywhere, custom(attributes) if custom else []]),
        }  # fmt: skip

    def request(wildcards: Any) -> ResourceRequest:
        asked = [rule.request(_attributes(w)) if rule.request else SMALL for w in each(wildcards)]
        most = max(asked, key=lambda one: one.mem_mb, default=SMALL)
        # What is requested for one is mostly the time of a start.
        minutes = SMALL.runtime + sum(one.runtime - SMALL.runtime for one in asked)
        minutes += SMALL.runtime * (len(asked) // 20)
        return replace(most, runtime=minutes, mem_mb=_PROCESSES * most.mem_mb)

    def inputs(wildcards: Any) -> list[str]:
        return _all_inputs((rule, _attributes(w)) for w in each(wildcards))

    return replace(
        rule, run=make_calls, members=None, threads=_PROCESSES,
        input={"inputs": inputs},
        output={"index": members.index.file()},
        arguments=lambda wildcards: {
            "calls": [call(w) for w in each(wildcards)], "results": f"{members.results}/",
        },
        custom_files=None, request=request, code=(rule.function, *rule.code),
        values={k: v for k, v in rule.values.items() if k != members.wildcard},
    )  # fmt: skip


def _all_inputs(jobs: Iterable[tuple[Rule, Any]]) -> list[str]:
    """Return the input files of some jobs, each once."""
    found = (files for rule, wildcards in jobs for files in rule.inputs(wildcards).values())
    listed = ([files] if isinstance(files, str) else files for files in found)
    return list(dict.fromkeys(itertools.chain.from_iterable(listed)))


def drawn_together(name: str, rules: Sequence[Rule], targets: Sequence[str]) -> Rule:
    """Return a rule that draws all figures among some files: less work than to start one more job.

    Parameters
    ----------
    name : str
        Its name.
    rules : sequence of Rule
        Those that draw, each with one artifact as its output.
    targets : sequence of str
        The files of a study.
    """
    jobs: dict[tuple[str, ...], tuple[Rule, dict[str, str], Artifact]] = {}
    for rule in rules:
        (artifact,) = rule.output.values()
        assert isinstance(artifact, Artifact), rule.name
        values = {name: one_of(each) for name, each in rule.values.items()}
        pattern = path_pattern(artifact.file(), values=values)
        for match in filter(None, map(pattern.fullmatch, targets)):
            jobs[rule.name, *match.groups()] = rule, match.groupdict(), artifact
    each = [(rule, wildcards) for rule, wildcards, _ in jobs.values()]
    threads = _PROCESSES if len(each) > _FEW_FIGURES else 1

    def request(_: Any) -> ResourceRequest:
        asked = [r.request(_attributes(w)) if r.request else SMALL for r, w in each]
        most = max((one.mem_mb for one in asked), default=SMALL.mem_mb)
        larger = sum(one.runtime for one in asked if one != SMALL)
        return replace(
            SMALL, mem_mb=threads * most, threads=threads,
            runtime=larger + SMALL.runtime * max(1, math.ceil(len(each) / 50)),
        )  # fmt: skip

    return Rule(
        name=name, run=make_all, threads=threads,
        input={"inputs": lambda _: _all_inputs((r, _attributes(w)) for r, w in each)},
        output={"outputs": [artifact.of(wildcards) for _, wildcards, artifact in jobs.values()]},
        arguments=lambda _: {"calls": [rule.call(wildcards) for rule, wildcards in each]},
        custom_files=lambda _: [
            rule.custom_files(_attributes(w)) for rule, w in each if rule.custom_files
        ],
        code=sorted({code for rule in rules for code in (rule.function, *rule.code)}),
        environment=max(rule.environment for rule in rules),  # `models` has all of `analysis`
        request=request,
        message=f"Drawing {len(each)} figures",
    )  # fmt: skip


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


def one_of(names: Iterable[str], others: Iterable[str] | None = None) -> str:
    """Return a regular expression that matches some names only, for a wildcard constraint.

    If others are given, it matches all but these where there are many names: Snakemake looks
    through its text for every file of every job.
    """
    listed = sorted(names)
    if others is not None and len(listed) > _MANY:
        return rf"(?!(?:{one_of(others)})(?:\.\w+)?$)[^/]+"
    return "|".join(map(re.escape, listed)) or "(?!)"


_WILDCARD = re.compile(r"\\\{([A-Za-z_]\w*)\\\}")  # in an escaped text


def path_pattern(
    path: str, value: str = ".+", unnamed: str = "", values: Mapping[str, str] | None = None
) -> re.Pattern[str]:
    """Return an expression whose groups are the wildcards of a path, but for an unnamed one.

    A wildcard that `values` names matches the expression given there.
    """
    seen: set[str] = set()

    def group(match: re.Match[str]) -> str:
        name = match[1]
        if name == unnamed:
            return value
        if name in seen:
            return f"(?P={name})"
        seen.add(name)
        return f"(?P<{name}>{(values or {}).get(name, value)})"

    return re.compile(_WILDCARD.sub(group, re.escape(path)))
