# How classifiers behave on similar-but-non-identical test sets: from datasets to tables and figures.
#
#   snakemake --cores all                                   the default study, `digits`
#   snakemake --cores all --configfile studies/mine.yaml    a study of one's own
#   snakemake --cores all predictions | matched | tables | figures    up to a stage
#   snakemake --cores all replication                       one analysis (docs/architecture.md lists them)
#
# Stages and analyses are files in rules/, logic is the library in workflow_scripts/matcheval/.
from snakemake.utils import min_version

min_version("9.11")


report: "rules/captions/study.rst"


include: "rules/common.smk"
include: "rules/downloads.smk"
include: "rules/datasets.smk"
include: "rules/training.smk"
include: "rules/inference.smk"


for rule_file in RULE_FILES:

    include: f"rules/{rule_file}.smk"


# One target per analysis. All files are named, so that one that was deleted is built again.
for analysis in STUDY.analyses.values():

    rule:
        name:
            analysis.name
        input:
            analysis.targets,
        localrule: True


rule all:
    default_target: True
    localrule: True
    input:
        rules.predictions.input,
        [analysis.targets for analysis in STUDY.analyses.values()],


include: "rules/checks.smk"
include: "rules/preflight.smk"
