# The replication study: accuracies of all models on both sets of every pair, ranks, fits and figures
# (matcheval/replication/).
REPLICATION = STUDY.analyses["replication"]
TOP = REPLICATION.settings.top
# Without enough models for a line there are no figures; the rule has outputs nevertheless.
SCALES = REPLICATION.fitted_scales or ["linear"]


wildcard_constraints:
    top=one_of(map(str, TOP)),


rule count_correct:
    """Count each model's correct predictions on a dataset."""
    input:
        files=lambda w: predictions([w.dataset], suffixes=REPLICATION.counted_suffixes),
    output:
        accuracies="<study>/accuracies/{dataset}.parquet",
    log:
        "<study>/logs/count_correct/{dataset}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("count_correct"),
    params:
        **calls(
            "matcheval.replication.analysis:count_correct",
            REPLICATION.count_arguments,
            custom_files=file_state(lambda w: predictions([w.dataset])),
        ),
    message:
        "Counting correct predictions on {wildcards.dataset}"
    script:
        ANALYSE


rule tabulate_replication:
    """Tabulate accuracies, gaps and ranks of the models on a pair."""
    input:
        images=lambda w: predictions(REPLICATION.sets_of_same_images(w.pair)),
        original=lambda w: f"<study>/accuracies/{STUDY.pairs[w.pair].original}.parquet",
        replication=lambda w: f"<study>/accuracies/{STUDY.pairs[w.pair].replication}.parquet",
    output:
        outputs=in_report("<study>/replication/{pair}/top{top}", REPLICATION.result),
    log:
        "<study>/logs/tabulate_replication/{pair}/{top}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("tabulate_replication"),
    params:
        **calls("matcheval.replication.analysis:write_results", REPLICATION.pair_arguments),
    message:
        "Tabulating the replication of {wildcards.pair}, top {wildcards.top}"
    script:
        ANALYSE


rule fit_replication:
    """Fit lines to the accuracies of the models on a pair."""
    input:
        results="<study>/replication/{pair}/top{top}.parquet",
    output:
        outputs=in_report("<study>/replication/{pair}/top{top}.fits", REPLICATION.fits),
        region="<study>/replication/{pair}/top{top}.region.parquet",
    log:
        "<study>/logs/fit_replication/{pair}/{top}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("fit_replication"),
    params:
        **calls("matcheval.replication.analysis:write_fits", REPLICATION.fit_arguments),
    message:
        "Fitting the replication of {wildcards.pair}, top {wildcards.top}"
    script:
        ANALYSE


rule summarize_replication:
    """Tabulate the average changes of all pairs."""
    input:
        files=list(REPLICATION.selection_frequencies.values()),
        results=expand("<study>/replication/{pair}/top{top}.parquet", pair=STUDY.pairs, top=TOP),
    output:
        outputs=in_report("<study>/replication/changes", REPLICATION.changes),
    log:
        "<study>/logs/summarize_replication.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("summarize_replication"),
    params:
        **calls(
            "matcheval.replication.analysis:write_changes",
            {
                "selection_frequencies": REPLICATION.selection_frequencies,
                "range_without": REPLICATION.settings.range_without,
            },
        ),
    message:
        f"Summarising the replications of study {STUDY.name}"
    script:
        ANALYSE


rule plot_replication:
    """Draw the figures of the replication of a pair."""
    input:
        expand(
            "<study>/replication/{pair}/top{top}{table}.parquet",
            top=TOP,
            table=["", ".fits", ".region"],
            allow_missing=True,
        ),
    output:
        [
            in_report(
                f"<study>/figures/{{pair}}/replication/top{top}-{scale}",
                REPLICATION.plot,
                top=top,
                scale=scale,
            )
            for top in TOP
            for scale in SCALES
        ],
    log:
        "<study>/logs/plot_replication/{pair}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("plot_replication"),
    params:
        **calls(
            "matcheval.execution.batches:run_calls",
            REPLICATION.figure_arguments,
            uses=["matcheval.replication.analysis"],
        ),
    message:
        "Plotting the replication of {wildcards.pair}"
    script:
        ANALYSE
