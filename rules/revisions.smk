# Revisions: accuracies on successive revisions of a dataset.
REVISIONS = STUDY.analyses["revisions"]


rule tabulate_revisions:
    input:
        accuracies=REVISIONS.inputs,
    output:
        outputs=in_report(REVISIONS.result),
    log:
        f"{OWN}/logs/tabulate_revisions/{{series}}.log",
    wildcard_constraints:
        series=one_of(REVISIONS.settings.series),
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("tabulate_revisions"),
    params:
        job=REVISIONS.parameters,
        code=digest("tabulate_revisions"),
    message:
        "Tabulating the revisions of {wildcards.series}"
    script:
        "../workflow_scripts/tabulate_revisions.py"
