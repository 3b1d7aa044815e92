# Datasets: images and labels, built from published files, the user's files or other datasets; sampled
# from pools of candidates; or exported from a warehouse of the user's images.
from matcheval.analyses.sampling import SAMPLING_VERSION
from matcheval.datasets.derived import DERIVATION_VERSION
from matcheval.warehouse import DOCUMENTS

# The outputs of the rules that make a dataset with its images.
DATASET_FILES = [
    "<results>/datasets/{dataset}/dataset.json",
    "<results>/datasets/{dataset}/images.npy",
    "<results>/datasets/{dataset}/datapoints.parquet",
]


rule prepare_dataset:
    """Build a dataset: description, images, and a table of labels."""
    input:
        sources=lambda w: sources_of([w.dataset]),
    output:
        DATASET_FILES,
    log:
        "<results>/logs/prepare_dataset/{dataset}.log",
    benchmark:
        "<results>/benchmarks/prepare_dataset/{dataset}.tsv"
    wildcard_constraints:
        dataset=one_of(STUDY.prepared),
    conda:
        "../envs/models.yaml"
    threads: lambda wildcards: STUDY.datasets[wildcards.dataset].preparing_threads
    resources:
        **REQUESTS.resources("prepare_dataset"),
    params:
        arguments=COMMANDS.prepare_arguments,
        version=COMMANDS.dataset_version,
    message:
        "Preparing dataset {wildcards.dataset}"
    shell:
        'python "$MATCHEVAL_JOB" prepare:prepare {params.arguments:q} --threads {threads} > {log:q} 2>&1'


# Of datasets whose images are made when they are read, there is no file of images. Those of a suite
# are described together; their descriptions are kept, and the output is a folder of links to them.
rule prepare_made_datasets:
    """Describe datasets whose images are made when they are read."""
    input:
        # One may be made from another of the same batch.
        sources=lambda w: [
            file
            for file in sources_of(STUDY.made_batches[w.batch])
            if file != STUDY.made_folder(w.batch)
        ],
    output:
        links=directory("<study>/datasets/{batch}"),
    log:
        "<study>/logs/prepare_made_datasets/{batch}.log",
    benchmark:
        "<study>/benchmarks/prepare_made_datasets/{batch}.tsv"
    wildcard_constraints:
        batch=one_of(STUDY.made_batches),
    conda:
        "../envs/models.yaml"
    resources:
        **REQUESTS.resources("prepare_made_datasets"),
    params:
        arguments=COMMANDS.made_arguments,
        version=COMMANDS.made_version,
    message:
        "Preparing the made datasets {wildcards.batch}"
    shell:
        'python "$MATCHEVAL_JOB" prepare:prepare_made {params.arguments:q} --links {output.links:q} > {log:q} 2>&1'


rule derive_dataset:
    """Make a part or a union of datasets, as analyses define them."""
    input:
        sources=lambda w: dataset_files(STUDY.derivations[w.dataset].of),
    output:
        DATASET_FILES,
    log:
        "<results>/logs/derive_dataset/{dataset}.log",
    wildcard_constraints:
        dataset=one_of(STUDY.derivations),
    conda:
        "../envs/models.yaml"
    resources:
        **REQUESTS.resources("derive_dataset"),
    params:
        arguments=COMMANDS.derive_arguments,
        version=DERIVATION_VERSION,
    message:
        "Deriving dataset {wildcards.dataset}"
    shell:
        'python "$MATCHEVAL_JOB" prepare:prepare_derived {params.arguments:q} > {log:q} 2>&1'


# Only for pairs whose classes are not known before the datasets are built; the classes of all other
# pairs are compared when the configuration is checked.
rule compare_classes:
    """Check that both sets of a pair have the same classes."""
    input:
        descriptions=lambda w: descriptions(STUDY.pairs[w.pair].datasets.values()),
    output:
        classes="<study>/classes/{pair}.txt",
    log:
        "<study>/logs/compare_classes/{pair}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("compare_classes"),
    params:
        **calls("matcheval.datasets.suites:write_classes", COMMANDS.pair_descriptions),
    message:
        "Comparing the classes of {wildcards.pair}"
    script:
        ANALYSE


# --- Test sets sampled from pools of annotated candidates

SAMPLING = STUDY.analyses["sampling"]
POOLS = SAMPLING.settings.pools


wildcard_constraints:
    pool=one_of(POOLS),


rule simulate_annotations:
    """Simulate the annotations of a pool of candidates."""
    input:
        candidates=lambda w: dataset_files([POOLS[w.pool].candidates]),
        original=lambda w: dataset_files([POOLS[w.pool].original]),
    output:
        annotations="<results>/pools/{pool}/annotations.parquet",
    log:
        "<results>/logs/simulate_annotations/{pool}.log",
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
        'python "$MATCHEVAL_JOB" matcheval.analyses.sampling.annotations:simulate {params.arguments:q} --file {output:q} > {log:q} 2>&1'


rule count_selections:
    """Count how often annotators selected each candidate of a pool."""
    input:
        candidates=lambda w: dataset_files([POOLS[w.pool].candidates]),
        original=lambda w: dataset_files([POOLS[w.pool].original]),
        annotations=lambda w: POOLS[w.pool].annotations
        or f"<results>/pools/{w.pool}/annotations.parquet",
    output:
        frequencies="<results>/pools/{pool}/frequencies.parquet",
    log:
        "<results>/logs/count_selections/{pool}.log",
    conda:
        "../envs/models.yaml"
    resources:
        **REQUESTS.resources("count_selections"),
    params:
        arguments=SAMPLING.count_arguments,
        custom_files=file_state(lambda w: filter(None, [POOLS[w.pool].annotations])),
        version=SAMPLING_VERSION,
    message:
        "Counting annotations of pool {wildcards.pool}"
    shell:
        'python "$MATCHEVAL_JOB" matcheval.analyses.sampling.annotations:count {params.arguments:q} --annotations {input.annotations:q}'
        " --file {output:q} > {log:q} 2>&1"


rule sample_dataset:
    """Sample a test set from a pool, with its provenance."""
    input:
        sets=lambda w: dataset_files(POOLS[SAMPLING.sampled[w.dataset].pool].sets),
        # The user's files, `<results>/pools/{pool}/frequencies.parquet`, and
        # `<results>/sampling/{dataset}/provenance.parquet` of the set that this one starts from.
        tables=SAMPLING.tables_of_dataset,
    output:
        DATASET_FILES,
        provenance="<results>/sampling/{dataset}/provenance.parquet",
        excluded="<results>/sampling/{dataset}/excluded.parquet",
        strata="<results>/sampling/{dataset}/strata.parquet",
    log:
        "<results>/logs/sample_dataset/{dataset}.log",
    wildcard_constraints:
        dataset=one_of(SAMPLING.sampled),
    conda:
        "../envs/models.yaml"
    resources:
        **REQUESTS.resources("sample_dataset"),
    params:
        arguments=SAMPLING.sample_arguments,
        custom_files=file_state(SAMPLING.tables_of_dataset),
        version=SAMPLING_VERSION,
    message:
        "Sampling dataset {wildcards.dataset}"
    shell:
        'python "$MATCHEVAL_JOB" matcheval.analyses.sampling.build:sample {params.arguments:q} > {log:q} 2>&1'


# --- Warehouses: from the user's images to reviewed, documented sets

WAREHOUSE = STUDY.analyses["warehouse"]


wildcard_constraints:
    warehouse=one_of(WAREHOUSE.warehouses),
    set=one_of(WAREHOUSE.sets),
    compared=one_of(WAREHOUSE.references),


rule read_warehouse_set:
    """Read the images of a set of a warehouse."""
    output:
        read="<results>/warehouses/{warehouse}/read/{set}.parquet",
    log:
        "<results>/logs/read_warehouse_set/{warehouse}/{set}.log",
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
        'python "$MATCHEVAL_JOB" curate:read {params.arguments:q} --name {wildcards.set} --threads {threads} > {log:q} 2>&1'


rule hash_warehouse_reference:
    """Hash the images of a set that a warehouse is compared with."""
    input:
        published=lambda w: expand("<results>/downloads/{file}", file=WAREHOUSE.downloads(w)),
    output:
        hashes="<results>/warehouses/{warehouse}/references/{compared}.parquet",
    log:
        "<results>/logs/hash_warehouse_reference/{warehouse}/{compared}.log",
    conda:
        "../envs/models.yaml"
    threads: 4
    resources:
        **REQUESTS.resources("hash_warehouse_reference"),
    params:
        arguments=WAREHOUSE.arguments,
        downloads=f"{STUDY.results}/downloads",
        state=WAREHOUSE.reference_state,
    message:
        "Hashing {wildcards.compared}, which {wildcards.warehouse} is compared with"
    shell:
        'python "$MATCHEVAL_JOB" curate:hash_reference {params.arguments:q} --name {wildcards.compared}'
        " --downloads {params.downloads:q} --threads {threads} > {log:q} 2>&1"


rule search_warehouse:
    """Search a warehouse for duplicates."""
    input:
        read=lambda w: expand(
            "<results>/warehouses/{warehouse}/read/{set}.parquet",
            warehouse=w.warehouse,
            set=WAREHOUSE.warehouses[w.warehouse].sets,
        ),
        hashes=lambda w: expand(
            "<results>/warehouses/{warehouse}/references/{compared}.parquet",
            warehouse=w.warehouse,
            compared=WAREHOUSE.warehouses[w.warehouse].settings.against,
        ),
    output:
        duplicates="<results>/warehouses/{warehouse}/duplicates.parquet",
    log:
        "<results>/logs/search_warehouse/{warehouse}.log",
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
        'python "$MATCHEVAL_JOB" curate:search {params.arguments:q} > {log:q} 2>&1'


rule decide_warehouse_set:
    """Decide which images of a set of a warehouse are kept."""
    input:
        read="<results>/warehouses/{warehouse}/read/{set}.parquet",
        duplicates="<results>/warehouses/{warehouse}/duplicates.parquet",
    output:
        images="<results>/warehouses/{warehouse}/sets/{set}/images.parquet",
    log:
        "<results>/logs/decide_warehouse_set/{warehouse}/{set}.log",
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
        'python "$MATCHEVAL_JOB" curate:decide {params.arguments:q} --name {wildcards.set} > {log:q} 2>&1'


rule export_warehouse_set:
    """Export the kept images of a set as a dataset."""
    input:
        # `<results>/warehouses/{warehouse}/sets/{set}/images.parquet`
        images=WAREHOUSE.export_input,
    output:
        DATASET_FILES,
    log:
        "<results>/logs/export_warehouse_set/{dataset}.log",
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
        'python "$MATCHEVAL_JOB" curate:export {params.arguments:q} --threads {threads} > {log:q} 2>&1'


rule document_warehouse:
    """Write the tables, figures and pages of a warehouse."""
    input:
        duplicates="<results>/warehouses/{warehouse}/duplicates.parquet",
        images=lambda w: expand(
            "<results>/warehouses/{warehouse}/sets/{set}/images.parquet",
            warehouse=w.warehouse,
            set=WAREHOUSE.warehouses[w.warehouse].sets,
        ),
    output:
        [f"<results>/warehouses/{{warehouse}}/{name}" for name in DOCUMENTS],
    log:
        "<results>/logs/document_warehouse/{warehouse}.log",
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
        'python "$MATCHEVAL_JOB" curate:document {params.arguments:q} > {log:q} 2>&1'
