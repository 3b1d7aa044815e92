# Downloads ahead of a run, on a machine with internet: `snakemake prefetch`.
# Downloads happen where Snakemake runs: compute nodes often have no internet.
workflow.localrules(
    "prefetch", *(r.name for r in workflow.rules if r.name.startswith("download_"))
)


# All that the study downloads; before a run on a cluster, or to be on the safe side.
rule prefetch:
    input:
        STUDY.downloads,
