# The report of the study: one HTML file for readers, in which analyses have a section each; and, on
# request, checks of all results.
import yaml
from dataclasses import asdict

from matcheval.report.pages import template_digest
from matcheval.study import analysis as reported

# All files of the analyses; those that rules make and the library does not list are shown, too.
TARGETS = {name: list(map(str, getattr(rules, name).input)) for name in STUDY.analyses}
for name, analysis in STUDY.analyses.items():
    listed = set(analysis.targets)
    analysis.added = [file for file in TARGETS[name] if file not in listed]

SECTIONS = reported.study_sections(STUDY)
REPORTED = {
    "sections": [asdict(section) for section in SECTIONS],
    "notes": reported.describe_omissions(STUDY),
    # Results mean the same in any folder.
    "asked": yaml.safe_dump(
        {key: value for key, value in config.items() if key != "results"},
        sort_keys=False,
        allow_unicode=True,
    ),
    "models": reported.describe_models(STUDY),
    "datasets": reported.describe_datasets(STUDY),
}


rule write_report:
    """Write the study's report, one HTML file."""
    input:
        files=reported.section_files(SECTIONS),
    output:
        page="<study>/report.html",
    log:
        "<study>/logs/write_report.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("write_report"),
    params:
        **calls(
            "matcheval.report.pages:write_report",
            REPORTED,
            uses=[f"{section.package}.report" for section in SECTIONS if section.data],
            study=STUDY.name,
            templates=template_digest(),
        ),
    message:
        "Writing the report of study {params.study}"
    script:
        ANALYSE


# `snakemake --cores 1 check`: every time, as it has no output. It is given the names of this study's
# files: files of an earlier configuration are ignored.
rule check:
    """Check the study's results against each other and against the study file."""
    input:
        results=[PREDICTIONS, list(TARGETS.values())],
        datasets=dataset_files(name for name in STUDY.built_datasets if name in STUDY.evaluated),
    log:
        "<study>/logs/check.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("check"),
    params:
        **calls(
            "check:check",
            {
                "checks": str(HOME / "tests" / "artefacts"),
                "study": STUDY.folder,
                "expected": STUDY.analyses["matching"].expected_runs,
            },
        ),
    message:
        "Checking the results of the study"
    script:
        ANALYSE
