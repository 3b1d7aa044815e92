"""Names of the files that inference writes."""

from collections.abc import Sequence
from pathlib import Path

from matcheval.inference import OUTPUT_SUFFIXES


def predictions_file(folder: str | Path, dataset: str, model: str) -> Path:
    """Return the prediction file of a model on a dataset."""
    return output_files(folder, dataset, model, ())["predictions"]


def output_files(
    folder: str | Path, dataset: str, model: str, outputs: Sequence[str]
) -> dict[str, Path]:
    """Return the files of a model's results on a dataset, the predictions last."""
    stem = Path(folder, dataset, model)
    return {
        name: stem.with_name(f"{stem.name}{OUTPUT_SUFFIXES[name]}")
        for name in (*outputs, "predictions")
    }
