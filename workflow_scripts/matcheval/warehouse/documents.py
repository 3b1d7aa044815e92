"""Documents of a warehouse, from its manifest alone: tables, notice, suite; figures, datasheet."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
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
from matcheval.warehouse.duplicates import DUPLICATES_SCHEMA
from matcheval.warehouse.figures import plot_classes, plot_origins, plot_samples
from matcheval.warehouse.manifest import (
    AGREEMENT_SCHEMA,
    DUPLICATE,
    IMAGES_SCHEMA,
    KEPT,
    PENDING,
    REJECTED,
    UNSTATED,
    Box,
    Decisions,
    tabulate_agreement,
)
from matcheval.warehouse.sets import SourceSet
from matcheval.warehouse.settings import WarehouseSettings
from matcheval.warehouse.tables import (
    CLASSES_SCHEMA,
    NOISE_SCHEMA,
    ORIGINS_SCHEMA,
    OVERVIEW_SCHEMA,
    PROBLEMS_SCHEMA,
    PROMPTS_SCHEMA,
    SETS_SCHEMA,
    STEPS_SCHEMA,
    WARNINGS_SCHEMA,
    tabulate_classes,
    tabulate_noise,
    tabulate_origins,
    tabulate_overview,
    tabulate_problems,
    tabulate_prompts,
    tabulate_sets,
    tabulate_steps,
    tabulate_warnings,
    text_columns,
)

OPEN = "**To be written by people:**"


def write_out_datasheet(
    settings: WarehouseSettings,
    sets: Mapping[str, SourceSet],
    images: pd.DataFrame,
    tables: Mapping[str, pd.DataFrame],
) -> str:
    """Write out the datasheet."""
    parts = (
        ("Motivation", _motivation()),
        ("Composition", _composition(settings, sets, images, tables)),
        ("Collection process", _collection(images, tables)),
        ("Preprocessing, cleaning, labelling", _cleaning(settings, images, tables)),
        ("Uses", _uses()),
        ("Distribution", _distribution(images)),
        ("Maintenance", _maintenance()),
    )
    lines = [
        f"# Datasheet: {settings.warehouse}", "",
        "Numbers are counted from the manifest, `images.parquet`. The questions are those of Gebru "
        f"et al. (2021), shortened. What is marked “{OPEN.strip('*')}” is missing; write the "
        "finished page to a file of your own, since this one is made again by every build.", "",
    ]  # fmt: skip
    for title, answers in parts:
        lines += [f"## {title}", ""]
        for question, answer in answers:
            lines += [f"**{question}** {answer}", ""]
    return "\n".join(lines)


_Answers = Iterator[tuple[str, str]]


def _motivation() -> _Answers:
    yield "For what purpose was it created?", f"{OPEN} task, and the gap that it fills."
    yield "Who created it, and who paid for it?", f"{OPEN} team, institution, funding."


def _composition(
    settings: WarehouseSettings,
    sets: Mapping[str, SourceSet],
    images: pd.DataFrame,
    tables: Mapping[str, pd.DataFrame],
) -> _Answers:
    kept = images[images["status"] == KEPT]
    sizes = tables["sets"]["n"]
    yield (
        "What are the instances?",
        f"{len(kept):,} images in {len(sets)} sets of {sizes.min():,} to {sizes.max():,} "
        f"(mean {sizes.mean():,.0f}), of {len(set(images['group']))} groups.",
    )
    counts = kept["class"].value_counts().reindex(list(settings.class_names), fill_value=0)
    listed = ", ".join(f"{name} {n:,}" for name, n in counts.items())
    yield "What labels do they have?", f"One of {len(counts)} classes: {listed}."
    absent = int((tables["sets"]["absent_classes"] != "").sum())
    yield (
        "Is it a sample of a larger set?",
        f"{OPEN} how many results of each query were taken, and which were not. {absent} of "
        f"{len(sets)} sets have no images of some class.",
    )
    yield "Is information missing?", _missing(kept)
    copies = tables["steps"].set_index("finding")["n"]
    yield (
        "Are there relations between instances, errors, noise or redundancies?",
        f"{copies['exact copies in a set']:,} exact and {copies['near copies in a set']:,} near "
        f"copies within sets were left out; {copies['also in an earlier set']:,} images are also "
        f"in another set. Reviewers rejected {copies['rejected by people']:,} images and "
        f"relabelled {copies['relabelled']:,} (`tables/noise.csv`); all other "
        "labels are those that images were collected for.",
    )
    leaks = [
        f"{copies[f'also in {name}']:,} images are also in `{name}`" for name in settings.against
    ]
    yield (
        "Are there recommended splits? Does it overlap with training data?",
        f"It is for testing. {'; '.join(leaks) or f'{OPEN} it was compared with no training set'}.",
    )
    unblurred = int(((kept["blurred"] == 0) & (kept["reviewers"] > 0)).sum())
    yield (
        "Does it contain data that is confidential, offensive, or identifies people?",
        f"{OPEN} who looked for faces, number plates and unsafe images, and how. Boxes were "
        f"blurred in {int((kept['blurred'] > 0).sum()):,} of {len(kept):,} images; {unblurred:,} "
        "reviewed images have no blurred box.",
    )


def _missing(kept: pd.DataFrame) -> str:
    parts = [
        f"{kept[column].isna().sum():,} images have no {name}"
        for column, name in (
            ("url", "address"), ("retrieved", "date"), ("query", "query"),
            ("colour_query", "colour that was asked for"),
        )
    ]  # fmt: skip
    return f"{'; '.join(parts)}."


def _collection(images: pd.DataFrame, tables: Mapping[str, pd.DataFrame]) -> _Answers:
    origins = "; ".join(
        f"{row['source'] or 'unnamed source'} ({row['style'] or 'no style'}) {row['n']:,}"
        for row in tables["origins"].to_dict("records")
    )
    yield "How was it acquired?", f"Kept images by source and style: {origins}."
    prompts = tables["prompts"]
    texts = ", ".join(f"“{text}”" for text in prompts["text"].head(20))
    yield "By what queries or prompts?", f"{texts}." if len(prompts) else f"{OPEN} the queries."
    dates = images["retrieved"].dropna()
    when = f"From {dates.min()} to {dates.max()}." if len(dates) else f"{OPEN} the dates."
    yield "Over what time?", when
    yield "Who collected it, and were they paid?", f"{OPEN} people, and their compensation."
    yield "Was there an ethical review? Did people consent?", f"{OPEN} review, notice, consent."


def _cleaning(
    settings: WarehouseSettings, images: pd.DataFrame, tables: Mapping[str, pd.DataFrame]
) -> _Answers:
    by_status = images["status"].value_counts()
    counts = ", ".join(
        f"{int(by_status.get(each, 0)):,} {each}" for each in (KEPT, PENDING, REJECTED, DUPLICATE)
    )
    fit = "resized to squares" if settings.export.fit == "squash" else "cropped to squares, resized"
    sides = " and ".join(f"{side} × {side}" for side in settings.export.sides)
    yield (
        "What was done to the data?",
        f"Of {len(images):,} files: {counts} (`tables/steps.md`). Kept images were converted to "
        f"RGB, {fit} (bicubic, antialiased), and exported with {sides} pixels. Near copies have "
        f"hashes that differ in at most {settings.duplicates.distance} of 64 bits.",
    )
    agreement = tables["agreement"].to_dict("records")
    told = "; ".join(
        f"{row['first']} and {row['second']}, {row['n']:,} images: {100 * row['agreement']:.1f} % "
        + ("(κ not defined)" if row["kappa"] is None else f"(κ = {row['kappa']:.2f})")
        for row in agreement
    )
    reviewed = int((images["reviewers"] > 0).sum())
    yield (
        "Who labelled it, and how well do they agree?",
        f"People decided on {reviewed:,} of {len(images):,} files. "
        + (f"Agreement: {told}." if told else f"{OPEN} no image has decisions of two reviewers."),
    )
    yield "Is the raw data kept?", f"{OPEN} where, and for how long."


def _uses() -> _Answers:
    yield "What has it been used for, and what else could it be?", f"{OPEN} uses."
    yield "What should it not be used for?", f"{OPEN} uses that it is not fit for, and why."


def _distribution(images: pd.DataFrame) -> _Answers:
    kept = images[images["status"] == KEPT]
    counts = ", ".join(f"{name} {n:,}" for name, n in kept["licence"].value_counts().items())
    unstated = int((kept["licence"] == UNSTATED).sum())
    yield (
        "Under which licences?",
        f"As stated by their sources: {counts} (`NOTICE.md`); {unstated:,} are not stated. {OPEN} "
        "whether these permit what you intend.",
    )
    yield "How, when and to whom will it be given?", f"{OPEN} address, date, conditions."


def _maintenance() -> _Answers:
    yield "Who maintains it, and how can they be reached?", f"{OPEN} contact."
    yield "Will it be corrected, and how are images taken out on request?", f"{OPEN} procedure."


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
