# Tables: runs averaged over seeds, a row per model; and the one-page summary.


rule tabulate_runs:
    input:
        lambda wildcards: expand(
            rules.match_predictions.output, batch=list(STUDY.batches), **wildcards
        ),
    output:
        csv=f"{OWN}/tables/{{pair}}/{{criterion}}.csv",
        parquet=f"{OWN}/tables/{{pair}}/{{criterion}}.parquet",
    log:
        f"{OWN}/logs/tabulate_runs/{{pair}}/{{criterion}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **resources_of("tabulate_runs"),
    params:
        code=code_digest(SCRIPTS / "tabulate_runs.py"),
    message:
        "Tabulating {wildcards.pair} by {wildcards.criterion}"
    script:
        "../workflow_scripts/tabulate_runs.py"


rule write_summary:
    input:
        expand(rules.tabulate_runs.output.parquet, **names_of("pair", "criterion")),
    output:
        report(f"{OWN}/summary.md", category="Summary", caption="captions/summary.rst"),
    log:
        f"{OWN}/logs/write_summary.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **resources_of("write_summary"),
    params:
        study=STUDY.name,
        code=code_digest(SCRIPTS / "write_summary.py"),
    message:
        "Summarizing study {params.study}"
    script:
        "../workflow_scripts/write_summary.py"


rule tables:
    input:
        expand(rules.tabulate_runs.output, **names_of("pair", "criterion")),
        rules.write_summary.output if STUDY.matched_pairs else [],
