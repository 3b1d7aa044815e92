# Warehouses: the user's images become reviewed, documented sets, which are datasets like any other.
#
# Exporting a set again would repeat all predictions on it. These rules therefore do not notice edits of the library;
# WAREHOUSE_VERSION is raised by hand when results change.
WAREHOUSE = STUDY.analyses["warehouse"]


wildcard_constraints:
    warehouse=one_of(WAREHOUSE.used),
    set=one_of(WAREHOUSE.set_names),
    compared=one_of(WAREHOUSE.compared_names),


rule read_warehouse_set:
    output:
        WAREHOUSE.read.file(),
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
        "python -m read_warehouse_set {params.arguments:q} --name {wildcards.set} --threads {threads}"
        " > {log:q} 2>&1"


rule hash_warehouse_reference:
    input:
        WAREHOUSE.hash_inputs,
    output:
        WAREHOUSE.hashes.file(),
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
        state=WAREHOUSE.hash_state,
    message:
        "Hashing {wildcards.compared}, which {wildcards.warehouse} is compared with"
    shell:
        "python -m hash_warehouse_reference {params.arguments:q} --name {wildcards.compared}"
        " --downloads {params.downloads:q} --threads {threads} > {log:q} 2>&1"


rule search_warehouse:
    input:
        WAREHOUSE.search_inputs,
    output:
        WAREHOUSE.duplicates.file(),
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
        "python -m search_warehouse {params.arguments:q} > {log:q} 2>&1"


rule decide_warehouse_set:
    input:
        WAREHOUSE.read.file(),
        WAREHOUSE.duplicates.file(),
    output:
        WAREHOUSE.images.file(),
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
        "python -m decide_warehouse_set {params.arguments:q} --name {wildcards.set} > {log:q} 2>&1"


rule export_warehouse_set:
    input:
        WAREHOUSE.export_inputs,
    output:
        STUDY.dataset_files("{dataset}"),
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
        "python -m export_warehouse_set {params.arguments:q} --threads {threads} > {log:q} 2>&1"


rule document_warehouse:
    input:
        WAREHOUSE.document_inputs,
    output:
        WAREHOUSE.documents,
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
        "python -m document_warehouse {params.arguments:q} > {log:q} 2>&1"
