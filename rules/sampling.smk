# Sampling: from annotated candidates to new test sets, which are datasets like any other.
#
# Which images a set has decides all predictions on it, so that these rules take no notice of the
# library: SAMPLING_VERSION is raised by hand.
from matcheval.analyses.sampling import SAMPLING_VERSION


rule simulate_answers:
    input:
        lambda wildcards: dataset_files(STUDY.pools[wildcards.pool].candidates),
        lambda wildcards: dataset_files(STUDY.pools[wildcards.pool].original),
    output:
        f"{SHARED}/pools/{{pool}}/answers.parquet",
    log:
        f"{SHARED}/logs/simulate_answers/{{pool}}.log",
    conda:
        "../envs/models.yaml"
    resources:
        **resources_of("simulate_answers"),
    params:
        sets=lambda wildcards: pool_sets(wildcards.pool),
        options=lambda wildcards: flags(STUDY.pools[wildcards.pool].simulate),
        version=SAMPLING_VERSION,
    message:
        "Simulating answers of pool {wildcards.pool}"
    shell:
        "python -m simulate_answers {params.sets} {params.options} --output {output:q}"
        " > {log:q} 2>&1"


rule count_selections:
    input:
        lambda wildcards: dataset_files(STUDY.pools[wildcards.pool].candidates),
        lambda wildcards: dataset_files(STUDY.pools[wildcards.pool].original),
        answers=lambda wildcards: STUDY.pools[wildcards.pool].answers
        or expand(rules.simulate_answers.output, pool=wildcards.pool),
    output:
        f"{SHARED}/pools/{{pool}}/frequencies.parquet",
    log:
        f"{SHARED}/logs/count_selections/{{pool}}.log",
    conda:
        "../envs/models.yaml"
    resources:
        **resources_of("count_selections"),
    params:
        sets=lambda wildcards: pool_sets(wildcards.pool),
        repeated=lambda wildcards: STUDY.pools[wildcards.pool].repeated,
        own_files=lambda wildcards: STUDY.pool_files_state(wildcards.pool),
        version=SAMPLING_VERSION,
    message:
        "Counting answers of pool {wildcards.pool}"
    shell:
        "python -m count_selections {params.sets} --answers {input.answers:q}"
        " --repeated {params.repeated} --output {output:q} > {log:q} 2>&1"


rule sample_dataset:
    input:
        unpack(sampling_inputs),
    output:
        dataset_files("{dataset}"),
        provenance=f"{SHARED}/sampling/{{dataset}}/provenance.parquet",
        excluded=f"{SHARED}/sampling/{{dataset}}/excluded.parquet",
        strata=f"{SHARED}/sampling/{{dataset}}/strata.parquet",
    log:
        f"{SHARED}/logs/sample_dataset/{{dataset}}.log",
    wildcard_constraints:
        dataset=one_of(STUDY.sampled),
    conda:
        "../envs/models.yaml"
    resources:
        **resources_of("sample_dataset"),
    params:
        pool=lambda wildcards: pool_sets(STUDY.pool_of(wildcards.dataset).name),
        against=lambda wildcards: shlex.join(
            f"{SHARED}/datasets/{name}"
            for name in STUDY.pool_of(wildcards.dataset).against
        ),
        tables=lambda wildcards, input: flags(
            {key: value for key, value in input.items() if key != "sets"}
        ),
        settings=lambda wildcards: STUDY.sampling_json(wildcards.dataset),
        own_files=lambda wildcards: STUDY.pool_files_state(
            STUDY.pool_of(wildcards.dataset).name
        ),
        folder=lambda wildcards, output: Path(output[0]).parent,
        version=SAMPLING_VERSION,
    message:
        "Sampling dataset {wildcards.dataset}"
    shell:
        "python -m sample_dataset --name {wildcards.dataset} {params.pool}"
        " --against {params.against} {params.tables} --settings {params.settings:q}"
        " --output {params.folder:q} --provenance {output.provenance:q}"
        " --excluded {output.excluded:q} --strata {output.strata:q} > {log:q} 2>&1"
