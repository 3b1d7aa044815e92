# Datasets of features: a frozen network's features of the images of other datasets.
#
# Features that are computed again repeat all trainings on them. This rule therefore does not notice
# edits of the library; FEATURES_VERSION is raised by hand when results change.
from matcheval.analyses.features import FEATURES_VERSION

FEATURES = STUDY.analyses["features"]


rule extract_features:
    input:
        FEATURES.images,
    output:
        STUDY.dataset_files("{dataset}"),
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
        machine=STUDY.inference.machine_options,
    params:
        arguments=FEATURES.arguments,
        network=FEATURES.network_state,
        version=FEATURES_VERSION,
    message:
        "Computing the features {wildcards.dataset}"
    shell:
        LEASE_GPU
        + "python -m extract_features {params.arguments:q} --threads {threads}"
        " {resources.machine} > {log:q} 2>&1"
