# Checks of the built results themselves, on request: `snakemake --cores 1 check`.
#
# They are given the names of this study's files: files of an earlier configuration are ignored.
CHECKS = Path(workflow.basedir) / "tests" / "artefacts"


rule check:
    input:
        checks=multiext(f"{CHECKS}/", "test_results.py", "conftest.py"),
        results=[
            PREDICTING.all_indexes,
            [analysis.targets for analysis in STUDY.analyses.values()],
        ],
        datasets=[
            STUDY.dataset_files(name)
            for name in STUDY.built_datasets
            if name in STUDY.evaluated
        ],
    output:
        touch(f"{OWN}/checked"),
    log:
        f"{OWN}/logs/check.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("check"),
    params:
        study=lambda wildcards, output: str(Path(output[0]).parent),
    message:
        "Checking the results of the study"
    shell:
        "python -m pytest -p no:cacheprovider {input.checks[0]:q}"
        " --study {params.study:q} --results {input.results:q} {input.datasets:q} > {log:q} 2>&1"
