# Sampling: new test sets, sampled from annotated candidates. They are datasets like any other.
#
# Sampling a set again would repeat all predictions on it. These rules therefore do not notice edits
# of the library; SAMPLING_VERSION is raised by hand when results change.
from matcheval.analyses.sampling import SAMPLING_VERSION

SAMPLING = STUDY.analyses["sampling"]


wildcard_constraints:
    pool=one_of(SAMPLING.settings.pools),


rule simulate_annotations:
    input:
        SAMPLING.pool_datasets,
    output:
        SAMPLING.annotations.file(),
    log:
        f"{SHARED}/logs/simulate_annotations/{{pool}}.log",
    conda:
        "../envs/models.yaml"
    resources:
        **REQUESTS.resources("simulate_annotations"),
    params:
        arguments=SAMPLING.simulate_arguments,
        version=SAMPLING_VERSION,
    message:
        "Simulating annotations of pool {wildcards.pool}"
    shell:
        "python -m simulate_annotations {params.arguments:q} --output {output:q} > {log:q} 2>&1"


rule count_selections:
    input:
        SAMPLING.pool_datasets,
        annotations=SAMPLING.annotations_of_pool,
    output:
        SAMPLING.frequencies.file(),
    log:
        f"{SHARED}/logs/count_selections/{{pool}}.log",
    conda:
        "../envs/models.yaml"
    resources:
        **REQUESTS.resources("count_selections"),
    params:
        arguments=SAMPLING.count_arguments,
        custom_files=SAMPLING.custom_files_state,
        version=SAMPLING_VERSION,
    message:
        "Counting annotations of pool {wildcards.pool}"
    shell:
        "python -m count_selections {params.arguments:q} --annotations {input.annotations:q}"
        " --output {output:q} > {log:q} 2>&1"


rule sample_dataset:
    input:
        unpack(SAMPLING.sample_inputs),
    output:
        STUDY.dataset_files("{dataset}"),
        SAMPLING.provenance.file(),
        SAMPLING.excluded.file(),
        SAMPLING.strata.file(),
    log:
        f"{SHARED}/logs/sample_dataset/{{dataset}}.log",
    wildcard_constraints:
        dataset=one_of(SAMPLING.sampled),
    conda:
        "../envs/models.yaml"
    resources:
        **REQUESTS.resources("sample_dataset"),
    params:
        arguments=SAMPLING.sample_arguments,
        custom_files=SAMPLING.custom_files_state,
        version=SAMPLING_VERSION,
    message:
        "Sampling dataset {wildcards.dataset}"
    shell:
        "python -m sample_dataset {params.arguments:q} > {log:q} 2>&1"
