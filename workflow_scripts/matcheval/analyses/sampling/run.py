"""Sampling from files to files: what the rules and `matched-eval replicate` call."""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from matcheval.analyses.near_duplicates.images import labelled_pixels
from matcheval.analyses.sampling.annotations import check_answers, read_answers
from matcheval.analyses.sampling.build import Annotations, make_test_set
from matcheval.analyses.sampling.files import (
    read_blacklist,
    read_keywords,
    read_near_duplicates,
    read_previous,
)
from matcheval.analyses.sampling.frequencies import control_accuracy, selection_frequencies
from matcheval.analyses.sampling.schemas import ANSWERS, EXCLUDED, FREQUENCIES, PROVENANCE, STRATA
from matcheval.analyses.sampling.settings import SamplingSettings
from matcheval.analyses.sampling.simulation import (
    ASSIGNMENTS,
    class_centres,
    lay_out_tasks,
    likeness_probabilities,
    simulate_answers,
)
from matcheval.datasets.dataset import Dataset
from matcheval.datasets.folders import read_dataset, write_dataset
from matcheval.io.tables import write_table

LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True)
class SamplingFiles:
    """Files that a test set is sampled from; folders of datasets are as `read_dataset` takes them.

    Attributes
    ----------
    candidates, original : str
        Folders of the pool and of the set that is replicated.
    against : sequence of str
        Folders of further sets that nothing sampled may be in.
    frequencies, keywords, blacklist, near_duplicates, previous : str, optional
        Tables; see `sampling.files`.
    """

    candidates: str
    original: str
    against: Sequence[str] = ()
    frequencies: str | None = None
    keywords: str | None = None
    blacklist: str | None = None
    near_duplicates: str | None = None
    previous: str | None = None


def simulate_to_file(
    candidates: str,
    original: str,
    output: str,
    *,
    seed: int = 0,
    assignments: int = ASSIGNMENTS,
    positive_rounds: int = 1,
    compare_size: int | None = None,
) -> None:
    """Simulate workers' answers for a pool, by what its images look like.

    The arguments are as those of `simulation.lay_out_tasks` and `simulation.simulate_answers`.
    """
    pool, base = read_dataset(candidates), read_dataset(original)
    rng = np.random.default_rng(seed)
    shown = lay_out_tasks(_by_class(pool), _by_class(base), rng, positive_rounds=positive_rounds)
    images = {"pool": labelled_pixels(pool, compare_size)}
    images["original"] = labelled_pixels(base, compare_size)
    known = images["original"]
    centres = class_centres(known.pixels, known.labels, len(base.classes))
    asked = np.array([base.classes.index(name) for name in shown["class"]], np.int64)
    probability = np.empty(len(shown))
    for origin, of in images.items():
        rows = np.flatnonzero(shown["origin"] == origin)
        at = shown["image"].iloc[rows].map({name: i for i, name in enumerate(of.names)})
        pixels = of.pixels[at.to_numpy(np.int64)]
        probability[rows] = likeness_probabilities(pixels, asked[rows], centres)
    answers = simulate_answers(shown, probability, rng, assignments=assignments)
    metadata = {"simulated": "true", "seed": str(seed)}
    write_table(ANSWERS.table({n: answers[n].to_numpy() for n in ANSWERS.names}, metadata), output)
    LOGGER.info("%d answers to %d tasks, simulated", len(answers), shown["task"].nunique())


def count_to_file(
    answers: str, candidates: str, original: str, output: str, *, repeated: str = "refuse"
) -> None:  # fmt: skip
    """Count workers' answers: a table of selection frequencies (`schemas.FREQUENCIES`)."""
    pool, base = read_dataset(candidates), read_dataset(original)
    checked, left_out = check_answers(
        read_answers(answers),
        {"pool": pool.names, "original": base.names},
        pool.classes,
        repeated=repeated,
        file=answers,
    )
    frequencies = selection_frequencies(checked)
    write_table(FREQUENCIES.from_frame(frequencies), output)
    class_of = {name: base.classes[i] for name, i in zip(base.names, base.labels, strict=True)}
    positive, negative = control_accuracy(frequencies, class_of)
    LOGGER.info(
        "%d answers, %d repeated ones left out; of controls, %.1f %% of the positive and %.1f %% "
        "of the negative were answered right",
        len(checked), left_out, 100 * positive, 100 * negative,
    )  # fmt: skip


def sample_to_files(
    name: str,
    files: SamplingFiles,
    settings: SamplingSettings,
    *,
    output: str,
    provenance: str,
    excluded: str,
    strata: str,
) -> None:
    """Sample a test set: its folder, and tables of its provenance, strata and what is not in it."""
    frequencies: pd.DataFrame | None = None
    if files.frequencies is not None:
        frequencies = FREQUENCIES.read(files.frequencies).to_pandas()
    made = make_test_set(
        name,
        read_dataset(files.candidates),
        read_dataset(files.original),
        settings,
        Annotations(
            frequencies,
            read_keywords(files.keywords) if files.keywords else None,
            read_blacklist(files.blacklist) if files.blacklist else (),
            read_near_duplicates(files.near_duplicates) if files.near_duplicates else (),
        ),
        against=[read_dataset(folder) for folder in files.against],
        previous=read_previous(files.previous) if files.previous else (),
    )
    metadata = {"made_from": json.dumps(made.dataset.provenance)}
    for table, schema, path in (
        (made.provenance, PROVENANCE, provenance),
        (made.excluded, EXCLUDED, excluded),
        (made.strata, STRATA, strata),
    ):
        write_table(schema.from_frame(table).replace_schema_metadata(metadata), path)
    write_dataset(made.dataset, Path(output))
    for number, of_round in enumerate(made.sampled.rounds, start=1):
        LOGGER.info(
            "round %d: %d new images, %d near duplicates found",
            number, of_round.n_new, of_round.n_duplicates,
        )  # fmt: skip
    LOGGER.info("%s: %d images, sha256 %s", name, len(made.dataset), made.dataset.sha256[:16])


def _by_class(dataset: Dataset) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {name: [] for name in dataset.classes}
    for image, label in zip(dataset.names, dataset.labels, strict=True):
        groups[dataset.classes[label]].append(image)
    return groups
