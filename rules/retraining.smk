# Retraining: accuracies of models trained again on datasets that are derived from the study's.
RETRAINING = STUDY.analyses["retraining"]


rule tabulate_retraining:
    input:
        settled(RETRAINING.inputs),
    output:
        outputs=in_report(RETRAINING.result),
    log:
        f"{OWN}/logs/tabulate_retraining/{{experiment}}.log",
    wildcard_constraints:
        experiment=one_of(RETRAINING.experiments),
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("tabulate_retraining"),
    params:
        job=RETRAINING.parameters,
        code=digest("tabulate_retraining"),
    message:
        "Tabulating experiment {wildcards.experiment}"
    script:
        "../workflow_scripts/tabulate_retraining.py"
