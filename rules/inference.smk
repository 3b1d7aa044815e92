# Inference: every model runs over all datasets of the study, in one job, for predictions and other
# outputs; and features of a frozen network, as datasets.
#
# Weights come from training, from the user, or from where timm, torchvision and open_clip publish
# them. What a model gives on a dataset is kept in results/predictions/<dataset>/ for all studies,
# and the outputs are links to it: files for the datasets of pairs, and a folder per model for the
# sets of a suite. A job computes what is missing or outdated, which files tell by the digest of what
# they were computed from (matcheval/inference/store.py).
from matcheval.analyses.features import FEATURES_VERSION
from matcheval.inference import INFERENCE_VERSION


rule index_suite:
    """Check the datasets of a suite against each other."""
    input:
        datasets=lambda w: dataset_files(INFERENCE.checked_suites[w.suite]),
    output:
        index="<study>/suites/{suite}.json",
    log:
        "<study>/logs/index_suite/{suite}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("index_suite"),
    params:
        **calls("matcheval.datasets.suites:write_suite", COMMANDS.suite_arguments),
    message:
        "Checking the datasets of suite {wildcards.suite}"
    script:
        ANALYSE


# A study whose models are all known by their predictions runs none; rules have outputs nevertheless.
SINGLE = INFERENCE.single if INFERENCE.datasets else ["-"]


rule predict_datasets:
    """Run one model on all datasets: predictions and further outputs."""
    input:
        weights=lambda w: weights([w.model]),
        custom=lambda w: custom_files([w.model]),
        datasets=image_sets(INFERENCE.single),
        suites=suite_files(),
    output:
        expand(
            "<study>/predictions/{dataset}/{model}{suffix}",
            dataset=SINGLE,
            suffix=INFERENCE.suffixes,
            allow_missing=True,
        ),
        [directory(f"<study>/predictions/{suite}/{{model}}") for suite in INFERENCE.suites],
    log:
        "<study>/logs/predict_datasets/{model}.log",
    benchmark:
        "<study>/benchmarks/predict_datasets/{model}.tsv"
    wildcard_constraints:
        model=one_of(INFERENCE.with_own_job),
    conda:
        "../envs/models.yaml"
    threads: REQUESTS.threads("predict_datasets")
    resources:
        **REQUESTS.resources("predict_datasets"),
        machine=COMMANDS.inference_options,
        outputs=COMMANDS.output_options,
    params:
        arguments=lambda w: COMMANDS.predicting_arguments([w.model]),
        models=lambda w: COMMANDS.models_state([w.model]),
        outputs=COMMANDS.outputs_state,
        version=INFERENCE_VERSION,
    message:
        "Predicting with {wildcards.model}"
    shell:
        'python "$MATCHEVAL_JOB" predict:predict {params.arguments:q} {resources.outputs}'
        + TIME_LIMIT
        + " --gpus {resources.gpu} --n-threads {threads} {resources.machine} > {log:q} 2>&1"


# Small models on a processor, or models that share the decoding of images: a job for many. These
# have no wildcard in common, so that the number of the job is in the rule's name.
for number, models in INFERENCE.batches.items():

    rule:
        """Run several models on all datasets."""
        name:
            f"predict_models_{number}"
        input:
            weights=weights(models),
            custom=custom_files(models),
            datasets=image_sets(INFERENCE.single),
            suites=suite_files(),
        output:
            expand(
                "<study>/predictions/{dataset}/{model}{suffix}",
                dataset=SINGLE,
                model=models,
                suffix=INFERENCE.suffixes,
            ),
            [
                directory(f"<study>/predictions/{suite}/{model}")
                for suite in INFERENCE.suites
                for model in models
            ],
        log:
            f"<study>/logs/predict_models/{number}.log",
        benchmark:
            f"<study>/benchmarks/predict_models/{number}.tsv"
        conda:
            "../envs/models.yaml"
        threads: REQUESTS.threads("predict_models", models)
        resources:
            **REQUESTS.resources("predict_models", models),
            machine=COMMANDS.inference_options + (" --processes" if INFERENCE.side_by_side else ""),
            outputs=COMMANDS.output_options,
        params:
            arguments=without_wildcards(COMMANDS.predicting_arguments(models)),
            models=COMMANDS.models_state(models),
            outputs=COMMANDS.outputs_state,
            version=INFERENCE_VERSION,
        message:
            f"Predicting with {len(models)} models, batch {number}"
        shell:
            'python "$MATCHEVAL_JOB" predict:predict {params.arguments:q} {resources.outputs}'
            + TIME_LIMIT
            + " --gpus {resources.gpu} --n-threads {threads} {resources.machine} > {log:q} 2>&1"


# Models that an analysis trains, and datasets that it derives, one by one.
ruleorder: predict_datasets > predict_dataset


rule predict_dataset:
    """Run a model on a dataset, of which an analysis trains or makes one."""
    input:
        weights=lambda w: weights([w.model]),
        custom=lambda w: custom_files([w.model]),
        datasets=lambda w: image_sets([w.dataset]),
    output:
        expand(
            "<study>/predictions/{dataset}/{model}{suffix}",
            suffix=INFERENCE.suffixes,
            allow_missing=True,
        ),
    log:
        "<study>/logs/predict_dataset/{dataset}/{model}.log",
    benchmark:
        "<study>/benchmarks/predict_dataset/{dataset}/{model}.tsv"
    conda:
        "../envs/models.yaml"
    threads: REQUESTS.threads("predict_dataset")
    resources:
        **REQUESTS.resources("predict_dataset"),
        machine=COMMANDS.inference_options,
        outputs=COMMANDS.output_options,
    params:
        arguments=COMMANDS.model_arguments,
        models=lambda w: COMMANDS.models_state([w.model]),
        outputs=COMMANDS.outputs_state,
        version=INFERENCE_VERSION,
    message:
        "Predicting {wildcards.dataset} with {wildcards.model}"
    shell:
        'python "$MATCHEVAL_JOB" predict:predict {params.arguments:q} {resources.outputs}'
        + TIME_LIMIT
        + " --gpus {resources.gpu} --n-threads {threads} {resources.machine} > {log:q} 2>&1"


rule predict_tested:
    """Run models that an analysis trains together on its datasets."""
    input:
        weights=lambda w: weights(STUDY.tested[w.tested].models),
        custom=lambda w: custom_files(STUDY.tested[w.tested].models),
        datasets=lambda w: image_sets(STUDY.tested[w.tested].datasets),
    output:
        directory("<study>/tested/{tested}"),
    log:
        "<study>/logs/predict_tested/{tested}.log",
    benchmark:
        "<study>/benchmarks/predict_tested/{tested}.tsv"
    conda:
        "../envs/models.yaml"
    threads: REQUESTS.threads("predict_tested")
    resources:
        **REQUESTS.resources("predict_tested"),
        machine=COMMANDS.inference_options,
        outputs=COMMANDS.output_options,
    params:
        arguments=COMMANDS.tested_arguments,
        models=lambda w: COMMANDS.models_state(STUDY.tested[w.tested].models),
        outputs=[STUDY.inference.outputs, COMMANDS.outputs_state],
        version=INFERENCE_VERSION,
    message:
        "Predicting with {wildcards.tested}"
    shell:
        'python "$MATCHEVAL_JOB" predict:predict {params.arguments:q} {resources.outputs}'
        + TIME_LIMIT
        + " --gpus {resources.gpu} --n-threads {threads} {resources.machine} > {log:q} 2>&1"


PREDICTIONS = [
    *expand(
        "<study>/predictions/{dataset}/{model}{suffix}",
        dataset=INFERENCE.single,
        model=INFERENCE.models,
        suffix=INFERENCE.suffixes,
    ),
    *expand("<study>/predictions/{suite}/{model}", suite=INFERENCE.suites, model=INFERENCE.models),
]


rule predictions:
    """All predictions of the study, those on file included."""
    input:
        PREDICTIONS,
        predictions(name for name in STUDY.evaluated if not STUDY.datasets[name].has_images),
    message:
        "All predictions are there"


# Datasets of features: a frozen network's features of the images of other datasets. Features that
# are computed again repeat all trainings on them. This rule therefore does not notice edits of the
# library; FEATURES_VERSION is raised by hand when results change.
FEATURES = STUDY.analyses["features"]


rule extract_features:
    """Compute the features of the images of a dataset, as a dataset."""
    input:
        images=lambda w: dataset_files([FEATURES.sets[w.dataset].of]),
    output:
        DATASET_FILES,
    log:
        "<results>/logs/extract_features/{dataset}.log",
    benchmark:
        "<results>/benchmarks/extract_features/{dataset}.tsv"
    wildcard_constraints:
        dataset=one_of(FEATURES.sets),
    conda:
        "../envs/models.yaml"
    threads: REQUESTS.threads("extract_features")
    resources:
        **REQUESTS.resources("extract_features"),
        machine=COMMANDS.inference_options,
    params:
        arguments=FEATURES.arguments,
        network=FEATURES.network_state,
        version=FEATURES_VERSION,
    message:
        "Computing the features {wildcards.dataset}"
    shell:
        'python "$MATCHEVAL_JOB" extract_features:extract {params.arguments:q} --gpus {resources.gpu}'
        " --n-threads {threads} {resources.machine} > {log:q} 2>&1"
