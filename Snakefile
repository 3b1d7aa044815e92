# How classifiers behave on similar-but-non-identical test sets: from datasets to tables and figures.
#
#   snakemake --cores all                                   the default study, `digits`
#   snakemake --cores all --configfile studies/mine.yaml    a study of one's own
#   snakemake --cores all predictions | matched | tables | figures    up to a stage
#   snakemake --cores all replication                       intervals, ranks and fits over the models
#   snakemake --cores all followups                         the follow-ups that the study asks for
#
# Stages are files in rules/, logic is the library in workflow_scripts/matcheval/.
from snakemake.utils import min_version

min_version("9.11")


report: "rules/captions/study.rst"


include: "rules/common.smk"
include: "rules/downloads.smk"
include: "rules/datasets.smk"
include: "rules/sampling.smk"
include: "rules/training.smk"
include: "rules/inference.smk"
include: "rules/matching.smk"
include: "rules/tables.smk"
include: "rules/figures.smk"
include: "rules/replication.smk"
include: "rules/followups.smk"


localrules:
    all,
    predictions,
    matched,
    tables,
    figures,
    replication,
    followups,


# Predictions and matched runs are asked for by name, so that one that was deleted is made again.
rule all:
    default_target: True
    input:
        rules.predictions.input,
        rules.matched.input,
        rules.tables.input,
        rules.figures.input,
        rules.replication.input,
        rules.followups.input,


include: "rules/checks.smk"
