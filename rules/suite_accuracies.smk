# Suite accuracies: accuracies of all models on the sets of a suite, and their gap to a base.
SUITE_ACCURACIES = STUDY.analyses["suite_accuracies"]


rule tabulate_suite_accuracies:
    input:
        settled(SUITE_ACCURACIES.inputs),
    output:
        outputs=in_report(SUITE_ACCURACIES.result),
    log:
        f"{OWN}/logs/tabulate_suite_accuracies/{{suite}}.log",
    wildcard_constraints:
        suite=one_of(STUDY.suites),
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("tabulate_suite_accuracies"),
    params:
        job=SUITE_ACCURACIES.parameters,
        custom_files=SUITE_ACCURACIES.custom_files_state,
        code=digest("tabulate_suite_accuracies"),
    message:
        "Tabulating the accuracies on suite {wildcards.suite}"
    script:
        "../workflow_scripts/tabulate_suite_accuracies.py"


rule plot_suite_accuracies:
    input:
        table=SUITE_ACCURACIES.result.file(".parquet"),
    output:
        outputs=in_report(SUITE_ACCURACIES.plot),
    log:
        f"{OWN}/logs/plot_suite_accuracies/{{suite}}.log",
    wildcard_constraints:
        suite=one_of(STUDY.suites),
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("plot_suite_accuracies"),
    params:
        room=SUITE_ACCURACIES.room,
        code=digest(
            "plot_table",
            f"{SUITE_ACCURACIES.room}.figures",
            f"{SUITE_ACCURACIES.room}.tables",
        ),
    message:
        "Plotting the accuracies on suite {wildcards.suite}"
    script:
        "../workflow_scripts/plot_table.py"
