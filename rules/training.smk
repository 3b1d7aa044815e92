# Training: from a recipe in the catalogue to a checkpoint.
from matcheval.training import TRAINING_VERSION
from matcheval.training.options import engine_options


rule train_model:
    input:
        train=lambda wildcards: dataset_files(STUDY.trained[wildcards.model].train),
        validation=lambda wildcards: dataset_files(
            STUDY.trained[wildcards.model].validation
        ),
    output:
        checkpoint=f"{SHARED}/checkpoints/{{model}}.safetensors",
        history=f"{SHARED}/checkpoints/{{model}}.history.csv",
    log:
        f"{SHARED}/logs/train_model/{{model}}.log",
    benchmark:
        f"{SHARED}/benchmarks/train_model/{{model}}.tsv"
    conda:
        "../envs/models.yaml"
    threads: threads_of("train_model")
    resources:
        **resources_of("train_model"),
        # How it is done changes no more than the last bits, which is no reason to train again: a
        # resource, unlike a parameter, is none to Snakemake.
        engine=engine_options(STUDY.training),
    params:
        recipe=lambda wildcards: STUDY.trained[wildcards.model].model.recipe_json,
        train=lambda wildcards, input: Path(input.train[0]).parent,
        validation=lambda wildcards, input: Path(input.validation[0]).parent,
        version=TRAINING_VERSION,
    message:
        "Training {wildcards.model}"
    shell:
        LEASE_GPU
        + "python -m train_model --name {wildcards.model} --recipe {params.recipe:q}"
        " --train {params.train:q} --validation {params.validation:q} --threads {threads} {resources.engine}"
        " --output {output.checkpoint:q} --history {output.history:q} > {log:q} 2>&1"
