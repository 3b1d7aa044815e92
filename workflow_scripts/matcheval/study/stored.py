"""A name means the same in all studies that share a results folder.

Datasets, checkpoints and predictions lie there by name, for all studies. If a name meant two
things, every run of either study would build its own over the other's, trainings included.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from matcheval.errors import InputError, configuration_error
from matcheval.inference.settings import deciding
from matcheval.io.files import atomic_file
from matcheval.study.contents import STUDIES_FOLDER
from matcheval.study.study import Study


def meanings(study: Study) -> dict[str, dict[str, Any]]:
    """Return the definition of each name of a study."""
    models: dict[str, Any] = {}
    for name, model in study.models.items():
        if model.source is None:
            continue
        source = json.loads(model.source.to_json())
        models[name] = {"source": source, "inference": deciding(study.inference)}
        if name in study.trained:
            trained = study.trained[name]
            sets = {"train": trained.train_text, "validation": trained.validation_text}
            models[name] |= {"recipe": json.loads(model.recipe_json), "training": sets}
    specs = {name: spec for name, spec in study.datasets.items() if spec.has_images}
    datasets = {name: {"kind": spec.kind, **spec.options} for name, spec in specs.items()}
    listed = {n: file.identity for n, file in study.listed_downloads.items()}
    found: dict[str, Any] = {"dataset": datasets, "model": models, "published file": listed}
    for analysis in study.analyses.values():
        found |= analysis.shared_meanings
    return json.loads(json.dumps(found))  # no tuples


def check_shared_names(study: Study) -> None:
    """Compare a study's names with those of the other studies that ran in its results folder."""
    here = meanings(study)
    for file in sorted(Path(study.results, STUDIES_FOLDER).glob("*.json")):
        if file.stem == study.name:
            continue
        try:
            there = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise InputError(f"not readable ({error})", file=file, remedy="Delete it") from error
        for what, names in here.items():
            for name in sorted(set(names) & set(there.get(what, {}))):
                if difference := _difference(names[name], there[what][name]):
                    key, mine, other = difference
                    raise configuration_error(
                        f"{what} '{name}' differs from that of study '{file.stem}', which has run "
                        f"with the same results folder: {key} is {mine} here and {other} there. "
                        "Each study would overwrite the other's files",
                        field="results",
                        remedy="Rename one of them, or give this study a results folder of its "
                        f"own. If study '{file.stem}' is no more, or has changed as well, delete "
                        f"{file}",
                    )


def record_shared_names(study: Study) -> None:
    """Keep what a study's names stand for, for the studies that run after it."""
    with atomic_file(Path(study.results, STUDIES_FOLDER, f"{study.name}.json")) as path:
        path.write_text(json.dumps(meanings(study), indent=1, sort_keys=True), encoding="utf-8")


def _difference(here: Any, there: Any, key: str = "") -> tuple[str, str, str] | None:
    """The first key at which two values differ, and both values as JSON."""
    if isinstance(here, Mapping) and isinstance(there, Mapping):
        for part in sorted({*here, *there}):
            inner = f"{key}.{part}".lstrip(".")
            if found := _difference(here.get(part), there.get(part), inner):
                return found
        return None
    return None if here == there else (key, json.dumps(here), json.dumps(there))


# Of what prediction files name, what can change the last digits of results.
_SOFTWARE = ("matcheval", "numpy", "torch", "torchvision", "timm", "pillow")


def mixed_software(study: Study) -> str:
    """Return a warning if predictions of a study were made with different versions of software."""
    files: dict[str, dict[str, list[Path]]] = {name: {} for name in _SOFTWARE}
    for dataset in study.predicting.datasets:
        for model in study.predicting.models:
            file = Path(study.predictions_file(dataset, model))
            try:
                metadata = pq.read_schema(file).metadata or {}
            except (FileNotFoundError, pa.ArrowInvalid):
                continue  # a damaged file is refused by whatever reads it
            for name in _SOFTWARE:
                if version := metadata.get(name.encode(), b"").decode():
                    files[name].setdefault(version, []).append(file)
    mixed = {name: found for name, found in files.items() if len(found) > 1}
    if not mixed:
        return ""
    parts = [
        f"{name} " + " and ".join(f"{version} ({len(of)})" for version, of in sorted(found.items()))
        for name, found in mixed.items()
    ]
    fewest = min(next(iter(mixed.values())).values(), key=len)
    return (
        f"Prediction files were made with different versions of software: {'; '.join(parts)}. "
        "Their last digits may differ for that reason. Delete those of one version, such as "
        f"{fewest[0]}, to have them made again"
    )
