"""What stored results mean: names that studies share, and the settings that a study ran with.

Datasets, checkpoints and predictions lie in a results folder by name, for all studies. If a name
meant two things, every run of either study would build its own over the other's.

Snakemake remembers what files were made with in its working directory, by their paths. Of results
that were moved, renamed or mounted elsewhere it knows nothing, and a changed setting would repeat
no job. A study's folder therefore has a record of its settings, with the identity of the working
directory; in another one, the study must have the same settings.
"""

import json
import os
import uuid
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from matcheval.datasets.folders import read_description
from matcheval.errors import InputError, configuration_error
from matcheval.inference.settings import deciding
from matcheval.inference.store import ModelFiles, inputs_digest, recorded_inputs
from matcheval.io.self_digests import read_json, write_json
from matcheval.study.study import STUDIES_FOLDER, Study


def definitions(study: Study) -> dict[str, dict[str, Any]]:
    """Return the definitions of a study's names of datasets, models and files, by category."""
    models: dict[str, Any] = {}
    for name, model in study.models.items():
        if model.source is None:
            continue
        source = json.loads(model.source.to_json())
        models[name] = {"source": source, "inference": deciding(study.inference)}
        if name in study.trained:
            trained = study.trained[name]
            sets = {"train": "+".join(trained.train), "validation": "+".join(trained.validation)}
            models[name] |= {"recipe": json.loads(model.recipe_json), "training": sets}
    specs = {name: spec for name, spec in study.datasets.items() if spec.has_images}
    datasets = {name: {"kind": spec.kind, **spec.options} for name, spec in specs.items()}
    listed = {n: file.identity for n, file in study.listed_downloads.items()}
    by_kind: dict[str, Any] = {"dataset": datasets, "model": models, "published file": listed}
    for analysis in study.analyses.values():
        by_kind |= analysis.shared_meanings
    return json.loads(json.dumps(by_kind))  # no tuples


def check_shared_names(study: Study) -> None:
    """Refuse names that other studies in the same results folder define differently."""
    ours = definitions(study)
    for file in sorted(Path(study.results, STUDIES_FOLDER).glob("*.json")):
        if file.stem == study.name:
            continue
        theirs = read_json(file, remedy="Delete it")
        for category, names in ours.items():
            for name in sorted(set(names) & set(theirs.get(category, {}))):
                if difference := _first_difference(names[name], theirs[category][name]):
                    key, our_value, their_value = difference
                    raise configuration_error(
                        f"{category} '{name}' differs from that of study '{file.stem}', which has "
                        f"run with the same results folder: {key} is {our_value} here and "
                        f"{their_value} there. Each study would overwrite the other's files",
                        field="results",
                        remedy="Rename one of them, or give this study a results folder of its "
                        f"own. If study '{file.stem}' is no more, or has changed as well, delete "
                        f"{file}",
                    )


def record_shared_names(study: Study) -> None:
    """Record a study's definitions in the results folder, for other studies to compare."""
    write_json(definitions(study), Path(study.results, STUDIES_FOLDER, f"{study.name}.json"))


def _first_difference(value: Any, other: Any, key: str = "") -> tuple[str, str, str] | None:
    """Return the first key at which two values differ, and both values as JSON; None if equal."""
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        for part in sorted({*value, *other}):
            inner = f"{key}.{part}".lstrip(".")
            if difference := _first_difference(value.get(part), other.get(part), inner):
                return difference
        return None
    return None if value == other else (key, json.dumps(value), json.dumps(other))


_RECORD = ".made_with.json"
# By study's folder: the last run, and whether Snakemake remembers all that is in the folder.
_MEMORY = Path(".snakemake", "matcheval-runs.json")
_KEPT = "trained models and predictions are kept elsewhere, and are not computed again"
_BUILDING = ("suites", "sampling", "features")  # blocks by which datasets are built
# Settings that results do not depend on.
_MACHINE_SETTINGS = {
    "": ("results", "mirror", "downloads", "models"),
    "training": ("device", "threads", "models_per_job", "channels_last", "save_minutes"),
    "inference": ("device", "threads", "batch_size", "models_per_job"),
}


def result_settings(study: Study, configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that a study's results depend on, with its models, for comparison."""
    settings = json.loads(json.dumps(configuration, default=str))
    for block, keys in _MACHINE_SETTINGS.items():
        place = settings.get(block) or {} if block else settings
        for key in keys:
            place.pop(key, None)
    defined = definitions(study)["model"]
    models = {n: defined.get(n, {}) | {"family": m.family} for n, m in study.models.items()}
    return settings | {"models": models}


def check_made_with(study: Study, configuration: Mapping[str, Any]) -> None:
    """Refuse results of other settings if Snakemake does not remember how they were made."""
    file, folder = Path(study.folder, _RECORD), Path(study.folder)
    if not file.is_file():
        # Of version 0.3, all that depends on predictions is made again.
        is_taken_over = (folder / "inference").is_dir() and study.predicting.datasets
        if not is_taken_over and any(not file.is_symlink() for file in folder.rglob("*.parquet")):
            problem = "it is not known what the results in here were made with"
            raise InputError(problem, file=folder, remedy=f"Delete {folder}: {_KEPT}")
        return
    record, memory = read_json(file), _read_memory().get(study.folder, {})
    if memory.get("is_whole") and memory["run"] == record["run"]:
        return
    now = result_settings(study, configuration)
    for before in record["settings"]:
        if difference := _first_difference(now, before):
            key, new_value, old_value = difference
            sets, earlier = now.get("datasets", {}), before.get("datasets", {})
            changed = [name for name in sets if sets[name] != earlier.get(name)]
            folders = [study.folder, *map(study.dataset_folder, changed)]
            if any(now.get(block) != before.get(block) for block in _BUILDING):
                folders = [study.folder, f"{study.results}/datasets"]
            raise InputError(
                f"these results were made with {key} {old_value}, and the study file says "
                f"{new_value}; as they were moved, or .snakemake was deleted, it is not known "
                "which of them are of which",
                file=study.folder,
                remedy=f"Set {key} back, or delete {' and '.join(folders)}: {_KEPT}",
            )


def record_made_with(
    study: Study, configuration: Mapping[str, Any], *, is_complete: bool = False
) -> None:
    """Record a run's settings in the study's folder; once it `is_complete`, drop earlier ones."""
    file, now = Path(study.folder, _RECORD), result_settings(study, configuration)
    memory, run = _read_memory(), uuid.uuid4().hex
    record = read_json(file) if file.is_file() else None
    last = memory.get(study.folder, {})
    is_same = record is not None and last.get("run") == record["run"]
    is_whole = record is None or (is_same and last["is_whole"])
    before = [] if is_complete or record is None else record["settings"]
    settings = [earlier for earlier in before if earlier != now] + [now]
    write_json(memory | {study.folder: {"run": run, "is_whole": is_whole}}, _MEMORY)
    write_json({"run": run, "settings": settings}, file)


def _read_memory() -> dict[str, Any]:
    """Read, by study's folder, the last run in this working directory."""
    return dict(read_json(_MEMORY, remedy="Delete it")) if _MEMORY.is_file() else {}


def check_restored(study: Study) -> None:
    """Refuse predictions that are not of the present weights, as if restored from a backup.

    Such files are older than the weights, but links to them are newer, so that Snakemake does not
    run the model again.
    """
    for model in study.predicting.models:
        place, source = study.weights_file(model), study.runnable[model].source
        if place is None or source is None:
            continue
        weights, digest = Path(place), ""
        for dataset in study.predicting.datasets:
            link = Path(study.predictions_file(dataset, model))
            folder = Path(study.dataset_folder(dataset))
            if not (link.is_file() and weights.is_file() and folder.is_dir()):
                continue
            linked, changed = link.lstat().st_mtime_ns, weights.stat().st_mtime_ns
            # Else Snakemake runs the model again.
            is_taken = linked > weights.lstat().st_mtime_ns and linked > changed
            if not is_taken or link.stat().st_mtime_ns >= changed:
                continue
            digest = digest or ModelFiles(source, weights).digest()
            inputs = inputs_digest(digest, read_description(folder), deciding(study.inference))
            if recorded_inputs(link) != inputs:
                raise InputError(
                    f"these are not predictions of {weights}, as it is now",
                    file=link.resolve(),
                    remedy=f"Delete it and {study.folder}/predictions, which has links only",
                )  # fmt: skip


def check_links(study: Study) -> None:
    """Refuse links to files that no longer exist, which Snakemake takes for files."""
    base, results = Path(study.folder), Path(study.results)
    names_in = cache(lambda folder: set(os.listdir(folder)) if folder.is_dir() else set())  # noqa: PTH208
    places = [(base / "checkpoints", results / "checkpoints")]  # of links, and of the files
    for folder in filter(Path.is_dir, sorted(base.glob("datasets/*/*"))):
        places.append((folder, results / "datasets" / folder.name))
    for folder in (*base.glob("predictions/*"), *base.glob("tested/*/*")):
        if folder.name in study.predicting.suites:  # there, a folder of a model has all sets
            models = {f"{name}{suffix}": name for name in names_in(folder)
                      for suffix in study.predicting.suffixes}  # fmt: skip
            for dataset in study.predicting.suites[folder.name]:
                present = names_in(results / "predictions" / dataset)
                for file in models.keys() - present:
                    link = folder / models[file] / (dataset + file.removeprefix(models[file]))
                    if link.is_symlink():
                        _refuse_link(
                            link, results / "predictions" / dataset / file, base / "predictions"
                        )
        else:
            places.append((folder, results / "predictions" / folder.name))
    for links, files in places:
        for name in sorted(names_in(links) - names_in(files)):
            if (links / name).is_symlink():
                _refuse_link(links / name, files / name, base / links.relative_to(base).parts[0])


def _refuse_link(link: Path, file: Path, folder: Path) -> None:
    raise InputError(
        f"no such file, to which {link} is a link", file=file,
        remedy=f"Delete {folder}, which has links only: what is missing is made again, and all "
        "else is kept",
    )  # fmt: skip


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
    mixed = {name: by_version for name, by_version in files.items() if len(by_version) > 1}
    if not mixed:
        return ""
    parts = [
        f"{name} "
        + " and ".join(f"{version} ({len(paths)})" for version, paths in sorted(by_version.items()))
        for name, by_version in mixed.items()
    ]
    fewest = min(next(iter(mixed.values())).values(), key=len)
    return (
        f"Prediction files were made with different versions of software: {'; '.join(parts)}. "
        "Their last digits may differ for that reason. Delete those of one version, such as "
        f"{fewest[0]}, to have them made again"
    )
