# Analyses with one table per pair, computed from all models' predictions on both sets: each gets a
# rule for its table and, if it has a figure, another for the figure.
from matcheval.protocol.pair_tables import PairTableAnalysis

for one in STUDY.analyses.values():
    if not isinstance(one, PairTableAnalysis):
        continue

    rule:
        name:
            f"tabulate_{one.name}"
        input:
            settled(one.inputs),
        output:
            outputs=in_report(one.result),
        log:
            f"{OWN}/logs/tabulate_{one.name}/{{pair}}.log",
        benchmark:
            f"{OWN}/benchmarks/tabulate_{one.name}/{{pair}}.tsv"
        conda:
            "../envs/analysis.yaml"
        resources:
            **REQUESTS.resources(f"tabulate_{one.name}"),
        params:
            job=one.parameters,
            custom_files=one.custom_files_state,
            code=digest("tabulate_pair", f"{one.room}.tables"),
        message:
            f"Tabulating {one.title().lower()}: {{wildcards.pair}}"
        script:
            "../workflow_scripts/tabulate_pair.py"

    if one.has_figure:

        rule:
            name:
                f"plot_{one.name}"
            input:
                table=one.result.file(".parquet"),
            output:
                outputs=in_report(one.plot),
            log:
                f"{OWN}/logs/plot_{one.name}/{{pair}}.log",
            conda:
                "../envs/analysis.yaml"
            resources:
                **REQUESTS.resources(f"plot_{one.name}"),
            params:
                room=one.room,
                code=digest("plot_table", f"{one.room}.figures", f"{one.room}.tables"),
            message:
                f"Plotting {one.title().lower()}: {{wildcards.pair}}"
            script:
                "../workflow_scripts/plot_table.py"
