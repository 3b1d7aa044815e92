# Published values: those printed in a paper, compared with the results of the study.
PUBLISHED_VALUES = STUDY.analyses["published_values"]


rule compare_published:
    input:
        tables=PUBLISHED_VALUES.tables,
        published=PUBLISHED_VALUES.settings.file or [],
    output:
        outputs=in_report(PUBLISHED_VALUES.result),
    log:
        f"{OWN}/logs/compare_published.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("compare_published"),
    params:
        study=STUDY.name,
        folder=lambda wildcards, output: str(Path(output[0]).parents[1]),
        code=digest("compare_published"),
    message:
        "Comparing the results of study {params.study} with published values"
    script:
        "../workflow_scripts/compare_published.py"
