# Domain generalisation: trainings on several domains, tested on others.
DOMAINS = STUDY.analyses["domain_generalization"]


rule plan_domain_generalization:
    input:
        DOMAINS.plan_inputs,
    output:
        outputs=in_report(DOMAINS.planned),
    log:
        f"{OWN}/logs/plan_domain_generalization.log",
    conda:
        "../envs/models.yaml"
    resources:
        **REQUESTS.resources("plan_domain_generalization"),
    params:
        job=DOMAINS.plan_parameters,
        code=digest("plan_domain_generalization"),
    message:
        "Checking sources and targets, and listing the trainings"
    script:
        "../workflow_scripts/plan_domain_generalization.py"


rule collect_domain_runs:
    input:
        unpack(DOMAINS.run_inputs),
    output:
        runs=DOMAINS.runs.files,
        curves=DOMAINS.curves.files,
        accuracies=DOMAINS.accuracies.files,
    log:
        f"{OWN}/logs/collect_domain_runs.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("collect_domain_runs"),
    params:
        job=DOMAINS.run_parameters,
        code=digest("collect_domain_runs"),
    message:
        "Collecting the runs and their accuracies"
    script:
        "../workflow_scripts/collect_domain_runs.py"


rule compare_domain_algorithms:
    input:
        runs=DOMAINS.runs.file(".parquet"),
        accuracies=DOMAINS.accuracies.file(".parquet"),
    output:
        results=in_report(DOMAINS.results),
        gains=DOMAINS.gains.files,
        spread=DOMAINS.spread.files,
        image_counts=DOMAINS.image_counts.files,
    log:
        f"{OWN}/logs/compare_domain_algorithms.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("compare_domain_algorithms"),
    params:
        job=DOMAINS.result_parameters,
        code=digest("compare_domain_algorithms"),
    message:
        "Selecting groups of hyper-parameters, and comparing algorithms with ERM"
    script:
        "../workflow_scripts/compare_domain_algorithms.py"


rule lay_out_domain_results:
    input:
        results=DOMAINS.results.file(".parquet"),
    output:
        outputs=in_report(DOMAINS.layout),
    log:
        f"{OWN}/logs/lay_out_domain_results/{{view}}-{{selection}}.log",
    wildcard_constraints:
        view=one_of(DOMAINS.views),
        selection=one_of(DOMAINS.selections),
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("lay_out_domain_results"),
    params:
        job=DOMAINS.layout_parameters,
        code=digest("lay_out_domain_results"),
    message:
        "Laying out the results of {wildcards.view}, groups selected by {wildcards.selection}"
    script:
        "../workflow_scripts/lay_out_domain_results.py"


rule plot_domain_generalization:
    input:
        runs=DOMAINS.runs.file(".parquet"),
        curves=DOMAINS.curves.file(".parquet"),
        results=DOMAINS.results.file(".parquet"),
        gains=DOMAINS.gains.file(".parquet"),
    output:
        outputs=in_report(DOMAINS.plot),
    log:
        f"{OWN}/logs/plot_domain_generalization/{{figure}}.log",
    wildcard_constraints:
        figure=one_of(DOMAINS.figures),
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("plot_domain_generalization"),
    params:
        job=DOMAINS.figure_parameters,
        code=digest("plot_domain_generalization"),
    message:
        "Plotting {wildcards.figure}"
    script:
        "../workflow_scripts/plot_domain_generalization.py"


# The scores of accuracy prediction, of models that this analysis trains.
rule score_domain_model:
    input:
        DOMAINS.scored.inputs,
    output:
        scores=DOMAINS.scores.file(),
    log:
        f"{OWN}/logs/score_domain_model/{{suite}}/{{scored}}.log",
    wildcard_constraints:
        suite=one_of(STUDY.suites),
        scored=one_of(DOMAINS.trained),
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("score_domain_model"),
    params:
        function="matcheval.accuracy_prediction.scoring:write_scores",
        job=DOMAINS.scored.parameters,
        custom_files=[],
        code=digest("analyse", "matcheval.accuracy_prediction.scoring:write_scores"),
    message:
        "Scoring {wildcards.scored} on suite {wildcards.suite}"
    script:
        "../workflow_scripts/analyse.py"


rule compare_domain_scores:
    input:
        runs=DOMAINS.runs.file(".parquet"),
        accuracies=DOMAINS.accuracies.file(".parquet"),
        scores=DOMAINS.score_files,
    output:
        predictability=in_report(DOMAINS.predictability),
        near_far=DOMAINS.near_far.files,
        figure=in_report(DOMAINS.plot_of_scores),
    log:
        f"{OWN}/logs/compare_domain_scores.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("compare_domain_scores"),
    params:
        job=DOMAINS.result_parameters,
        code=digest("compare_domain_scores"),
    message:
        "Comparing scores with accuracies of generalised models"
    script:
        "../workflow_scripts/compare_domain_scores.py"
