# Figures: as the paper has them, for every pair and criterion, in every requested format.


rule plot_confidence:
    input:
        table=lambda wildcards: expand(
            rules.tabulate_runs.output.parquet,
            pair=wildcards.pair,
            criterion=STUDY.criteria[0].value,
        )[0],
    output:
        report(
            expand(
                f"{OWN}/figures/{{{{pair}}}}/confidence.{{format}}",
                **names_of("format"),
            ),
            category="Accuracy and confidence",
            caption="captions/confidence.rst",
            labels={"pair": "{pair}"},
        ),
    log:
        f"{OWN}/logs/plot_confidence/{{pair}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **resources_of("plot_confidence"),
    params:
        code=code_digest(SCRIPTS / "plot_confidence.py"),
    message:
        "Drawing accuracy against confidence of {wildcards.pair}"
    script:
        "../workflow_scripts/plot_confidence.py"


rule plot_matched_accuracy:
    input:
        table=rules.tabulate_runs.output.parquet,
    output:
        report(
            expand(
                f"{OWN}/figures/{{{{pair}}}}/{{{{criterion}}}}/matched_accuracy.{{format}}",
                **names_of("format"),
            ),
            category="Matched accuracy",
            caption="captions/matched_accuracy.rst",
            labels={"pair": "{pair}", "criterion": "{criterion}"},
        ),
    log:
        f"{OWN}/logs/plot_matched_accuracy/{{pair}}/{{criterion}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **resources_of("plot_matched_accuracy"),
    params:
        code=code_digest(SCRIPTS / "plot_matched_accuracy.py"),
    message:
        "Drawing matched accuracy of {wildcards.pair} by {wildcards.criterion}"
    script:
        "../workflow_scripts/plot_matched_accuracy.py"


rule plot_reliability:
    input:
        unpack(
            lambda wildcards: STUDY.predictions_of_pair(
                wildcards.pair, [wildcards.model]
            )
        ),
        pairs=rules.save_pairs.output[0],
    output:
        report(
            expand(
                f"{OWN}/figures/{{{{pair}}}}/{{{{criterion}}}}/reliability/{{{{model}}}}.{{format}}",
                **names_of("format"),
            ),
            category="Reliability",
            caption="captions/reliability.rst",
            labels={"pair": "{pair}", "criterion": "{criterion}", "model": "{model}"},
        ),
    log:
        f"{OWN}/logs/plot_reliability/{{pair}}/{{criterion}}/{{model}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **resources_of("plot_reliability"),
    params:
        pair=lambda wildcards: vars(STUDY.pairs[wildcards.pair]),
        epsilon=STUDY.epsilon,
        seeds=list(STUDY.seeds),
        bins=STUDY.reliability_bins,
        code=code_digest(SCRIPTS / "plot_reliability.py"),
    message:
        "Drawing reliability of {wildcards.model} on {wildcards.pair} by {wildcards.criterion}"
    script:
        "../workflow_scripts/plot_reliability.py"


rule figures:
    input:
        expand(rules.plot_confidence.output, **names_of("pair")),
        expand(rules.plot_matched_accuracy.output, **names_of("pair", "criterion")),
        expand(
            rules.plot_reliability.output,
            model=STUDY.reliability_models,
            **names_of("pair", "criterion"),
        ),
