"""A worklist for reviewers: contact sheets by set and class, and a table for their decisions."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from matcheval.errors import InputError
from matcheval.figures.contact_sheet import Picture, plot_contact_sheet
from matcheval.figures.saving import save_figure
from matcheval.io.files import atomic_file
from matcheval.predictions.files import read_predictions
from matcheval.warehouse.decisions import COLUMNS
from matcheval.warehouse.figures import thumbnail
from matcheval.warehouse.manifest import KEPT, PENDING
from matcheval.warehouse.settings import WarehouseSettings
from matcheval.warehouse.source_sets import SourceSet

_PER_ROW, _ROWS = 10, 6
_FACTS = ("sheet", "position", "set", "class_given", "status", "why")


def write_worklist(
    settings: WarehouseSettings,
    sets: Mapping[str, SourceSet],
    images: pd.DataFrame,
    folder: Path,
    *,
    pending_only: bool = False,
    predictions: str | None = None,
) -> int:
    """Write contact sheets of the images to review, and the table for decisions."""
    file = folder / "worklist.csv"
    if file.exists():
        raise InputError(
            "is there already, and may hold decisions", file=file, remedy="Name another folder"
        )
    wanted = [PENDING] if pending_only else [PENDING, KEPT]
    chosen = images[images["status"].isin(wanted)]
    if chosen.empty:
        raise InputError("no image is waiting for review", file=settings.warehouse)
    rows: list[dict[str, Any]] = []
    for (name, class_name), mine in chosen.groupby(["set", "class_given"], sort=False):
        doubts = np.zeros(len(mine)) if predictions is None else _doubts(mine, images, predictions)
        mine = mine.iloc[np.argsort(-doubts, kind="stable")]
        for number, start in enumerate(range(0, len(mine), _PER_ROW * _ROWS), 1):
            page = mine.iloc[start : start + _PER_ROW * _ROWS].to_dict("records")
            sheet = f"{name}/{class_name}-{number}.png"
            _write_sheet(page, sets[str(name)], settings, folder / sheet)
            rows += [_row(record, sheet, place) for place, record in enumerate(page, 1)]
    with atomic_file(file) as partial, partial.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, [*COLUMNS, *_FACTS], restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return len(rows)


def _row(record: Mapping[Any, Any], sheet: str, position: int) -> dict[str, Any]:
    return {
        "image_id": record["image_id"], "sheet": sheet, "position": position, "set": record["set"],
        "class_given": record["class_given"], "status": record["status"],
        "why": record["reason"] if isinstance(record["reason"], str) else "",
    }  # fmt: skip


def _write_sheet(
    page: Sequence[Mapping[Any, Any]], source: SourceSet, settings: WarehouseSettings, file: Path
) -> None:
    pictures = [
        Picture(
            thumbnail(source, record["path"], (), settings), str(position),
            marked=record["status"] == PENDING,
        )
        for position, record in enumerate(page, 1)
    ]  # fmt: skip
    lines = [pictures[start : start + _PER_ROW] for start in range(0, len(pictures), _PER_ROW)]
    title = f"{source.name}: {page[0]['class_given']}"
    save_figure(plot_contact_sheet(lines, title, "Framed: waiting for a decision."), file)


def _doubts(mine: pd.DataFrame, images: pd.DataFrame, pattern: str) -> np.ndarray[Any, Any]:
    """How sure a model is of another class; 2 for images that it has not seen, to come first."""
    name = mine["set"].iloc[0]
    file = Path(pattern.replace("{set}", name))
    kept = images[(images["set"] == name) & (images["status"] == KEPT)]
    found = read_predictions(file)
    if len(found) != len(kept):
        raise InputError(
            f"{len(found)} predictions for {len(kept)} kept images of '{name}'", file=file,
            remedy="Run the model on the set as it was exported last",
        )  # fmt: skip
    wrong = found.prediction != found.label
    doubts = pd.Series(np.where(wrong, found.probability, 0.0), index=kept.index)
    return doubts.reindex(mine.index, fill_value=2.0).to_numpy()
