# Replication: accuracies of all models, with intervals, ranks, fits and figures, for every pair.
#
# Needs no probabilities: pairs that cannot be matched take part.
RESULTS_STEM = f"{OWN}/replication/{{pair}}/top{{top}}"


rule count_correct:
    input:
        lambda wildcards: STUDY.accuracy_files(wildcards.dataset),
        lambda wildcards: STUDY.first_classes_files(wildcards.dataset),
    output:
        f"{OWN}/accuracies/{{dataset}}.parquet",
    log:
        f"{OWN}/logs/count_correct/{{dataset}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **resources_of("count_correct"),
    params:
        models=list(STUDY.models),
        files=lambda wildcards: STUDY.accuracy_files(wildcards.dataset),
        first_classes=lambda wildcards: STUDY.first_classes_files(wildcards.dataset),
        dataset=lambda wildcards: vars(STUDY.datasets[wildcards.dataset]),
        own_files=lambda wildcards: STUDY.own_accuracy_files_state(wildcards.dataset),
        code=code_digest(SCRIPTS / "count_correct.py"),
    message:
        "Counting what is right on {wildcards.dataset}"
    script:
        "../workflow_scripts/count_correct.py"


rule tabulate_replication:
    input:
        original=lambda wildcards: expand(
            rules.count_correct.output, dataset=STUDY.pairs[wildcards.pair].original
        ),
        replication=lambda wildcards: expand(
            rules.count_correct.output, dataset=STUDY.pairs[wildcards.pair].replication
        ),
    output:
        parquet=f"{RESULTS_STEM}.parquet",
        csv=f"{RESULTS_STEM}.csv",
        tex=f"{RESULTS_STEM}.tex",
        md=report(
            f"{RESULTS_STEM}.md",
            category="Replication",
            caption="captions/replication_results.rst",
            labels={"pair": "{pair}", "top": "{top}", "what": "results"},
        ),
    log:
        f"{OWN}/logs/tabulate_replication/{{pair}}/{{top}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **resources_of("tabulate_replication"),
    params:
        pair=lambda wildcards: vars(STUDY.pairs[wildcards.pair]),
        confidence=STUDY.replication.confidence,
        code=code_digest(SCRIPTS / "tabulate_replication.py"),
    message:
        "Tabulating the replication of {wildcards.pair}, top {wildcards.top}"
    script:
        "../workflow_scripts/tabulate_replication.py"


rule fit_replication:
    input:
        results=rules.tabulate_replication.output.parquet,
    output:
        region=f"{RESULTS_STEM}.region.parquet",
        parquet=f"{RESULTS_STEM}.fits.parquet",
        csv=f"{RESULTS_STEM}.fits.csv",
        tex=f"{RESULTS_STEM}.fits.tex",
        md=report(
            f"{RESULTS_STEM}.fits.md",
            category="Replication",
            caption="captions/replication_fits.rst",
            labels={"pair": "{pair}", "top": "{top}", "what": "fits"},
        ),
    log:
        f"{OWN}/logs/fit_replication/{{pair}}/{{top}}.log",
    benchmark:
        f"{OWN}/benchmarks/fit_replication/{{pair}}/{{top}}.tsv"
    conda:
        "../envs/analysis.yaml"
    resources:
        **resources_of("fit_replication"),
    params:
        settings=STUDY.replication.of_fits,
        code=code_digest(SCRIPTS / "fit_replication.py"),
    message:
        "Fitting the replication of {wildcards.pair}, top {wildcards.top}"
    script:
        "../workflow_scripts/fit_replication.py"


rule plot_replication:
    input:
        results=rules.tabulate_replication.output.parquet,
        fits=rules.fit_replication.output.parquet,
        region=rules.fit_replication.output.region,
    output:
        report(
            expand(
                f"{OWN}/figures/{{{{pair}}}}/replication/top{{{{top}}}}-{{{{scale}}}}.{{format}}",
                **names_of("format"),
            ),
            category="Replication",
            caption="captions/replication.rst",
            labels={"pair": "{pair}", "top": "{top}", "what": "{scale} axes"},
        ),
    log:
        f"{OWN}/logs/plot_replication/{{pair}}/{{top}}/{{scale}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **resources_of("plot_replication"),
    params:
        code=code_digest(SCRIPTS / "plot_replication.py"),
    message:
        "Drawing the replication of {wildcards.pair}, top {wildcards.top}, {wildcards.scale} axes"
    script:
        "../workflow_scripts/plot_replication.py"


rule summarize_replication:
    input:
        STUDY.annotated.values(),
        results=expand(
            rules.tabulate_replication.output.parquet,
            pair=list(STUDY.pairs),
            top=STUDY.replication.top,
        ),
    output:
        csv=f"{OWN}/replication/changes.csv",
        parquet=f"{OWN}/replication/changes.parquet",
        tex=f"{OWN}/replication/changes.tex",
        md=report(
            f"{OWN}/replication/changes.md",
            category="Replication",
            caption="captions/replication_changes.rst",
            labels={"pair": "all", "top": "all", "what": "average changes"},
        ),
    log:
        f"{OWN}/logs/summarize_replication.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **resources_of("summarize_replication"),
    params:
        study=STUDY.name,
        provenances=STUDY.annotated,
        range_without=STUDY.replication.range_without,
        code=code_digest(SCRIPTS / "summarize_replication.py"),
    message:
        "Summarizing the replications of study {params.study}"
    script:
        "../workflow_scripts/summarize_replication.py"


rule compare_published:
    input:
        [f"{OWN}/{table}.parquet" for table in STUDY.published_tables],
        published=STUDY.replication.published or [],
    output:
        csv=f"{OWN}/replication/published.csv",
        parquet=f"{OWN}/replication/published.parquet",
        tex=f"{OWN}/replication/published.tex",
        page=report(
            f"{OWN}/replication/published.md",
            category="Replication",
            caption="captions/replication_published.rst",
            labels={"pair": "all", "top": "all", "what": "beside the paper"},
        ),
    log:
        f"{OWN}/logs/compare_published.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **resources_of("compare_published"),
    params:
        study=STUDY.name,
        folder=lambda wildcards, output: str(Path(output.csv).parents[1]),
        code=code_digest(SCRIPTS / "compare_published.py"),
    message:
        "Setting the results of study {params.study} beside published ones"
    script:
        "../workflow_scripts/compare_published.py"


rule replication:
    input:
        rules.compare_published.output if STUDY.replication.published else [],
        expand(
            rules.tabulate_replication.output,
            pair=list(STUDY.pairs),
            top=STUDY.replication.top,
        ),
        expand(
            rules.fit_replication.output,
            pair=list(STUDY.pairs) if STUDY.fitted_scales else [],
            top=STUDY.replication.top,
        ),
        expand(
            rules.plot_replication.output,
            pair=list(STUDY.pairs),
            top=STUDY.replication.top,
            scale=STUDY.fitted_scales,
        ),
        rules.summarize_replication.output,
