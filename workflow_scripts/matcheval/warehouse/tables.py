"""Tables of a warehouse, all counted from its manifest; one has published suites beside it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from matcheval.io.tables import Column, TableSchema
from matcheval.io.text_tables import TextColumn
from matcheval.io.user_files import read_yaml_list
from matcheval.warehouse.duplicates import ACROSS, CONFLICT, COPY, LEAKED
from matcheval.warehouse.images import PROBLEMS
from matcheval.warehouse.manifest import (
    AGREEMENT_SCHEMA,
    DISAGREE,
    KEPT,
    LEAK,
    LICENCE,
    REJECTED,
    STATUSES,
    UNREVIEWED,
    Warehouse,
    tabulate_agreement,
)
from matcheval.warehouse.settings import WarehouseSettings


def _text(name: str, meaning: str, *, nullable: bool = False) -> Column:
    return Column(name, pa.string(), "", meaning, nullable)


def _count(name: str, meaning: str, unit: str = "images") -> Column:
    return Column(name, pa.int64(), unit, meaning)


_SET = _text("set", "name of the set")
_GROUP = _text("group", "its group")
_IMAGE = _text("image_id", "name of the image")

_TABLES: dict[str, tuple[Any, ...]] = {
    "overview": (
        "size of suites",
        _text("suite", "its name"),
        _count("n_sets", "number of sets (domains)", "sets"),
        _count("n", "test images"),
        _count("n_classes", "classes that it has images of", "classes"),
        Column("side", pa.string(), "pixels",
               "height and width of the images; empty if they vary"),
        _text("origin", "built here, or published: Sun et al. (2024), Table 1"),
    ),
    "prompts": (
        "queries and prompts",
        _text("group", "group of sets"),
        _text("style", "their style"),
        _text("text", "query or prompt, with placeholders"),
        _count("n_sets", "sets that were collected by it", "sets"),
        _count("n", "kept images that were"),
    ),
    "sets": (
        "sets of a warehouse",
        _SET,
        _GROUP,
        _text("source", "where its images come from"),
        _text("style", "their style"),
        _text("colour", "colour that was asked for", nullable=True),
        _count("n_read", "files that were read"),
        _count("n", "of these, kept"),
        _count("n_pending", "of these, waiting for a decision"),
        _count("n_rejected", "of these, rejected"),
        _count("n_duplicate", "of these, copies"),
        _count("n_relabelled", "kept under another class than they came with"),
        _count("n_reviewed", "decided on by a person"),
        _count("n_blurred", "kept, with blurred boxes"),
        _count("largest_class", "kept images of the largest class"),
        _count("smallest_class", "of the smallest class that is not absent"),
        _text("absent_classes", "classes without kept images, separated by ;"),
        Column("colour_agreement", pa.float64(), "fraction",
               "kept images whose measured colour is the one asked for; null if none was",
               nullable=True),
    ),
    "classes": (
        "kept images by set and class",
        _SET, _GROUP, _text("class", "name of the class"), _count("n", "kept images"),
    ),
    "origins": (
        "kept images by origin",
        _text("source", "where the images come from"),
        _text("style", "their style"),
        _count("n_sets", "sets of this origin", "sets"),
        _count("n", "kept images"),
    ),
    "steps": (
        "what each step found",
        _text("step", "step of the build"),
        _text("finding", "what was found"),
        _count("n", "how many"),
    ),
    "warnings": ("warnings", _SET, _text("warning", "what is remarkable")),
    "problems": (
        "files that are not taken, or not as they are",
        _SET,
        _IMAGE,
        _text("path", "class and file name"),
        _text("problem", "empty, unreadable, huge, too small, animated or misnamed"),
    ),
    "noise": (
        "noise record: images that reviewers rejected or relabelled",
        _SET,
        _IMAGE,
        _text("class_given", "class that it was collected for"),
        _text("class", "corrected class; empty if it was rejected"),
        _text("reason", "reviewers' reason", nullable=True),
    ),
}  # fmt: skip
SCHEMAS = {key: TableSchema(name, tuple(columns)) for key, (name, *columns) in _TABLES.items()}
SCHEMAS["agreement"] = AGREEMENT_SCHEMA

PUBLISHED = Path(__file__).with_name("published_suites.yaml")


def tabulate(
    warehouse: Warehouse, images: pd.DataFrame, duplicates: pd.DataFrame
) -> dict[str, pd.DataFrame]:
    """Make all tables (`SCHEMAS`) by name, of Python's own values with None for what is missing."""
    settings = warehouse.settings
    kept = images[images["status"] == KEPT]
    by_set = _sets(warehouse, images)
    tables = {
        "overview": _overview(settings, kept),
        "prompts": tabulate_prompts(kept),
        "sets": by_set,
        "classes": _classes(warehouse, kept),
        "origins": _origins(by_set),
        "steps": _steps(images, duplicates, list(settings.against)),
        "warnings": _warnings(by_set, settings),
        "problems": _problems(images),
        "noise": _noise(images),
        "agreement": tabulate_agreement(warehouse.reviews.values(), settings.review.arbiter),
    }
    return {
        name: table[SCHEMAS[name].names].astype(object).where(table.notna(), None)
        for name, table in tables.items()
    }


def _overview(settings: WarehouseSettings, kept: pd.DataFrame) -> pd.DataFrame:
    """The size of a warehouse beside those of Sun et al. (2024), Table 1."""
    own = (
        settings.warehouse, kept["set"].nunique(), len(kept), kept["class"].nunique(),
        ", ".join(map(str, settings.export.sides)), "built here",
    )  # fmt: skip
    rows = [own, *((*row, "published") for row in read_yaml_list(PUBLISHED))]
    return pd.DataFrame(rows, columns=SCHEMAS["overview"].names)


def tabulate_prompts(kept: pd.DataFrame) -> pd.DataFrame:
    """List the texts that images were found or generated by: Sun et al. (2024), Table 4."""
    kept = kept[kept["query"].notna()]
    texts = []
    for text, *values in zip(kept["query"], kept["class_given"], kept["colour_query"], strict=True):
        for name, value in zip(("class", "colour"), values, strict=True):
            if isinstance(value, str) and value:
                text = text.replace(value, f"{{{name}}}")
        texts.append(text)
    grouped = kept.assign(text=texts).groupby(["group", "style", "text"], sort=False)["set"]
    return grouped.agg(n_sets="nunique", n="size").reset_index()


def _sets(warehouse: Warehouse, images: pd.DataFrame) -> pd.DataFrame:
    """Counts of the images of each set."""
    rows, by_set = [], dict(list(images.groupby("set")))
    for name, source in warehouse.sets.items():
        mine = by_set.get(name, images.iloc[:0])
        kept = mine[mine["status"] == KEPT]
        counts = kept["class"].value_counts()
        counts = counts.reindex(list(warehouse.settings.class_names), fill_value=0)
        present, asked = counts[counts > 0], source.colour
        rows.append({
            "set": name, "group": source.group, "source": source.source, "style": source.style,
            "colour": asked, "n_read": len(mine), "n": len(kept),
            **{f"n_{status}": int((mine["status"] == status).sum())
               for status in STATUSES if status != KEPT},
            "n_relabelled": int((kept["class"] != kept["class_given"]).sum()),
            "n_reviewed": int((mine["reviewers"] > 0).sum()),
            "n_blurred": int((kept["blurred"] > 0).sum()),
            "largest_class": int(counts.max()),
            "smallest_class": int(present.min()) if len(present) else 0,
            "absent_classes": ";".join(counts.index[counts == 0]),
            "colour_agreement": float((kept["colour_measured"] == asked).mean())
            if asked is not None and len(kept) else None,
        })  # fmt: skip
    return pd.DataFrame(rows, columns=SCHEMAS["sets"].names).astype(
        {"colour": object, "colour_agreement": object}
    )


def _classes(warehouse: Warehouse, kept: pd.DataFrame) -> pd.DataFrame:
    """Kept images of each set and class, absent classes included."""
    counts = kept.groupby(["set", "class"]).size().to_dict()
    rows = [
        (name, source.group, class_name, int(counts.get((name, class_name), 0)))
        for name, source in warehouse.sets.items()
        for class_name in warehouse.settings.class_names
    ]
    return pd.DataFrame(rows, columns=SCHEMAS["classes"].names)


def _origins(table: pd.DataFrame) -> pd.DataFrame:
    """Kept images of each source and style."""
    grouped = table.groupby(["source", "style"], sort=False)["n"]
    return grouped.agg(n_sets="size", n="sum").reset_index()


def _steps(
    images: pd.DataFrame, duplicates: pd.DataFrame, references: Sequence[str]
) -> pd.DataFrame:
    """What each step of a build found; zeros are listed, too."""

    def reasons(reason: str) -> int:
        return int((images["reason"] == reason).sum())

    def found(finding: str, **where: str) -> int:
        rows = duplicates["finding"] == finding
        for column, value in where.items():
            rows &= duplicates[column] == value
        return int(duplicates.loc[rows, "image_id"].nunique())

    reviewed = images["reviewers"] > 0
    by_people = reviewed & (images["status"] == REJECTED) & (images["reason"] != LICENCE)
    rows = [
        ("decode", "files", len(images)),
        *(("decode", problem, reasons(problem)) for problem in PROBLEMS),
        ("decode", "animated, first frame taken", int(images["animated"].sum())),
        ("decode", "wrongly named", int(images["misnamed"].sum())),
        ("decode", "images", int(images["sha256"].notna().sum())),
        ("duplicates", "exact copies in a set", found(COPY, match="exact")),
        ("duplicates", "near copies in a set", found(COPY, match="near")),
        ("duplicates", "one picture, two classes in a set", found(CONFLICT)),
        ("duplicates", "also in an earlier set", found(ACROSS)),
        *(("duplicates", f"also in {name}", found(LEAKED, other_set=name)) for name in references),
        ("review", "decided on by people", int(reviewed.sum())),
        ("review", "rejected by people", int(by_people.sum())),
        ("review", "relabelled", int((images["class"] != images["class_given"]).sum())),
        ("review", "reviewers disagree", reasons(DISAGREE)),
        ("review", "not reviewed, and waiting", reasons(UNREVIEWED)),
        ("export", "left out for their licence", reasons(LICENCE)),
        ("export", "left out as leaked", reasons(LEAK)),
        ("export", "with blurred boxes", int((images["blurred"] > 0).sum())),
        *(("result", status, int((images["status"] == status).sum())) for status in STATUSES),
    ]
    return pd.DataFrame(rows, columns=SCHEMAS["steps"].names)


def _warnings(table: pd.DataFrame, settings: WarehouseSettings) -> pd.DataFrame:
    """What is remarkable of the sets."""
    limits = settings.warnings
    rows: list[tuple[Any, str]] = []
    for row in table.to_dict("records"):
        ratio = row["largest_class"] / row["smallest_class"] if row["smallest_class"] else 0
        absent = row["absent_classes"].replace(";", ", ")
        told = {
            f"{row['n']:,} images, fewer than {limits.smallest:,}": row["n"] < limits.smallest,
            f"{row['n']:,} images, more than {limits.largest:,}": row["n"] > limits.largest,
            f"no images of {absent}": absent,
            f"the largest class is {ratio:.1f} times the smallest": ratio > limits.imbalance,
            f"{row['n_pending']:,} images wait for a decision": row["n_pending"],
        }
        rows += [(row["set"], text) for text, is_so in told.items() if is_so]
    return pd.DataFrame(rows, columns=SCHEMAS["warnings"].names)


def _problems(images: pd.DataFrame) -> pd.DataFrame:
    """Files that are not taken, or only their first frame, or that are wrongly named."""
    parts = [
        images[images["reason"].isin(PROBLEMS)].assign(problem=lambda part: part["reason"]),
        images[images["animated"]].assign(problem="animated"),
        images[images["misnamed"]].assign(problem="misnamed"),
    ]
    return pd.concat(parts).sort_index(kind="stable")


def _noise(images: pd.DataFrame) -> pd.DataFrame:
    """Images that reviewers rejected or relabelled: the noise record."""
    relabelled = images["class"] != images["class_given"]
    rejected = (images["reviewers"] > 0) & (images["status"] == REJECTED) & ~relabelled
    noise = images[relabelled | (rejected & (images["reason"] != LICENCE))].copy()
    noise.loc[rejected.reindex(noise.index), "class"] = ""
    return noise


def text_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Lay out any of these tables for readers."""
    columns = []
    for name in table.columns:
        values = table[name].tolist()
        numeric = any(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
        cells = [_cell(value, is_fraction=name != "kappa") for value in values]
        columns.append(TextColumn(name.replace("_", " "), cells, is_number=numeric))
    return columns


def _cell(value: object, *, is_fraction: bool) -> str:
    if value is None or value != value or value == "":
        return "–"
    if isinstance(value, float):
        return f"{100 * value:.1f} %" if is_fraction else f"{value:.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
