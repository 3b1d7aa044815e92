# Inference: every model runs over all datasets of the study, in one job, for predictions and other
# outputs.
#
# Weights come from training, from the user, or from where timm, torchvision and open_clip publish them. The
# files of predictions are shared by studies, and a job computes those that are missing or outdated;
# its outputs are indexes of them (matcheval/study/inference.py).
from matcheval.inference import INFERENCE_VERSION


rule index_suite:
    input:
        JOBS.suite_datasets,
    output:
        index=PREDICTING.suite_file("{suite}"),
    log:
        f"{OWN}/logs/index_suite/{{suite}}.log",
    wildcard_constraints:
        suite=one_of(STUDY.suites),
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("index_suite"),
    params:
        job=JOBS.suite_parameters,
        function="matcheval.datasets.suites:write_suite",
        code=digest("analyse", "matcheval.datasets.suites:write_suite"),
    message:
        "Checking the datasets of suite {wildcards.suite}"
    script:
        "../workflow_scripts/analyse.py"


rule predict_datasets:
    input:
        unpack(JOBS.batch_files),
    output:
        # Updated, not made anew: jobs may read an index that stays as it is (`settled`).
        [update(PREDICTING.index(name, "{batch}")) for name in PREDICTING.collections],
    log:
        f"{OWN}/logs/predict_datasets/{{batch}}.log",
    benchmark:
        f"{OWN}/benchmarks/predict_datasets/{{batch}}.tsv"
    wildcard_constraints:
        batch=one_of(PREDICTING.alone, PREDICTING.batches.keys() - PREDICTING.alone),
    conda:
        "../envs/models.yaml"
    threads: REQUESTS.threads("predict_datasets")
    resources:
        **REQUESTS.resources("predict_datasets"),
        machine=JOBS.inference_options,
    params:
        arguments=JOBS.batch_arguments,
        outputs=JOBS.output_arguments,
        version=INFERENCE_VERSION,
    message:
        "Predicting with {wildcards.batch}"
    shell:
        LEASE_GPU
        + "python -m predict {params.arguments:q} {params.outputs:q} --threads {threads}"
        + TIME_LIMIT
        + " {resources.machine} > {log:q} 2>&1"


# Small models on a processor: a job for many, with an index for each. These have no wildcard in
# common, so that the job's name is in the rule's.
for job in PREDICTING.together:

    rule:
        name:
            f"predict_{job}"
        input:
            unpack(of_job(JOBS.batch_files, job)),
        output:
            [
                update(PREDICTING.index(name, batch))
                for batch in PREDICTING.together[job]
                for name in PREDICTING.collections
            ],
        log:
            f"{OWN}/logs/predict_models/{job}.log",
        benchmark:
            f"{OWN}/benchmarks/predict_models/{job}.tsv"
        conda:
            "../envs/models.yaml"
        threads: REQUESTS.threads("predict_datasets", job)
        resources:
            **REQUESTS.resources("predict_datasets", job),
            machine=of_job(JOBS.inference_options, job),
        params:
            arguments=of_job(JOBS.batch_arguments, job),
            outputs=JOBS.output_arguments,
            version=INFERENCE_VERSION,
        message:
            f"Predicting with {len(PREDICTING.together[job])} small models"
        shell:
            "python -m predict {params.arguments:q} {params.outputs:q} --threads {threads}"
            + TIME_LIMIT
            + " {resources.machine} > {log:q} 2>&1"


# Models that an analysis trains are run on the datasets that it names.
use rule predict_datasets as predict_dataset with:
    input:
        unpack(JOBS.model_files),
    output:
        index=PREDICTING.single_index("{dataset}", "{model}"),
    log:
        f"{OWN}/logs/predict_dataset/{{dataset}}/{{model}}.log",
    benchmark:
        f"{OWN}/benchmarks/predict_dataset/{{dataset}}/{{model}}.tsv"
    threads: REQUESTS.threads("predict_dataset")
    resources:
        **REQUESTS.resources("predict_dataset"),
        machine=STUDY.inference.machine_options,
    params:
        arguments=JOBS.model_arguments,
        outputs=JOBS.output_arguments,
        version=INFERENCE_VERSION,
    message:
        "Predicting {wildcards.dataset} with {wildcards.model}"


# Models that an analysis trains and runs together on the same datasets.
use rule predict_datasets as predict_tested with:
    input:
        unpack(JOBS.tested_files),
    output:
        index=PREDICTING.tested_index("{tested}"),
    log:
        f"{OWN}/logs/predict_tested/{{tested}}.log",
    benchmark:
        f"{OWN}/benchmarks/predict_tested/{{tested}}.tsv"
    wildcard_constraints:
        tested=one_of(STUDY.tested),
    threads: REQUESTS.threads("predict_tested")
    resources:
        **REQUESTS.resources("predict_tested"),
        machine=STUDY.inference.machine_options,
    params:
        arguments=JOBS.tested_arguments,
        outputs=JOBS.output_arguments,
        version=INFERENCE_VERSION,
    message:
        "Predicting with {wildcards.tested}"


rule predictions:
    input:
        settled(STUDY.predictions_targets),
    localrule: True
