"""What a study's report shows: a section for every analysis that writes files for readers."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matcheval.report.sections import Section, ShownFile
from matcheval.study.rules import Artifact, ReportEntry

if TYPE_CHECKING:
    from matcheval.study.analysis import Analysis
    from matcheval.study.study import Study

_READABLE = (".md", ".svg", ".png", ".pdf")
_WILDCARD = re.compile(r"\\\{(\w+)\\\}")


def shown_files(analysis: "Analysis", left_out: Iterable[Artifact] = ()) -> tuple[ShownFile, ...]:
    """Return the tables for readers and the figures of an analysis, in the order of its targets."""
    formats: dict[str, list[str]] = defaultdict(list)
    for path in analysis.targets:
        stem, dot, suffix = path.rpartition(".")
        if dot + suffix in _READABLE:
            formats[stem].append(path)
    artifacts = [one for one in vars(analysis).values() if isinstance(one, Artifact) and one.report]
    patterns = [(_pattern(one.stem), one) for one in artifacts]
    hidden = [one.stem for one in left_out]
    shown = []
    for stem, paths in formats.items():
        found = ((pattern.fullmatch(stem), one) for pattern, one in patterns)
        match, artifact = next(((m, one) for m, one in found if m), (None, None))
        if artifact is None or match is None or artifact.report is None:
            shown.append(ShownFile(tuple(paths), Path(stem).name))
        elif artifact.stem not in hidden:
            wildcards = analysis.shown_wildcards(match.groupdict())
            own = {analysis.name, analysis.title()}  # which the heading of the section says
            shown.append(_shown(paths, artifact.report, wildcards, own))
    return tuple(shown)


def _pattern(stem: str) -> re.Pattern[str]:
    """Return an expression whose groups are the wildcards of a path."""
    seen: set[str] = set()

    def group(match: re.Match[str]) -> str:
        if match[1] in seen:
            return f"(?P={match[1]})"
        seen.add(match[1])
        return f"(?P<{match[1]}>.+)"

    return re.compile(_WILDCARD.sub(group, re.escape(stem)))


def _shown(
    paths: list[str], entry: ReportEntry, wildcards: Mapping[str, str], own: Collection[str]
) -> ShownFile:
    labels = [entry.category, *(label.format(**wildcards) for label in entry.labels.values())]
    parts = dict.fromkeys(label for label in labels if label not in own)
    title = ", ".join(parts) or entry.category
    return ShownFile(tuple(paths), title, entry.caption, dict(wildcards))


def study_sections(study: "Study") -> list[Section]:
    """Return the sections of a study's report, in the order of the registry."""
    sections = (analysis.report_section for analysis in study.analyses.values())
    return [section for section in sections if section.shown or section.data]


def section_files(sections: Iterable[Section]) -> list[str]:
    """Return the files that sections are made from, one format of each figure."""
    shown = [path for one in sections for file in one.shown for path in file.paths]
    data = [path for one in sections for paths in one.data.values() for path in paths]
    return list(dict.fromkeys([*data, *shown]))


def described_models(study: "Study") -> dict[str, dict[str, str]]:
    """Return where each model comes from, and a prediction file that tells its weights."""
    with_files = [name for name in study.paired if study.datasets[name].has_probabilities]
    described = {}
    for name, model in study.models.items():
        source = model.source
        text = "predictions on file" if source is None else f"{source.kind} {source.source}".strip()
        files = [study.predictions_file(dataset, name) for dataset in with_files[:1]]
        described[name] = {"source": text, "predictions": files[0] if files else ""}
    return described


def described_datasets(study: "Study") -> dict[str, dict[str, Any]]:
    """Return what each dataset of pairs and suites is, and the file that describes its images."""
    return {
        name: {
            "kind": study.datasets[name].kind,
            "options": study.datasets[name].options_json,
            "description": study.description_files(name)[0]
            if study.datasets[name].has_images
            else "",
        }
        for name in study.evaluated
    }


def left_out(study: "Study") -> list[str]:
    """Say which pairs and analyses the results do not have, and why."""
    notes = [
        f"Pair `{name}` is not matched: one of its sets has no probabilities."
        for name, pair in study.pairs.items()
        if not all(study.datasets[d].has_probabilities for d in pair.datasets.values())
    ]
    idle = [name for name, analysis in study.analyses.items() if not analysis.targets]
    if idle:
        names = ", ".join(f"`{name}`" for name in idle)
        notes.append(f"Analyses that the study does not ask for: {names}.")
    return notes
