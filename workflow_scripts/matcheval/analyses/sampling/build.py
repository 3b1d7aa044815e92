"""From files to a new test set: annotations simulated and counted, images sampled and recorded."""

import json
import logging
import random
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from matcheval.analyses.near_duplicates.search import (
    Pixels,
    check_same_range,
    labelled_pixels,
    nearest_neighbours,
    pairs_within,
    structural_similarity,
)
from matcheval.analyses.sampling.annotations import (
    ASSIGNMENTS,
    ORIGINS,
    check_annotations,
    class_centres,
    control_accuracy,
    lay_out_tasks,
    likeness_probabilities,
    read_annotations,
    refuse_unknown,
    selection_frequencies,
    simulate_annotations,
)
from matcheval.analyses.sampling.pool import NEAR_DUPLICATE, Pool, build_pool
from matcheval.analyses.sampling.rounds import POOL, Finder, Image, Sampled, sample_in_rounds
from matcheval.analyses.sampling.settings import (
    ANNOTATIONS,
    EXCLUDED,
    FREQUENCIES,
    PROVENANCE,
    STRATA,
    SamplingSettings,
)
from matcheval.datasets.dataset import Dataset, take_images
from matcheval.datasets.folders import read_dataset, write_dataset
from matcheval.errors import InputError
from matcheval.io.tables import write_table
from matcheval.io.user_files import read_csv_rows, read_yaml
from matcheval.settings import read_settings

LOGGER = logging.getLogger(__name__)
Keywords = Mapping[str, Mapping[str, str]]  # by origin and image


def simulate_to_file(
    candidates: str,
    original: str,
    output: str,
    *,
    seed: int = 0,
    assignments: int = ASSIGNMENTS,
    positive_rounds: int = 1,
    compare_size: int | None = None,
) -> list[str]:
    """Simulate workers' annotations for a pool, with probabilities that depend on the pixels."""
    pool, base = read_dataset(candidates), read_dataset(original)
    rng = np.random.default_rng(seed)
    shown = lay_out_tasks(_by_class(pool), _by_class(base), rng, positive_rounds=positive_rounds)
    known = labelled_pixels(base, compare_size)
    centres = class_centres(np.asarray(known.pixels), known.labels, len(base.classes))
    in_question = np.array([base.classes.index(name) for name in shown["class"]], np.int64)
    probability = np.empty(len(shown))
    for origin, of in (("pool", labelled_pixels(pool, compare_size)), ("original", known)):
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
    return [output]


def count_to_file(
    annotations: str, candidates: str, original: str, output: str, *, repeated: str = "refuse"
) -> list[str]:
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
    positive, negative = control_accuracy(frequencies, _class_of(base))
    LOGGER.info(
        "%d annotations without %d repeated ones; %.1f %% of the positive controls and %.1f %% "
        "of the negative ones were annotated correctly",
        len(checked), left_out, 100 * positive, 100 * negative,
    )  # fmt: skip
    return [output]


def sample_to_files(
    name: str,
    candidates: str,
    original: str,
    settings: str,
    output: str,
    *,
    against: Sequence[str] = (),
    frequencies: str | None = None,
    keywords: str | None = None,
    blacklist: str | None = None,
    near_duplicates: str | None = None,
    previous: str | None = None,
    provenance: str | None = None,
    excluded: str | None = None,
    strata: str | None = None,
) -> list[str]:
    """Sample a test set and write it, with tables of its provenance; return what is written."""
    is_json = settings.lstrip().startswith("{")
    try:
        given = json.loads(settings) if is_json else read_yaml(settings)
    except json.JSONDecodeError as error:
        raise InputError(f"not a JSON object ({error})", field="--settings") from error
    checked = read_settings(SamplingSettings, given, file="settings" if is_json else settings)
    built = build_test_set(
        name,
        read_dataset(candidates),
        read_dataset(original),
        checked,
        PoolMetadata(
            FREQUENCIES.read(frequencies).to_pandas() if frequencies else None,
            read_keywords(keywords) if keywords else None,
            [row["image"] for row in _full_rows(blacklist, ("image",))] if blacklist else (),
            read_near_duplicates(near_duplicates) if near_duplicates else (),
        ),
        against=[read_dataset(folder) for folder in against],
        previous=PROVENANCE.read(previous)["image"].to_pylist() if previous else (),
    )
    metadata = {"made_from": json.dumps(built.dataset.provenance)}
    beside = output.rstrip("/")
    tables = {
        provenance or f"{beside}.provenance.parquet": PROVENANCE.from_frame(built.provenance),
        excluded or f"{beside}.excluded.parquet": EXCLUDED.from_frame(built.excluded),
        strata or f"{beside}.strata.parquet": STRATA.from_frame(built.strata),
    }
    for path, table in tables.items():
        write_table(table.replace_schema_metadata(metadata), path)
    write_dataset(built.dataset, Path(output))
    for number, of_round in enumerate(built.sampled.rounds, start=1):
        LOGGER.info(
            "round %d: %d new images, %d near duplicates found",
            number, of_round.n_new, of_round.n_duplicates,
        )  # fmt: skip
    LOGGER.info("%s: %d images, sha256 %s", name, len(built.dataset), built.dataset.sha256[:16])
    return [output, *tables]


def read_keywords(path: str | Path) -> dict[str, dict[str, str]]:
    """Read the keywords of images, by origin and image."""
    keywords: dict[str, dict[str, str]] = {origin: {} for origin in ORIGINS}
    for number, row in enumerate(_full_rows(path, ("origin", "image", "keyword"))):
        if row["origin"] not in ORIGINS:
            raise InputError(
                f"row {number} (from 0): '{row['origin']}' is neither pool nor original",
                file=path, field="origin",
            )  # fmt: skip
        known = keywords[row["origin"]]
        if known.setdefault(row["image"], row["keyword"]) != row["keyword"]:
            raise InputError(
                f"row {number} (from 0): image '{row['image']}' has two keywords", file=path
            )
    return keywords


def read_near_duplicates(path: str | Path) -> list[tuple[Image, Image]]:
    """Read pairs of near duplicates."""
    rows = _full_rows(path, ("image", "set", "other"))
    return [((POOL, row["image"]), (row["set"], row["other"])) for row in rows]


def _full_rows(path: str | Path, needed: Sequence[str]) -> list[dict[str, str]]:
    rows = read_csv_rows(path, needed)
    for number, row in enumerate(rows):
        empty = [name for name in needed if not row[name]]
        if empty:
            raise InputError(f"row {number} (from 0): empty cell", file=path, field=empty[0])
    return rows


@dataclass(frozen=True)
class PoolMetadata:
    """What is known about the candidates and the images of the original set."""

    frequencies: pd.DataFrame | None = None
    keywords: Keywords | None = None
    blacklist: Collection[str] = ()
    near_duplicates: Collection[tuple[Image, Image]] = ()


@dataclass(frozen=True)
class BuiltTestSet:
    """A new test set and the record of its sampling."""

    dataset: Dataset
    provenance: pd.DataFrame
    excluded: pd.DataFrame
    strata: pd.DataFrame
    sampled: Sampled


def build_test_set(
    name: str,
    candidates: Dataset,
    original: Dataset,
    settings: SamplingSettings,
    metadata: PoolMetadata,
    *,
    against: Sequence[Dataset] = (),
    previous: Collection[str] = (),
) -> BuiltTestSet:
    """Build a test set by sampling from a pool."""
    references = [original, *against]
    for dataset in references:
        if dataset.classes != candidates.classes:
            different = sorted(set(dataset.classes) ^ set(candidates.classes))
            what = f"classes {different[:6]}" if different else "class orders"
            raise InputError(
                f"{what} differ: all sets must have the pool's classes, in the same order",
                file=f"{candidates.name}, {dataset.name}",
            )
    keywords = metadata.keywords
    for origin, dataset in (("pool", candidates), ("original", original)):
        named = (keywords or {}).get(origin, {})
        of = f" of '{dataset.name}'"
        refuse_unknown(named, dataset.names, "image", of=of, field="keywords")
    pool = build_pool(
        _class_of(candidates),
        candidates.classes,
        settings,
        frequencies=metadata.frequencies,
        original=_class_of(original),
        keywords=None if keywords is None else keywords.get("pool", {}),
        original_keywords=None if keywords is None else _keyword_counts(keywords, original),
        blacklist=metadata.blacklist,
    )
    find = None
    if settings.compares_pixels:
        pixels = [labelled_pixels(one, settings.compare_size) for one in (candidates, *references)]
        find = pixel_finder(pixels[0], pixels[1:], settings)
    sampled = sample_in_rounds(
        pool, settings, find=find, known=metadata.near_duplicates, previous=previous
    )
    # Shuffled, so that a leading part of the set has all classes, too.
    chosen = list(sampled.drawn_for)
    random.Random(f"{settings.seed} order").shuffle(chosen)
    row = {image: i for i, image in enumerate(candidates.names)}
    rows = [row[image] for image in chosen]
    record: dict[str, Any] = {
        "kind": "sampled",
        "settings": settings.model_dump(mode="json"),
        "pool": {"name": candidates.name, "sha256": candidates.sha256},
        "against": [{"name": one.name, "sha256": one.sha256} for one in references],
        "rounds": [asdict(one) for one in sampled.rounds],
    }
    dataset = take_images(
        candidates,
        rows,
        name=name,
        source=f"{settings.per_class} images per class of '{candidates.name}', sampled by "
        f"{settings.strategy.value} with seed {settings.seed}",
        provenance=record,
    )
    known = _candidates_table(pool)
    provenance = (
        known.loc[chosen]
        .reset_index()
        .assign(
            index=np.arange(len(chosen)),
            pool_index=rows,
            drawn_for=[sampled.drawn_for[image] for image in chosen],
            round=[sampled.came_in[image] for image in chosen],
        )
    )
    return BuiltTestSet(
        dataset,
        provenance[PROVENANCE.names],
        _excluded(known, pool, sampled),
        _strata(pool, provenance),
        sampled,
    )


def _class_of(dataset: Dataset) -> dict[str, str]:
    names = (dataset.classes[label] for label in dataset.labels)
    return dict(zip(dataset.names, names, strict=True))


def _by_class(dataset: Dataset) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {name: [] for name in dataset.classes}
    for image, group in _class_of(dataset).items():
        groups[group].append(image)
    return groups


def _keyword_counts(keywords: Keywords, original: Dataset) -> dict[str, dict[str, int]]:
    """Count the images of the original set by class and keyword."""
    known = keywords.get("original", {})
    return {
        group: dict(Counter(known[image] for image in images if image in known))
        for group, images in _by_class(original).items()
    }


def _candidates_table(pool: Pool) -> pd.DataFrame:
    """Tabulate all candidates, indexed by name."""
    rows: list[dict[str, Any]] = [
        {
            "image": c.name,
            "class": group,
            "n_annotations": c.n_annotations,
            "n_selected": c.n_selected,
            "frequency": float(c.frequency),
            "stratum": c.stratum,
        }
        for group, of_class in pool.candidates.items()
        for c in of_class
    ]
    return pd.DataFrame(rows).set_index("image", drop=False).rename_axis(None)


def _excluded(known: pd.DataFrame, pool: Pool, sampled: Sampled) -> pd.DataFrame:
    """Tabulate the candidates that were not eligible, each with the first reason that applies."""
    found = {name: (NEAR_DUPLICATE, of, r) for name, (of, r) in sampled.duplicates.items()}
    reasons = found | {name: (reason, "", 0) for name, reason in pool.barred.items()}
    table = known[known["image"].isin(reasons)].copy()
    for i, column in enumerate(("reason", "detail", "round")):
        table[column] = [reasons[image][i] for image in table["image"]]
    return table.reset_index(drop=True)[EXCLUDED.names]


def _strata(pool: Pool, provenance: pd.DataFrame) -> pd.DataFrame:
    """Compare each stratum's target with what was sampled for it."""
    rows = []
    for group, targets in pool.targets.items():
        of_class = provenance[provenance["class"] == group]
        for stratum, target in targets.items():
            drawn = of_class[of_class["drawn_for"] == stratum]
            n_original = pool.of_original.get(group, {}).get(stratum, 0)
            n_own = int((drawn["stratum"] == stratum).sum())
            rows.append((group, stratum, n_original, target, len(drawn), n_own))
    return pd.DataFrame(rows, columns=STRATA.names)


def pixel_finder(
    candidates: Dataset, references: Sequence[Dataset], settings: SamplingSettings
) -> Finder:
    """Return what compares new candidates with reference sets and the other sampled candidates."""
    for reference in references:
        check_same_range(reference, candidates)
    every = np.asarray(candidates.pixels)
    row = {name: i for i, name in enumerate(candidates.names)}

    def pairs(queries: Pixels, others: Pixels, neighbours: int) -> set[tuple[int, int]]:
        found: set[tuple[int, int]] = set()
        if settings.max_distance is not None:
            found |= {(i, j) for i, j, _ in pairs_within(queries, others, settings.max_distance)}
        if settings.min_ssim is not None and len(others):
            k = min(neighbours, len(others))
            index = nearest_neighbours(queries, others, k).index.ravel()
            rows = np.repeat(np.arange(len(queries)), k)
            similarity = structural_similarity(queries[rows], others[index], candidates.max_value)
            alike = similarity >= settings.min_ssim
            found |= set(zip(rows[alike].tolist(), index[alike].tolist(), strict=True))
        return found

    def find(new: Sequence[str], chosen: Sequence[str]) -> Iterator[tuple[Image, Image]]:
        images, others = (every[[row[name] for name in names]] for names in (new, chosen))
        for reference in references:
            for i, j in pairs(images, np.asarray(reference.pixels), settings.neighbours):
                yield (POOL, new[i]), (reference.name, reference.names[j])
        # One neighbour more, since the new images are among the others: each is its own nearest.
        for i, j in pairs(images, others, settings.neighbours + 1):
            if new[i] != chosen[j]:
                yield (POOL, new[i]), (POOL, chosen[j])

    return find
