# Domain generalisation: trainings on several domains by several algorithms, which training.smk and
# inference.smk run, and what they give on other domains (matcheval/domain_generalization/).
from matcheval.domain_generalization.figures import KINDS as KINDS_OF_FIGURES

DOMAINS = STUDY.analyses["domain_generalization"]
DOMAINS_FOLDER = f"{OWN}/domain_generalization"
TABLE_AND_CSV = ["parquet", "csv"]


rule plan_domain_generalization:
    """Check sources and targets, and list all trainings."""
    input:
        descriptions=DOMAINS.descriptions,
    output:
        outputs=shown(f"{DOMAINS_FOLDER}/plan", DOMAINS.planned),
    log:
        f"{OWN}/logs/plan_domain_generalization.log",
    priority: 1  # before trainings, whose time it may save
    conda:
        "../envs/models.yaml"
    resources:
        **REQUESTS.resources("plan_domain_generalization"),
    params:
        function="matcheval.domain_generalization.tables:write_plan",
        job=arguments(lambda w: DOMAINS.plan_arguments),
        code=digest("matcheval.domain_generalization.tables:write_plan"),
    message:
        "Checking sources and targets, and listing the trainings"
    script:
        ANALYSE


rule collect_domain_runs:
    """Collect the runs of all trainings, and their accuracies."""
    input:
        plan=f"{DOMAINS_FOLDER}/plan.parquet",
        histories=DOMAINS.histories,
        predictions=DOMAINS.tested_folders,
    output:
        runs=expand(f"{DOMAINS_FOLDER}/runs.{{format}}", format=TABLE_AND_CSV),
        curves=expand(f"{DOMAINS_FOLDER}/curves.{{format}}", format=TABLE_AND_CSV),
        accuracies=expand(
            f"{DOMAINS_FOLDER}/accuracies.{{format}}", format=TABLE_AND_CSV
        ),
    log:
        f"{OWN}/logs/collect_domain_runs.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("collect_domain_runs"),
    params:
        function="matcheval.domain_generalization.results:collect_runs",
        job=arguments(lambda w: DOMAINS.run_arguments),
        code=digest("matcheval.domain_generalization.results:collect_runs"),
    message:
        "Collecting the runs and their accuracies"
    script:
        ANALYSE


rule compare_domain_algorithms:
    """Select hyper-parameters, and compare algorithms with ERM."""
    input:
        runs=f"{DOMAINS_FOLDER}/runs.parquet",
        accuracies=f"{DOMAINS_FOLDER}/accuracies.parquet",
    output:
        results=shown(f"{DOMAINS_FOLDER}/results", DOMAINS.results),
        gains=expand(f"{DOMAINS_FOLDER}/gains.{{format}}", format=TABLE_AND_CSV),
        spread=expand(f"{DOMAINS_FOLDER}/spread.{{format}}", format=TABLE_AND_CSV),
        image_counts=expand(
            f"{DOMAINS_FOLDER}/image_counts.{{format}}", format=TABLE_AND_CSV
        ),
    log:
        f"{OWN}/logs/compare_domain_algorithms.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("compare_domain_algorithms"),
    params:
        function="matcheval.domain_generalization.results:compare_algorithms",
        job=arguments(lambda w: DOMAINS.comparison),
        code=digest("matcheval.domain_generalization.results:compare_algorithms"),
    message:
        "Selecting groups of hyper-parameters, and comparing algorithms with ERM"
    script:
        ANALYSE


# Tables in the layout of a paper's, by design (`view`) and selection.
rule lay_out_domain_results:
    """Lay out the results as tables of a paper."""
    input:
        results=f"{DOMAINS_FOLDER}/results.parquet",
    output:
        outputs=[
            shown(
                f"{DOMAINS_FOLDER}/{view}-{selection}",
                DOMAINS.layout,
                view=view,
                selection=selection,
            )
            for view in DOMAINS.views
            for selection in DOMAINS.selections
        ],
    log:
        f"{OWN}/logs/lay_out_domain_results.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("lay_out_domain_results"),
    params:
        function="matcheval.domain_generalization.tables:lay_out_results",
        job=arguments(lambda w: DOMAINS.layout_arguments),
        code=digest("matcheval.domain_generalization.tables:lay_out_results"),
    message:
        "Laying out the results as tables of Markdown and LaTeX"
    script:
        ANALYSE


# A table for each trained model. Those that are made are kept, and the output is a folder of links.
rule score_domain_models:
    """Score trained models on the sets of a suite, without labels."""
    input:
        outputs=DOMAINS.score_inputs,
    output:
        tables=directory(f"{DOMAINS_FOLDER}/scores/{{suite}}"),
    log:
        f"{OWN}/logs/score_domain_models/{{suite}}.log",
    wildcard_constraints:
        suite=one_of(DOMAINS.scored_suites),
    conda:
        "../envs/analysis.yaml"
    threads: 2
    resources:
        **REQUESTS.resources("score_domain_models"),
    params:
        function="matcheval.execution.batches:make_calls",
        job=arguments(DOMAINS.score_arguments),
        state="",
        code=digest(
            "matcheval.accuracy_prediction.scoring:write_scores",
            "matcheval.accuracy_prediction.scores",
        ),
    message:
        "Scoring models on suite {wildcards.suite}"
    script:
        ANALYSE


rule compare_domain_scores:
    """Compare scores with accuracies of generalised models."""
    input:
        runs=f"{DOMAINS_FOLDER}/runs.parquet",
        accuracies=f"{DOMAINS_FOLDER}/accuracies.parquet",
        scored=expand(f"{DOMAINS_FOLDER}/scores/{{suite}}", suite=DOMAINS.scored_suites),
    output:
        predictability=shown(f"{DOMAINS_FOLDER}/predictability", DOMAINS.predictability),
        near_far=expand(f"{DOMAINS_FOLDER}/near_far.{{format}}", format=TABLE_AND_CSV),
        figure=shown(
            f"{OWN}/figures/domain_generalization/scores", DOMAINS.plot_of_scores
        ),
    log:
        f"{OWN}/logs/compare_domain_scores.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("compare_domain_scores"),
    params:
        function="matcheval.domain_generalization.predictability:compare_scores",
        job=arguments(lambda w: DOMAINS.score_comparison),
        code=digest("matcheval.domain_generalization.predictability:compare_scores"),
    message:
        "Comparing scores with accuracies of generalised models"
    script:
        ANALYSE


rule plot_domain_generalization:
    """Draw all figures of domain generalisation."""
    input:
        expand(
            f"{DOMAINS_FOLDER}/{{table}}.parquet",
            table=["runs", "curves", "results", "gains"],
        ),
    output:
        [
            shown(
                f"{OWN}/figures/domain_generalization/{figure}",
                DOMAINS.plot,
                figure=figure,
            )
            for figure in KINDS_OF_FIGURES
        ],
    log:
        f"{OWN}/logs/plot_domain_generalization.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("plot_domain_generalization"),
    params:
        function="matcheval.execution.batches:make_all",
        job=arguments(lambda w: DOMAINS.figure_arguments),
        code=digest(
            "matcheval.execution.batches:make_all",
            "matcheval.domain_generalization.figures:plot_results",
        ),
    message:
        "Plotting the figures of domain generalisation"
    script:
        ANALYSE


rule domain_generalization:
    """All files of domain generalisation."""
    input:
        DOMAINS.targets,
    localrule: True
    message:
        "All files of domain_generalization are there"
