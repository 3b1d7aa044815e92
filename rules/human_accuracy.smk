# Human accuracy: accuracies of human participants beside those of the models.
HUMAN_ACCURACY = STUDY.analyses["human_accuracy"]


rule tabulate_human_accuracy:
    input:
        unpack(settled(HUMAN_ACCURACY.inputs)),
    output:
        outputs=in_report(HUMAN_ACCURACY.result),
    log:
        f"{OWN}/logs/tabulate_human_accuracy/{{pair}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("tabulate_human_accuracy"),
    params:
        job=HUMAN_ACCURACY.parameters,
        custom_files=HUMAN_ACCURACY.custom_files_state,
        code=digest("tabulate_human_accuracy"),
    message:
        "Tabulating human accuracy on {wildcards.pair}"
    script:
        "../workflow_scripts/tabulate_human_accuracy.py"
