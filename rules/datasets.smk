# Datasets: from where they come to arrays of images and labels.
from matcheval.datasets import KIND_VERSIONS


rule prepare_dataset:
    output:
        dataset_files("{dataset}"),
    log:
        f"{SHARED}/logs/prepare_dataset/{{dataset}}.log",
    conda:
        "../envs/models.yaml"
    resources:
        **resources_of("prepare_dataset"),
    params:
        kind=lambda wildcards: STUDY.datasets[wildcards.dataset].kind,
        options=lambda wildcards: STUDY.datasets[wildcards.dataset].options_json,
        version=lambda wildcards: KIND_VERSIONS[STUDY.datasets[wildcards.dataset].kind],
        folder=lambda wildcards, output: Path(output[0]).parent,
    message:
        "Preparing dataset {wildcards.dataset}"
    shell:
        "python -m prepare_dataset --name {wildcards.dataset} --kind {params.kind}"
        " --options {params.options:q} --output {params.folder:q} > {log:q} 2>&1"
