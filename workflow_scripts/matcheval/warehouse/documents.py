"""Documents of a warehouse, from its manifest alone: tables, notice, suite; figures, datasheet."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from matcheval.figures.saving import save_figure
from matcheval.io.files import atomic_file
from matcheval.io.tables import TableSchema, write_table
from matcheval.io.text_tables import write_readable
from matcheval.names import is_name
from matcheval.warehouse import FIGURE_SUFFIXES, TABLE_SUFFIXES
from matcheval.warehouse.boxes import Box
from matcheval.warehouse.datasheet import write_out_datasheet
from matcheval.warehouse.decisions import AGREEMENT_SCHEMA, Decisions, tabulate_agreement
from matcheval.warehouse.duplicates import DUPLICATES_SCHEMA
from matcheval.warehouse.figures import plot_classes, plot_origins, plot_samples
from matcheval.warehouse.manifest import IMAGES_SCHEMA, KEPT
from matcheval.warehouse.overview import (
    OVERVIEW_SCHEMA,
    PROMPTS_SCHEMA,
    tabulate_overview,
    tabulate_prompts,
)
from matcheval.warehouse.settings import WarehouseSettings
from matcheval.warehouse.source_sets import SourceSet
from matcheval.warehouse.tables import (
    CLASSES_SCHEMA,
    NOISE_SCHEMA,
    ORIGINS_SCHEMA,
    PROBLEMS_SCHEMA,
    SETS_SCHEMA,
    STEPS_SCHEMA,
    WARNINGS_SCHEMA,
    tabulate_classes,
    tabulate_noise,
    tabulate_origins,
    tabulate_problems,
    tabulate_sets,
    tabulate_steps,
    tabulate_warnings,
    text_columns,
)

Boxes = Mapping[str, Mapping[str, Sequence[Box]]]
_SUITE_COLUMNS = (
    "name", "group", "subgroup", "source", "style", "colour", "classes", "images", "labels",
)  # fmt: skip


def document_warehouse(
    settings: WarehouseSettings,
    sets: Mapping[str, SourceSet],
    decisions: Decisions,
    boxes: Boxes,
    folder: Path,
) -> None:
    """Write all documents of a built warehouse."""
    tables = [IMAGES_SCHEMA.read(folder / "sets" / name / "images.parquet") for name in sets]
    together = pa.concat_tables(tables)
    write_table(together, folder / "images.parquet")
    images = together.to_pandas()
    duplicates = DUPLICATES_SCHEMA.read(folder / "duplicates.parquet").to_pandas()
    found = _tables(settings, sets, images, duplicates)
    agreement = tabulate_agreement(decisions, settings.review.arbiter)
    found["agreement"] = (AGREEMENT_SCHEMA, agreement.to_pandas())
    found = {name: (each, _plain(table)) for name, (each, table) in found.items()}
    for name, (schema, table) in found.items():
        paths = [folder / "tables" / f"{name}{suffix}" for suffix in TABLE_SUFFIXES]
        write_readable(table, schema, text_columns, paths)
    _write_notice(settings, images, folder / "NOTICE.md")
    page = write_out_datasheet(
        settings, sets, images, {k: table for k, (_, table) in found.items()}
    )
    with atomic_file(folder / "datasheet.md") as partial:
        partial.write_text(page, encoding="utf-8")
    _plot(settings, sets, images, found, boxes, folder / "figures")
    for side in settings.export.sides:
        _write_suite(found["sets"][1], settings, side, folder)


def _tables(
    settings: WarehouseSettings,
    sets: Mapping[str, SourceSet],
    images: pd.DataFrame,
    duplicates: pd.DataFrame,
) -> dict[str, tuple[TableSchema, pd.DataFrame]]:
    classes = settings.class_names
    by_set = tabulate_sets(images, sets, classes)
    return {
        "overview": (OVERVIEW_SCHEMA, tabulate_overview(images, settings)),
        "prompts": (PROMPTS_SCHEMA, tabulate_prompts(images)),
        "sets": (SETS_SCHEMA, by_set),
        "classes": (CLASSES_SCHEMA, tabulate_classes(images, sets, classes)),
        "origins": (ORIGINS_SCHEMA, tabulate_origins(by_set)),
        "steps": (STEPS_SCHEMA, tabulate_steps(images, duplicates, list(settings.against))),
        "warnings": (WARNINGS_SCHEMA, tabulate_warnings(by_set, settings)),
        "problems": (PROBLEMS_SCHEMA, tabulate_problems(images)),
        "noise": (NOISE_SCHEMA, tabulate_noise(images)),
    }


def _plain(table: pd.DataFrame) -> pd.DataFrame:
    """Python's own values, None for what is missing."""
    return table.astype(object).where(table.notna(), None)


def _plot(
    settings: WarehouseSettings,
    sets: Mapping[str, SourceSet],
    images: pd.DataFrame,
    tables: Mapping[str, tuple[TableSchema, pd.DataFrame]],
    boxes: Boxes,
    folder: Path,
) -> None:
    figures = {
        "classes": plot_classes(tables["classes"][1]),
        "origins": plot_origins(tables["origins"][1]),
    }
    for group in dict.fromkeys(one.group for one in sets.values()):
        title = f"samples-{group}" if is_name(group) else "samples"
        figures[title] = plot_samples(images, sets, boxes, settings, group)
    for name, figure in figures.items():
        save_figure(figure, *(folder / f"{name}{suffix}" for suffix in FIGURE_SUFFIXES))


def _write_notice(settings: WarehouseSettings, images: pd.DataFrame, path: Path) -> None:
    kept = images[images["status"] == KEPT]
    counts: Any = kept.groupby(["source", "licence"]).size()
    lines = [
        f"# Notice: images of {settings.warehouse}", "",
        "Numbers of images by source and licence, as they were stated by whoever collected them. "
        "This is a list, not a permission: whether a licence permits a use is for its user to "
        "judge.", "", "| source | licence | images |", "| --- | --- | --: |",
        *(f"| {source or '–'} | {licence} | {n:,} |" for (source, licence), n in counts.items()),
    ]  # fmt: skip
    with atomic_file(path) as partial:
        partial.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_suite(table: pd.DataFrame, settings: WarehouseSettings, side: int, folder: Path) -> None:
    """Write the manifest of a suite (docs/suites.md), with a row per set."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _SUITE_COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in table.to_dict("records"):
        place = folder / "sets" / str(row["set"]) / str(side)
        absent = str(row["absent_classes"]).split(";")
        present = [name for name in settings.class_names if name not in absent]
        values: dict[str, Any] = {
            "name": row['set'], "group": row['group'], "subgroup": row['source'],
            "source": row['source'],
            "style": row['style'], "colour": row['colour'] or "",
            "classes": "" if not row['absent_classes'] else ";".join(present),
            "images": place / "images.npy", "labels": place / "labels.npy",
        }  # fmt: skip
        writer.writerow(values)
    with atomic_file(folder / f"suite-{side}.csv") as partial:
        partial.write_text(text.getvalue(), encoding="utf-8")
