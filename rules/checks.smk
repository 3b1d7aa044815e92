# Checks of the built results themselves, on request: `snakemake --cores 1 check`.
#
# They get the study's own files by name: what an earlier configuration left is not looked at.
CHECKS = Path(workflow.basedir) / "tests" / "artefacts"


rule check:
    input:
        checks=multiext(f"{CHECKS}/", "test_results.py", "conftest.py"),
        matched=rules.matched.input,
        tables=rules.tables.input,
        figures=rules.figures.input,
        replication=rules.replication.input,
        sampled=[
            file
            for name in STUDY.sampled
            if name in STUDY.compared
            for file in [
                f"{SHARED}/datasets/{name}/dataset.json",
                f"{SHARED}/datasets/{name}/datapoints.parquet",
                *expand(rules.sample_dataset.output[3:], dataset=name),
            ]
        ],
    output:
        touch(f"{OWN}/checked"),
    log:
        f"{OWN}/logs/check.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **resources_of("check"),
    message:
        "Checking the results of the study"
    shell:
        "python -m pytest -p no:cacheprovider {input.checks[0]:q}"
        " --results {input.matched:q} {input.tables:q} {input.figures:q}"
        " {input.replication:q} {input.sampled:q} > {log:q} 2>&1"
