# Replication: accuracies of all models, with intervals, ranks, fits and figures, for every pair.
#
# No probabilities are needed, so that pairs that cannot be matched are included.
REPLICATION = STUDY.analyses["replication"]


wildcard_constraints:
    top="[0-9]+",
    scale="linear|probit",


rule count_correct:
    input:
        settled(REPLICATION.count_inputs),
    output:
        accuracies=STUDY.accuracies_file("{dataset}"),
    log:
        f"{OWN}/logs/count_correct/{{dataset}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("count_correct"),
    params:
        job=REPLICATION.count_parameters,
        custom_files=REPLICATION.custom_files_state,
        code=digest("count_correct"),
    message:
        "Counting correct predictions on {wildcards.dataset}"
    script:
        "../workflow_scripts/count_correct.py"


rule tabulate_replication:
    input:
        settled(REPLICATION.image_inputs),
        unpack(REPLICATION.accuracies_of_pair),
    output:
        outputs=in_report(REPLICATION.result),
    log:
        f"{OWN}/logs/tabulate_replication/{{pair}}/{{top}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("tabulate_replication"),
    params:
        job=REPLICATION.pair_parameters,
        code=digest("tabulate_replication"),
    message:
        "Tabulating the replication of {wildcards.pair}, top {wildcards.top}"
    script:
        "../workflow_scripts/tabulate_replication.py"


rule fit_replication:
    input:
        results=REPLICATION.result.file(".parquet"),
    output:
        outputs=in_report(REPLICATION.fits),
        region=REPLICATION.region.file(),
    log:
        f"{OWN}/logs/fit_replication/{{pair}}/{{top}}.log",
    benchmark:
        f"{OWN}/benchmarks/fit_replication/{{pair}}/{{top}}.tsv"
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("fit_replication"),
    params:
        job=REPLICATION.fit_parameters,
        code=digest("fit_replication"),
    message:
        "Fitting the replication of {wildcards.pair}, top {wildcards.top}"
    script:
        "../workflow_scripts/fit_replication.py"


rule plot_replication:
    input:
        results=REPLICATION.result.file(".parquet"),
        fits=REPLICATION.fits.file(".parquet"),
        region=REPLICATION.region.file(),
    output:
        outputs=in_report(REPLICATION.plot),
    log:
        f"{OWN}/logs/plot_replication/{{pair}}/{{top}}/{{scale}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("plot_replication"),
    params:
        code=digest("plot_replication"),
    message:
        "Plotting the replication of {wildcards.pair}, top {wildcards.top}, {wildcards.scale} axes"
    script:
        "../workflow_scripts/plot_replication.py"


rule summarize_replication:
    input:
        REPLICATION.selection_frequencies.values(),
        results=REPLICATION.all_results,
    output:
        outputs=in_report(REPLICATION.changes),
    log:
        f"{OWN}/logs/summarize_replication.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("summarize_replication"),
    params:
        selection_frequencies=REPLICATION.selection_frequencies,
        range_without=REPLICATION.settings.range_without,
        code=digest("summarize_replication"),
    message:
        f"Summarising the replications of study {STUDY.name}"
    script:
        "../workflow_scripts/summarize_replication.py"
