# Analyses beside the four systems. Those that are a table, and perhaps a figure, for each pair,
# dataset or suite have the same rule, made here for each; what it reads is declared in the
# analysis's own file (CONTRIBUTING.md tells how to add one). The others have rules below.
for one in [a.rule for a in STUDY.analyses.values() if a.rule]:

    rule:
        """Write the table, and perhaps the figure, of one pair, dataset or suite."""
        name:
            one.name
        input:
            one.inputs,
        output:
            outputs=shown(one.table.stem, one.table),
            figure=shown(one.figure.stem, one.figure) if one.figure else [],
        log:
            f"{OWN}/logs/{one.name}/{{{one.wildcard}}}.log",
        benchmark:
            f"{OWN}/benchmarks/{one.name}/{{{one.wildcard}}}.tsv"
        wildcard_constraints:
            **{one.wildcard: one_of(one.values)},
        conda:
            "../envs/analysis.yaml"
        resources:
            **REQUESTS.resources(one.name),
        params:
            function="matcheval.study.tables:make_table",
            job=arguments(one.arguments),
            custom_files=one.custom_files,
            code=digest("matcheval.study.tables:make_table", *one.code),
        message:
            one.message
        script:
            ANALYSE


# --- Near duplicates: searches, and contact sheets for a review

NEAR_DUPLICATES = STUDY.analyses["near_duplicates"]


rule search_near_duplicates:
    """Search a dataset for near duplicates of another's images."""
    input:
        files=NEAR_DUPLICATES.images,
    output:
        nearest=f"{OWN}/near_duplicates/{{dataset}}-in-{{reference}}.parquet",
    log:
        f"{OWN}/logs/search_near_duplicates/{{dataset}}/{{reference}}.log",
    conda:
        "../envs/models.yaml"
    threads: 2
    resources:
        **REQUESTS.resources("search_near_duplicates"),
    params:
        function="matcheval.analyses.sampling.image_search:search_near_duplicates",
        job=arguments(NEAR_DUPLICATES.search_arguments),
        code=digest("matcheval.analyses.sampling.image_search:search_near_duplicates"),
    message:
        "Searching {wildcards.reference} for near duplicates of {wildcards.dataset}"
    script:
        ANALYSE


rule plot_near_duplicates:
    """Draw a contact sheet of near duplicates, for a review."""
    input:
        files=NEAR_DUPLICATES.images,
        nearest=f"{OWN}/near_duplicates/{{dataset}}-in-{{reference}}.parquet",
    output:
        outputs=shown(
            f"{OWN}/figures/near_duplicates/{{dataset}}-in-{{reference}}",
            NEAR_DUPLICATES.sheet,
        ),
    log:
        f"{OWN}/logs/plot_near_duplicates/{{dataset}}/{{reference}}.log",
    conda:
        "../envs/models.yaml"
    resources:
        **REQUESTS.resources("plot_near_duplicates"),
    params:
        function="matcheval.analyses.sampling.image_search:draw_sheet",
        job=arguments(NEAR_DUPLICATES.sheet_arguments),
        code=digest("matcheval.analyses.sampling.image_search:draw_sheet"),
    message:
        "Plotting near duplicates of {wildcards.dataset} in {wildcards.reference}"
    script:
        ANALYSE


# --- Contact sheets of the images that the fewest models classify correctly

HARD_IMAGES = STUDY.analyses["hard_images"]


rule plot_hard_images:
    """Draw the images that the fewest models classify correctly."""
    input:
        dataset=lambda w: STUDY.dataset_inputs(w.dataset),
        table=f"{OWN}/hard_images/{{dataset}}.parquet",
    output:
        outputs=shown(f"{OWN}/figures/hard_images/{{dataset}}", HARD_IMAGES.sheet),
    log:
        f"{OWN}/logs/plot_hard_images/{{dataset}}.log",
    conda:
        "../envs/models.yaml"
    resources:
        **REQUESTS.resources("plot_hard_images"),
    params:
        function="matcheval.analyses.hard_images:draw_hard_images",
        job=arguments(HARD_IMAGES.sheet_arguments),
        code=digest("matcheval.analyses.hard_images:draw_hard_images"),
    message:
        "Plotting the hard images of {wildcards.dataset}"
    script:
        ANALYSE


# --- The Gaussian model of difficulty, fitted to the probit fits of the replication

DIFFICULTY = STUDY.analyses["difficulty"]


rule model_difficulty:
    """Fit the Gaussian model of difficulty to the probit fits of a pair."""
    input:
        results=f"{OWN}/replication/{{pair}}/top{{top}}.parquet",
        fits=f"{OWN}/replication/{{pair}}/top{{top}}.fits.parquet",
    output:
        tables=shown(f"{OWN}/difficulty/{{pair}}-top{{top}}", DIFFICULTY.result),
        skills=f"{OWN}/difficulty/{{pair}}-top{{top}}.skills.parquet",
        plots=shown(f"{OWN}/figures/difficulty/{{pair}}-top{{top}}", DIFFICULTY.plot),
    log:
        f"{OWN}/logs/model_difficulty/{{pair}}/{{top}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("model_difficulty"),
    params:
        function="matcheval.analyses.difficulty:write_difficulty",
        job=arguments(lambda w: DIFFICULTY.arguments),
        code=digest("matcheval.analyses.difficulty:write_difficulty"),
    message:
        "Modelling the difficulty of {wildcards.pair}, top {wildcards.top}"
    script:
        ANALYSE


# --- Values printed in a paper, beside those of the study

PUBLISHED_VALUES = STUDY.analyses["published_values"]


rule compare_published:
    """Compare values printed in a paper with those of the study."""
    input:
        tables=PUBLISHED_VALUES.tables,
        published=PUBLISHED_VALUES.settings.file or [],
    output:
        outputs=shown(f"{OWN}/published_values/comparison", PUBLISHED_VALUES.result),
    log:
        f"{OWN}/logs/compare_published.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("compare_published"),
    params:
        function="matcheval.analyses.published_values:write_comparison",
        job=arguments({"study": STUDY.name, "folder": OWN}),
        code=digest("matcheval.analyses.published_values:write_comparison"),
    message:
        f"Comparing the results of study {STUDY.name} with published values"
    script:
        ANALYSE


# A target for each analysis that has none in the file of its stage. It lists all files, so that a
# deleted one is built again.
OWN_TARGETS = (
    "matching",
    "replication",
    "accuracy_prediction",
    "domain_generalization",
)

for analysis in [a for name, a in STUDY.analyses.items() if name not in OWN_TARGETS]:

    rule:
        """All files of the analysis."""
        name:
            analysis.name
        input:
            analysis.targets,
        localrule: True
        message:
            f"All files of {analysis.name} are there"
