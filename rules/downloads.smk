# Downloads: published files of the datasets, once for all studies.
#
# A file that was put there by hand is kept, and verified when it is read. Where the files are, and
# their checksums, is in workflow_scripts/matcheval/downloads/sources.yaml.
from matcheval.downloads.sources import published_file

set_mirror(STUDY.mirror)


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
        **resources_of("download_file"),
    params:
        identity=lambda wildcards: published_file(wildcards.file).identity,
    message:
        "Downloading {wildcards.file}"
    shell:
        "python -m download_file --name {wildcards.file} --output {output:q}"
        ' --mirror "$MATCHEVAL_MIRROR" --log {log:q}'
