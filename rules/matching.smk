# The matched evaluation protocol: from predictions to runs of ten seeds, gaps, tables, the summary,
# and figures (matcheval/protocol/).
MATCHING = STUDY.analyses["matching"]
RELIABILITY_MODELS = MATCHING.settings.reliability_models


rule match_predictions:
    """Match a batch of models on a pair by all matchings and seeds."""
    input:
        predictions=lambda w: predictions_of_pair(w.pair, MATCHING.batches[w.batch]),
    output:
        runs=by_matching("<study>/matched/{pair}/{matching}/{batch}.parquet"),
    log:
        "<study>/logs/match_predictions/{pair}/{batch}.log",
    benchmark:
        "<study>/benchmarks/match_predictions/{pair}/{batch}.tsv"
    wildcard_constraints:
        batch=one_of(MATCHING.batches),
    priority: 1  # before trainings that wait
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("match_predictions"),
    params:
        **calls(
            "matcheval.protocol.jobs:match_predictions",
            lambda w: {"files": MATCHING.files(w.pair, MATCHING.batches[w.batch], groups=False)},
            custom_files=file_state(
                lambda w: predictions_of_pair(w.pair, MATCHING.batches[w.batch])
            ),
        ),
    message:
        "Matching {wildcards.pair}, batch {wildcards.batch}"
    script:
        ANALYSE


# Of models whose pairs the study saves, or whose reliability it draws.
rule save_matched_pairs:
    """Write the matched pairs of the models that the study names."""
    input:
        predictions=lambda w: predictions_of_pair(w.pair, MATCHING.saved_models),
    output:
        pairs=by_matching(
            "<study>/pairs/{pair}/{matching}/{model}.parquet", model=MATCHING.saved_models or ["-"]
        ),
    log:
        "<study>/logs/save_matched_pairs/{pair}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("save_matched_pairs"),
    params:
        **calls(
            "matcheval.protocol.jobs:save_matched_pairs",
            lambda w: {"files": MATCHING.files(w.pair, MATCHING.saved_models, groups=False)},
            custom_files=file_state(lambda w: predictions_of_pair(w.pair, MATCHING.saved_models)),
        ),
    message:
        "Saving the matched pairs of some models on {wildcards.pair}"
    script:
        ANALYSE


rule tabulate_runs:
    """Average the runs of a pair over seeds."""
    input:
        runs=by_matching(
            "<study>/matched/{pair}/{matching}/{batch}.parquet", batch=MATCHING.batches
        ),
    output:
        outputs=by_matching("<study>/tables/{pair}/{matching}.{format}", format=["parquet", "csv"]),
    log:
        "<study>/logs/tabulate_runs/{pair}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("tabulate_runs"),
    params:
        **calls("matcheval.protocol.jobs:write_model_tables", {"matchings": MATCHING.matchings}),
    message:
        "Tabulating the matchings of {wildcards.pair}"
    script:
        ANALYSE


rule estimate_gaps:
    """Estimate the gaps of a pair before and after matching, and their parts."""
    input:
        predictions=lambda w: predictions_of_pair(w.pair, STUDY.models),
        # `<results>/datasets/{dataset}/datapoints.parquet`, and the user's files of groups.
        groups=lambda w: MATCHING.group_inputs(w.pair),
    output:
        tables=by_matching("<study>/gaps/{pair}/{matching}.{format}", format=["parquet", "csv"]),
        means=multiext("<study>/gaps/{pair}", ".parquet", ".csv"),
        calibration=multiext("<study>/gaps/{pair}/calibration", ".parquet", ".csv"),
    log:
        "<study>/logs/estimate_gaps/{pair}.log",
    benchmark:
        "<study>/benchmarks/estimate_gaps/{pair}.tsv"
    priority: 1
    conda:
        "../envs/analysis.yaml"
    threads: MATCHING.gap_threads
    resources:
        **REQUESTS.resources("estimate_gaps"),
    params:
        **calls(
            "matcheval.protocol.jobs:write_gaps",
            lambda w: {"files": MATCHING.files(w.pair, list(STUDY.models))},
            custom_files=file_state(lambda w: MATCHING.inputs_with_groups(w.pair, STUDY.models)),
        ),
    message:
        "Estimating the gaps of {wildcards.pair}"
    script:
        ANALYSE


rule write_summary:
    """Write the summary page of the study."""
    input:
        means=expand("<study>/gaps/{pair}.parquet", pair=MATCHING.pairs),
        tables=expand(
            "<study>/tables/{pair}/{matching}.parquet",
            pair=MATCHING.pairs,
            matching=MATCHING.matchings,
        ),
        gaps=expand(
            "<study>/gaps/{pair}/{matching}.parquet",
            pair=MATCHING.pairs,
            matching=MATCHING.matchings,
        ),
    output:
        outputs=in_report("<study>/summary", MATCHING.summary),
    log:
        "<study>/logs/write_summary.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("write_summary"),
    params:
        **calls("matcheval.protocol.analysis:write_study_summary", MATCHING.summary_arguments),
    message:
        f"Summarising study {STUDY.name}"
    script:
        ANALYSE


# All figures of a pair in one job: to start a job takes longer than to draw a figure.
rule plot_matching:
    """Draw all figures of the matching of a pair."""
    input:
        tables=by_matching("<study>/tables/{pair}/{matching}.parquet"),
        gaps=by_matching("<study>/gaps/{pair}/{matching}.parquet"),
        means="<study>/gaps/{pair}.parquet",
        predictions=lambda w: predictions_of_pair(w.pair, RELIABILITY_MODELS),
    output:
        in_report("<study>/figures/{pair}/confidence", MATCHING.confidence_plot),
        [
            in_report(f"<study>/figures/{{pair}}/{name}/{figure}", plot, matching=name)
            for name in MATCHING.matchings
            for figure, plot in (
                ("matched_accuracy", MATCHING.accuracy_plot),
                ("gaps", MATCHING.gaps_plot),
            )
        ],
        [
            in_report(
                f"<study>/figures/{{pair}}/{name}/reliability/{model}",
                MATCHING.reliability_plot,
                matching=name,
                model=model,
            )
            for name in MATCHING.matchings
            for model in RELIABILITY_MODELS
        ],
    log:
        "<study>/logs/plot_matching/{pair}.log",
    benchmark:
        "<study>/benchmarks/plot_matching/{pair}.tsv"
    conda:
        "../envs/analysis.yaml"
    threads: 2
    resources:
        **REQUESTS.resources("plot_matching"),
    params:
        **calls(
            "matcheval.execution.batches:run_calls",
            MATCHING.figure_arguments,
            uses=["matcheval.protocol.analysis"],
            custom_files=file_state(lambda w: predictions_of_pair(w.pair, RELIABILITY_MODELS)),
        ),
    message:
        "Plotting the figures of {wildcards.pair}"
    script:
        ANALYSE


# Runs and matched pairs; tables and the summary; figures; all of them.
rule matched:
    """All runs and matched pairs."""
    input:
        files_of(rules.match_predictions, pair=MATCHING.pairs, batch=MATCHING.batches),
        files_of(rules.save_matched_pairs, pair=MATCHING.pairs if MATCHING.saved_models else []),
    message:
        "All files of matched are there"


rule tables:
    """All tables of the matching, and the summary."""
    input:
        files_of(rules.tabulate_runs, pair=MATCHING.pairs),
        files_of(rules.estimate_gaps, pair=MATCHING.pairs),
        rules.write_summary.output if MATCHING.pairs else [],
    message:
        "All files of tables are there"


rule figures:
    """All figures of the matching."""
    input:
        files_of(rules.plot_matching, pair=MATCHING.pairs),
    message:
        "All files of figures are there"


rule matching:
    """All files of the matching."""
    input:
        rules.matched.input,
        rules.tables.input,
        rules.figures.input,
    message:
        "All files of matching are there"
