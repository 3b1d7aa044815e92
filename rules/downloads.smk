# Downloads: published files of the datasets, once for all studies.
#
# A file that was put there by hand is kept, and verified when it is read. Where the files are, and
# their checksums, is in workflow_scripts/matcheval/downloads/sources.yaml.
from matcheval.downloads.sources import published_file, published_files


# Needs the network, which the nodes of a cluster may not have.
localrules:
    download_file,


rule download_file:
    output:
        update(f"{SHARED}/downloads/{{file}}"),
    log:
        f"{SHARED}/logs/download_file/{{file}}.log",
    conda:
        "../envs/models.yaml"
    resources:
        mem_mb=500,
        runtime=240,
    params:
        identity=lambda wildcards: published_file(wildcards.file).identity,
    message:
        "Downloading {wildcards.file}"
    # The mirror is no parameter: the checksum decides what a file is, not where it comes from.
    shell:
        "python -m download_file --name {wildcards.file} --output {output:q}"
        " --mirror {STUDY.mirror:q} --log {log:q}"
