# Near duplicates: searches, and contact sheets for review by a person.
NEAR_DUPLICATES = STUDY.analyses["near_duplicates"]


rule search_near_duplicates:
    input:
        NEAR_DUPLICATES.searched_files,
    output:
        nearest=NEAR_DUPLICATES.nearest.file(),
    log:
        f"{OWN}/logs/search_near_duplicates/{{dataset}}-in-{{reference}}.log",
    benchmark:
        f"{OWN}/benchmarks/search_near_duplicates/{{dataset}}-in-{{reference}}.tsv"
    conda:
        "../envs/models.yaml"
    threads: 2
    resources:
        **REQUESTS.resources("search_near_duplicates"),
    params:
        job=NEAR_DUPLICATES.search_parameters,
        code=digest("search_near_duplicates"),
    message:
        "Searching {wildcards.reference} for near duplicates of {wildcards.dataset}"
    script:
        "../workflow_scripts/search_near_duplicates.py"


rule plot_near_duplicates:
    input:
        NEAR_DUPLICATES.searched_files,
        nearest=NEAR_DUPLICATES.nearest.file(),
    output:
        outputs=in_report(NEAR_DUPLICATES.sheet),
    log:
        f"{OWN}/logs/plot_near_duplicates/{{dataset}}-in-{{reference}}.log",
    conda:
        "../envs/models.yaml"
    resources:
        **REQUESTS.resources("plot_near_duplicates"),
    params:
        job=NEAR_DUPLICATES.sheet_parameters,
        code=digest("plot_near_duplicates"),
    message:
        "Plotting near duplicates of {wildcards.dataset} in {wildcards.reference}"
    script:
        "../workflow_scripts/plot_near_duplicates.py"
