# Analyses with one table per suite, whose sets are compared with a base: each gets a rule for its
# table and another for the figure.
from matcheval.study.tables import SuiteTableAnalysis

for one in STUDY.analyses.values():
    if not isinstance(one, SuiteTableAnalysis):
        continue

    rule:
        name:
            f"tabulate_{one.name}"
        input:
            settled(one.inputs),
        output:
            outputs=in_report(one.result),
        log:
            f"{OWN}/logs/tabulate_{one.name}/{{suite}}.log",
        benchmark:
            f"{OWN}/benchmarks/tabulate_{one.name}/{{suite}}.tsv"
        wildcard_constraints:
            suite=one_of(STUDY.suites),
        conda:
            "../envs/analysis.yaml"
        resources:
            **REQUESTS.resources(f"tabulate_{one.name}"),
        params:
            job=one.parameters,
            custom_files=one.custom_files_state,
            code=digest("tabulate_suite", f"{one.room}.tables"),
        message:
            f"Tabulating {one.title().lower()}: {{wildcards.suite}}"
        script:
            "../workflow_scripts/tabulate_suite.py"

    rule:
        name:
            f"plot_{one.name}"
        input:
            table=one.result.file(".parquet"),
        output:
            outputs=in_report(one.plot),
        log:
            f"{OWN}/logs/plot_{one.name}/{{suite}}.log",
        wildcard_constraints:
            suite=one_of(STUDY.suites),
        conda:
            "../envs/analysis.yaml"
        resources:
            **REQUESTS.resources(f"plot_{one.name}"),
        params:
            room=one.room,
            code=digest("plot_table", f"{one.room}.figures", f"{one.room}.tables"),
        message:
            f"Plotting {one.title().lower()}: {{wildcards.suite}}"
        script:
            "../workflow_scripts/plot_table.py"
