# Follow-ups of a replication that train nothing; each is made for what the study names under it.
from matcheval.analyses.settings import DRAWN, ON_DATASETS

# Models that they count.
COUNTED = [name for name in STUDY.models if name not in STUDY.followups.without]


wildcard_constraints:
    followup=one_of(ON_DATASETS),


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


# One rule for all that tabulate what models get right on a dataset: `followups.kinds` has them.
rule tabulate_followup:
    input:
        lambda wildcards: STUDY.accuracy_files(wildcards.dataset, COUNTED),
        file=lambda wildcards: STUDY.followup_file(
            wildcards.followup, wildcards.dataset
        ),
    output:
        followup_tables("{followup}/{dataset}", "followup"),
    log:
        f"{OWN}/logs/tabulate_followup/{{followup}}/{{dataset}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **resources_of("tabulate_followup"),
    params:
        dataset=lambda wildcards: spec_of(wildcards.dataset),
        models=COUNTED,
        predictions=lambda wildcards: predictions_on(wildcards.dataset),
        options=lambda wildcards: STUDY.followups.options(
            wildcards.followup, STUDY.replication.confidence
        ),
        own_files=lambda wildcards: [
            STUDY.followup_files_state(wildcards.followup, wildcards.dataset),
            STUDY.own_accuracy_files_state(wildcards.dataset),
        ],
        code=code_digest(SCRIPTS / "tabulate_followup.py"),
    message:
        "Tabulating {wildcards.followup} of {wildcards.dataset}"
    script:
        "../workflow_scripts/tabulate_followup.py"


rule plot_followup:
    input:
        f"{FOLLOWUPS}/{{followup}}/{{dataset}}.parquet",
    output:
        followup_figures("{followup}/{dataset}", "followup"),
    log:
        f"{OWN}/logs/plot_followup/{{followup}}/{{dataset}}.log",
    wildcard_constraints:
        followup=one_of(DRAWN),
    conda:
        "../envs/analysis.yaml"
    resources:
        **resources_of("plot_followup"),
    params:
        code=code_digest(SCRIPTS / "plot_followup.py"),
    message:
        "Drawing {wildcards.followup} of {wildcards.dataset}"
    script:
        "../workflow_scripts/plot_followup.py"


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
            for file in STUDY.accuracy_files(name, COUNTED)
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
        models=COUNTED,
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


rule tabulate_revisions:
    input:
        lambda wildcards: expand(
            rules.count_correct.output,
            dataset=STUDY.followups.revisions[wildcards.revisions],
        ),
    output:
        followup_tables("revisions/{revisions}", "revisions"),
    log:
        f"{OWN}/logs/tabulate_revisions/{{revisions}}.log",
    wildcard_constraints:
        revisions=one_of(STUDY.followups.revisions),
    conda:
        "../envs/analysis.yaml"
    resources:
        **resources_of("tabulate_revisions"),
    params:
        datasets=lambda wildcards: STUDY.followups.revisions[wildcards.revisions],
        without=STUDY.followups.without,
        confidence=STUDY.replication.confidence,
        code=code_digest(SCRIPTS / "tabulate_revisions.py"),
    message:
        "Tabulating the revisions of {wildcards.revisions}"
    script:
        "../workflow_scripts/tabulate_revisions.py"


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
        models=COUNTED,
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
        [
            path
            for kind, datasets in STUDY.followups.on_datasets.items()
            for rule_ in (rules.tabulate_followup, rules.plot_followup)
            if rule_ is rules.tabulate_followup or kind in DRAWN
            for path in expand(rule_.output, followup=kind, dataset=datasets)
        ],
        expand(
            rules.plot_hard_images.output,
            dataset=[
                name
                for name in STUDY.followups.on_datasets["hard_images"]
                if STUDY.datasets[name].has_images
            ],
        ),
        expand(rules.tabulate_people.output, pair=STUDY.followups.people),
        expand(
            rules.tabulate_revisions.output, revisions=list(STUDY.followups.revisions)
        ),
