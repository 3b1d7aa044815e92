# Accuracy prediction: scores of models on the sets of suites without their labels, the accuracies
# predicted from them, tables and figures (matcheval/accuracy_prediction/).
PREDICTION = STUDY.analyses["accuracy_prediction"]
PREDICTED_SUITES = PREDICTION.settings.suites


# This runs the models again, over rotated images; what is done on a set is kept.
rule score_rotation:
    """Score how well a model's features tell orientations of images."""
    input:
        predictions=lambda w: outputs_on(w.suite, [w.model]),
        weights=lambda w: STUDY.weights_file(w.model) or [],
        datasets=lambda w: dataset_files(PREDICTION.rotated_with_base(w.suite)),
    output:
        scores="<study>/accuracy_prediction/rotation/{suite}/{model}.parquet",
    log:
        "<study>/logs/score_rotation/{suite}/{model}.log",
    benchmark:
        "<study>/benchmarks/score_rotation/{suite}/{model}.tsv"
    conda:
        "../envs/models.yaml"
    threads: REQUESTS.threads("score_rotation")
    resources:
        **REQUESTS.resources("score_rotation"),
        machine=COMMANDS.inference_options,
    params:
        arguments=PREDICTION.rotation_arguments,
        models=lambda w: COMMANDS.models_state([w.model]),
        version=PREDICTION.rotation_version,
    message:
        "Scoring rotations of {wildcards.model} on suite {wildcards.suite}"
    shell:
        'python "$MATCHEVAL_JOB" score_rotation:score {params.arguments:q} --scores {output.scores:q}'
        + TIME_LIMIT
        + " --gpus {resources.gpu} --n-threads {threads} {resources.machine} > {log:q} 2>&1"


# A table for each model or ensemble. Those that are made are kept, and the output is a folder of
# links to them.
rule score_accuracy:
    """Score all models on the sets of a suite, without labels."""
    input:
        outputs=lambda w: outputs_on(w.suite, PREDICTION.all_models),
    output:
        tables=directory("<study>/accuracy_prediction/scores/{suite}"),
    log:
        "<study>/logs/score_accuracy/{suite}.log",
    benchmark:
        "<study>/benchmarks/score_accuracy/{suite}.tsv"
    priority: 1
    conda:
        "../envs/analysis.yaml"
    threads: 2
    resources:
        **REQUESTS.resources("score_accuracy"),
    params:
        **calls(
            "matcheval.execution.batches:make_calls",
            PREDICTION.score_arguments,
            code=["matcheval.accuracy_prediction.scoring"],
            custom_files=file_state(lambda w: outputs_on(w.suite, PREDICTION.all_models)),
        ),
    message:
        "Scoring models on suite {wildcards.suite}"
    script:
        ANALYSE


rule score_agreement:
    """Score how often the models agree on the sets of a suite."""
    input:
        outputs=lambda w: outputs_on(w.suite, PREDICTION.all_models),
    output:
        scores="<study>/accuracy_prediction/agreement/{suite}.parquet",
    log:
        "<study>/logs/score_agreement/{suite}.log",
    priority: 1
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("score_agreement"),
    params:
        **calls(
            "matcheval.accuracy_prediction.scoring:write_agreement",
            PREDICTION.agreement_arguments,
            custom_files=file_state(lambda w: outputs_on(w.suite, PREDICTION.all_models)),
        ),
    message:
        "Comparing the predictions of all models on suite {wildcards.suite}"
    script:
        ANALYSE


rule predict_accuracy:
    """Predict accuracies from scores, and tabulate the errors."""
    input:
        scored="<study>/accuracy_prediction/scores/{suite}",
        agreement=(
            ["<study>/accuracy_prediction/agreement/{suite}.parquet"]
            if PREDICTION.has_agreement
            else []
        ),
        rotation=lambda w: expand(
            "<study>/accuracy_prediction/rotation/{suite}/{model}.parquet",
            suite=w.suite,
            model=PREDICTION.models if PREDICTION.rotated(w.suite) else [],
        ),
    output:
        predicted=multiext("<study>/accuracy_prediction/predicted/{suite}", ".parquet", ".csv"),
        errors=in_report("<study>/accuracy_prediction/errors/{suite}", PREDICTION.errors),
        correlations=in_report(
            "<study>/accuracy_prediction/correlations/{suite}", PREDICTION.correlations
        ),
        group_gaps=in_report(
            "<study>/accuracy_prediction/gaps_by_group/{suite}", PREDICTION.group_gaps
        ),
        rankings=in_report("<study>/accuracy_prediction/rankings/{suite}", PREDICTION.rankings),
        counts=in_report("<study>/accuracy_prediction/counts/{suite}", PREDICTION.counts),
        differences=in_report(
            "<study>/accuracy_prediction/differences/{suite}", PREDICTION.differences
        ),
        errors_of_models=[
            in_report(
                f"<study>/accuracy_prediction/errors_of_models/{{suite}}/{model}",
                PREDICTION.errors_of_model,
                scored=model,
            )
            for model in PREDICTION.settings.figure_models
        ],
        counts_of_models=[
            in_report(
                f"<study>/accuracy_prediction/counts_of_models/{{suite}}/{model}",
                PREDICTION.counts_of_model,
                scored=model,
            )
            for model in PREDICTION.settings.figure_models
        ],
    log:
        "<study>/logs/predict_accuracy/{suite}.log",
    conda:
        "../envs/models.yaml"  # one of its regressions is a network, and needs torch
    resources:
        **REQUESTS.resources("predict_accuracy"),
    params:
        **calls(
            "matcheval.accuracy_prediction.tables:write_predictions",
            PREDICTION.prediction_arguments,
        ),
    message:
        "Predicting the accuracies on suite {wildcards.suite}"
    script:
        ANALYSE


rule compare_suites:
    """Compare how methods rank on two suites."""
    input:
        predicted=expand(
            "<study>/accuracy_prediction/predicted/{suite}.parquet", suite=PREDICTED_SUITES
        ),
    output:
        outputs=in_report("<study>/accuracy_prediction/between_suites", PREDICTION.between),
    log:
        "<study>/logs/compare_suites.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("compare_suites"),
    params:
        **calls(
            "matcheval.accuracy_prediction.tables:write_between_suites",
            {"excluded_from_mean": PREDICTION.excluded_from_mean},
        ),
    message:
        "Comparing the rankings of methods on suites"
    script:
        ANALYSE


# All figures in one job.
rule plot_accuracy_prediction:
    """Draw all figures of accuracy prediction."""
    input:
        tables=expand(
            "<study>/accuracy_prediction/{table}/{suite}.parquet",
            suite=PREDICTED_SUITES,
            table=["predicted", "errors", "correlations"],
        ),
        outputs=outputs_in_figures,
    output:
        [
            in_report(
                f"<study>/figures/accuracy_prediction/{suite}/{figure}",
                PREDICTION.figure_of_suite,
                suite=suite,
                figure=figure,
            )
            for suite in PREDICTED_SUITES
            for figure in PREDICTION.figures_of(suite)
        ],
    log:
        "<study>/logs/plot_accuracy_prediction.log",
    conda:
        "../envs/analysis.yaml"
    threads: 2
    resources:
        **REQUESTS.resources("plot_accuracy_prediction"),
    params:
        **calls(
            "matcheval.execution.batches:run_calls",
            PREDICTION.figure_arguments,
            uses=["matcheval.accuracy_prediction.figures"],
            custom_files=file_state(outputs_in_figures),
        ),
    message:
        "Plotting the figures of accuracy prediction"
    script:
        ANALYSE
