"""What a study's report shows: a section for every analysis that writes files for readers."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from matcheval.report.sections import Section

if TYPE_CHECKING:
    from matcheval.study.study import Study


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
    described = {}
    for name in study.evaluated:
        spec = study.datasets[name]
        description = study.description_files(name)[0] if spec.has_images else ""
        described[name] = {
            "kind": spec.kind, "options": spec.options_json, "description": description,
        }  # fmt: skip
    return described


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
