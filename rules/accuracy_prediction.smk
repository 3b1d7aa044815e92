# Accuracy prediction without labels: scores of every model on a suite, accuracies predicted from
# them, and how far they are from the truth.
ACCURACY_PREDICTION = STUDY.analyses["accuracy_prediction"]


rule score_accuracy:
    input:
        settled(ACCURACY_PREDICTION.jobs.score_inputs),
    output:
        scores=ACCURACY_PREDICTION.scores.file(),
    log:
        f"{OWN}/logs/score_accuracy/{{suite}}/{{scored}}.log",
    wildcard_constraints:
        suite=one_of(ACCURACY_PREDICTION.settings.suites),
        scored=one_of(ACCURACY_PREDICTION.scored),
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("score_accuracy"),
    params:
        job=ACCURACY_PREDICTION.jobs.score_parameters,
        custom_files=ACCURACY_PREDICTION.jobs.custom_files_state,
        code=digest("score_accuracy"),
    message:
        "Scoring {wildcards.scored} on suite {wildcards.suite}"
    script:
        "../workflow_scripts/score_accuracy.py"


rule score_agreement:
    input:
        settled(ACCURACY_PREDICTION.jobs.agreement_inputs),
    output:
        scores=ACCURACY_PREDICTION.agreement.file(),
    log:
        f"{OWN}/logs/score_agreement/{{suite}}.log",
    wildcard_constraints:
        suite=one_of(ACCURACY_PREDICTION.settings.suites),
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("score_agreement"),
    params:
        job=ACCURACY_PREDICTION.jobs.agreement_parameters,
        custom_files=ACCURACY_PREDICTION.jobs.custom_files_state,
        code=digest("score_agreement"),
    message:
        "Comparing the predictions of all models on suite {wildcards.suite}"
    script:
        "../workflow_scripts/score_agreement.py"


# Runs the models again, over turned images; what is done on a set is kept.
rule score_rotation:
    input:
        unpack(settled(ACCURACY_PREDICTION.jobs.rotation_files)),
    output:
        scores=ACCURACY_PREDICTION.rotation.file(),
    log:
        f"{OWN}/logs/score_rotation/{{suite}}/{{model}}.log",
    benchmark:
        f"{OWN}/benchmarks/score_rotation/{{suite}}/{{model}}.tsv"
    wildcard_constraints:
        suite=one_of(ACCURACY_PREDICTION.settings.suites),
    conda:
        "../envs/models.yaml"
    threads: REQUESTS.threads("score_rotation")
    resources:
        **REQUESTS.resources("score_rotation"),
        # The next job goes on with the sets that this one had no time for.
        saves=ACCURACY_PREDICTION.jobs.rotation_saves,
        machine=JOBS.inference_options,
    params:
        arguments=ACCURACY_PREDICTION.jobs.rotation_arguments,
        version=ACCURACY_PREDICTION.jobs.rotation_version,
    message:
        "Scoring rotations of {wildcards.model} on suite {wildcards.suite}"
    shell:
        LEASE_GPU
        + "python -m score_rotation {params.arguments:q} --scores {output.scores:q}"
        " --threads {threads} {resources.machine} > {log:q} 2>&1"


# How the matched evaluation protocol sees the same gaps.
rule compare_gaps:
    input:
        settled(ACCURACY_PREDICTION.jobs.score_inputs),
    output:
        gaps=ACCURACY_PREDICTION.gaps.file(),
    log:
        f"{OWN}/logs/compare_gaps/{{suite}}/{{model}}.log",
    wildcard_constraints:
        suite=one_of(ACCURACY_PREDICTION.settings.suites),
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("compare_gaps"),
    params:
        job=ACCURACY_PREDICTION.jobs.gap_parameters,
        custom_files=ACCURACY_PREDICTION.jobs.custom_files_state,
        code=digest("compare_gaps"),
    message:
        "Matching {wildcards.model} on the sets of suite {wildcards.suite}"
    script:
        "../workflow_scripts/compare_gaps.py"


# One of its regressions is a network, so that its environment has torch.
rule predict_accuracy:
    input:
        unpack(ACCURACY_PREDICTION.table_jobs.all_scores),
    output:
        predicted=ACCURACY_PREDICTION.predicted.files,
        errors=in_report(ACCURACY_PREDICTION.errors),
        correlations=in_report(ACCURACY_PREDICTION.correlations),
        group_gaps=in_report(ACCURACY_PREDICTION.group_gaps),
        rankings=in_report(ACCURACY_PREDICTION.rankings),
        counts=in_report(ACCURACY_PREDICTION.counts),
    log:
        f"{OWN}/logs/predict_accuracy/{{suite}}.log",
    wildcard_constraints:
        suite=one_of(ACCURACY_PREDICTION.settings.suites),
    conda:
        "../envs/models.yaml"
    resources:
        **REQUESTS.resources("predict_accuracy"),
    params:
        job=ACCURACY_PREDICTION.table_jobs.prediction_parameters,
        code=digest("predict_accuracy"),
    message:
        "Predicting the accuracies on suite {wildcards.suite}"
    script:
        "../workflow_scripts/predict_accuracy.py"


rule tabulate_model_errors:
    input:
        predicted=ACCURACY_PREDICTION.predicted.file(".parquet"),
    output:
        errors=in_report(ACCURACY_PREDICTION.errors_of_model),
    log:
        f"{OWN}/logs/tabulate_model_errors/{{suite}}/{{scored}}.log",
    wildcard_constraints:
        suite=one_of(ACCURACY_PREDICTION.settings.suites),
        scored=one_of(ACCURACY_PREDICTION.scored),
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("tabulate_model_errors"),
    params:
        job=ACCURACY_PREDICTION.table_jobs.model_error_parameters,
        code=digest("tabulate_model_errors"),
    message:
        "Tabulating the errors of {wildcards.scored} on suite {wildcards.suite}"
    script:
        "../workflow_scripts/tabulate_model_errors.py"


rule compare_predictions:
    input:
        predicted=ACCURACY_PREDICTION.predicted.file(".parquet"),
        gaps=ACCURACY_PREDICTION.table_jobs.all_gaps,
    output:
        tables=in_report(ACCURACY_PREDICTION.comparison),
        of_suite=ACCURACY_PREDICTION.gaps_of_suite.file(),
    log:
        f"{OWN}/logs/compare_predictions/{{suite}}.log",
    wildcard_constraints:
        suite=one_of(ACCURACY_PREDICTION.settings.suites),
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("compare_predictions"),
    params:
        job=ACCURACY_PREDICTION.table_jobs.comparison_parameters,
        code=digest("compare_predictions"),
    message:
        "Comparing predicted and matched gaps on suite {wildcards.suite}"
    script:
        "../workflow_scripts/compare_predictions.py"


rule plot_accuracy_prediction:
    input:
        predicted=ACCURACY_PREDICTION.predicted.file(".parquet"),
        errors=ACCURACY_PREDICTION.errors.file(".parquet"),
        correlations=ACCURACY_PREDICTION.correlations.file(".parquet"),
        gaps=ACCURACY_PREDICTION.table_jobs.gaps_files,
    output:
        outputs=in_report(ACCURACY_PREDICTION.figure_of_suite),
    log:
        f"{OWN}/logs/plot_accuracy_prediction/{{suite}}/{{figure}}.log",
    wildcard_constraints:
        suite=one_of(ACCURACY_PREDICTION.settings.suites),
        figure=one_of(ACCURACY_PREDICTION.plots.table_names),
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("plot_accuracy_prediction"),
    params:
        job=ACCURACY_PREDICTION.plots.parameters,
        code=digest("plot_accuracy_prediction"),
    message:
        "Plotting {wildcards.figure} of suite {wildcards.suite}"
    script:
        "../workflow_scripts/plot_accuracy_prediction.py"


# Confidences and features, of which no table is kept.
rule plot_model_outputs:
    input:
        settled(ACCURACY_PREDICTION.plots.output_inputs),
    output:
        outputs=in_report(ACCURACY_PREDICTION.figure_of_suite),
    log:
        f"{OWN}/logs/plot_model_outputs/{{suite}}/{{figure}}.log",
    wildcard_constraints:
        suite=one_of(ACCURACY_PREDICTION.settings.suites),
        figure=one_of(ACCURACY_PREDICTION.plots.output_names),
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("plot_model_outputs"),
    params:
        job=ACCURACY_PREDICTION.plots.output_parameters,
        custom_files=ACCURACY_PREDICTION.jobs.custom_files_state,
        code=digest("plot_model_outputs"),
    message:
        "Plotting {wildcards.figure} of suite {wildcards.suite}"
    script:
        "../workflow_scripts/plot_model_outputs.py"
