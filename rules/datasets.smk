# Datasets: images and labels, built from published files, the user's files or other datasets; sampled
# from pools of candidates; or exported from a warehouse of the user's images.
from matcheval.analyses.sampling import SAMPLING_VERSION
from matcheval.datasets.derived import DERIVATION_VERSION
from matcheval.warehouse import DOCUMENTS

DATASET_FILES = ["dataset.json", "images.npy", "datapoints.parquet"]


rule prepare_dataset:
    """Build a dataset: description, images, and a table of labels."""
    input:
        lambda wildcards: STUDY.files_before(wildcards.dataset),
    output:
        expand(f"{SHARED}/datasets/{{{{dataset}}}}/{{file}}", file=DATASET_FILES),
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
        'python "$MATCHEVAL_JOB" prepare dataset {params.arguments:q} --threads {threads} > {log:q} 2>&1'


# Of datasets whose images are made when they are read, there is no file of images. Those of a suite
# are described together; their descriptions are kept, and the output is a folder of links to them.
rule prepare_made_datasets:
    """Describe datasets whose images are made when they are read."""
    input:
        JOBS.made_sources,
    output:
        links=directory(f"{OWN}/datasets/{{batch}}"),
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
        'python "$MATCHEVAL_JOB" prepare made {params.arguments:q} --links {output.links:q} > {log:q} 2>&1'


# Derived datasets are defined by analyses, not in the configuration.
rule derive_dataset:
    """Make a part or a union of datasets, as analyses define them."""
    input:
        JOBS.derivation_sources,
    output:
        expand(f"{SHARED}/datasets/{{{{dataset}}}}/{{file}}", file=DATASET_FILES),
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
        'python "$MATCHEVAL_JOB" prepare derived {params.arguments:q} > {log:q} 2>&1'


# Only for pairs whose classes are not known before the datasets are built; the classes of all other
# pairs are compared when the configuration is checked.
rule compare_classes:
    """Check that both sets of a pair have the same classes."""
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
        job=arguments(JOBS.descriptions_of_pair),
        function="matcheval.datasets.suites:write_classes",
        code=digest("matcheval.datasets.suites:write_classes"),
    message:
        "Comparing the classes of {wildcards.pair}"
    script:
        ANALYSE


# --- Test sets sampled from pools of annotated candidates

SAMPLING = STUDY.analyses["sampling"]


rule simulate_annotations:
    """Simulate the annotations of a pool of candidates."""
    input:
        sets=SAMPLING.files_of_pool,
    output:
        annotations=f"{SHARED}/pools/{{pool}}/annotations.parquet",
    log:
        f"{SHARED}/logs/simulate_annotations/{{pool}}.log",
    wildcard_constraints:
        pool=one_of(SAMPLING.settings.pools),
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
        'python "$MATCHEVAL_JOB" sample simulate {params.arguments:q} --file {output:q} > {log:q} 2>&1'


rule count_selections:
    """Count how often annotators selected each candidate of a pool."""
    input:
        sets=SAMPLING.files_of_pool,
        annotations=SAMPLING.annotations_of,
    output:
        frequencies=f"{SHARED}/pools/{{pool}}/frequencies.parquet",
    log:
        f"{SHARED}/logs/count_selections/{{pool}}.log",
    wildcard_constraints:
        pool=one_of(SAMPLING.settings.pools),
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
        'python "$MATCHEVAL_JOB" sample count {params.arguments:q} --annotations {input.annotations:q}'
        " --file {output:q} > {log:q} 2>&1"


rule sample_dataset:
    """Sample a test set from a pool, with its provenance."""
    input:
        sets=SAMPLING.files_of_dataset,
        tables=SAMPLING.tables_of_dataset,
    output:
        expand(f"{SHARED}/datasets/{{{{dataset}}}}/{{file}}", file=DATASET_FILES),
        provenance=f"{SHARED}/sampling/{{dataset}}/provenance.parquet",
        excluded=f"{SHARED}/sampling/{{dataset}}/excluded.parquet",
        strata=f"{SHARED}/sampling/{{dataset}}/strata.parquet",
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
        'python "$MATCHEVAL_JOB" sample dataset {params.arguments:q} > {log:q} 2>&1'


# --- Warehouses: from the user's images to reviewed, documented sets

WAREHOUSE = STUDY.analyses["warehouse"]
WAREHOUSE_FOLDER = f"{SHARED}/warehouses/{{warehouse}}"


wildcard_constraints:
    warehouse=one_of(WAREHOUSE.used),
    set=one_of(WAREHOUSE.sets),
    compared=one_of(WAREHOUSE.references),


rule read_warehouse_set:
    """Read the images of a set of a warehouse."""
    output:
        read=f"{WAREHOUSE_FOLDER}/read/{{set}}.parquet",
    log:
        f"{SHARED}/logs/read_warehouse_set/{{warehouse}}/{{set}}.log",
    conda:
        "../envs/models.yaml"
    threads: 4
    resources:
        **REQUESTS.resources("read_warehouse_set"),
    params:
        arguments=WAREHOUSE.arguments,
        state=WAREHOUSE.read_state,
    message:
        "Reading the images of {wildcards.set}"
    shell:
        'python "$MATCHEVAL_JOB" curate read {params.arguments:q} --name {wildcards.set} --threads {threads} > {log:q} 2>&1'


rule hash_warehouse_reference:
    """Hash the images of a set that a warehouse is compared with."""
    input:
        published=WAREHOUSE.reference_files,
    output:
        hashes=f"{WAREHOUSE_FOLDER}/references/{{compared}}.parquet",
    log:
        f"{SHARED}/logs/hash_warehouse_reference/{{warehouse}}/{{compared}}.log",
    conda:
        "../envs/models.yaml"
    threads: 4
    resources:
        **REQUESTS.resources("hash_warehouse_reference"),
    params:
        arguments=WAREHOUSE.arguments,
        downloads=f"{SHARED}/downloads",
        state=WAREHOUSE.reference_state,
    message:
        "Hashing {wildcards.compared}, which {wildcards.warehouse} is compared with"
    shell:
        'python "$MATCHEVAL_JOB" curate hash {params.arguments:q} --name {wildcards.compared}'
        " --downloads {params.downloads:q} --threads {threads} > {log:q} 2>&1"


rule search_warehouse:
    """Search a warehouse for duplicates."""
    input:
        read=lambda w: WAREHOUSE.tables_of_sets(w, WAREHOUSE.read),
        hashes=WAREHOUSE.all_hashes,
    output:
        duplicates=f"{WAREHOUSE_FOLDER}/duplicates.parquet",
    log:
        f"{SHARED}/logs/search_warehouse/{{warehouse}}.log",
    conda:
        "../envs/models.yaml"
    resources:
        **REQUESTS.resources("search_warehouse"),
    params:
        arguments=WAREHOUSE.arguments,
        state=WAREHOUSE.search_state,
    message:
        "Searching {wildcards.warehouse} for duplicates"
    shell:
        'python "$MATCHEVAL_JOB" curate search {params.arguments:q} > {log:q} 2>&1'


rule decide_warehouse_set:
    """Decide which images of a set of a warehouse are kept."""
    input:
        read=f"{WAREHOUSE_FOLDER}/read/{{set}}.parquet",
        duplicates=f"{WAREHOUSE_FOLDER}/duplicates.parquet",
    output:
        images=f"{WAREHOUSE_FOLDER}/sets/{{set}}/images.parquet",
    log:
        f"{SHARED}/logs/decide_warehouse_set/{{warehouse}}/{{set}}.log",
    conda:
        "../envs/models.yaml"
    resources:
        **REQUESTS.resources("decide_warehouse_set"),
    params:
        arguments=WAREHOUSE.arguments,
        state=WAREHOUSE.decide_state,
    message:
        "Deciding on the images of {wildcards.set}"
    shell:
        'python "$MATCHEVAL_JOB" curate decide {params.arguments:q} --name {wildcards.set} > {log:q} 2>&1'


rule export_warehouse_set:
    """Export the kept images of a set as a dataset."""
    input:
        images=WAREHOUSE.export_input,
    output:
        expand(f"{SHARED}/datasets/{{{{dataset}}}}/{{file}}", file=DATASET_FILES),
    log:
        f"{SHARED}/logs/export_warehouse_set/{{dataset}}.log",
    wildcard_constraints:
        dataset=one_of(WAREHOUSE.exported),
    conda:
        "../envs/models.yaml"
    threads: 4
    resources:
        **REQUESTS.resources("export_warehouse_set"),
    params:
        arguments=WAREHOUSE.export_arguments,
        state=WAREHOUSE.export_state,
    message:
        "Exporting {wildcards.dataset}"
    shell:
        'python "$MATCHEVAL_JOB" curate export {params.arguments:q} --threads {threads} > {log:q} 2>&1'


rule document_warehouse:
    """Write the tables, figures and pages of a warehouse."""
    input:
        duplicates=f"{WAREHOUSE_FOLDER}/duplicates.parquet",
        images=lambda w: WAREHOUSE.tables_of_sets(w, WAREHOUSE.images),
    output:
        [f"{WAREHOUSE_FOLDER}/{name}" for name in DOCUMENTS],
    log:
        f"{SHARED}/logs/document_warehouse/{{warehouse}}.log",
    conda:
        "../envs/models.yaml"
    resources:
        **REQUESTS.resources("document_warehouse"),
    params:
        arguments=WAREHOUSE.arguments,
        state=WAREHOUSE.document_state,
    message:
        "Documenting {wildcards.warehouse}"
    shell:
        'python "$MATCHEVAL_JOB" curate document {params.arguments:q} > {log:q} 2>&1'
