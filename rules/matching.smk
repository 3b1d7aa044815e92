# The matched evaluation protocol: runs for batches of models, tables, figures and the summary.
MATCHING = STUDY.analyses["matching"]


wildcard_constraints:
    criterion=one_of(MATCHING.criteria),
    batch="[0-9]+",


rule match_predictions:
    input:
        settled(MATCHING.inputs),
        classes=MATCHING.classes_of_pair,
    output:
        runs=MATCHING.runs.file(),
    log:
        f"{OWN}/logs/match_predictions/{{pair}}/{{criterion}}/{{batch}}.log",
    benchmark:
        f"{OWN}/benchmarks/match_predictions/{{pair}}/{{criterion}}/{{batch}}.tsv"
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("match_predictions"),
    params:
        job=MATCHING.match_parameters,
        custom_files=MATCHING.custom_files_state,
        code=digest("match_predictions"),
    message:
        "Matching {wildcards.pair} by {wildcards.criterion}, batch {wildcards.batch}"
    script:
        "../workflow_scripts/match_predictions.py"


rule save_pairs:
    input:
        settled(MATCHING.inputs),
    output:
        pairs=MATCHING.pairs_of_model.file(),
    log:
        f"{OWN}/logs/save_pairs/{{pair}}/{{criterion}}/{{model}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("save_pairs"),
    params:
        job=MATCHING.match_parameters,
        custom_files=MATCHING.custom_files_state,
        code=digest("save_pairs"),
    message:
        "Saving matched pairs of {wildcards.model} on {wildcards.pair} by {wildcards.criterion}"
    script:
        "../workflow_scripts/save_pairs.py"


rule tabulate_runs:
    input:
        runs=MATCHING.runs_of_table,
    output:
        outputs=MATCHING.result.files,
    log:
        f"{OWN}/logs/tabulate_runs/{{pair}}/{{criterion}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("tabulate_runs"),
    params:
        code=digest("tabulate_runs"),
    message:
        "Tabulating the matching of {wildcards.pair} by {wildcards.criterion}"
    script:
        "../workflow_scripts/tabulate_runs.py"


rule write_summary:
    input:
        tables=MATCHING.tables_of_summary,
    output:
        page=in_report(MATCHING.summary)[0],
    log:
        f"{OWN}/logs/write_summary.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("write_summary"),
    params:
        study=STUDY.name,
        code=digest("write_summary"),
    message:
        "Summarising study {params.study}"
    script:
        "../workflow_scripts/write_summary.py"


rule plot_confidence:
    input:
        table=MATCHING.result.file(".parquet", criterion=MATCHING.criteria[0]),
    output:
        outputs=in_report(MATCHING.confidence_plot),
    log:
        f"{OWN}/logs/plot_confidence/{{pair}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("plot_confidence"),
    params:
        code=digest("plot_confidence"),
    message:
        "Plotting accuracy against confidence for {wildcards.pair}"
    script:
        "../workflow_scripts/plot_confidence.py"


rule plot_matched_accuracy:
    input:
        table=MATCHING.result.file(".parquet"),
    output:
        outputs=in_report(MATCHING.accuracy_plot),
    log:
        f"{OWN}/logs/plot_matched_accuracy/{{pair}}/{{criterion}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("plot_matched_accuracy"),
    params:
        code=digest("plot_matched_accuracy"),
    message:
        "Plotting matched accuracy for {wildcards.pair} by {wildcards.criterion}"
    script:
        "../workflow_scripts/plot_matched_accuracy.py"


rule plot_reliability:
    input:
        settled(MATCHING.inputs),
        pairs=MATCHING.pairs_of_model.file(),
    output:
        outputs=in_report(MATCHING.reliability_plot),
    log:
        f"{OWN}/logs/plot_reliability/{{pair}}/{{criterion}}/{{model}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("plot_reliability"),
    params:
        job=MATCHING.match_parameters,
        bins=MATCHING.settings.reliability_bins,
        code=digest("plot_reliability"),
    message:
        "Plotting reliability of {wildcards.model} on {wildcards.pair} by {wildcards.criterion}"
    script:
        "../workflow_scripts/plot_reliability.py"


rule matched:
    input:
        MATCHING.matched_files,
    localrule: True


rule tables:
    input:
        MATCHING.table_files,
    localrule: True


rule figures:
    input:
        MATCHING.figure_files,
    localrule: True
