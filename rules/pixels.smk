# Pixel caches: images decoded, resized and cropped once for the models that share that, and gone
# when these have made their predictions. Why `temp()` does not do it: matcheval/inference/tickets.py.


# Only tickets of models without predictions are to be issued; the others are taken as they lie.
rule transform_images:
    input:
        dataset=lambda wildcards: dataset_files(pixel_job(wildcards).dataset),
    output:
        ticket=f"{SHARED}/pixels/{{ticket}}.json",
    log:
        f"{SHARED}/logs/transform_images/{{ticket}}.log",
    benchmark:
        f"{SHARED}/benchmarks/transform_images/{{ticket}}.tsv"
    wildcard_constraints:
        ticket="|".join(
            re.escape(file.removeprefix(f"{SHARED}/pixels/").removesuffix(".json"))
            for file in STUDY.pixel_jobs
        )
        or "(?!)",
    conda:
        "../envs/models.yaml"
    threads: threads_of("transform_images")
    resources:
        **resources_of("transform_images"),
    params:
        folder=lambda wildcards, input: Path(input.dataset[0]).parent,
        geometry=lambda wildcards: json.dumps(
            pixel_job(wildcards).geometry.to_mapping()
        ),
        pixels=lambda wildcards: pixel_job(wildcards).file(SHARED),
        waiting=lambda wildcards: list(
            pixel_job(wildcards).waiting * pixel_job(wildcards).cached
        ),
        keep="--keep" if STUDY.inference["keep_pixels"] else "",
    message:
        "Transforming images: {wildcards.ticket}"
    shell:
        "python -m transform_images --dataset {params.folder:q} --geometry {params.geometry:q}"
        " --pixels {params.pixels:q} --ticket {output.ticket:q} {params.keep} --threads {threads}"
        " --waiting {params.waiting:q} > {log:q} 2>&1"
