# Evaluate image classifiers on similar-but-non-identical test sets: from datasets to figures.
#
#   snakemake --cores all                                   the default study, `digits`
#   snakemake --cores all --configfile studies/mine.yaml    another study
#   snakemake --cores all predictions | matched | tables | figures    up to a stage of the matching
#   snakemake --cores all replication                       one analysis (docs/analyses.md lists them)
#
# The rules of each stage and analysis are in rules/, the logic is in the library,
# workflow_scripts/matcheval/.
from snakemake.utils import min_version

min_version("9.17.1")


report: "rules/captions/study.rst"


include: "rules/common.smk"
include: "rules/functions.smk"
include: "rules/downloads.smk"
include: "rules/datasets.smk"
include: "rules/training.smk"
include: "rules/inference.smk"
include: "rules/matching.smk"
include: "rules/replication.smk"
include: "rules/accuracy_prediction.smk"
include: "rules/domain_generalization.smk"
include: "rules/analyses.smk"
include: "rules/report.smk"


rule all:
    """All results of the study."""
    default_target: True
    input:
        rules.predictions.input,
        list(TARGETS.values()),
        rules.write_report.output if SECTIONS else [],
    message:
        "All results of the study are there"


include: "rules/run.smk"
