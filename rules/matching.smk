# The matched evaluation protocol: runs for batches of models, tables, figures and the summary.
MATCHING = STUDY.analyses["matching"]


wildcard_constraints:
    matching=one_of(MATCHING.matchings),
    batch=one_of(MATCHING.runs.batches_alone),


# Each prediction file is read once for all matchings. One more matching repeats those of the batch:
# reading a file takes as long as some runs, and starting a job as long as a hundred.
rule match_predictions:
    input:
        settled(MATCHING.runs.inputs),
        classes=MATCHING.classes_of_pair,
    output:
        runs=MATCHING.runs.of_batch,
        pairs=[],
    log:
        f"{OWN}/logs/match_predictions/{{pair}}/{{batch}}.log",
    benchmark:
        f"{OWN}/benchmarks/match_predictions/{{pair}}/{{batch}}.tsv"
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("match_predictions"),
    params:
        job=MATCHING.runs.parameters,
        custom_files=MATCHING.runs.custom_files_state,
        code=digest("match_predictions"),
    message:
        "Matching {wildcards.pair}, batch {wildcards.batch}"
    script:
        "../workflow_scripts/match_predictions.py"


if MATCHING.runs.saved_models:

    use rule match_predictions as match_and_save_pairs with:
        output:
            runs=MATCHING.runs.with_pairs,
            pairs=MATCHING.runs.saved_pairs,
        log:
            f"{OWN}/logs/match_and_save_pairs/{{pair}}.log",
        benchmark:
            f"{OWN}/benchmarks/match_and_save_pairs/{{pair}}.tsv"
        resources:
            **REQUESTS.resources("match_and_save_pairs"),
        message:
            "Matching {wildcards.pair}, batches with models whose pairs are saved"


rule tabulate_runs:
    input:
        runs=MATCHING.runs.of_tables,
    output:
        outputs=MATCHING.tables_of_pair,
    log:
        f"{OWN}/logs/tabulate_runs/{{pair}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("tabulate_runs"),
    params:
        matchings=MATCHING.matchings,
        code=digest("tabulate_runs"),
    message:
        "Tabulating the matchings of {wildcards.pair}"
    script:
        "../workflow_scripts/tabulate_runs.py"


# Models share resamples and splits, so that a job is of all models of a pair.
rule estimate_gaps:
    input:
        settled(MATCHING.gaps.inputs),
        classes=MATCHING.classes_of_pair,
    output:
        tables=MATCHING.gaps.models_of_pair,
        means=MATCHING.gaps.means.files,
    log:
        f"{OWN}/logs/estimate_gaps/{{pair}}.log",
    benchmark:
        f"{OWN}/benchmarks/estimate_gaps/{{pair}}.tsv"
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("estimate_gaps"),
    params:
        job=MATCHING.gaps.parameters,
        custom_files=MATCHING.gaps.custom_files_state,
        code=digest("estimate_gaps"),
    message:
        "Estimating the gaps of {wildcards.pair}"
    script:
        "../workflow_scripts/estimate_gaps.py"


rule write_summary:
    input:
        means=MATCHING.means_of_summary,
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
        titles=MATCHING.titles,
        code=digest("write_summary"),
    message:
        "Summarising study {params.study}"
    script:
        "../workflow_scripts/write_summary.py"


rule plot_confidence:
    input:
        table=MATCHING.result.file(".parquet", matching=MATCHING.matchings[0]),
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
        gaps=MATCHING.gaps.models.file(".parquet"),
    output:
        outputs=in_report(MATCHING.accuracy_plot),
    log:
        f"{OWN}/logs/plot_matched_accuracy/{{pair}}/{{matching}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("plot_matched_accuracy"),
    params:
        title=MATCHING.title_of,
        code=digest("plot_matched_accuracy"),
    message:
        "Plotting matched accuracy for {wildcards.pair} by {wildcards.matching}"
    script:
        "../workflow_scripts/plot_matched_accuracy.py"


rule plot_gaps:
    input:
        table=MATCHING.result.file(".parquet"),
        gaps=MATCHING.gaps.models.file(".parquet"),
        means=MATCHING.gaps.means.file(".parquet"),
    output:
        outputs=in_report(MATCHING.gaps_plot),
    log:
        f"{OWN}/logs/plot_gaps/{{pair}}/{{matching}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("plot_gaps"),
    params:
        matching="{matching}",
        title=MATCHING.title_of,
        code=digest("plot_gaps"),
    message:
        "Plotting gaps of {wildcards.pair} by {wildcards.matching}"
    script:
        "../workflow_scripts/plot_gaps.py"


rule plot_reliability:
    input:
        settled(MATCHING.runs.inputs),
        pairs=MATCHING.runs.pairs_of_model.file(),
    output:
        outputs=in_report(MATCHING.reliability_plot),
    log:
        f"{OWN}/logs/plot_reliability/{{pair}}/{{matching}}/{{model}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("plot_reliability"),
    params:
        job=MATCHING.runs.reliability_parameters,
        code=digest("plot_reliability"),
    message:
        "Plotting reliability of {wildcards.model} on {wildcards.pair} by {wildcards.matching}"
    script:
        "../workflow_scripts/plot_reliability.py"


rule matched:
    input:
        MATCHING.runs.all_files,
    localrule: True


rule tables:
    input:
        MATCHING.table_files,
    localrule: True


rule figures:
    input:
        MATCHING.figure_files,
    localrule: True
