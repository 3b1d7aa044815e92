"""Doubts about files that are there: mixed versions of software, no records of Snakemake."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from matcheval.study.study import Study

# Of what prediction files name, what can change the last digits of results.
_SOFTWARE = ("matcheval", "numpy", "torch", "torchvision", "timm", "pillow")


def mixed_software(study: Study) -> str:
    """Return a warning if predictions of a study were made with different versions of software."""
    files: dict[str, dict[str, list[Path]]] = {name: {} for name in _SOFTWARE}
    for dataset in study.predicting.collection_of:
        for model in study.predicting.batch_of:
            file = Path(study.predictions_file(dataset, model))
            metadata = _metadata(file)
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


def _metadata(file: Path) -> dict[bytes, bytes]:
    """What a prediction file says about itself; nothing if it is missing."""
    try:
        return pq.read_schema(file).metadata or {}
    except (FileNotFoundError, pa.ArrowInvalid):
        return {}  # a damaged file is refused by whatever reads it


def without_records(study: Study, records: Path) -> str:
    """Return a warning if there are results, and Snakemake has no records of how they were made."""
    has_records = any(records.glob("metadata/*")) or any(records.glob("*.db"))
    made = ("datasets", "checkpoints", "predictions", study.name)
    folders = [folder for name in made if any((folder := Path(study.results, name)).glob("*"))]
    if has_records or not folders:
        return ""
    return (
        f"{' and '.join(map(str, folders))} hold files, and {records} no records of how they were "
        "made: changes of settings and code since then cannot be noticed. Copy this folder along "
        "with results; to accept files as they are, add --touch to the command"
    )
