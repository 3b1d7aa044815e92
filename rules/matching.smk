# The matched evaluation protocol: from predictions to runs of ten seeds, gaps, tables, the summary,
# and figures (matcheval/protocol/).
MATCHING = STUDY.analyses["matching"]
MATCHINGS = MATCHING.matchings
FIGURES_OF_PAIR = f"{OWN}/figures/{{pair}}"


rule match_predictions:
    """Match a batch of models on a pair by all matchings and seeds."""
    input:
        predictions=MATCHING.batch_inputs,
    output:
        runs=expand(
            f"{OWN}/matched/{{{{pair}}}}/{{matching}}/{{{{batch}}}}.parquet",
            matching=MATCHINGS,
        ),
    log:
        f"{OWN}/logs/match_predictions/{{pair}}/{{batch}}.log",
    benchmark:
        f"{OWN}/benchmarks/match_predictions/{{pair}}/{{batch}}.tsv"
    wildcard_constraints:
        batch=one_of(MATCHING.batches),
    priority: 1  # before trainings that wait
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("match_predictions"),
    params:
        function="matcheval.protocol.jobs:match_predictions",
        job=arguments(MATCHING.batch_arguments),
        custom_files=MATCHING.batch_state,
        code=digest("matcheval.protocol.jobs:match_predictions"),
    message:
        "Matching {wildcards.pair}, batch {wildcards.batch}"
    script:
        ANALYSE


# Of models whose pairs the study saves, or whose reliability it draws.
rule save_matched_pairs:
    """Write the matched pairs of the models that the study names."""
    input:
        predictions=MATCHING.saved_inputs,
    output:
        pairs=expand(
            f"{OWN}/pairs/{{{{pair}}}}/{{matching}}/{{model}}.parquet",
            matching=MATCHINGS,
            model=MATCHING.saved_models or ["-"],
        ),
    log:
        f"{OWN}/logs/save_matched_pairs/{{pair}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("save_matched_pairs"),
    params:
        function="matcheval.protocol.jobs:save_matched_pairs",
        job=arguments(MATCHING.saved_arguments),
        custom_files=MATCHING.saved_state,
        code=digest("matcheval.protocol.jobs:save_matched_pairs"),
    message:
        "Saving the matched pairs of some models on {wildcards.pair}"
    script:
        ANALYSE


rule tabulate_runs:
    """Average the runs of a pair over seeds."""
    input:
        runs=expand(
            f"{OWN}/matched/{{{{pair}}}}/{{matching}}/{{batch}}.parquet",
            matching=MATCHINGS,
            batch=MATCHING.batches,
        ),
    output:
        outputs=expand(
            f"{OWN}/tables/{{{{pair}}}}/{{matching}}.{{format}}",
            matching=MATCHINGS,
            format=["parquet", "csv"],
        ),
    log:
        f"{OWN}/logs/tabulate_runs/{{pair}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("tabulate_runs"),
    params:
        function="matcheval.protocol.jobs:write_model_tables",
        job=arguments({"matchings": MATCHINGS}),
        code=digest("matcheval.protocol.jobs:write_model_tables"),
    message:
        "Tabulating the matchings of {wildcards.pair}"
    script:
        ANALYSE


rule estimate_gaps:
    """Estimate the gaps of a pair before and after matching, and their parts."""
    input:
        predictions=MATCHING.gap_inputs,
    output:
        tables=expand(
            f"{OWN}/gaps/{{{{pair}}}}/{{matching}}.{{format}}",
            matching=MATCHINGS,
            format=["parquet", "csv"],
        ),
        means=expand(f"{OWN}/gaps/{{{{pair}}}}.{{format}}", format=["parquet", "csv"]),
        calibration=expand(
            f"{OWN}/gaps/{{{{pair}}}}/calibration.{{format}}",
            format=["parquet", "csv"],
        ),
    log:
        f"{OWN}/logs/estimate_gaps/{{pair}}.log",
    benchmark:
        f"{OWN}/benchmarks/estimate_gaps/{{pair}}.tsv"
    priority: 1
    conda:
        "../envs/analysis.yaml"
    threads: MATCHING.gap_threads
    resources:
        **REQUESTS.resources("estimate_gaps"),
    params:
        function="matcheval.protocol.jobs:write_gaps",
        job=arguments(MATCHING.gap_arguments),
        custom_files=MATCHING.gap_state,
        code=digest("matcheval.protocol.jobs:write_gaps"),
    message:
        "Estimating the gaps of {wildcards.pair}"
    script:
        ANALYSE


rule write_summary:
    """Write the summary page of the study."""
    input:
        means=expand(f"{OWN}/gaps/{{pair}}.parquet", pair=MATCHING.pairs),
        tables=expand(
            f"{OWN}/tables/{{pair}}/{{matching}}.parquet",
            pair=MATCHING.pairs,
            matching=MATCHINGS,
        ),
        gaps=expand(
            f"{OWN}/gaps/{{pair}}/{{matching}}.parquet",
            pair=MATCHING.pairs,
            matching=MATCHINGS,
        ),
    output:
        outputs=shown(f"{OWN}/summary", MATCHING.summary),
    log:
        f"{OWN}/logs/write_summary.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("write_summary"),
    params:
        function="matcheval.protocol.analysis:write_study_summary",
        job=arguments(MATCHING.summary_arguments),
        code=digest("matcheval.protocol.analysis:write_study_summary"),
    message:
        f"Summarising study {STUDY.name}"
    script:
        ANALYSE


# All figures of a pair in one job: to start a job takes longer than to draw a figure.
rule plot_matching:
    """Draw all figures of the matching of a pair."""
    input:
        tables=expand(
            f"{OWN}/tables/{{{{pair}}}}/{{matching}}.parquet", matching=MATCHINGS
        ),
        gaps=expand(f"{OWN}/gaps/{{{{pair}}}}/{{matching}}.parquet", matching=MATCHINGS),
        means=f"{OWN}/gaps/{{pair}}.parquet",
        reliability=MATCHING.reliability_inputs,
    output:
        shown(f"{FIGURES_OF_PAIR}/confidence", MATCHING.confidence_plot),
        [
            shown(f"{FIGURES_OF_PAIR}/{name}/{figure}", plot, matching=name)
            for name in MATCHINGS
            for figure, plot in (
                ("matched_accuracy", MATCHING.accuracy_plot),
                ("gaps", MATCHING.gaps_plot),
            )
        ],
        [
            shown(
                f"{FIGURES_OF_PAIR}/{name}/reliability/{model}",
                MATCHING.reliability_plot,
                matching=name,
                model=model,
            )
            for name in MATCHINGS
            for model in MATCHING.settings.reliability_models
        ],
    log:
        f"{OWN}/logs/plot_matching/{{pair}}.log",
    benchmark:
        f"{OWN}/benchmarks/plot_matching/{{pair}}.tsv"
    conda:
        "../envs/analysis.yaml"
    threads: 2
    resources:
        **REQUESTS.resources("plot_matching"),
    params:
        function="matcheval.execution.batches:make_all",
        job=arguments(MATCHING.figure_arguments),
        custom_files=MATCHING.reliability_state,
        code=digest(
            "matcheval.execution.batches:make_all",
            "matcheval.protocol.analysis:draw_confidence",
            "matcheval.protocol.analysis:draw_matched_accuracy",
            "matcheval.protocol.analysis:draw_gaps",
            "matcheval.protocol.analysis:draw_reliability",
        ),
    message:
        "Plotting the figures of {wildcards.pair}"
    script:
        ANALYSE


# Runs and matched pairs; tables and the summary; figures; all of them.
rule matched:
    """All runs and matched pairs."""
    input:
        MATCHING.stages["matched"],
    localrule: True
    message:
        "All files of matched are there"


rule tables:
    """All tables of the matching, and the summary."""
    input:
        MATCHING.stages["tables"],
    localrule: True
    message:
        "All files of tables are there"


rule figures:
    """All figures of the matching."""
    input:
        MATCHING.stages["figures"],
    localrule: True
    message:
        "All files of figures are there"


rule matching:
    """All files of the matching."""
    input:
        MATCHING.targets,
    localrule: True
    message:
        "All files of matching are there"
