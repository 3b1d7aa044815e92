# Datasets: images and labels, built from published files, the user's files or other datasets.
from matcheval.datasets.derived import DERIVATION_VERSION


rule prepare_dataset:
    input:
        lambda wildcards: STUDY.files_before(wildcards.dataset),
    output:
        STUDY.dataset_files("{dataset}"),
    log:
        f"{SHARED}/logs/prepare_dataset/{{dataset}}.log",
    benchmark:
        f"{SHARED}/benchmarks/prepare_dataset/{{dataset}}.tsv"
    wildcard_constraints:
        dataset=one_of(STUDY.prepared),
    conda:
        "../envs/models.yaml"
    threads: lambda wildcards: STUDY.datasets[wildcards.dataset].preparing_threads
    resources:
        **REQUESTS.resources("prepare_dataset"),
    params:
        arguments=JOBS.prepare_arguments,
        version=JOBS.dataset_version,
    message:
        "Preparing dataset {wildcards.dataset}"
    shell:
        "python -m prepare dataset {params.arguments:q} --threads {threads} > {log:q} 2>&1"


# Of datasets whose images are made when they are read, there is no file of images. Those of a suite
# are described together, and those that are as they were are kept (execution/batches.py).
rule prepare_made_datasets:
    input:
        JOBS.made_sources,
    output:
        index=STUDY.made_index("{batch}"),
    log:
        f"{OWN}/logs/prepare_made_datasets/{{batch}}.log",
    benchmark:
        f"{OWN}/benchmarks/prepare_made_datasets/{{batch}}.tsv"
    wildcard_constraints:
        batch=one_of(STUDY.made_batches),
    conda:
        "../envs/models.yaml"
    resources:
        **REQUESTS.resources("prepare_made_datasets"),
    params:
        arguments=JOBS.made_arguments,
        version=JOBS.made_version,
    message:
        "Preparing the made datasets {wildcards.batch}"
    shell:
        "python -m prepare made {params.arguments:q} > {log:q} 2>&1"


# Derived datasets are defined by analyses, not in the configuration.
rule derive_dataset:
    input:
        JOBS.derivation_sources,
    output:
        STUDY.dataset_files("{dataset}"),
    log:
        f"{SHARED}/logs/derive_dataset/{{dataset}}.log",
    wildcard_constraints:
        dataset=one_of(STUDY.derivations),
    conda:
        "../envs/models.yaml"
    resources:
        **REQUESTS.resources("derive_dataset"),
    params:
        arguments=JOBS.derive_arguments,
        version=DERIVATION_VERSION,
    message:
        "Deriving dataset {wildcards.dataset}"
    shell:
        "python -m prepare derived {params.arguments:q} > {log:q} 2>&1"


# Only for pairs whose classes are not known before the datasets are built; the classes of all other
# pairs are compared when the configuration is checked.
rule compare_classes:
    input:
        JOBS.described_before,
    output:
        classes=f"{OWN}/classes/{{pair}}.txt",
    log:
        f"{OWN}/logs/compare_classes/{{pair}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("compare_classes"),
    params:
        job=JOBS.descriptions_of_pair,
        function="matcheval.datasets.suites:write_classes",
        code=digest("analyse", "matcheval.datasets.suites:write_classes"),
    message:
        "Comparing the classes of {wildcards.pair}"
    script:
        "../workflow_scripts/analyse.py"
