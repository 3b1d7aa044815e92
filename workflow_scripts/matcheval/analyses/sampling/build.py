"""Sample a new test set from a pool of images, and record where each image came from."""

import json
import logging
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from matcheval.analyses.sampling import image_search, selection
from matcheval.analyses.sampling import settings as schemas
from matcheval.analyses.sampling.annotations import ORIGINS, classes_by_image, refuse_unknown
from matcheval.analyses.sampling.selection import POOL, Image, Pool, PoolMetadata
from matcheval.analyses.sampling.settings import SamplingSettings
from matcheval.datasets.dataset import Dataset, take_images
from matcheval.datasets.folders import read_dataset, write_dataset
from matcheval.errors import InputError
from matcheval.io.files import readable
from matcheval.io.tables import write_table
from matcheval.io.user_files import read_csv_rows, read_yaml
from matcheval.settings import read_settings

LOGGER = logging.getLogger(__name__)


def sample(
    *, name: str, candidates: Path, original: Path, settings: str, output: Path,
    against: Sequence[Path] = (), frequencies: Path | None = None, keywords: Path | None = None,
    blacklist: Path | None = None, near_duplicates: Path | None = None,
    previous: Path | None = None, provenance: Path | None = None, excluded: Path | None = None,
    strata: Path | None = None,
) -> Mapping[str, Any]:  # fmt: skip
    """Sample a test set and write it, with tables of its provenance.

    Parameters
    ----------
    name : str
        Name of the new test set.
    candidates : path-like, a folder
        The pool: folder of a dataset.
    original : path-like, a folder
        Folder of the set that is replicated.
    settings : str
        YAML file that says how it is sampled: strategy, per_class and further settings of datasets
        of kind sampled (docs/analyses.md#sampling); or the same as a JSON object.
    output : path-like, a folder
        The new dataset's folder.
    against : sequence of path-like, folders
        Further datasets: no sampled image may be a near duplicate of theirs.
    frequencies : path-like
        Selection frequencies, written by `count`.
    keywords : path-like
        CSV file with columns origin, image, keyword.
    blacklist : path-like
        CSV file with a column image.
    near_duplicates : path-like
        CSV file with columns image, set, other.
    previous : path-like
        Provenance table of an earlier version to start from.
    provenance, excluded, strata : path-like
        Table to write; by default beside the folder, as DIR.provenance.parquet and so on.
    """
    is_json = settings.lstrip().startswith("{")
    with readable("'--settings'", "a JSON object"):
        options = json.loads(settings) if is_json else read_yaml(settings)
    built = build_test_set(
        name,
        read_dataset(candidates),
        read_dataset(original),
        read_settings(SamplingSettings, options, file="settings" if is_json else settings),
        PoolMetadata(
            schemas.FREQUENCIES.read(frequencies).to_pandas() if frequencies else None,
            read_keywords(keywords) if keywords else None,
            [row["image"] for row in _read_full_rows(blacklist, ("image",))] if blacklist else (),
            read_near_duplicates(near_duplicates) if near_duplicates else (),
        ),
        against=[read_dataset(folder) for folder in against],
        previous=schemas.PROVENANCE.read(previous)["image"].to_pylist() if previous else (),
    )
    metadata = {"made_from": json.dumps(built.dataset.provenance)}
    written = [output]
    for key, file, schema, table in (
        ("provenance", provenance, schemas.PROVENANCE, built.provenance),
        ("excluded", excluded, schemas.EXCLUDED, built.excluded),
        ("strata", strata, schemas.STRATA, built.strata),
    ):
        path = file or output.with_name(f"{output.name}.{key}.parquet")
        write_table(schema.from_frame(table).replace_schema_metadata(metadata), path)
        written.append(path)
    write_dataset(built.dataset, output)
    for number, counts in enumerate(built.sampled.rounds, start=1):
        text = "round %d: %d new images, %d near duplicates found"
        LOGGER.info(text, number, *counts.values())
    digest = built.dataset.sha256[:16]
    LOGGER.info("%s: %d images, sha256 %s", name, len(built.dataset), digest)
    return {"written": list(map(str, written))}


def read_keywords(path: str | Path) -> dict[str, dict[str, str]]:
    """Read each image's keyword from a CSV file, by origin (pool or original) and image."""
    keywords: dict[str, dict[str, str]] = {origin: {} for origin in ORIGINS}
    for number, row in enumerate(_read_full_rows(path, ("origin", "image", "keyword"))):
        where = f"row {number} (from 0): "
        if row["origin"] not in ORIGINS:
            problem = f"{where}'{row['origin']}' is neither pool nor original"
            raise InputError(problem, file=path, field="origin")
        of_origin = keywords[row["origin"]]
        if of_origin.setdefault(row["image"], row["keyword"]) != row["keyword"]:
            raise InputError(f"{where}image '{row['image']}' has two keywords", file=path)
    return keywords


def read_near_duplicates(path: str | Path) -> list[tuple[Image, Image]]:
    """Read from a CSV file pairs of near duplicates: a candidate and an image of any set."""
    rows = _read_full_rows(path, ("image", "set", "other"))
    return [((POOL, row["image"]), (row["set"], row["other"])) for row in rows]


def _read_full_rows(path: str | Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """Read the rows of a CSV file; refuse one that has an empty cell in the columns."""
    rows = read_csv_rows(path, columns)
    for number, row in enumerate(rows):
        empty = [name for name in columns if not row[name]]
        if empty:
            raise InputError(f"row {number} (from 0): empty cell", file=path, field=empty[0])
    return rows


@dataclass(frozen=True)
class BuiltTestSet:
    """A new test set, with the tables that record how it was sampled."""

    dataset: Dataset
    provenance: pd.DataFrame
    excluded: pd.DataFrame
    strata: pd.DataFrame
    sampled: selection.Sampled


def build_test_set(
    name: str, candidates: Dataset, original: Dataset, settings: SamplingSettings,
    metadata: PoolMetadata, *, against: Sequence[Dataset] = (), previous: Collection[str] = (),
) -> BuiltTestSet:  # fmt: skip
    """Sample a test set from a pool, without near duplicates, and tabulate how it was sampled."""
    references = [original, *against]
    for dataset in references:
        if dataset.classes != candidates.classes:
            different = sorted(set(dataset.classes) ^ set(candidates.classes))
            what = f"classes {different[:6]}" if different else "class orders"
            problem = f"{what} differ: all sets must have the pool's classes, in the same order"
            raise InputError(problem, file=f"{candidates.name}, {dataset.name}")
    for origin, dataset in zip(ORIGINS, (candidates, original), strict=True):
        with_keywords = (metadata.keywords or {}).get(origin, {})
        of = f" of '{dataset.name}'"
        refuse_unknown(with_keywords, dataset.names, "image", of=of, field="keywords")
    classes = classes_by_image(candidates), classes_by_image(original)
    pool = selection.build_pool(*classes, candidates.classes, settings, metadata)
    find, distance = None, settings.max_distance
    if distance is not None:
        find = near_duplicate_finder(candidates, references, distance, settings.compare_size)
    sampled = selection.sample_in_rounds(
        pool, settings, find=find, reviewed=metadata.near_duplicates, previous=previous
    )
    # Shuffled, so that a leading part of the set has all classes, too.
    chosen = list(sampled.drawn_for)
    random.Random(f"{settings.seed} order").shuffle(chosen)
    row = {image: i for i, image in enumerate(candidates.names)}
    rows = [row[image] for image in chosen]
    dataset = take_images(
        candidates, rows, name=name,
        source=f"{settings.per_class} images per class of '{candidates.name}', sampled by "
        f"{settings.strategy.value} with seed {settings.seed}",
        provenance={
            "kind": "sampled",
            "settings": settings.model_dump(mode="json"),
            "pool": {"name": candidates.name, "sha256": candidates.sha256},
            "against": [{"name": d.name, "sha256": d.sha256} for d in references],
            "rounds": sampled.rounds,
        },
    )  # fmt: skip
    table = _tabulate_candidates(pool)
    provenance = table.loc[chosen].assign(
        index=np.arange(len(chosen)), pool_index=rows,
        drawn_for=[sampled.drawn_for[image] for image in chosen],
        round=[sampled.round_of[image] for image in chosen],
    )  # fmt: skip
    excluded, strata = _tabulate_excluded(table, pool, sampled), _tabulate_strata(pool, provenance)
    return BuiltTestSet(dataset, provenance[schemas.PROVENANCE.names], excluded, strata, sampled)


def _tabulate_candidates(pool: Pool) -> pd.DataFrame:
    """Tabulate all candidates, indexed by name."""
    rows = [
        (c.name, c.group, c.n_annotations, c.n_selected, c.frequency, c.stratum)
        for c in pool.by_name.values()
    ]
    names = ["image", "class", "n_annotations", "n_selected", "frequency", "stratum"]
    return pd.DataFrame(rows, list(pool.by_name), names)


def _tabulate_excluded(
    candidates: pd.DataFrame, pool: Pool, sampled: selection.Sampled
) -> pd.DataFrame:
    """Tabulate the candidates that were not eligible, each with the first reason that applies."""
    reasons = {
        name: (selection.NEAR_DUPLICATE, of, r) for name, (of, r) in sampled.duplicates.items()
    }
    reasons |= {c.name: (c.barred, "", 0) for c in pool.by_name.values() if c.barred}
    columns = ["reason", "detail", "round"]
    table = pd.DataFrame.from_dict(reasons, orient="index", columns=columns)
    return candidates.join(table, how="inner")[schemas.EXCLUDED.names]


def _tabulate_strata(pool: Pool, provenance: pd.DataFrame) -> pd.DataFrame:
    """Tabulate each stratum's target, the images sampled for it, and how many are its own."""
    rows = []
    for group, targets in pool.targets.items():
        sampled = provenance[provenance["class"] == group]
        for stratum, target in targets.items():
            drawn = sampled[sampled["drawn_for"] == stratum]
            n_original = pool.n_original[group].get(stratum, 0)
            n_own = int((drawn["stratum"] == stratum).sum())
            rows.append((group, stratum, n_original, target, len(drawn), n_own))
    return pd.DataFrame(rows, columns=schemas.STRATA.names)


def near_duplicate_finder(
    candidates: Dataset, references: Sequence[Dataset], distance: float, side: int | None
) -> selection.Finder:
    """Return a function that finds new candidates' near duplicates in references and the sample."""
    pool, *others = (
        image_search.with_pixel_array(dataset, side) for dataset in (candidates, *references)
    )
    for reference in others:
        image_search.check_same_range(reference, pool)
    pixels = np.asarray(pool.pixels)
    row = {name: i for i, name in enumerate(pool.names)}

    def find(new: Sequence[str], chosen: Sequence[str]) -> Iterator[tuple[Image, Image]]:
        """Yield pairs of a new candidate and a near duplicate, in a reference set or `chosen`."""
        images, sampled = (pixels[[row[name] for name in names]] for names in (new, chosen))
        for reference in others:
            for i, j in image_search.pairs_within(images, np.asarray(reference.pixels), distance):
                yield (POOL, new[i]), (reference.name, reference.names[j])
        for i, j in image_search.pairs_within(images, sampled, distance):
            if new[i] != chosen[j]:
                yield (POOL, new[i]), (POOL, chosen[j])

    return find
