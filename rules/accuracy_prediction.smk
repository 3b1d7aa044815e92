# Rotation accuracies, which are the scores of accuracy prediction that run models; its other rules
# are those of its class.
ACCURACY_PREDICTION = STUDY.analyses["accuracy_prediction"]


# Runs the models again, over rotated images; what is done on a set is kept.
rule score_rotation:
    input:
        unpack(settled(ACCURACY_PREDICTION.rotation_files)),
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
        machine=STUDY.inference.machine_options,
    params:
        arguments=ACCURACY_PREDICTION.rotation_arguments,
        version=ACCURACY_PREDICTION.rotation_version,
    message:
        "Scoring rotations of {wildcards.model} on suite {wildcards.suite}"
    shell:
        LEASE_GPU
        + "python -m score_rotation {params.arguments:q} --scores {output.scores:q}"
        + TIME_LIMIT
        + " --threads {threads} {resources.machine} > {log:q} 2>&1"
