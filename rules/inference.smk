# Inference: one forward pass of a model over a dataset, for predictions and other outputs.
#
# Weights come from training, from the user, or from where timm and torchvision publish them. If
# several models share a transform, images are decoded once, into a pixel cache, which is removed
# when all of these models have their predictions. matcheval/inference/cache_manifest.py explains
# why `temp()` cannot be used for this.


# Existing manifests of models that already have their predictions are not rebuilt by any rule.
rule transform_images:
    input:
        dataset=JOBS.pixel_dataset,
    output:
        manifest=f"{SHARED}/pixels/{{manifest}}.json",
    log:
        f"{SHARED}/logs/transform_images/{{manifest}}.log",
    benchmark:
        f"{SHARED}/benchmarks/transform_images/{{manifest}}.tsv"
    wildcard_constraints:
        manifest=one_of(JOBS.manifests),
    conda:
        "../envs/models.yaml"
    threads: REQUESTS.threads("transform_images")
    resources:
        **REQUESTS.resources("transform_images"),
    params:
        arguments=JOBS.transform_arguments,
    message:
        "Transforming images: {wildcards.manifest}"
    shell:
        "python -m transform_images --threads {threads} {params.arguments:q} > {log:q} 2>&1"


rule predict_dataset:
    input:
        unpack(JOBS.model_files),
        dataset=STUDY.dataset_files("{dataset}"),
        manifest=manifest,
    output:
        **JOBS.prediction_outputs,
    log:
        f"{SHARED}/logs/predict_dataset/{{dataset}}/{{model}}.log",
    benchmark:
        f"{SHARED}/benchmarks/predict_dataset/{{dataset}}/{{model}}.tsv"
    conda:
        "../envs/models.yaml"
    threads: REQUESTS.threads("predict_dataset")
    resources:
        **REQUESTS.resources("predict_dataset"),
        machine=JOBS.inference_options,
    params:
        arguments=JOBS.predict_arguments,
        files=JOBS.predict_files,
        version=JOBS.inference_version,
    message:
        "Predicting {wildcards.dataset} with {wildcards.model}"
    shell:
        LEASE_GPU
        + "python -m predict_dataset {params.arguments:q} {params.files:q} --threads {threads}"
        " {resources.machine} > {log:q} 2>&1"


rule predictions:
    input:
        STUDY.predictions_files,
    localrule: True
