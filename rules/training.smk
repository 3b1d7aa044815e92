# Training: checkpoints, trained by the recipes in the model catalogue.
from matcheval.training import TRAINING_VERSION


rule train_model:
    input:
        unpack(lambda w: by_description(JOBS.training_sets(w))),
    output:
        checkpoint=f"{SHARED}/checkpoints/{{model}}.safetensors",
        history=f"{SHARED}/checkpoints/{{model}}.history.csv",
    log:
        f"{SHARED}/logs/train_model/{{model}}.log",
    benchmark:
        f"{SHARED}/benchmarks/train_model/{{model}}.tsv"
    wildcard_constraints:
        model=one_of(STUDY.trainings.alone),
    conda:
        "../envs/models.yaml"
    threads: REQUESTS.threads("train_model")
    resources:
        **REQUESTS.resources("train_model"),
        # Machine settings change at most the last bits of the weights, which is no reason to train
        # again. They are a resource because a changed resource, unlike a changed parameter, does
        # not repeat a job.
        machine=JOBS.training_options,
    params:
        arguments=JOBS.train_arguments,
        version=TRAINING_VERSION,
    message:
        "Training {wildcards.model}"
    shell:
        LEASE_GPU
        + "python -m train one {params.arguments:q} --threads {threads} {resources.machine}"
        + TIME_LIMIT
        + " --output {output.checkpoint:q} --history {output.history:q} > {log:q} 2>&1"


# Short trainings on a processor: those that are done are kept (execution/batches.py).
rule train_models:
    input:
        unpack(lambda w: by_description(JOBS.training_sets(w))),
    output:
        index=STUDY.trainings.index("{batch}"),
    log:
        f"{OWN}/logs/train_models/{{batch}}.log",
    benchmark:
        f"{OWN}/benchmarks/train_models/{{batch}}.tsv"
    wildcard_constraints:
        batch=one_of(STUDY.trainings.batches),
    conda:
        "../envs/models.yaml"
    threads: REQUESTS.threads("train_models")
    resources:
        **REQUESTS.resources("train_models"),
        machine=JOBS.training_options,
    params:
        arguments=JOBS.train_batch_arguments,
        version=TRAINING_VERSION,
        threads=STUDY.training.threads if STUDY.training else 1,
    message:
        "Training the models of {wildcards.batch}"
    shell:
        "python -m train batch {params.arguments:q} --threads {params.threads}"
        " --processes $(( {threads} / {params.threads} )) {resources.machine}"
        + TIME_LIMIT
        + " > {log:q} 2>&1"
