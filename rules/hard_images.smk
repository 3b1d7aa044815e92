# Hard images: contact sheets of the images that the fewest models classify correctly.
HARD_IMAGES = STUDY.analyses["hard_images"]


rule plot_hard_images:
    input:
        dataset=JOBS.dataset_files,
        table=HARD_IMAGES.result.file(".parquet"),
    output:
        outputs=in_report(HARD_IMAGES.sheet),
    log:
        f"{OWN}/logs/plot_hard_images/{{dataset}}.log",
    conda:
        "../envs/models.yaml"
    resources:
        **REQUESTS.resources("plot_hard_images"),
    params:
        job=HARD_IMAGES.sheet_parameters,
        code=digest("plot_hard_images"),
    message:
        "Plotting the hard images of {wildcards.dataset}"
    script:
        "../workflow_scripts/plot_hard_images.py"
