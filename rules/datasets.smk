# Datasets: from published files, or files of the user's own, to images and labels.
from matcheval.datasets import KIND_VERSIONS


rule prepare_dataset:
    input:
        lambda wildcards: [
            f"{SHARED}/downloads/{file}"
            for file in STUDY.datasets[wildcards.dataset].published_files
        ],
    output:
        dataset_files("{dataset}"),
    log:
        f"{SHARED}/logs/prepare_dataset/{{dataset}}.log",
    benchmark:
        f"{SHARED}/benchmarks/prepare_dataset/{{dataset}}.tsv"
    wildcard_constraints:
        dataset=one_of(set(STUDY.datasets) - set(STUDY.sampled)),
    conda:
        "../envs/models.yaml"
    threads: lambda wildcards: STUDY.datasets[wildcards.dataset].preparing_threads
    resources:
        mem_mb=1500,
        runtime=60,
    params:
        kind=lambda wildcards: STUDY.datasets[wildcards.dataset].kind,
        options=lambda wildcards: STUDY.datasets[wildcards.dataset].options_json,
        own_files=lambda wildcards: STUDY.datasets[wildcards.dataset].own_files_state,
        version=lambda wildcards: KIND_VERSIONS[STUDY.datasets[wildcards.dataset].kind],
        folder=lambda wildcards, output: Path(output[0]).parent,
    message:
        "Preparing dataset {wildcards.dataset}"
    shell:
        "python -m prepare_dataset --name {wildcards.dataset} --kind {params.kind}"
        " --options {params.options:q} --downloads {SHARED:q}/downloads --threads {threads}"
        " --output {params.folder:q} > {log:q} 2>&1"


# Of pairs whose classes are known only now; those that the configuration tells are compared there.
rule compare_classes:
    input:
        original=lambda wildcards: dataset_files(STUDY.pairs[wildcards.pair].original)[
            0
        ],
        replication=lambda wildcards: dataset_files(
            STUDY.pairs[wildcards.pair].replication
        )[0],
    output:
        f"{OWN}/classes/{{pair}}.txt",
    log:
        f"{OWN}/logs/compare_classes/{{pair}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        mem_mb=500,
        runtime=10,
    params:
        code=code_digest(SCRIPTS / "compare_classes.py"),
    message:
        "Comparing the classes of {wildcards.pair}"
    script:
        "../workflow_scripts/compare_classes.py"
