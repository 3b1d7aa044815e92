# Checks of the built results themselves, on request: `snakemake --cores 1 check`.


rule check:
    input:
        rules.all.input,
    output:
        touch(f"{OWN}/checked"),
    log:
        f"{OWN}/logs/check.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        tests=Path(workflow.basedir) / "tests" / "artefacts",
        study=lambda wildcards, output: Path(output[0]).parent,
    message:
        "Checking the results in {params.study}"
    shell:
        "python -m pytest -p no:cacheprovider {params.tests:q} --study {params.study:q} > {log:q} 2>&1"
