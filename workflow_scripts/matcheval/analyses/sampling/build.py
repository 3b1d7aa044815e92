"""Build a new test set from a pool of images, metadata about them, and a sampling strategy."""

import json
import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from matcheval.analyses.near_duplicates.images import labelled_pixels
from matcheval.analyses.sampling.duplicate_search import PixelFinder
from matcheval.analyses.sampling.duplicates import Image
from matcheval.analyses.sampling.pool import NEAR_DUPLICATE, Pool, build_pool
from matcheval.analyses.sampling.rounds import Finder, Sampled, sample_in_rounds
from matcheval.analyses.sampling.schemas import EXCLUDED, PROVENANCE, STRATA
from matcheval.analyses.sampling.settings import SamplingSettings
from matcheval.datasets.dataset import Dataset, take_images
from matcheval.errors import InputError


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
