# What every stage shares: the checked study, its paths and names.
import re
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

SCRIPTS = Path(workflow.basedir) / "workflow_scripts"

sys.path.insert(0, str(SCRIPTS))

from matcheval.downloads.sources import published_files
from matcheval.errors import InputError
from matcheval.jobs import set_job_environment
from matcheval.provenance import code_digest
from matcheval.study import load_study

set_job_environment(SCRIPTS)

try:
    STUDY = load_study(
        config,
        defaults_file=Path(workflow.basedir) / "config.yaml",
        schema_file=Path(workflow.basedir) / "rules" / "schemas" / "config.schema.json",
    )
except InputError as error:
    raise WorkflowError(str(error)) from None

# Shared by all studies with this results folder: datasets, checkpoints, predictions, logs.
SHARED = STUDY.results
# This study's own: matched runs, tables, figures, summary.
OWN = f"{STUDY.results}/{STUDY.name}"


def one_of(names):
    """A pattern of these names and nothing else; without names, of nothing at all."""
    return "|".join(map(re.escape, sorted(names))) or "(?!)"


wildcard_constraints:
    file="|".join(map(re.escape, published_files())),
    dataset="|".join(map(re.escape, STUDY.datasets)),
    model="|".join(map(re.escape, STUDY.models)),
    pair="|".join(map(re.escape, STUDY.pairs)),
    criterion="|".join(STUDY.criteria),
    pool=one_of(STUDY.pools),
    reference=one_of(STUDY.datasets),
    batch="[0-9]+",
    top="[0-9]+",
    scale="linear|probit",


def dataset_files(name):
    """The files of a prepared dataset."""
    return multiext(
        f"{SHARED}/datasets/{name}/",
        "dataset.json",
        "images.npy",
        "datapoints.parquet",
    )


def names_of(*wildcards):
    """This study's values of wildcards, for `expand`; pairs are those that can be matched."""
    values = {
        "pair": STUDY.matched_pairs,
        "criterion": [criterion.value for criterion in STUDY.criteria],
        "format": list(STUDY.formats),
    }
    return {name: values[name] for name in wildcards}
