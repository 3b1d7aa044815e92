# Training: checkpoints, trained by the recipes in the model catalogue.
#
# A trained model is kept in results/checkpoints/ for all studies; the outputs are links to its files.
# A job trains what is missing there, or was trained by another recipe, on other data or by another
# version: a checkpoint says what it was made from (matcheval/training/loop.py).
from matcheval.training import TRAINING_VERSION


rule train_model:
    """Train one model: checkpoint and history."""
    input:
        unpack(lambda w: by_content(JOBS.training_inputs([w.model]))),
    output:
        checkpoint=f"{OWN}/checkpoints/{{model}}.safetensors",
        history=f"{OWN}/checkpoints/{{model}}.history.csv",
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
        arguments=lambda w: JOBS.training_arguments([w.model]),
        starts=lambda w: JOBS.starts_state([w.model]),
        version=TRAINING_VERSION,
    message:
        "Training {wildcards.model}"
    shell:
        LEASE_GPU
        + 'python "$MATCHEVAL_JOB" train {params.arguments:q} --threads {threads}'
        + TIME_LIMIT
        + " {resources.machine} > {log:q} 2>&1"


# Short trainings on a processor: a job for many. These have no wildcard in common, so that the
# number of the job is in the rule's name.
for number, models in STUDY.trainings.batches.items():

    rule:
        """Train small models together: checkpoints and histories."""
        name:
            f"train_models_{number}"
        input:
            **by_content(JOBS.training_inputs(models)),
        output:
            expand(
                f"{OWN}/checkpoints/{{model}}.{{suffix}}",
                model=models,
                suffix=["safetensors", "history.csv"],
            ),
        log:
            f"{OWN}/logs/train_models/{number}.log",
        benchmark:
            f"{OWN}/benchmarks/train_models/{number}.tsv"
        conda:
            "../envs/models.yaml"
        threads: REQUESTS.threads("train_models", models)
        resources:
            **REQUESTS.resources("train_models", models),
            machine=JOBS.training_options,
        params:
            arguments=as_it_is(JOBS.training_arguments(models)),
            starts=JOBS.starts_state(models),
            version=TRAINING_VERSION,
            threads=STUDY.training.threads,
        message:
            f"Training {len(models)} models, batch {number}"
        shell:
            'python "$MATCHEVAL_JOB" train {params.arguments:q} --threads {params.threads}'
            + TIME_LIMIT
            + " --processes $(( {threads} / {params.threads} )) {resources.machine} > {log:q} 2>&1"
