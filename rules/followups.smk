# Follow-ups of a replication that train nothing; each is made for what the study names under it.
FOUND = "{dataset}-in-{reference}"


rule find_neighbours:
    input:
        lambda wildcards: dataset_files(wildcards.dataset),
        lambda wildcards: dataset_files(wildcards.reference),
    output:
        f"{FOLLOWUPS}/near_duplicates/{FOUND}.parquet",
    log:
        f"{OWN}/logs/find_neighbours/{FOUND}.log",
    benchmark:
        f"{OWN}/benchmarks/find_neighbours/{FOUND}.tsv"
    conda:
        "../envs/models.yaml"
    threads: 2
    resources:
        **resources_of("find_neighbours"),
    params:
        queries=f"{SHARED}/datasets/{{dataset}}",
        references=f"{SHARED}/datasets/{{reference}}",
        k=STUDY.followups.neighbours,
        size=STUDY.followups.compare_size,
        code=code_digest(SCRIPTS / "find_neighbours.py"),
    message:
        "Searching {wildcards.reference} for near duplicates of {wildcards.dataset}"
    script:
        "../workflow_scripts/find_neighbours.py"


rule plot_neighbours:
    input:
        lambda wildcards: dataset_files(wildcards.dataset),
        lambda wildcards: dataset_files(wildcards.reference),
        table=rules.find_neighbours.output[0],
    output:
        followup_figures(f"near_duplicates/{FOUND}", "near_duplicates_sheet"),
    log:
        f"{OWN}/logs/plot_neighbours/{FOUND}.log",
    conda:
        "../envs/models.yaml"
    resources:
        **resources_of("plot_neighbours"),
    params:
        queries=f"{SHARED}/datasets/{{dataset}}",
        references=f"{SHARED}/datasets/{{reference}}",
        size=STUDY.followups.compare_size,
        rows=STUDY.followups.sheet,
        code=code_digest(SCRIPTS / "plot_neighbours.py"),
    message:
        "Drawing near duplicates of {wildcards.dataset} in {wildcards.reference}"
    script:
        "../workflow_scripts/plot_neighbours.py"


rule tabulate_duplicates:
    input:
        lambda wildcards: STUDY.accuracy_files(wildcards.dataset),
        reviewed=lambda wildcards: STUDY.followups.near_duplicates[wildcards.dataset],
    output:
        followup_tables("near_duplicates/{dataset}", "near_duplicates"),
    log:
        f"{OWN}/logs/tabulate_duplicates/{{dataset}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **resources_of("tabulate_duplicates"),
    params:
        dataset=lambda wildcards: spec_of(wildcards.dataset),
        models=list(STUDY.models),
        predictions=lambda wildcards: predictions_on(wildcards.dataset),
        confidence=STUDY.replication.confidence,
        own_files=lambda wildcards: own_file_state("near_duplicates", wildcards.dataset),
        code=code_digest(SCRIPTS / "tabulate_duplicates.py"),
    message:
        "Tabulating {wildcards.dataset} with and without near duplicates"
    script:
        "../workflow_scripts/tabulate_duplicates.py"


rule list_hard_images:
    input:
        lambda wildcards: STUDY.accuracy_files(wildcards.dataset),
    output:
        followup_tables("hard_images/{dataset}", "hard_images"),
    log:
        f"{OWN}/logs/list_hard_images/{{dataset}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **resources_of("list_hard_images"),
    params:
        dataset=lambda wildcards: spec_of(wildcards.dataset),
        models=list(STUDY.models),
        predictions=lambda wildcards: predictions_on(wildcards.dataset),
        share=STUDY.followups.hard_share,
        own_files=lambda wildcards: STUDY.own_accuracy_files_state(wildcards.dataset),
        code=code_digest(SCRIPTS / "list_hard_images.py"),
    message:
        "Listing the hard images of {wildcards.dataset}"
    script:
        "../workflow_scripts/list_hard_images.py"


rule plot_hard_images:
    input:
        lambda wildcards: dataset_files(wildcards.dataset),
        table=f"{FOLLOWUPS}/hard_images/{{dataset}}.parquet",
    output:
        followup_figures("hard_images/{dataset}", "hard_images_sheet"),
    log:
        f"{OWN}/logs/plot_hard_images/{{dataset}}.log",
    conda:
        "../envs/models.yaml"
    resources:
        **resources_of("plot_hard_images"),
    params:
        folder=f"{SHARED}/datasets/{{dataset}}",
        size=STUDY.followups.compare_size,
        sheet=STUDY.followups.sheet,
        code=code_digest(SCRIPTS / "plot_hard_images.py"),
    message:
        "Drawing the hard images of {wildcards.dataset}"
    script:
        "../workflow_scripts/plot_hard_images.py"


rule tabulate_people:
    input:
        lambda wildcards: [
            file
            for name in STUDY.sets_of_pair(wildcards.pair).values()
            for file in STUDY.accuracy_files(name)
        ],
        answers=lambda wildcards: STUDY.followups.people[wildcards.pair],
    output:
        followup_tables("people/{pair}", "people"),
    log:
        f"{OWN}/logs/tabulate_people/{{pair}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **resources_of("tabulate_people"),
    params:
        datasets=lambda wildcards: {
            origin: spec_of(name)
            for origin, name in STUDY.sets_of_pair(wildcards.pair).items()
        },
        models=list(STUDY.models),
        predictions=lambda wildcards: {
            origin: predictions_on(name)
            for origin, name in STUDY.sets_of_pair(wildcards.pair).items()
        },
        confidence=STUDY.replication.confidence,
        own_files=lambda wildcards: [
            STUDY.followup_files_state("people", wildcards.pair),
            [
                STUDY.own_accuracy_files_state(name)
                for name in STUDY.sets_of_pair(wildcards.pair).values()
            ],
        ],
        code=code_digest(SCRIPTS / "tabulate_people.py"),
    message:
        "Tabulating people's answers to {wildcards.pair}"
    script:
        "../workflow_scripts/tabulate_people.py"


rule tabulate_balanced:
    input:
        lambda wildcards: STUDY.accuracy_files(wildcards.dataset),
    output:
        followup_tables("balanced/{dataset}", "balanced"),
    log:
        f"{OWN}/logs/tabulate_balanced/{{dataset}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **resources_of("tabulate_balanced"),
    params:
        dataset=lambda wildcards: spec_of(wildcards.dataset),
        models=list(STUDY.models),
        predictions=lambda wildcards: predictions_on(wildcards.dataset),
        seed=STUDY.followups.seed,
        confidence=STUDY.replication.confidence,
        own_files=lambda wildcards: STUDY.own_accuracy_files_state(wildcards.dataset),
        code=code_digest(SCRIPTS / "tabulate_balanced.py"),
    message:
        "Tabulating balanced classes of {wildcards.dataset}"
    script:
        "../workflow_scripts/tabulate_balanced.py"


rule tabulate_by_frequency:
    input:
        lambda wildcards: STUDY.accuracy_files(wildcards.dataset),
        frequencies=lambda wildcards: STUDY.followups.by_frequency[wildcards.dataset]
        or f"{SHARED}/sampling/{wildcards.dataset}/provenance.parquet",
    output:
        followup_tables("by_frequency/{dataset}", "by_frequency"),
        followup_figures("by_frequency/{dataset}", "by_frequency"),
    log:
        f"{OWN}/logs/tabulate_by_frequency/{{dataset}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **resources_of("tabulate_by_frequency"),
    params:
        dataset=lambda wildcards: spec_of(wildcards.dataset),
        models=list(STUDY.models),
        predictions=lambda wildcards: predictions_on(wildcards.dataset),
        confidence=STUDY.replication.confidence,
        own_files=lambda wildcards: own_file_state("by_frequency", wildcards.dataset),
        code=code_digest(SCRIPTS / "tabulate_by_frequency.py"),
    message:
        "Tabulating {wildcards.dataset} by selection frequency"
    script:
        "../workflow_scripts/tabulate_by_frequency.py"


rule model_difficulty:
    input:
        results=rules.tabulate_replication.output.parquet,
        fits=rules.fit_replication.output.parquet,
    output:
        followup_tables("difficulty/{pair}-top{top}", "difficulty"),
        followup_figures("difficulty/{pair}-top{top}", "difficulty"),
        skills=f"{FOLLOWUPS}/difficulty/{{pair}}-top{{top}}.skills.parquet",
    log:
        f"{OWN}/logs/model_difficulty/{{pair}}/{{top}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **resources_of("model_difficulty"),
    params:
        sigma=STUDY.followups.difficulty_sigma,
        seed=STUDY.followups.seed,
        code=code_digest(SCRIPTS / "model_difficulty.py"),
    message:
        "Modelling the difficulty of {wildcards.pair}, top {wildcards.top}"
    script:
        "../workflow_scripts/model_difficulty.py"


rule followups:
    input:
        expand(
            rules.model_difficulty.output,
            pair=STUDY.followups.difficulty,
            top=STUDY.replication.top,
        ),
        [
            path
            for search in STUDY.followups.searches
            for path in expand(
                [*rules.find_neighbours.output, *rules.plot_neighbours.output],
                dataset=search.dataset,
                reference=search.reference,
            )
        ],
        expand(
            rules.tabulate_duplicates.output, dataset=STUDY.followups.near_duplicates
        ),
        expand(rules.list_hard_images.output, dataset=STUDY.followups.hard_images),
        expand(
            rules.plot_hard_images.output,
            dataset=[
                name
                for name in STUDY.followups.hard_images
                if STUDY.datasets[name].has_images
            ],
        ),
        expand(rules.tabulate_people.output, pair=STUDY.followups.people),
        expand(rules.tabulate_balanced.output, dataset=STUDY.followups.balanced),
        expand(rules.tabulate_by_frequency.output, dataset=STUDY.followups.by_frequency),
