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


# Of datasets whose images are made when they are read, there is no file of images.
use rule prepare_dataset as prepare_made_dataset with:
    output:
        STUDY.description_files("{dataset}"),
    log:
        f"{SHARED}/logs/prepare_made_dataset/{{dataset}}.log",
    benchmark:
        f"{SHARED}/benchmarks/prepare_made_dataset/{{dataset}}.tsv"
    wildcard_constraints:
        dataset=one_of(STUDY.made),
    resources:
        **REQUESTS.resources("prepare_made_dataset"),


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
        unpack(JOBS.descriptions_of_pair),
    output:
        classes=f"{OWN}/classes/{{pair}}.txt",
    log:
        f"{OWN}/logs/compare_classes/{{pair}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("compare_classes"),
    params:
        function="matcheval.datasets.suites:write_classes",
        code=digest("analyse", "matcheval.datasets.suites:write_classes"),
    message:
        "Comparing the classes of {wildcards.pair}"
    script:
        "../workflow_scripts/analyse.py"
