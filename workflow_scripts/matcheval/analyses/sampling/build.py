"""Build a new test set from a pool of images, metadata about them, and a sampling strategy."""

import json
import logging
import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from matcheval.analyses.near_duplicates.search import (
    LabelledPixels,
    Pixels,
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
from matcheval.datasets.dataset import Dataset
from matcheval.datasets.folders import read_dataset, write_dataset
from matcheval.datasets.subsets import take_images
from matcheval.errors import InputError
from matcheval.io.csv_rows import read_csv_rows
from matcheval.io.tables import write_table


def read_keywords(path: str | Path) -> dict[str, dict[str, str]]:
    """Read the keywords of images."""
    keywords: dict[str, dict[str, str]] = {origin: {} for origin in ORIGINS}
    for number, row in enumerate(_full_rows(path, ("origin", "image", "keyword"))):
        if row["origin"] not in ORIGINS:
            raise InputError(
                f"row {number} (from 0): '{row['origin']}' is neither pool nor original",
                file=path,
                field="origin",
            )
        known = keywords[row["origin"]]
        if known.setdefault(row["image"], row["keyword"]) != row["keyword"]:
            raise InputError(
                f"row {number} (from 0): image '{row['image']}' has two keywords", file=path
            )
    return keywords


def read_blacklist(path: str | Path) -> list[str]:
    """Read the names of candidates that must not be sampled."""
    return [row["image"] for row in _full_rows(path, ("image",))]


def read_near_duplicates(path: str | Path) -> list[tuple[Image, Image]]:
    """Read pairs of near duplicates."""
    rows = _full_rows(path, ("image", "set", "other"))
    return [((POOL, row["image"]), (row["set"], row["other"])) for row in rows]


def read_previous(path: str | Path) -> list[str]:
    """Read the image names of an earlier version of a set from its provenance table."""
    images: list[str] = PROVENANCE.read(path)["image"].to_pylist()
    return images


def _full_rows(path: str | Path, needed: Sequence[str]) -> list[dict[str, str]]:
    rows = read_csv_rows(path, needed)
    for number, row in enumerate(rows):
        empty = [name for name in needed if not row[name]]
        if empty:
            raise InputError(f"row {number} (from 0): empty cell", file=path, field=empty[0])
    return rows


class PixelFinder:
    """Compare new candidates with the reference sets and with the other sampled candidates."""

    def __init__(
        self,
        candidates: LabelledPixels,
        references: Sequence[LabelledPixels],
        settings: SamplingSettings,
    ) -> None:
        for reference in references:
            if reference.max_value != candidates.max_value:
                raise InputError(
                    f"images with pixel values up to {reference.max_value} cannot be compared "
                    f"with images with values up to {candidates.max_value}",
                    file=f"{candidates.name}, {reference.name}",
                )
        self._candidates = candidates
        self._references = references
        self._settings = settings
        self._row = {name: i for i, name in enumerate(candidates.names)}

    def __call__(
        self, new: Collection[str], chosen: Collection[str]
    ) -> Iterator[tuple[Image, Image]]:
        """Find the near duplicates of new candidates."""
        new, chosen = list(new), list(chosen)
        images = self._pixels(new)
        for reference in self._references:
            for i, j in self._pairs(images, reference.pixels):
                yield (POOL, new[i]), (reference.name, reference.names[j])
        for i, j in self._pairs(images, self._pixels(chosen), among_themselves=True):
            if new[i] != chosen[j]:
                yield (POOL, new[i]), (POOL, chosen[j])

    def _pixels(self, names: Sequence[str]) -> Pixels:
        return self._candidates.pixels[[self._row[name] for name in names]]

    def _pairs(
        self, queries: Pixels, references: Pixels, *, among_themselves: bool = False
    ) -> set[tuple[int, int]]:
        found: set[tuple[int, int]] = set()
        if self._settings.max_distance is not None:
            close = pairs_within(queries, references, self._settings.max_distance)
            found |= {(i, j) for i, j, _ in close}
        if self._settings.min_ssim is not None and len(references):
            # One more where the queries are references too: each is its own nearest neighbour.
            k = min(self._settings.neighbours + among_themselves, len(references))
            index = nearest_neighbours(queries, references, k).index
            rows = np.repeat(np.arange(len(queries)), k)
            similarity = structural_similarity(
                queries[rows], references[index.ravel()], self._candidates.max_value
            )
            close_by = similarity >= self._settings.min_ssim
            pairs = zip(rows[close_by], index.ravel()[close_by], strict=True)
            found |= {(int(i), int(j)) for i, j in pairs}
        return found


@dataclass(frozen=True)
class PoolMetadata:
    """What is known about the candidates and the images of the original set."""

    frequencies: pd.DataFrame | None = None
    keywords: Mapping[str, Mapping[str, str]] | None = None
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
    for dataset in (original, *against):
        if dataset.classes != candidates.classes:
            different = sorted(set(dataset.classes) ^ set(candidates.classes))
            what = f"classes {different[:6]}" if different else "class orders"
            raise InputError(
                f"{what} differ: all sets must have the pool's classes, in the same order",
                file=f"{candidates.name}, {dataset.name}",
            )
    _refuse_unknown_images(metadata.keywords or {}, candidates, original)
    pool = build_pool(
        _class_of(candidates),
        candidates.classes,
        settings,
        frequencies=metadata.frequencies,
        original=_class_of(original),
        keywords=None if metadata.keywords is None else metadata.keywords.get("pool", {}),
        original_keywords=_keyword_counts(metadata.keywords, original),
        blacklist=metadata.blacklist,
    )
    sampled = sample_in_rounds(
        pool,
        settings,
        find=_finder(candidates, (original, *against), settings),
        known=metadata.near_duplicates,
        previous=previous,
    )
    return _describe(name, candidates, pool, sampled, settings, [original, *against])


def _class_of(dataset: Dataset) -> dict[str, str]:
    names = (dataset.classes[label] for label in dataset.labels)
    return dict(zip(dataset.names, names, strict=True))


def _keyword_counts(
    keywords: Mapping[str, Mapping[str, str]] | None, original: Dataset
) -> dict[str, dict[str, int]] | None:
    """Count the images of the original set by class and keyword."""
    if keywords is None:
        return None
    counts: dict[str, dict[str, int]] = {name: {} for name in original.classes}
    of_image = keywords.get("original", {})
    for image, group in _class_of(original).items():
        if image in of_image:
            of_class = counts[group]
            of_class[of_image[image]] = of_class.get(of_image[image], 0) + 1
    return counts


def _finder(
    candidates: Dataset, references: Iterable[Dataset], settings: SamplingSettings
) -> Finder | None:
    if not settings.compares_pixels:
        return None
    size = settings.compare_size
    return PixelFinder(
        labelled_pixels(candidates, size), [labelled_pixels(r, size) for r in references], settings
    )


def _describe(
    name: str,
    candidates: Dataset,
    pool: Pool,
    sampled: Sampled,
    settings: SamplingSettings,
    references: Sequence[Dataset],
) -> BuiltTestSet:
    """Shuffle the images, so that a leading part of the set has all classes too, and tabulate."""
    chosen = list(sampled.drawn_for)
    random.Random(f"{settings.seed} order").shuffle(chosen)
    row = {image: i for i, image in enumerate(candidates.names)}
    rows = [row[image] for image in chosen]
    record = {
        "kind": "sampled",
        "settings": settings.model_dump(mode="json"),
        "pool": {"name": candidates.name, "sha256": candidates.sha256},
        "against": [{"name": r.name, "sha256": r.sha256} for r in references],
        "rounds": [asdict(r) for r in sampled.rounds],
    }
    dataset = take_images(
        candidates,
        rows,
        name=name,
        source=f"{settings.per_class} images per class of '{candidates.name}', sampled by "
        f"{settings.strategy.value} with seed {settings.seed}",
        provenance=json.loads(json.dumps(record)),
    )
    known = _candidates_table(pool)
    provenance = known.loc[chosen].reset_index().assign(index=np.arange(len(chosen)))
    provenance["pool_index"] = rows
    provenance["drawn_for"] = [sampled.drawn_for[image] for image in chosen]
    provenance["round"] = [sampled.came_in[image] for image in chosen]
    return BuiltTestSet(
        dataset,
        provenance[PROVENANCE.names],
        _excluded(known, pool, sampled),
        _strata(pool, provenance),
        sampled,
    )


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


def _refuse_unknown_images(
    keywords: Mapping[str, Mapping[str, str]], candidates: Dataset, original: Dataset
) -> None:
    for origin, dataset in (("pool", candidates), ("original", original)):
        unknown = sorted(set(keywords.get(origin, {})) - set(dataset.names))
        if unknown:
            raise InputError(
                f"unknown images of '{dataset.name}' ({len(unknown)} in all): '{unknown[0]}'",
                field="keywords",
            )


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
