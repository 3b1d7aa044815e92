# Analyses beside the four systems. Those that are a table, and perhaps a figure, for each pair,
# dataset or suite have the same rule, made here for each; what it reads is declared in the
# analysis's own file (CONTRIBUTING.md tells how to add one). The others have rules below.
from matcheval.study.tables import TableAnalysis

for table in [a for a in STUDY.analyses.values() if isinstance(a, TableAnalysis)]:

    rule:
        """Write the table, and perhaps the figure, of one pair, dataset or suite."""
        name:
            f"tabulate_{table.name}"
        input:
            table.inputs,
        output:
            outputs=in_report(table.result.stem, table.result),
            figure=in_report(table.plot.stem, table.plot) if table.has_figure else [],
        log:
            f"<study>/logs/tabulate_{table.name}/{{{table.per}}}.log",
        benchmark:
            f"<study>/benchmarks/tabulate_{table.name}/{{{table.per}}}.tsv"
        wildcard_constraints:
            **{table.per: one_of(table.subjects)},
        conda:
            "../envs/analysis.yaml"
        resources:
            **REQUESTS.resources(f"tabulate_{table.name}"),
        params:
            **calls(
                "matcheval.study.tables:make_table",
                table.job_arguments,
                uses=[table.module],
                custom_files=file_state(table.inputs),
            ),
        message:
            f"Tabulating {table.title().lower()}: {{wildcards.{table.per}}}"
        script:
            ANALYSE


# --- Near duplicates: searches, and contact sheets for a review

NEAR_DUPLICATES = STUDY.analyses["near_duplicates"]


rule search_near_duplicates:
    """Search a dataset for near duplicates of another's images."""
    input:
        files=lambda w: dataset_files([w.dataset, w.reference]),
    output:
        nearest="<study>/near_duplicates/{dataset}-in-{reference}.parquet",
    log:
        "<study>/logs/search_near_duplicates/{dataset}/{reference}.log",
    conda:
        "../envs/models.yaml"
    threads: 2
    resources:
        **REQUESTS.resources("search_near_duplicates"),
    params:
        **calls(
            "matcheval.analyses.sampling.image_search:search_near_duplicates",
            NEAR_DUPLICATES.search_arguments,
        ),
    message:
        "Searching {wildcards.reference} for near duplicates of {wildcards.dataset}"
    script:
        ANALYSE


rule plot_near_duplicates:
    """Draw a contact sheet of near duplicates, for a review."""
    input:
        files=lambda w: dataset_files([w.dataset, w.reference]),
        nearest="<study>/near_duplicates/{dataset}-in-{reference}.parquet",
    output:
        outputs=in_report(
            "<study>/figures/near_duplicates/{dataset}-in-{reference}", NEAR_DUPLICATES.sheet
        ),
    log:
        "<study>/logs/plot_near_duplicates/{dataset}/{reference}.log",
    conda:
        "../envs/models.yaml"
    resources:
        **REQUESTS.resources("plot_near_duplicates"),
    params:
        **calls(
            "matcheval.analyses.sampling.image_search:draw_sheet", NEAR_DUPLICATES.sheet_arguments
        ),
    message:
        "Plotting near duplicates of {wildcards.dataset} in {wildcards.reference}"
    script:
        ANALYSE


# --- Contact sheets of the images that the fewest models classify correctly

HARD_IMAGES = STUDY.analyses["hard_images"]


rule plot_hard_images:
    """Draw the images that the fewest models classify correctly."""
    input:
        dataset=lambda w: dataset_files([w.dataset]),
        table="<study>/hard_images/{dataset}.parquet",
    output:
        outputs=in_report("<study>/figures/hard_images/{dataset}", HARD_IMAGES.sheet),
    log:
        "<study>/logs/plot_hard_images/{dataset}.log",
    conda:
        "../envs/models.yaml"
    resources:
        **REQUESTS.resources("plot_hard_images"),
    params:
        **calls("matcheval.analyses.hard_images:draw_hard_images", HARD_IMAGES.sheet_arguments),
    message:
        "Plotting the hard images of {wildcards.dataset}"
    script:
        ANALYSE


# --- The Gaussian model of difficulty, fitted to the probit fits of the replication

DIFFICULTY = STUDY.analyses["difficulty"]


rule model_difficulty:
    """Fit the Gaussian model of difficulty to the probit fits of a pair."""
    input:
        results="<study>/replication/{pair}/top{top}.parquet",
        fits="<study>/replication/{pair}/top{top}.fits.parquet",
    output:
        tables=in_report("<study>/difficulty/{pair}-top{top}", DIFFICULTY.result),
        skills="<study>/difficulty/{pair}-top{top}.skills.parquet",
        plots=in_report("<study>/figures/difficulty/{pair}-top{top}", DIFFICULTY.plot),
    log:
        "<study>/logs/model_difficulty/{pair}/{top}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("model_difficulty"),
    params:
        **calls("matcheval.analyses.difficulty:write_difficulty", DIFFICULTY.arguments),
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
        outputs=in_report("<study>/published_values/comparison", PUBLISHED_VALUES.result),
    log:
        "<study>/logs/compare_published.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("compare_published"),
    params:
        **calls(
            "matcheval.analyses.published_values:write_comparison",
            {"study": STUDY.name, "folder": STUDY.folder},
        ),
    message:
        f"Comparing the results of study {STUDY.name} with published values"
    script:
        ANALYSE


# A target for each analysis but the matching. It lists all files, so that a deleted one is built
# again.
for analysis in [a for name, a in STUDY.analyses.items() if name != "matching"]:

    rule:
        """All files of the analysis."""
        name:
            analysis.name
        input:
            analysis.targets,
        message:
            f"All files of {analysis.name} are there"
