# Datasets: from published files, the user's files or other datasets to images and labels.


rule prepare_dataset:
    input:
        JOBS.downloads_of,
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
    threads: JOBS.prepare_threads
    resources:
        **REQUESTS.resources("prepare_dataset"),
    params:
        arguments=JOBS.prepare_arguments,
        version=JOBS.dataset_version,
    message:
        "Preparing dataset {wildcards.dataset}"
    shell:
        "python -m prepare_dataset {params.arguments:q} --threads {threads} > {log:q} 2>&1"


# Analyses ask for these datasets by what they are; no kind in the configuration is derived.
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
        version=JOBS.derivation_version,
    message:
        "Deriving dataset {wildcards.dataset}"
    shell:
        "python -m derive_dataset {params.arguments:q} > {log:q} 2>&1"


# Of pairs whose classes are known only now; those that the configuration tells are compared before.
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
        code=digest("compare_classes"),
    message:
        "Comparing the classes of {wildcards.pair}"
    script:
        "../workflow_scripts/compare_classes.py"
