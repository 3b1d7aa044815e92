# Matching: the protocol's runs, a batch of models per job, and the matched pairs of chosen models.
#
# Snakemake sees edits of a script, not of the library it imports: the digest of both is a parameter.


rule match_predictions:
    input:
        unpack(
            lambda wildcards: STUDY.predictions_of_pair(
                wildcards.pair, STUDY.batches[wildcards.batch]
            )
        ),
        classes=lambda wildcards: (
            rules.compare_classes.output
            if wildcards.pair in STUDY.undecided_pairs
            else []
        ),
    output:
        f"{OWN}/matched/{{pair}}/{{criterion}}/{{batch}}.parquet",
    log:
        f"{OWN}/logs/match_predictions/{{pair}}/{{criterion}}/{{batch}}.log",
    benchmark:
        f"{OWN}/benchmarks/match_predictions/{{pair}}/{{criterion}}/{{batch}}.tsv"
    conda:
        "../envs/analysis.yaml"
    resources:
        mem_mb=1000,
        runtime=30,
    params:
        models=lambda wildcards: STUDY.batches[wildcards.batch],
        own_files=lambda wildcards: STUDY.own_files_state(
            wildcards.pair, STUDY.batches[wildcards.batch]
        ),
        pair=lambda wildcards: vars(STUDY.pairs[wildcards.pair]),
        epsilon=STUDY.epsilon,
        seeds=list(STUDY.seeds),
        code=code_digest(SCRIPTS / "match_predictions.py"),
    message:
        "Matching {wildcards.pair} by {wildcards.criterion}, batch {wildcards.batch}"
    script:
        "../workflow_scripts/match_predictions.py"


rule save_pairs:
    input:
        unpack(
            lambda wildcards: STUDY.predictions_of_pair(
                wildcards.pair, [wildcards.model]
            )
        ),
    output:
        f"{OWN}/pairs/{{pair}}/{{criterion}}/{{model}}.parquet",
    log:
        f"{OWN}/logs/save_pairs/{{pair}}/{{criterion}}/{{model}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        own_files=lambda wildcards: STUDY.own_files_state(
            wildcards.pair, [wildcards.model]
        ),
        pair=lambda wildcards: vars(STUDY.pairs[wildcards.pair]),
        epsilon=STUDY.epsilon,
        seeds=list(STUDY.seeds),
        code=code_digest(SCRIPTS / "save_pairs.py"),
    message:
        "Matched pairs of {wildcards.model} on {wildcards.pair} by {wildcards.criterion}"
    script:
        "../workflow_scripts/save_pairs.py"


rule matched:
    input:
        expand(
            rules.match_predictions.output,
            batch=list(STUDY.batches),
            **names_of("pair", "criterion"),
        ),
        expand(
            rules.save_pairs.output,
            model=STUDY.save_pairs,
            **names_of("pair", "criterion"),
        ),
