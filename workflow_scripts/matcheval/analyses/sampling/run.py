"""Sampling from files to files, as the rules and `matched-eval replicate` call it."""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from matcheval.analyses.near_duplicates.images import labelled_pixels
from matcheval.analyses.sampling.annotations import check_annotations, read_annotations
from matcheval.analyses.sampling.build import PoolMetadata, build_test_set
from matcheval.analyses.sampling.files import (
    read_blacklist,
    read_keywords,
    read_near_duplicates,
    read_previous,
)
from matcheval.analyses.sampling.frequencies import control_accuracy, selection_frequencies
from matcheval.analyses.sampling.schemas import (
    ANNOTATIONS,
    EXCLUDED,
    FREQUENCIES,
    PROVENANCE,
    STRATA,
)
from matcheval.analyses.sampling.settings import SamplingSettings
from matcheval.analyses.sampling.simulation import (
    ASSIGNMENTS,
    class_centres,
    lay_out_tasks,
    likeness_probabilities,
    simulate_annotations,
)
from matcheval.datasets.dataset import Dataset
from matcheval.datasets.folders import read_dataset, write_dataset
from matcheval.io.tables import write_table

LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True)
class SamplingFiles:
    """The files that a test set is sampled from; `read_dataset` reads the folders of datasets."""

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
    """Simulate workers' annotations for a pool, with probabilities that depend on the pixels."""
    pool, base = read_dataset(candidates), read_dataset(original)
    rng = np.random.default_rng(seed)
    shown = lay_out_tasks(_by_class(pool), _by_class(base), rng, positive_rounds=positive_rounds)
    images = {"pool": labelled_pixels(pool, compare_size)}
    images["original"] = labelled_pixels(base, compare_size)
    known = images["original"]
    centres = class_centres(known.pixels, known.labels, len(base.classes))
    in_question = np.array([base.classes.index(name) for name in shown["class"]], np.int64)
    probability = np.empty(len(shown))
    for origin, of in images.items():
        rows = np.flatnonzero(shown["origin"] == origin)
        at = shown["image"].iloc[rows].map({name: i for i, name in enumerate(of.names)})
        pixels = of.pixels[at.to_numpy(np.int64)]
        probability[rows] = likeness_probabilities(pixels, in_question[rows], centres)
    annotations = simulate_annotations(shown, probability, rng, assignments=assignments)
    metadata = {"simulated": "true", "seed": str(seed)}
    write_table(
        ANNOTATIONS.table({n: annotations[n].to_numpy() for n in ANNOTATIONS.names}, metadata),
        output,
    )
    LOGGER.info("simulated %d annotations of %d tasks", len(annotations), shown["task"].nunique())


def count_to_file(
    annotations: str, candidates: str, original: str, output: str, *, repeated: str = "refuse"
) -> None:  # fmt: skip
    """Count workers' annotations and write the selection frequencies."""
    pool, base = read_dataset(candidates), read_dataset(original)
    checked, left_out = check_annotations(
        read_annotations(annotations),
        {"pool": pool.names, "original": base.names},
        pool.classes,
        repeated=repeated,
        file=annotations,
    )
    frequencies = selection_frequencies(checked)
    write_table(FREQUENCIES.from_frame(frequencies), output)
    class_of = {name: base.classes[i] for name, i in zip(base.names, base.labels, strict=True)}
    positive, negative = control_accuracy(frequencies, class_of)
    LOGGER.info(
        "%d annotations without %d repeated ones; %.1f %% of the positive controls and %.1f %% "
        "of the negative ones were annotated correctly",
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
    """Sample a test set and write it, with tables of its provenance."""
    frequencies: pd.DataFrame | None = None
    if files.frequencies is not None:
        frequencies = FREQUENCIES.read(files.frequencies).to_pandas()
    built = build_test_set(
        name,
        read_dataset(files.candidates),
        read_dataset(files.original),
        settings,
        PoolMetadata(
            frequencies,
            read_keywords(files.keywords) if files.keywords else None,
            read_blacklist(files.blacklist) if files.blacklist else (),
            read_near_duplicates(files.near_duplicates) if files.near_duplicates else (),
        ),
        against=[read_dataset(folder) for folder in files.against],
        previous=read_previous(files.previous) if files.previous else (),
    )
    metadata = {"made_from": json.dumps(built.dataset.provenance)}
    for table, schema, path in (
        (built.provenance, PROVENANCE, provenance),
        (built.excluded, EXCLUDED, excluded),
        (built.strata, STRATA, strata),
    ):
        write_table(schema.from_frame(table).replace_schema_metadata(metadata), path)
    write_dataset(built.dataset, Path(output))
    for number, of_round in enumerate(built.sampled.rounds, start=1):
        LOGGER.info(
            "round %d: %d new images, %d near duplicates found",
            number, of_round.n_new, of_round.n_duplicates,
        )  # fmt: skip
    LOGGER.info("%s: %d images, sha256 %s", name, len(built.dataset), built.dataset.sha256[:16])


def _by_class(dataset: Dataset) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {name: [] for name in dataset.classes}
    for image, label in zip(dataset.names, dataset.labels, strict=True):
        groups[dataset.classes[label]].append(image)
    return groups
