# Training: checkpoints, trained by the recipes in the model catalogue.
#
# A trained model is kept in results/checkpoints/ for all studies; the outputs are links to its files.
# A job trains what is missing there, or was trained by another recipe, on other data or by another
# version: a checkpoint says what it was made from (matcheval/training/loop.py).
from matcheval.training import TRAINING_VERSION


rule train_model:
    """Train one model: checkpoint and history."""
    input:
        datasets=lambda w: training_sets([w.model]),
        pretrained=lambda w: ancient(COMMANDS.start_weights([w.model])),
    output:
        checkpoint="<study>/checkpoints/{model}.safetensors",
        history="<study>/checkpoints/{model}.history.csv",
    log:
        "<results>/logs/train_model/{model}.log",
    benchmark:
        "<results>/benchmarks/train_model/{model}.tsv"
    wildcard_constraints:
        model=one_of(STUDY.trainings.with_own_job),
    conda:
        "../envs/models.yaml"
    threads: REQUESTS.threads("train_model")
    resources:
        **REQUESTS.resources("train_model"),
        # Machine settings change at most the last bits of the weights, which is no reason to train
        # again. They are a resource because a changed resource, unlike a changed parameter, does
        # not repeat a job.
        machine=COMMANDS.training_options,
    params:
        arguments=lambda w: COMMANDS.training_arguments([w.model]),
        starts=lambda w: COMMANDS.start_weights_state([w.model]),
        version=TRAINING_VERSION,
    message:
        "Training {wildcards.model}"
    shell:
        'python "$MATCHEVAL_JOB" train:train_models {params.arguments:q}'
        + TIME_LIMIT
        + " --gpus {resources.gpu} --n-threads {threads} {resources.machine} > {log:q} 2>&1"


# Short trainings on a processor: a job for many. These have no wildcard in common, so that the
# number of the job is in the rule's name.
for number, models in STUDY.trainings.batches.items():

    rule:
        """Train small models together: checkpoints and histories."""
        name:
            f"train_models_{number}"
        input:
            datasets=training_sets(models),
            pretrained=ancient(COMMANDS.start_weights(models)),
        output:
            expand(
                "<study>/checkpoints/{model}.{suffix}",
                model=models,
                suffix=["safetensors", "history.csv"],
            ),
        log:
            f"<study>/logs/train_models/{number}.log",
        benchmark:
            f"<study>/benchmarks/train_models/{number}.tsv"
        conda:
            "../envs/models.yaml"
        threads: REQUESTS.threads("train_models", models)
        resources:
            **REQUESTS.resources("train_models", models),
            machine=COMMANDS.training_options,
        params:
            arguments=without_wildcards(COMMANDS.training_arguments(models)),
            starts=COMMANDS.start_weights_state(models),
            version=TRAINING_VERSION,
            threads=STUDY.training.threads,
        message:
            f"Training {len(models)} models, batch {number}"
        shell:
            'python "$MATCHEVAL_JOB" train:train_models {params.arguments:q} --n-threads {params.threads}'
            + TIME_LIMIT
            + " --processes $(( {threads} / {params.threads} )) {resources.machine} > {log:q} 2>&1"
