# The report of the study: one HTML file for readers, in which analyses have a section each; and, on
# request, checks of all results.
import yaml
from dataclasses import asdict

from matcheval.report.pages import template_digest
from matcheval.study import reported

SECTIONS = reported.study_sections(STUDY)
REPORTED = {
    "sections": [asdict(section) for section in SECTIONS],
    "notes": reported.left_out(STUDY),
    # Results mean the same in any folder.
    "asked": yaml.safe_dump(
        {key: value for key, value in config.items() if key != "results"},
        sort_keys=False,
        allow_unicode=True,
    ),
    "models": reported.described_models(STUDY),
    "datasets": reported.described_datasets(STUDY),
}


rule write_report:
    """Write the study's report, one HTML file."""
    input:
        files=reported.section_files(SECTIONS),
    output:
        page=f"{OWN}/report.html",
    log:
        f"{OWN}/logs/write_report.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("write_report"),
    params:
        function="matcheval.report.pages:write_report",
        study=STUDY.name,
        job=arguments(REPORTED),
        templates=template_digest(),
        code=digest(
            "matcheval.report.pages:write_report",
            *(f"{one.room}.report" for one in SECTIONS if one.data),
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
        results=[
            PREDICTING.all_files,
            [analysis.targets for analysis in STUDY.analyses.values()],
        ],
        datasets=[
            STUDY.dataset_files(name)
            for name in STUDY.built_datasets
            if name in STUDY.evaluated
        ],
    log:
        f"{OWN}/logs/check.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("check"),
    params:
        function="check:check",
        job=arguments(
            {
                "checks": str(HOME / "tests" / "artefacts"),
                "study": OWN,
                "expected": STUDY.analyses["matching"].expected_runs,
            }
        ),
    message:
        "Checking the results of the study"
    script:
        ANALYSE
