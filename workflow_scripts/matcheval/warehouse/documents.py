"""Documents of a warehouse, from its manifest alone: tables, notice, suite; figures, datasheet."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from matcheval.figures.saving import save_figure
from matcheval.io.files import atomic_file
from matcheval.io.formulas import marked_frame
from matcheval.io.tables import write_table
from matcheval.io.text_tables import write_readable
from matcheval.names import is_name
from matcheval.warehouse import FIGURE_SUFFIXES, TABLE_SUFFIXES
from matcheval.warehouse.duplicates import DUPLICATES_SCHEMA
from matcheval.warehouse.figures import plot_classes, plot_origins, plot_samples
from matcheval.warehouse.manifest import IMAGES_SCHEMA, KEPT, STATUSES, UNSTATED, Warehouse
from matcheval.warehouse.settings import WarehouseSettings
from matcheval.warehouse.tables import SCHEMAS, tabulate, text_columns

# The questions of Gebru et al. (2021). What only people know is marked as open, so that a page with
# such marks is not finished.
_DATASHEET = Path(__file__).with_name("datasheet.md")
OPEN = "**To be written by people:**"


def document_warehouse(warehouse: Warehouse, folder: Path) -> None:
    """Write all documents of a built warehouse."""
    together = pa.concat_tables(
        IMAGES_SCHEMA.read(folder / "sets" / name / "images.parquet") for name in warehouse.sets
    )
    write_table(together, folder / "images.parquet")
    images = together.to_pandas()
    duplicates = DUPLICATES_SCHEMA.read(folder / "duplicates.parquet").to_pandas()
    tables = tabulate(warehouse, images, duplicates)
    for name, table in tables.items():
        paths = [folder / "tables" / f"{name}{suffix}" for suffix in TABLE_SUFFIXES]
        write_readable(table, SCHEMAS[name], text_columns, paths)
    settings, kept = warehouse.settings, images[images["status"] == KEPT]
    pages = {
        "NOTICE.md": _notice(settings, kept),
        "datasheet.md": _datasheet(settings, images, kept, tables),
        **{f"suite-{side}.csv": _suite(tables["sets"], settings, side, folder)
           for side in settings.export.sides},
    }  # fmt: skip
    for name, text in pages.items():
        with atomic_file(folder / name) as partial:
            partial.write_text(text, encoding="utf-8")
    _plot(warehouse, kept, tables, folder / "figures")


def _notice(settings: WarehouseSettings, kept: pd.DataFrame) -> str:
    counts: Any = kept.groupby(["source", "licence"]).size()
    lines = [
        f"# Notice: images of {settings.warehouse}", "",
        "Numbers of images by source and licence, as they were stated by whoever collected them. "
        "This is a list, not a permission: whether a licence permits a use is for its user to "
        "judge.", "", "| source | licence | images |", "| --- | --- | --: |",
        *(f"| {source or '–'} | {licence} | {n:,} |" for (source, licence), n in counts.items()),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _datasheet(
    settings: WarehouseSettings,
    images: pd.DataFrame,
    kept: pd.DataFrame,
    tables: Mapping[str, pd.DataFrame],
) -> str:
    """The datasheet, with numbers from the tables."""

    def listed(counts: pd.Series) -> str:
        return ", ".join(f"{name} {n:,}" for name, n in counts.items())

    sizes = tables["sets"]["n"]
    by_class = kept["class"].value_counts().reindex(list(settings.class_names), fill_value=0)
    by_status = images["status"].value_counts().reindex(list(STATUSES), fill_value=0)
    steps = dict(zip(tables["steps"]["finding"], tables["steps"]["n"], strict=True))
    leaks = [f"{steps[f'also in {x}']:,} images are also in `{x}`" for x in settings.against]
    without = {"url": "address", "retrieved": "date", "query": "query",
               "colour_query": "colour that was asked for"}  # fmt: skip
    missing = (f"{kept[c].isna().sum():,} images have no {x}" for c, x in without.items())
    origins = (
        f"{row['source'] or 'unnamed source'} ({row['style'] or 'no style'}) {row['n']:,}"
        for row in tables["origins"].to_dict("records")
    )
    queries = ", ".join(f"“{text}”" for text in tables["prompts"]["text"].head(20))
    dates = images["retrieved"].dropna()
    agreement = "; ".join(
        f"{row['first']} and {row['second']}, {row['n']:,} images: {100 * row['agreement']:.1f} % "
        + ("(κ not defined)" if row["kappa"] is None else f"(κ = {row['kappa']:.2f})")
        for row in tables["agreement"].to_dict("records")
    )
    if agreement:
        agreement = f"Agreement: {agreement}"
    squash = settings.export.fit == "squash"
    return _DATASHEET.read_text(encoding="utf-8").format(
        settings=settings, steps=steps, open=OPEN, marked=OPEN.strip("*"),
        n=len(kept), n_read=len(images), n_sets=len(sizes), n_groups=len(set(images["group"])),
        n_classes=len(by_class), smallest=sizes.min(), largest=sizes.max(), mean=sizes.mean(),
        n_incomplete=(tables["sets"]["absent_classes"] != "").sum(),
        n_blurred=(kept["blurred"] > 0).sum(),
        n_unblurred=((kept["blurred"] == 0) & (kept["reviewers"] > 0)).sum(),
        n_reviewed=(images["reviewers"] > 0).sum(),
        n_unstated=(kept["licence"] == UNSTATED).sum(),
        by_class=listed(by_class), by_licence=listed(kept["licence"].value_counts()),
        by_status=", ".join(f"{n:,} {status}" for status, n in by_status.items()),
        missing="; ".join(missing), origins="; ".join(origins),
        leaks="; ".join(leaks) or f"{OPEN} it was compared with no training set",
        queries=queries or f"{OPEN} the queries",
        dates=f"From {dates.min()} to {dates.max()}" if len(dates) else f"{OPEN} the dates",
        fit="resized to squares" if squash else "cropped to squares, resized",
        sides=" and ".join(f"{side} × {side}" for side in settings.export.sides),
        agreement=agreement or f"{OPEN} no image has decisions of two reviewers",
    )  # fmt: skip


def _plot(
    warehouse: Warehouse, kept: pd.DataFrame, tables: Mapping[str, pd.DataFrame], folder: Path
) -> None:
    figures = {
        "classes": plot_classes(tables["classes"]),
        "origins": plot_origins(tables["origins"]),
    }
    for group in dict.fromkeys(source.group for source in warehouse.sets.values()):
        title = f"samples-{group}" if is_name(group) else "samples"
        figures[title] = plot_samples(warehouse, kept, group)
    for name, figure in figures.items():
        save_figure(figure, *(folder / f"{name}{suffix}" for suffix in FIGURE_SUFFIXES))


def _suite(table: pd.DataFrame, settings: WarehouseSettings, side: int, folder: Path) -> str:
    """The manifest of a suite (docs/datasets.md), with a row per set."""
    rows = []
    for row in table.to_dict("records"):
        place = folder / "sets" / row["set"] / str(side)
        absent = row["absent_classes"].split(";")
        present = ";".join(name for name in settings.class_names if name not in absent)
        rows.append({
            "name": row["set"], "group": row["group"], "subgroup": row["source"],
            "source": row["source"], "style": row["style"], "colour": row["colour"] or "",
            "classes": present if row["absent_classes"] else "",
            "images": place / "images.npy", "labels": place / "labels.npy",
        })  # fmt: skip
    return marked_frame(pd.DataFrame(rows)).to_csv(index=False, lineterminator="\n")
