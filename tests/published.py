"""The published predictions and accuracies; tests that need them are skipped without them."""

from pathlib import Path

import pytest

from image_sets import SHARED
from matcheval.predictions.correctness import dataset_accuracies
from matcheval.replication.tables import tabulate_replication
from studies import configuration, load

DATA = SHARED / "data" / "recht"

needs_data = pytest.mark.skipif(
    not DATA.is_dir(),
    reason=f"no published predictions at {DATA}; MATCHEVAL_SHARED names the folder above data/",
)


def study(name):
    """A study of the published predictions, as its file has it, with the files where they are."""
    config = configuration(name)
    for spec in config["datasets"].values():
        spec["file"] = str(DATA / Path(spec["file"]).name)
    return load(config)


def results(study, pair):
    """The replication table of a pair of a study."""
    pair = study.pairs[pair]
    specs = (study.datasets[name] for name in (pair.original, pair.replication))
    sets = (dataset_accuracies(spec, list(study.models)) for spec in specs)
    return tabulate_replication(*sets, pair)
