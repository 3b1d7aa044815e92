"""Documents of a warehouse, from its manifest alone: tables, notice, suite; figures, datasheet."""

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from matcheval.io.files import atomic_file
from matcheval.io.tables import TableSchema, write_table
from matcheval.io.text_tables import write_readable
from matcheval.warehouse.decisions import AGREEMENT_SCHEMA, Decisions, tabulate_agreement
from matcheval.warehouse.duplicates import DUPLICATES_SCHEMA
from matcheval.warehouse.inputs import SourceSet
from matcheval.warehouse.manifest import IMAGES_SCHEMA, KEPT
from matcheval.warehouse.settings import WarehouseSettings
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

_SUITE_COLUMNS = (
    "name", "group", "subgroup", "source", "style", "colour", "classes", "images", "labels",
)  # fmt: skip


def document_warehouse(
    settings: WarehouseSettings,
    sets: Mapping[str, SourceSet],
    decisions: Decisions,
    folder: Path,
) -> None:
    """Write all documents of a built warehouse.

    Parameters
    ----------
    settings : WarehouseSettings
    sets : mapping of str to SourceSet
    decisions : mapping
        By set and image, for the agreement of reviewers.
    folder : Path
        Of the warehouse; has `duplicates.parquet` and `sets/<set>/images.parquet`.

    Raises
    ------
    InputError
        If a table is missing, or a file cannot be written.
    """
    tables = [IMAGES_SCHEMA.read(folder / "sets" / name / "images.parquet") for name in sets]
    images = pa.concat_tables(tables)
    write_table(images, folder / "images.parquet")
    duplicates = DUPLICATES_SCHEMA.read(folder / "duplicates.parquet").to_pandas()
    found = _tables(settings, sets, images.to_pandas(), duplicates)
    agreement = tabulate_agreement(decisions, settings.review.arbiter)
    found["agreement"] = (AGREEMENT_SCHEMA, agreement.to_pandas())
    for name, (schema, table) in found.items():
        table = table.astype(object).where(table.notna(), None)
        paths = [folder / "tables" / f"{name}{suffix}" for suffix in (".parquet", ".csv", ".md")]
        write_readable(table, schema, text_columns, paths)
    _write_notice(settings, images.to_pandas(), folder / "NOTICE.md")
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
        "sets": (SETS_SCHEMA, by_set),
        "classes": (CLASSES_SCHEMA, tabulate_classes(images, sets, classes)),
        "origins": (ORIGINS_SCHEMA, tabulate_origins(by_set)),
        "steps": (STEPS_SCHEMA, tabulate_steps(images, duplicates, list(settings.against))),
        "warnings": (WARNINGS_SCHEMA, tabulate_warnings(by_set, settings)),
        "problems": (PROBLEMS_SCHEMA, tabulate_problems(images)),
        "noise": (NOISE_SCHEMA, tabulate_noise(images)),
    }


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
