# Severity: gaps from a base to the sets of a suite, along the severity of the shift.
SEVERITY = STUDY.analyses["severity"]


rule tabulate_severity:
    input:
        settled(SEVERITY.inputs),
    output:
        outputs=in_report(SEVERITY.result),
    log:
        f"{OWN}/logs/tabulate_severity/{{suite}}.log",
    wildcard_constraints:
        suite=one_of(STUDY.suites),
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("tabulate_severity"),
    params:
        job=SEVERITY.parameters,
        custom_files=SEVERITY.custom_files_state,
        code=digest("tabulate_severity"),
    message:
        "Tabulating gaps by severity of suite {wildcards.suite}"
    script:
        "../workflow_scripts/tabulate_severity.py"


rule plot_severity:
    input:
        table=SEVERITY.result.file(".parquet"),
    output:
        outputs=in_report(SEVERITY.plot),
    log:
        f"{OWN}/logs/plot_severity/{{suite}}.log",
    wildcard_constraints:
        suite=one_of(STUDY.suites),
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("plot_severity"),
    params:
        room=SEVERITY.room,
        code=digest(
            "plot_table",
            f"{SEVERITY.room}.figures",
            f"{SEVERITY.room}.tables",
        ),
    message:
        "Plotting gaps by severity of suite {wildcards.suite}"
    script:
        "../workflow_scripts/plot_table.py"
