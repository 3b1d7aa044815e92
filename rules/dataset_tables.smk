# Analyses with one table per dataset: each gets a rule for its table and, if it has a figure,
# another for the figure.
from matcheval.study.tables import DatasetTableAnalysis

for one in STUDY.analyses.values():
    if not isinstance(one, DatasetTableAnalysis):
        continue

    rule:
        name:
            f"tabulate_{one.name}"
        input:
            settled(one.inputs),
        output:
            outputs=in_report(one.result),
        log:
            f"{OWN}/logs/tabulate_{one.name}/{{dataset}}.log",
        conda:
            "../envs/analysis.yaml"
        resources:
            **REQUESTS.resources(f"tabulate_{one.name}"),
        params:
            job=one.parameters,
            custom_files=one.custom_files_state,
            code=digest("tabulate_dataset", f"{one.room}.tables"),
        message:
            f"Tabulating {one.title().lower()}: {{wildcards.dataset}}"
        script:
            "../workflow_scripts/tabulate_dataset.py"

    if one.has_figure:

        rule:
            name:
                f"plot_{one.name}"
            input:
                table=one.result.file(".parquet"),
            output:
                outputs=in_report(one.plot),
            log:
                f"{OWN}/logs/plot_{one.name}/{{dataset}}.log",
            conda:
                "../envs/analysis.yaml"
            resources:
                **REQUESTS.resources(f"plot_{one.name}"),
            params:
                room=one.room,
                code=digest("plot_table", f"{one.room}.figures", f"{one.room}.tables"),
            message:
                f"Plotting {one.title().lower()}: {{wildcards.dataset}}"
            script:
                "../workflow_scripts/plot_table.py"
