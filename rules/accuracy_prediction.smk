# Accuracy prediction: scores of models on the sets of suites without their labels, the accuracies
# predicted from them, tables and figures (matcheval/accuracy_prediction/).
PREDICTION = STUDY.analyses["accuracy_prediction"]
PREDICTION_FOLDER = f"{OWN}/accuracy_prediction"
PREDICTED_SUITES = PREDICTION.settings.suites


wildcard_constraints:
    suite=one_of(STUDY.suites),


# Rotation accuracies, which run the models again, over rotated images; what is done on a set is kept.
rule score_rotation:
    """Score how well a model's features tell orientations of images."""
    input:
        unpack(PREDICTION.rotation_files),
    output:
        scores=f"{PREDICTION_FOLDER}/rotation/{{suite}}/{{model}}.parquet",
    log:
        f"{OWN}/logs/score_rotation/{{suite}}/{{model}}.log",
    benchmark:
        f"{OWN}/benchmarks/score_rotation/{{suite}}/{{model}}.tsv"
    conda:
        "../envs/models.yaml"
    threads: REQUESTS.threads("score_rotation")
    resources:
        **REQUESTS.resources("score_rotation"),
        machine=JOBS.inference_options,
    params:
        arguments=PREDICTION.rotation_arguments,
        models=lambda w: JOBS.models_state([w.model]),
        version=PREDICTION.rotation_version,
    message:
        "Scoring rotations of {wildcards.model} on suite {wildcards.suite}"
    shell:
        LEASE_GPU
        + 'python "$MATCHEVAL_JOB" score_rotation {params.arguments:q} --scores {output.scores:q}'
        + TIME_LIMIT
        + " --threads {threads} {resources.machine} > {log:q} 2>&1"


# A table for each model or ensemble. Those that are made are kept, and the output is a folder of
# links to them.
rule score_accuracy:
    """Score all models on the sets of a suite, without labels."""
    input:
        outputs=PREDICTION.suite_inputs,
    output:
        tables=directory(f"{PREDICTION_FOLDER}/scores/{{suite}}"),
    log:
        f"{OWN}/logs/score_accuracy/{{suite}}.log",
    benchmark:
        f"{OWN}/benchmarks/score_accuracy/{{suite}}.tsv"
    priority: 1
    conda:
        "../envs/analysis.yaml"
    threads: 2
    resources:
        **REQUESTS.resources("score_accuracy"),
    params:
        function="matcheval.execution.batches:make_calls",
        job=arguments(PREDICTION.score_arguments),
        state=PREDICTION.custom_files_state,
        code=digest("matcheval.accuracy_prediction.scoring:write_scores"),
    message:
        "Scoring models on suite {wildcards.suite}"
    script:
        ANALYSE


rule score_agreement:
    """Score how often the models agree on the sets of a suite."""
    input:
        outputs=PREDICTION.suite_inputs,
    output:
        scores=f"{PREDICTION_FOLDER}/agreement/{{suite}}.parquet",
    log:
        f"{OWN}/logs/score_agreement/{{suite}}.log",
    priority: 1
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("score_agreement"),
    params:
        function="matcheval.accuracy_prediction.scoring:write_agreement",
        job=arguments(PREDICTION.agreement_arguments),
        custom_files=PREDICTION.custom_files_state,
        code=digest("matcheval.accuracy_prediction.scoring:write_agreement"),
    message:
        "Comparing the predictions of all models on suite {wildcards.suite}"
    script:
        ANALYSE


rule predict_accuracy:
    """Predict accuracies from scores, and tabulate the errors."""
    input:
        scored=f"{PREDICTION_FOLDER}/scores/{{suite}}",
        agreement=(
            [f"{PREDICTION_FOLDER}/agreement/{{suite}}.parquet"]
            if PREDICTION.has_agreement
            else []
        ),
        rotation=PREDICTION.rotation_tables,
    output:
        predicted=expand(
            f"{PREDICTION_FOLDER}/predicted/{{{{suite}}}}.{{format}}",
            format=["parquet", "csv"],
        ),
        errors=shown(f"{PREDICTION_FOLDER}/errors/{{suite}}", PREDICTION.errors),
        correlations=shown(
            f"{PREDICTION_FOLDER}/correlations/{{suite}}", PREDICTION.correlations
        ),
        group_gaps=shown(
            f"{PREDICTION_FOLDER}/gaps_by_group/{{suite}}", PREDICTION.group_gaps
        ),
        rankings=shown(f"{PREDICTION_FOLDER}/rankings/{{suite}}", PREDICTION.rankings),
        counts=shown(f"{PREDICTION_FOLDER}/counts/{{suite}}", PREDICTION.counts),
        differences=shown(
            f"{PREDICTION_FOLDER}/differences/{{suite}}", PREDICTION.differences
        ),
        errors_of_models=[
            shown(
                f"{PREDICTION_FOLDER}/errors_of_models/{{suite}}/{model}",
                PREDICTION.errors_of_model,
                scored=model,
            )
            for model in PREDICTION.settings.figure_models
        ],
        counts_of_models=[
            shown(
                f"{PREDICTION_FOLDER}/counts_of_models/{{suite}}/{model}",
                PREDICTION.counts_of_model,
                scored=model,
            )
            for model in PREDICTION.settings.figure_models
        ],
    log:
        f"{OWN}/logs/predict_accuracy/{{suite}}.log",
    conda:
        "../envs/models.yaml"  # one of its regressions is a network, and needs torch
    resources:
        **REQUESTS.resources("predict_accuracy"),
    params:
        function="matcheval.accuracy_prediction.tables:write_predictions",
        job=arguments(PREDICTION.prediction_arguments),
        code=digest("matcheval.accuracy_prediction.tables:write_predictions"),
    message:
        "Predicting the accuracies on suite {wildcards.suite}"
    script:
        ANALYSE


rule compare_suites:
    """Compare how methods rank on two suites."""
    input:
        predicted=expand(
            f"{PREDICTION_FOLDER}/predicted/{{suite}}.parquet", suite=PREDICTED_SUITES
        ),
    output:
        outputs=shown(f"{PREDICTION_FOLDER}/between_suites", PREDICTION.between),
    log:
        f"{OWN}/logs/compare_suites.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("compare_suites"),
    params:
        function="matcheval.accuracy_prediction.tables:write_between_suites",
        job=arguments({"excluded_from_mean": PREDICTION.excluded_from_mean}),
        code=digest("matcheval.accuracy_prediction.tables:write_between_suites"),
    message:
        "Comparing the rankings of methods on suites"
    script:
        ANALYSE


# All figures in one job; some are of outputs of models, of which no table is kept.
rule plot_accuracy_prediction:
    """Draw all figures of accuracy prediction."""
    input:
        unpack(PREDICTION.figure_inputs),
    output:
        [
            shown(
                f"{OWN}/figures/accuracy_prediction/{suite}/{figure}",
                PREDICTION.figure_of_suite,
                suite=suite,
                figure=figure,
            )
            for suite in PREDICTED_SUITES
            for figure in PREDICTION.figures_of(suite)
        ],
    log:
        f"{OWN}/logs/plot_accuracy_prediction.log",
    conda:
        "../envs/analysis.yaml"
    threads: 2
    resources:
        **REQUESTS.resources("plot_accuracy_prediction"),
    params:
        function="matcheval.execution.batches:make_all",
        job=arguments(PREDICTION.figure_arguments),
        custom_files=PREDICTION.figure_state,
        code=digest(
            "matcheval.execution.batches:make_all",
            "matcheval.accuracy_prediction.figures:plot_tables",
            "matcheval.accuracy_prediction.figures:plot_outputs",
        ),
    message:
        "Plotting the figures of accuracy prediction"
    script:
        ANALYSE


rule accuracy_prediction:
    """All files of accuracy prediction."""
    input:
        PREDICTION.targets,
    localrule: True
    message:
        "All files of accuracy_prediction are there"
