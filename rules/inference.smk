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
        JOBS.suite_datasets,
    output:
        index=f"{OWN}/suites/{{suite}}.json",
    log:
        f"{OWN}/logs/index_suite/{{suite}}.log",
    wildcard_constraints:
        suite=one_of(STUDY.suites),
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("index_suite"),
    params:
        job=arguments(JOBS.suite_parameters),
        function="matcheval.datasets.suites:write_suite",
        code=digest("matcheval.datasets.suites:write_suite"),
    message:
        "Checking the datasets of suite {wildcards.suite}"
    script:
        ANALYSE


# A study whose models are all known by their predictions runs none; rules have outputs nevertheless.
SINGLE = PREDICTING.single if PREDICTING.datasets else ["-"]


rule predict_datasets:
    """Run one model on all datasets: predictions and further outputs."""
    input:
        unpack(lambda w: by_content(JOBS.predicting_inputs([w.model]))),
    output:
        expand(
            f"{OWN}/predictions/{{dataset}}/{{{{model}}}}{{suffix}}",
            dataset=SINGLE,
            suffix=PREDICTING.suffixes,
        ),
        [
            directory(f"{OWN}/predictions/{suite}/{{model}}")
            for suite in PREDICTING.suites
        ],
    log:
        f"{OWN}/logs/predict_datasets/{{model}}.log",
    benchmark:
        f"{OWN}/benchmarks/predict_datasets/{{model}}.tsv"
    wildcard_constraints:
        model=one_of(PREDICTING.alone),
    conda:
        "../envs/models.yaml"
    threads: REQUESTS.threads("predict_datasets")
    resources:
        **REQUESTS.resources("predict_datasets"),
        machine=JOBS.inference_options,
        outputs=JOBS.output_options,
    params:
        arguments=lambda w: JOBS.predicting_arguments([w.model]),
        models=lambda w: JOBS.models_state([w.model]),
        outputs=JOBS.outputs_state,
        version=INFERENCE_VERSION,
    message:
        "Predicting with {wildcards.model}"
    shell:
        LEASE_GPU
        + 'python "$MATCHEVAL_JOB" predict {params.arguments:q} {resources.outputs}'
        + TIME_LIMIT
        + " --threads {threads} {resources.machine} > {log:q} 2>&1"


# Small models on a processor, or models that share the decoding of images: a job for many. These
# have no wildcard in common, so that the number of the job is in the rule's name.
for number, models in PREDICTING.batches.items():

    rule:
        """Run several models on all datasets."""
        name:
            f"predict_models_{number}"
        input:
            **by_content(JOBS.predicting_inputs(models)),
        output:
            expand(
                f"{OWN}/predictions/{{dataset}}/{{model}}{{suffix}}",
                dataset=SINGLE,
                model=models,
                suffix=PREDICTING.suffixes,
            ),
            [
                directory(f"{OWN}/predictions/{suite}/{model}")
                for suite in PREDICTING.suites
                for model in models
            ],
        log:
            f"{OWN}/logs/predict_models/{number}.log",
        benchmark:
            f"{OWN}/benchmarks/predict_models/{number}.tsv"
        conda:
            "../envs/models.yaml"
        threads: REQUESTS.threads("predict_models", models)
        resources:
            **REQUESTS.resources("predict_models", models),
            machine=JOBS.inference_options
            + (" --processes" if PREDICTING.are_small else ""),
            outputs=JOBS.output_options,
        params:
            arguments=as_it_is(JOBS.predicting_arguments(models)),
            models=JOBS.models_state(models),
            outputs=JOBS.outputs_state,
            version=INFERENCE_VERSION,
        message:
            f"Predicting with {len(models)} models, batch {number}"
        shell:
            LEASE_GPU
            + 'python "$MATCHEVAL_JOB" predict {params.arguments:q} {resources.outputs}'
            + TIME_LIMIT
            + " --threads {threads} {resources.machine} > {log:q} 2>&1"


# Models that an analysis trains, and datasets that it derives, one by one.
ruleorder: predict_datasets > predict_dataset


rule predict_dataset:
    """Run a model on a dataset, of which an analysis trains or makes one."""
    input:
        unpack(lambda w: by_content(JOBS.model_inputs(w))),
    output:
        expand(
            f"{OWN}/predictions/{{{{dataset}}}}/{{{{model}}}}{{suffix}}",
            suffix=PREDICTING.suffixes,
        ),
    log:
        f"{OWN}/logs/predict_dataset/{{dataset}}/{{model}}.log",
    benchmark:
        f"{OWN}/benchmarks/predict_dataset/{{dataset}}/{{model}}.tsv"
    conda:
        "../envs/models.yaml"
    threads: REQUESTS.threads("predict_dataset")
    resources:
        **REQUESTS.resources("predict_dataset"),
        machine=JOBS.inference_options,
        outputs=JOBS.output_options,
    params:
        arguments=JOBS.model_arguments,
        models=lambda w: JOBS.models_state([w.model]),
        outputs=JOBS.outputs_state,
        version=INFERENCE_VERSION,
    message:
        "Predicting {wildcards.dataset} with {wildcards.model}"
    shell:
        LEASE_GPU
        + 'python "$MATCHEVAL_JOB" predict {params.arguments:q} {resources.outputs}'
        + TIME_LIMIT
        + " --threads {threads} {resources.machine} > {log:q} 2>&1"


# Models that an analysis trains and runs together on the same datasets.
rule predict_tested:
    """Run models that an analysis trains together on its datasets."""
    input:
        unpack(lambda w: by_content(JOBS.tested_inputs(w))),
    output:
        directory(f"{OWN}/tested/{{tested}}"),
    log:
        f"{OWN}/logs/predict_tested/{{tested}}.log",
    benchmark:
        f"{OWN}/benchmarks/predict_tested/{{tested}}.tsv"
    wildcard_constraints:
        tested=one_of(STUDY.tested),
    conda:
        "../envs/models.yaml"
    threads: REQUESTS.threads("predict_tested")
    resources:
        **REQUESTS.resources("predict_tested"),
        machine=JOBS.inference_options,
        outputs=JOBS.output_options,
    params:
        arguments=JOBS.tested_arguments,
        models=lambda w: JOBS.models_state(STUDY.tested[w.tested].models),
        outputs=[STUDY.inference.outputs, JOBS.outputs_state],
        version=INFERENCE_VERSION,
    message:
        "Predicting with {wildcards.tested}"
    shell:
        LEASE_GPU
        + 'python "$MATCHEVAL_JOB" predict {params.arguments:q} {resources.outputs}'
        + TIME_LIMIT
        + " --threads {threads} {resources.machine} > {log:q} 2>&1"


rule predictions:
    """All predictions of the study."""
    input:
        STUDY.predictions_targets,
    localrule: True
    message:
        "All predictions are there"


# Datasets of features: a frozen network's features of the images of other datasets. Features that
# are computed again repeat all trainings on them. This rule therefore does not notice edits of the
# library; FEATURES_VERSION is raised by hand when results change.
FEATURES = STUDY.analyses["features"]


rule extract_features:
    """Compute the features of the images of a dataset, as a dataset."""
    input:
        FEATURES.images,
    output:
        expand(
            f"{SHARED}/datasets/{{{{dataset}}}}/{{file}}",
            file=["dataset.json", "images.npy", "datapoints.parquet"],
        ),
    log:
        f"{SHARED}/logs/extract_features/{{dataset}}.log",
    benchmark:
        f"{SHARED}/benchmarks/extract_features/{{dataset}}.tsv"
    wildcard_constraints:
        dataset=one_of(FEATURES.sets),
    conda:
        "../envs/models.yaml"
    threads: REQUESTS.threads("extract_features")
    resources:
        **REQUESTS.resources("extract_features"),
        machine=JOBS.inference_options,
    params:
        arguments=FEATURES.arguments,
        network=FEATURES.network_state,
        version=FEATURES_VERSION,
    message:
        "Computing the features {wildcards.dataset}"
    shell:
        LEASE_GPU
        + 'python "$MATCHEVAL_JOB" extract_features {params.arguments:q} --threads {threads}'
        " {resources.machine} > {log:q} 2>&1"
