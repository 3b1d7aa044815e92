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
        files=REPLICATION.count_inputs,
    output:
        accuracies=f"{OWN}/accuracies/{{dataset}}.parquet",
    log:
        f"{OWN}/logs/count_correct/{{dataset}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("count_correct"),
    params:
        function="matcheval.replication.analysis:count_correct",
        job=arguments(REPLICATION.count_arguments),
        custom_files=lambda w: STUDY.custom_results_state(w.dataset),
        code=digest("matcheval.replication.analysis:count_correct"),
    message:
        "Counting correct predictions on {wildcards.dataset}"
    script:
        ANALYSE


rule tabulate_replication:
    """Tabulate accuracies, gaps and ranks of the models on a pair."""
    input:
        images=REPLICATION.results_of_same_images,
        original=lambda w: REPLICATION.accuracies_of(w, "original"),
        replication=lambda w: REPLICATION.accuracies_of(w, "replication"),
    output:
        outputs=shown(f"{OWN}/replication/{{pair}}/top{{top}}", REPLICATION.result),
    log:
        f"{OWN}/logs/tabulate_replication/{{pair}}/{{top}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("tabulate_replication"),
    params:
        function="matcheval.replication.analysis:write_results",
        job=arguments(REPLICATION.pair_arguments),
        code=digest("matcheval.replication.analysis:write_results"),
    message:
        "Tabulating the replication of {wildcards.pair}, top {wildcards.top}"
    script:
        ANALYSE


rule fit_replication:
    """Fit lines to the accuracies of the models on a pair."""
    input:
        results=f"{OWN}/replication/{{pair}}/top{{top}}.parquet",
    output:
        outputs=shown(f"{OWN}/replication/{{pair}}/top{{top}}.fits", REPLICATION.fits),
        region=f"{OWN}/replication/{{pair}}/top{{top}}.region.parquet",
    log:
        f"{OWN}/logs/fit_replication/{{pair}}/{{top}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("fit_replication"),
    params:
        function="matcheval.replication.analysis:write_fits",
        job=arguments(REPLICATION.fit_arguments),
        code=digest("matcheval.replication.analysis:write_fits"),
    message:
        "Fitting the replication of {wildcards.pair}, top {wildcards.top}"
    script:
        ANALYSE


rule summarize_replication:
    """Tabulate the average changes of all pairs."""
    input:
        files=list(REPLICATION.selection_frequencies.values()),
        results=expand(
            f"{OWN}/replication/{{pair}}/top{{top}}.parquet", pair=STUDY.pairs, top=TOP
        ),
    output:
        outputs=shown(f"{OWN}/replication/changes", REPLICATION.changes),
    log:
        f"{OWN}/logs/summarize_replication.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("summarize_replication"),
    params:
        function="matcheval.replication.analysis:write_changes",
        job=arguments(REPLICATION.changes_arguments),
        code=digest("matcheval.replication.analysis:write_changes"),
    message:
        f"Summarising the replications of study {STUDY.name}"
    script:
        ANALYSE


rule plot_replication:
    """Draw the figures of the replication of a pair."""
    input:
        expand(
            f"{OWN}/replication/{{{{pair}}}}/top{{top}}{{table}}.parquet",
            top=TOP,
            table=["", ".fits", ".region"],
        ),
    output:
        [
            shown(
                f"{OWN}/figures/{{pair}}/replication/top{top}-{scale}",
                REPLICATION.plot,
                top=top,
                scale=scale,
            )
            for top in TOP
            for scale in SCALES
        ],
    log:
        f"{OWN}/logs/plot_replication/{{pair}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("plot_replication"),
    params:
        function="matcheval.execution.batches:make_all",
        job=arguments(REPLICATION.figure_arguments),
        code=digest(
            "matcheval.execution.batches:make_all",
            "matcheval.replication.analysis:draw_fit",
        ),
    message:
        "Plotting the replication of {wildcards.pair}"
    script:
        ANALYSE


rule replication:
    """All files of the replication."""
    input:
        REPLICATION.targets,
    localrule: True
    message:
        "All files of replication are there"
