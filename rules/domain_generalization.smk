# Domain generalisation: trainings on several domains by several algorithms, which training.smk and
# inference.smk run, and what they give on other domains (matcheval/domain_generalization/).
from matcheval.domain_generalization.figures import KINDS as KINDS_OF_FIGURES

DOMAINS = STUDY.analyses["domain_generalization"]


rule plan_domain_generalization:
    """Check sources and targets, and list all trainings."""
    input:
        descriptions=descriptions(DOMAINS.trained_on),
    output:
        outputs=in_report("<study>/domain_generalization/plan", DOMAINS.planned),
    log:
        "<study>/logs/plan_domain_generalization.log",
    priority: 1  # before trainings, whose time it may save
    conda:
        "../envs/models.yaml"
    resources:
        **REQUESTS.resources("plan_domain_generalization"),
    params:
        **calls(
            "matcheval.domain_generalization.tables:write_plan", lambda w: DOMAINS.plan_arguments
        ),
    message:
        "Checking sources and targets, and listing the trainings"
    script:
        ANALYSE


rule collect_domain_runs:
    """Collect the runs of all trainings, and their accuracies."""
    input:
        plan="<study>/domain_generalization/plan.parquet",
        histories=expand("<study>/checkpoints/{model}.history.csv", model=DOMAINS.trained),
        predictions=expand("<study>/tested/{tested}", tested=DOMAINS.tested_on_targets),
    output:
        runs=multiext("<study>/domain_generalization/runs", ".parquet", ".csv"),
        curves=multiext("<study>/domain_generalization/curves", ".parquet", ".csv"),
        accuracies=multiext("<study>/domain_generalization/accuracies", ".parquet", ".csv"),
    log:
        "<study>/logs/collect_domain_runs.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("collect_domain_runs"),
    params:
        **calls(
            "matcheval.domain_generalization.results:collect_runs", lambda w: DOMAINS.run_arguments
        ),
    message:
        "Collecting the runs and their accuracies"
    script:
        ANALYSE


rule compare_domain_algorithms:
    """Select hyper-parameters, and compare algorithms with ERM."""
    input:
        runs="<study>/domain_generalization/runs.parquet",
        accuracies="<study>/domain_generalization/accuracies.parquet",
    output:
        results=in_report("<study>/domain_generalization/results", DOMAINS.results),
        gains=multiext("<study>/domain_generalization/gains", ".parquet", ".csv"),
        spread=multiext("<study>/domain_generalization/spread", ".parquet", ".csv"),
        image_counts=multiext("<study>/domain_generalization/image_counts", ".parquet", ".csv"),
    log:
        "<study>/logs/compare_domain_algorithms.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("compare_domain_algorithms"),
    params:
        **calls(
            "matcheval.domain_generalization.results:compare_algorithms",
            lambda w: DOMAINS.comparison_arguments,
        ),
    message:
        "Selecting groups of hyper-parameters, and comparing algorithms with ERM"
    script:
        ANALYSE


# Tables in the layout of a paper's, by design (`view`) and selection.
rule lay_out_domain_results:
    """Lay out the results as tables of a paper."""
    input:
        results="<study>/domain_generalization/results.parquet",
    output:
        outputs=[
            in_report(
                f"<study>/domain_generalization/{view}-{selection}",
                DOMAINS.layout,
                view=view,
                selection=selection,
            )
            for view in DOMAINS.views
            for selection in DOMAINS.selections
        ],
    log:
        "<study>/logs/lay_out_domain_results.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("lay_out_domain_results"),
    params:
        **calls(
            "matcheval.domain_generalization.tables:lay_out_results",
            lambda w: {"designs": list(DOMAINS.views.values()), "selections": DOMAINS.selections},
        ),
    message:
        "Laying out the results as tables of Markdown and LaTeX"
    script:
        ANALYSE


# A table for each trained model. Those that are made are kept, and the output is a folder of links.
rule score_domain_models:
    """Score trained models on the sets of a suite, without labels."""
    input:
        # `<study>/tested/{tested}`, and descriptions of the sets that models are validated on.
        outputs=DOMAINS.score_inputs,
    output:
        tables=directory("<study>/domain_generalization/scores/{suite}"),
    log:
        "<study>/logs/score_domain_models/{suite}.log",
    wildcard_constraints:
        suite=one_of(DOMAINS.scored_suites),
    conda:
        "../envs/analysis.yaml"
    threads: 2
    resources:
        **REQUESTS.resources("score_domain_models"),
    params:
        **calls(
            "matcheval.execution.batches:make_calls",
            DOMAINS.score_arguments,
            code=["matcheval.accuracy_prediction.scoring"],
            custom_files=[],
        ),
    message:
        "Scoring models on suite {wildcards.suite}"
    script:
        ANALYSE


rule compare_domain_scores:
    """Compare scores with accuracies of generalised models."""
    input:
        runs="<study>/domain_generalization/runs.parquet",
        accuracies="<study>/domain_generalization/accuracies.parquet",
        scored=expand("<study>/domain_generalization/scores/{suite}", suite=DOMAINS.scored_suites),
    output:
        predictability=in_report(
            "<study>/domain_generalization/predictability", DOMAINS.predictability
        ),
        near_far=multiext("<study>/domain_generalization/near_far", ".parquet", ".csv"),
        figure=in_report("<study>/figures/domain_generalization/scores", DOMAINS.plot_of_scores),
    log:
        "<study>/logs/compare_domain_scores.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("compare_domain_scores"),
    params:
        **calls(
            "matcheval.domain_generalization.results:compare_scores",
            lambda w: DOMAINS.score_comparison_arguments,
        ),
    message:
        "Comparing scores with accuracies of generalised models"
    script:
        ANALYSE


rule plot_domain_generalization:
    """Draw all figures of domain generalisation."""
    input:
        expand(
            "<study>/domain_generalization/{table}.parquet",
            table=["runs", "curves", "results", "gains"],
        ),
    output:
        [
            in_report(
                f"<study>/figures/domain_generalization/{figure}", DOMAINS.plot, figure=figure
            )
            for figure in KINDS_OF_FIGURES
        ],
    log:
        "<study>/logs/plot_domain_generalization.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("plot_domain_generalization"),
    params:
        **calls(
            "matcheval.execution.batches:run_calls",
            lambda w: DOMAINS.figure_arguments,
            uses=["matcheval.domain_generalization.figures"],
        ),
    message:
        "Plotting the figures of domain generalisation"
    script:
        ANALYSE
