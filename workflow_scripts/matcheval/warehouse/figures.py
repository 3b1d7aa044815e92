"""Figures of a warehouse: counts by class and origin, samples, contact sheets for reviewers."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from matcheval.errors import InputError
from matcheval.figures.contact_sheet import Picture, plot_contact_sheet
from matcheval.figures.saving import save_figure
from matcheval.figures.style import (
    NOTE_SIZE,
    fix_layout,
    new_figure,
    set_note,
    shortened,
    style,
)
from matcheval.io.delimited_text import marked_frame
from matcheval.io.files import atomic_file
from matcheval.io.text_tables import counted
from matcheval.warehouse.images import blur, decode_again, fit_square
from matcheval.warehouse.manifest import DECISION_COLUMNS, KEPT, PENDING, Box, Warehouse

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BOX, _BAR, _MARGIN = 1.7, 0.17, 0.8  # inches: heights
_MOST_CHARACTERS = 120  # of upright labels beside each other
_MOST_SETS = 12  # of a group on a sheet of samples
_PER_ROW, _ROWS = 10, 6  # of a reviewer's contact sheet
SAMPLE_SIDE = 64  # pixels
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")


def plot_classes(table: pd.DataFrame) -> "Figure":
    """Draw how many images the sets of a group have of each class: Sun et al. (2024), Figure 1B."""
    groups = [(str(name), part) for name, part in table.groupby("group", sort=False)]
    with style():
        figure = new_figure(6.8, _BOX * len(groups) + 0.4)
        panels = figure.subplots(len(groups), 1, squeeze=False)[:, 0]
        for axes, (group, part) in zip(panels, groups, strict=True):
            classes = part["class"].unique()
            values = [part.loc[part["class"] == name, "n"].to_numpy() for name in classes]
            axes.boxplot(
                values, widths=0.55, boxprops={"linewidth": 0.6}, whiskerprops={"linewidth": 0.6},
                capprops={"linewidth": 0.6}, flierprops={"markersize": 2, "markeredgewidth": 0.5},
                medianprops={"color": "#D55E00", "linewidth": 1.0},
            )  # fmt: skip
            characters = sum(len(name) + 2 for name in classes)
            axes.set_xticks(
                np.arange(1, len(classes) + 1), [shortened(name, 24) for name in classes],
                rotation=90 if characters > _MOST_CHARACTERS else 0, fontsize=NOTE_SIZE,
            )  # fmt: skip
            axes.set_ylim(bottom=0)
            axes.set_ylabel("Images")
            n_sets = counted(part["set"].nunique(), "set")
            axes.set_title(f"{group or 'no group'}: {n_sets}", loc="left")
        set_note(figure, "Boxes are quartiles over the sets of a group; kept images.")
        fix_layout(figure)
    return figure


def plot_origins(table: pd.DataFrame) -> "Figure":
    """Draw how many images come from each origin: Sun et al. (2024), Figure 6."""
    from matplotlib.ticker import MaxNLocator

    styles = list(dict.fromkeys(table["style"]))
    origins = zip(table["source"], table["style"], strict=True)
    names = [", ".join(filter(None, origin)) for origin in origins]
    with style():
        figure = new_figure(3.4, _BAR * len(table) + _MARGIN)
        axes = figure.subplots()
        position = np.arange(len(table))
        colours = [_COLOURS[styles.index(name) % len(_COLOURS)] for name in table["style"]]
        bars = axes.barh(position, table["n"], color=colours, height=0.7)
        axes.bar_label(bars, [f" {n:,}" for n in table["n"]], fontsize=6)
        axes.set_yticks(position, [shortened(name or "–") for name in names])
        axes.set_ylim(len(table) - 0.5, -0.5)
        axes.set_xlim(0, 1.18 * max(1, int(table["n"].max())))
        axes.grid(False, axis="y")
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.set_xlabel("Kept images")
        fix_layout(figure)
    return figure


def plot_samples(warehouse: Warehouse, kept: pd.DataFrame, group: str) -> "Figure":
    """Draw a sheet of samples, with a row per set: Sun et al. (2024), Figure 1C."""
    filled = set(kept["set"])
    sets = warehouse.sets
    names = [name for name in sets if sets[name].group == group and name in filled]
    evenly = np.linspace(0, len(names) - 1, min(len(names), _MOST_SETS)).round().astype(int)
    rows = []
    for name in (names[i] for i in np.unique(evenly)):
        first = kept[kept["set"] == name].drop_duplicates("class").set_index("class")
        row: list[Picture] = []
        for class_name in warehouse.settings.class_names:
            if class_name in first.index:
                record = first.loc[class_name]
                boxes = warehouse.reviews[name].boxes.get(record["image_id"], ())
                caption = class_name if row else f"{name}\n{class_name}"
                row.append(Picture(_thumbnail(warehouse, name, record["path"], boxes), caption))
        rows.append(row)
    return plot_contact_sheet(rows, group or warehouse.settings.warehouse)


def _thumbnail(
    warehouse: Warehouse, name: str, place: str, boxes: Sequence[Box] = ()
) -> npt.NDArray[np.uint8]:
    """An image of a set for a contact sheet, with its boxes blurred."""
    settings = warehouse.settings
    image = decode_again(warehouse.sets[name].file_at(place), settings.decoding)
    return np.asarray(fit_square(blur(image, boxes), SAMPLE_SIDE, settings.export.fit))


def write_worklist(
    warehouse: Warehouse, images: pd.DataFrame, folder: Path, *, pending_only: bool = False
) -> int:
    """Write contact sheets and a table for decisions; return the number of images to review."""
    file = folder / "worklist.csv"
    if file.exists():
        problem = "is there already, and may hold decisions"
        raise InputError(problem, file=file, remedy="Name another folder")
    chosen = images[images["status"].isin([PENDING] if pending_only else [PENDING, KEPT])]
    if chosen.empty:
        raise InputError("no image is waiting for review", file=warehouse.settings.warehouse)
    pages = []
    for (name, class_name), of_class in chosen.groupby(["set", "class_given"], sort=False):
        for number, start in enumerate(range(0, len(of_class), _PER_ROW * _ROWS), 1):
            page = of_class.iloc[start : start + _PER_ROW * _ROWS].copy()
            page["sheet"] = sheet = f"{name}/{class_name}-{number}.png"
            page["position"] = range(1, len(page) + 1)
            pictures = [
                Picture(_thumbnail(warehouse, str(name), row["path"]), str(row["position"]),
                        marked=row["status"] == PENDING)
                for row in page.to_dict("records")
            ]  # fmt: skip
            lines = [pictures[i : i + _PER_ROW] for i in range(0, len(pictures), _PER_ROW)]
            note = "Framed: waiting for a decision."
            save_figure(plot_contact_sheet(lines, f"{name}: {class_name}", note), folder / sheet)
            pages.append(page)
    rows = pd.concat(pages)
    rows["why"] = rows["reason"]
    rows[["decision", "reason", "class", "reviewer"]] = ""  # for people to fill in
    columns = [*DECISION_COLUMNS, "sheet", "position", "set", "class_given", "status", "why"]
    with atomic_file(file) as partial:
        marked_frame(rows[columns]).to_csv(partial, index=False, lineterminator="\n")
    return len(rows)
