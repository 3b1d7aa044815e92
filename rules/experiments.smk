# Experiments: follow-up analyses that train further models, on sets derived from the study's.
from matcheval.datasets.derivations import DERIVATION_VERSION

EXPERIMENT_STEM = f"{OWN}/experiments/{{experiment}}"


# Of no kind in the configuration: experiments ask for these sets by what they are.
rule derive_dataset:
    input:
        lambda wildcards: [
            file
            for name in STUDY.derivations[wildcards.dataset].of
            for file in dataset_files(name)
        ],
    output:
        dataset_files("{dataset}"),
    log:
        f"{SHARED}/logs/derive_dataset/{{dataset}}.log",
    wildcard_constraints:
        dataset=one_of(STUDY.derivations),
    conda:
        "../envs/models.yaml"
    resources:
        **resources_of("derive_dataset"),
    params:
        derivation=lambda wildcards: STUDY.derivations[wildcards.dataset].json,
        sources=lambda wildcards: [
            f"{SHARED}/datasets/{name}"
            for name in STUDY.derivations[wildcards.dataset].of
        ],
        folder=lambda wildcards, output: Path(output[0]).parent,
        version=DERIVATION_VERSION,
    message:
        "Deriving dataset {wildcards.dataset}"
    shell:
        "python -m derive_dataset --derivation {params.derivation:q}"
        " --sources {params.sources:q} --output {params.folder:q} > {log:q} 2>&1"


rule tabulate_experiment:
    input:
        lambda wildcards: STUDY.experiment_files(wildcards.experiment),
    output:
        parquet=f"{EXPERIMENT_STEM}.parquet",
        csv=f"{EXPERIMENT_STEM}.csv",
        page=report(
            f"{EXPERIMENT_STEM}.md",
            category="Experiments",
            caption="captions/experiment.rst",
            labels={"experiment": "{experiment}"},
        ),
    log:
        f"{OWN}/logs/tabulate_experiment/{{experiment}}.log",
    wildcard_constraints:
        experiment=one_of(STUDY.experiments),
    conda:
        "../envs/analysis.yaml"
    resources:
        **resources_of("tabulate_experiment"),
    params:
        kind=lambda wildcards: STUDY.experiments[wildcards.experiment].kind,
        trials=lambda wildcards: [
            vars(trial) for trial in STUDY.experiments[wildcards.experiment].trials
        ],
        pair=lambda wildcards: vars(STUDY.experiments[wildcards.experiment].pair),
        confidence=STUDY.replication.confidence,
        code=code_digest(SCRIPTS / "tabulate_experiment.py"),
    message:
        "Tabulating experiment {wildcards.experiment}"
    script:
        "../workflow_scripts/tabulate_experiment.py"


rule experiments:
    input:
        expand(rules.tabulate_experiment.output, experiment=STUDY.experiments),
