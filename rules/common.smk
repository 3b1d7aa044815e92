# What every stage shares: the checked study, its paths and names.
import json
import os
import re
import shlex
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

SCRIPTS = Path(workflow.basedir) / "workflow_scripts"

sys.path.insert(0, str(SCRIPTS))

from matcheval.downloads.sources import published_files
from matcheval.errors import InputError
from matcheval.execution.environment import set_job_environment, set_mirror
from matcheval.io.provenance import code_digest
from matcheval.study.loading import load_study

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
FOLLOWUPS = f"{OWN}/followups"


def one_of(names):
    """A pattern of these names and nothing else; without names, of nothing at all."""
    return "|".join(map(re.escape, sorted(names))) or "(?!)"


wildcard_constraints:
    file=one_of(published_files()),
    dataset=one_of([*STUDY.datasets, *STUDY.derivations]),
    model=one_of(STUDY.runnable),
    pair=one_of(STUDY.pairs),
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


def flags(options):
    """Options as flags of a command line."""
    return " ".join(
        f"--{key.replace('_', '-')} {shlex.quote(str(value))}"
        for key, value in options.items()
    )


def pool_sets(pool):
    """The two sets of a pool, as every command line of sampling has them."""
    pool = STUDY.pools[pool]
    return flags(
        {
            "candidates": f"{SHARED}/datasets/{pool.candidates}",
            "original": f"{SHARED}/datasets/{pool.original}",
        }
    )


def sampling_inputs(wildcards):
    """What a set is sampled from: sets, and tables by the option that names them."""
    pool = STUDY.pool_of(wildcards.dataset)
    inputs = {"sets": [file for name in pool.sets for file in dataset_files(name)]}
    inputs |= pool.own_files
    if pool.has_answers:
        inputs["frequencies"] = expand(rules.count_selections.output, pool=pool.name)[0]
    earlier = STUDY.datasets[wildcards.dataset].options.get("start_from")
    if earlier is not None:
        inputs["previous"] = f"{SHARED}/sampling/{earlier}/provenance.parquet"
    return inputs


def followup_tables(stem, caption):
    """The files of a table, the readable one in the report."""
    page = report(
        f"{FOLLOWUPS}/{stem}.md",
        category="Follow-ups",
        caption=f"captions/{caption}.rst",
        labels={"what": Path(stem).parts[0], "of": Path(stem).name},
    )
    return [
        *(f"{FOLLOWUPS}/{stem}.{suffix}" for suffix in ("parquet", "csv", "tex")),
        page,
    ]


def followup_figures(stem, caption):
    """The files of a figure, in the report."""
    return report(
        [f"{OWN}/figures/followups/{stem}.{format}" for format in STUDY.formats],
        category="Follow-ups",
        caption=f"captions/{caption}.rst",
        labels={
            "what": f"{Path(stem).parts[0]} (figure)",
            "of": Path(stem).name,
        },
    )


def spec_of(name):
    """A dataset as a parameter."""
    return vars(STUDY.datasets[name])


def predictions_on(name):
    """Prediction files on a dataset of the models that follow-ups count, if it has such."""
    files = STUDY.accuracy_files(name, COUNTED)
    return files if STUDY.datasets[name].has_probabilities else []


def model_files(wildcards):
    """What a model is loaded from: weights, and the code of a callable."""
    source = STUDY.runnable[wildcards.model].source
    files = {"weights": STUDY.weights_file(wildcards.model), "code": source.code_file}
    return {name: str(file) for name, file in files.items() if file}


def ticket(wildcards):
    """Where a model is told of the pixel cache.

    A ticket stays, and it is `ancient` for models that have their predictions: these are not made
    again because pixels are (see `tickets`). It is not for the others: Snakemake passes over jobs
    whose inputs that are made anew are all ancient and there, even if they have no output yet.
    """
    file = STUDY.ticket_file(wildcards.dataset, wildcards.model)
    if not file:
        return []
    job = STUDY.pixel_jobs.get(file)
    predictions = STUDY.predictions_file(wildcards.dataset, wildcards.model)
    return [file if job and predictions in job.waiting else ancient(file)]


def pixel_job(wildcards):
    """What a ticket is about."""
    return STUDY.pixel_jobs[f"{SHARED}/pixels/{wildcards.ticket}.json"]
