# Downloads: published files of datasets and weights of models, once for all studies.
#
# A file that the user put there is kept, and verified when it is read. Addresses and checksums are
# in workflow_scripts/matcheval/downloads/sources.yaml, those of published predictions in a list
# that the study file names.


# These rules need the network, which the nodes of a cluster may not have.
localrules:
    download_file,
    download_weights,


rule download_file:
    """Download a published file, or go on with it, and verify it."""
    output:
        update("<results>/downloads/{file}"),
    log:
        "<results>/logs/download_file/{file}.log",
    conda:
        "../envs/models.yaml"
    resources:
        **REQUESTS.resources("download_file"),
        machine=COMMANDS.file_options,
    params:
        identity=lambda wildcards: STUDY.published_file(wildcards.file).identity,
    message:
        "Downloading {wildcards.file}"
    shell:
        'python "$MATCHEVAL_JOB" download:download_file --name {wildcards.file:q} --output {output:q}'
        " {resources.machine} --log {log:q}"


rule download_weights:
    """Download the published weights of a model."""
    output:
        update("<results>/weights/{weights}"),
    log:
        "<results>/logs/download_weights/{weights}.log",
    conda:
        "../envs/models.yaml"
    resources:
        **REQUESTS.resources("download_weights"),
        machine=COMMANDS.download_options,
    params:
        url=lambda wildcards: STUDY.inference_plan.weights_urls[wildcards.weights],
    message:
        "Downloading {wildcards.weights}"
    shell:
        'python "$MATCHEVAL_JOB" download:download_weights --url {params.url:q} --output {output:q}'
        " {resources.machine} > {log:q} 2>&1"


rule prefetch:
    """Everything that the study downloads, for example before it runs on a cluster."""
    input:
        STUDY.downloads,
    message:
        "All downloads are there"
