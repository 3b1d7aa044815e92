"""Tables of a warehouse, all counted from its manifest: sets, classes, steps, origins, warnings."""

from collections.abc import Mapping, Sequence

import pandas as pd
import pyarrow as pa

from matcheval.io.tables import Column, TableSchema
from matcheval.io.text_tables import TextColumn
from matcheval.warehouse.duplicates import ACROSS, CONFLICT, COPY, LEAKED
from matcheval.warehouse.images import PROBLEMS
from matcheval.warehouse.manifest import (
    DISAGREE,
    DUPLICATE,
    KEPT,
    LEAK,
    LICENCE,
    PENDING,
    REJECTED,
    UNREVIEWED,
)
from matcheval.warehouse.sets import SourceSet
from matcheval.warehouse.settings import WarehouseSettings

_text, _count = pa.string(), pa.int64()
SETS_SCHEMA = TableSchema(
    "sets of a warehouse",
    (
        Column("set", _text, "", "name of the set"),
        Column("group", _text, "", "its group"),
        Column("source", _text, "", "where its images come from"),
        Column("style", _text, "", "their style"),
        Column("colour", _text, "", "colour that was asked for", nullable=True),
        Column("n_read", _count, "images", "files that were read"),
        Column("n", _count, "images", "of these, kept"),
        Column("n_pending", _count, "images", "of these, waiting for a decision"),
        Column("n_rejected", _count, "images", "of these, rejected"),
        Column("n_duplicate", _count, "images", "of these, copies"),
        Column("n_relabelled", _count, "images", "kept under another class than they came with"),
        Column("n_reviewed", _count, "images", "decided on by a person"),
        Column("n_blurred", _count, "images", "kept, with blurred boxes"),
        Column("largest_class", _count, "images", "kept images of the largest class"),
        Column("smallest_class", _count, "images", "of the smallest class that is not absent"),
        Column("absent_classes", _text, "", "classes without kept images, separated by ;"),
        Column("colour_agreement", pa.float64(), "fraction",
               "kept images whose measured colour is the one asked for; null if none was",
               nullable=True),
    ),
)  # fmt: skip
CLASSES_SCHEMA = TableSchema(
    "kept images by set and class",
    (
        Column("set", _text, "", "name of the set"),
        Column("group", _text, "", "its group"),
        Column("class", _text, "", "name of the class"),
        Column("n", _count, "images", "kept images"),
    ),
)
STEPS_SCHEMA = TableSchema(
    "what each step found",
    (
        Column("step", _text, "", "step of the build"),
        Column("finding", _text, "", "what was found"),
        Column("n", _count, "images", "how many"),
    ),
)
ORIGINS_SCHEMA = TableSchema(
    "kept images by origin",
    (
        Column("source", _text, "", "where the images come from"),
        Column("style", _text, "", "their style"),
        Column("n_sets", _count, "sets", "sets of this origin"),
        Column("n", _count, "images", "kept images"),
    ),
)
WARNINGS_SCHEMA = TableSchema(
    "warnings",
    (
        Column("set", _text, "", "name of the set"),
        Column("warning", _text, "", "what is remarkable"),
    ),
)
PROBLEMS_SCHEMA = TableSchema(
    "files that are not taken, or not as they are",
    (
        Column("set", _text, "", "name of the set"),
        Column("image_id", _text, "", "name of the image"),
        Column("path", _text, "", "class and file name"),
        Column("problem", _text, "", "empty, unreadable, huge, too small, animated or misnamed"),
    ),
)
NOISE_SCHEMA = TableSchema(
    "noise record: images that reviewers rejected or relabelled",
    (
        Column("set", _text, "", "name of the set"),
        Column("image_id", _text, "", "name of the image"),
        Column("class_given", _text, "", "class that it was collected for"),
        Column("class", _text, "", "corrected class; empty if it was rejected"),
        Column("reason", _text, "", "reviewers' reason", nullable=True),
    ),
)


def tabulate_sets(
    images: pd.DataFrame, sets: Mapping[str, SourceSet], classes: Sequence[str]
) -> pd.DataFrame:
    """Count the images of each set."""
    rows, by_set = [], dict(list(images.groupby("set")))
    for name, source in sets.items():
        mine = by_set.get(name, images.iloc[:0])
        kept = mine[mine["status"] == KEPT]
        counts = kept["class"].value_counts().reindex(list(classes), fill_value=0)
        present = counts[counts > 0]
        asked = source.colour
        rows.append({
            "set": name, "group": source.group, "source": source.source, "style": source.style,
            "colour": asked, "n_read": len(mine), "n": len(kept),
            **{f"n_{status}": int((mine["status"] == status).sum())
               for status in (PENDING, REJECTED, DUPLICATE)},
            "n_relabelled": int((kept["class"] != kept["class_given"]).sum()),
            "n_reviewed": int((mine["reviewers"] > 0).sum()),
            "n_blurred": int((kept["blurred"] > 0).sum()),
            "largest_class": int(counts.max()),
            "smallest_class": int(present.min()) if len(present) else 0,
            "absent_classes": ";".join(counts.index[counts == 0]),
            "colour_agreement": float((kept["colour_measured"] == asked).mean())
            if asked is not None and len(kept) else None,
        })  # fmt: skip
    return pd.DataFrame(rows, columns=SETS_SCHEMA.names).astype(
        {"colour": object, "colour_agreement": object}
    )


def tabulate_classes(
    images: pd.DataFrame, sets: Mapping[str, SourceSet], classes: Sequence[str]
) -> pd.DataFrame:
    """Count the kept images of each set and class, absent classes included."""
    counts = images[images["status"] == KEPT].groupby(["set", "class"]).size().to_dict()
    rows = [
        (name, source.group, each, int(counts.get((name, each), 0)))
        for name, source in sets.items()
        for each in classes
    ]
    return pd.DataFrame(rows, columns=CLASSES_SCHEMA.names)


def tabulate_origins(table: pd.DataFrame) -> pd.DataFrame:
    """Count the kept images of each source and style."""
    grouped = table.groupby(["source", "style"], sort=False)["n"]
    found = grouped.agg(n_sets="size", n="sum").reset_index()
    return found[ORIGINS_SCHEMA.names]


def tabulate_steps(
    images: pd.DataFrame, duplicates: pd.DataFrame, references: Sequence[str]
) -> pd.DataFrame:
    """Count what each step of a build found; zeros are listed, too."""
    decoded = images["sha256"].notna()

    def reasons(reason: str) -> int:
        return int((images["reason"] == reason).sum())

    def found(finding: str, match: str | None = None, other: str | None = None) -> int:
        rows = duplicates["finding"] == finding
        rows &= match is None or duplicates["match"] == match
        rows &= other is None or duplicates["other_set"] == other
        return int(duplicates.loc[rows, "image_id"].nunique())

    relabelled = images["class"] != images["class_given"]
    by_people = (images["reviewers"] > 0) & (images["status"] == REJECTED)
    rows = [
        ("decode", "files", len(images)),
        *(("decode", problem, reasons(problem)) for problem in PROBLEMS),
        ("decode", "animated, first frame taken", int(images["animated"].sum())),
        ("decode", "wrongly named", int(images["misnamed"].sum())),
        ("decode", "images", int(decoded.sum())),
        ("duplicates", "exact copies in a set", found(COPY, "exact")),
        ("duplicates", "near copies in a set", found(COPY, "near")),
        ("duplicates", "one picture, two classes in a set", found(CONFLICT)),
        ("duplicates", "also in an earlier set", found(ACROSS)),
        *(("duplicates", f"also in {name}", found(LEAKED, other=name)) for name in references),
        ("review", "decided on by people", int((images["reviewers"] > 0).sum())),
        ("review", "rejected by people", int((by_people & (images["reason"] != LICENCE)).sum())),
        ("review", "relabelled", int(relabelled.sum())),
        ("review", "reviewers disagree", reasons(DISAGREE)),
        ("review", "not reviewed, and waiting", reasons(UNREVIEWED)),
        ("export", "left out for their licence", reasons(LICENCE)),
        ("export", "left out as leaked", reasons(LEAK)),
        ("export", "with blurred boxes", int((images["blurred"] > 0).sum())),
        *(("result", status, int((images["status"] == status).sum()))
          for status in (KEPT, PENDING, REJECTED, DUPLICATE)),
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=STEPS_SCHEMA.names)


def tabulate_warnings(table: pd.DataFrame, settings: WarehouseSettings) -> pd.DataFrame:
    """List what is remarkable of the sets."""
    limits = settings.warnings
    rows = []
    for row in table.to_dict("records"):
        if row["n"] < limits.smallest:
            rows.append((row["set"], f"{row['n']:,} images, fewer than {limits.smallest:,}"))
        if row["n"] > limits.largest:
            rows.append((row["set"], f"{row['n']:,} images, more than {limits.largest:,}"))
        if row["absent_classes"]:
            rows.append((row["set"], f"no images of {row['absent_classes'].replace(';', ', ')}"))
        ratio = row["largest_class"] / row["smallest_class"] if row["smallest_class"] else 0
        if ratio > limits.imbalance:
            rows.append((row["set"], f"the largest class is {ratio:.1f} times the smallest"))
        if row["n_pending"]:
            rows.append((row["set"], f"{row['n_pending']:,} images wait for a decision"))
    return pd.DataFrame(rows, columns=WARNINGS_SCHEMA.names)


def tabulate_problems(images: pd.DataFrame) -> pd.DataFrame:
    """List the files that are not taken, or only their first frame, or are wrongly named."""
    parts = [
        images[images["reason"].isin(PROBLEMS)].assign(problem=lambda part: part["reason"]),
        images[images["animated"]].assign(problem="animated"),
        images[images["misnamed"]].assign(problem="misnamed"),
    ]
    return pd.concat(parts).sort_index(kind="stable")[PROBLEMS_SCHEMA.names]


def tabulate_noise(images: pd.DataFrame) -> pd.DataFrame:
    """List the images that reviewers rejected or relabelled: the noise record."""
    relabelled = images["class"] != images["class_given"]
    rejected = (images["reviewers"] > 0) & (images["status"] == REJECTED) & ~relabelled
    noise = images[relabelled | (rejected & (images["reason"] != LICENCE))].copy()
    noise.loc[rejected.reindex(noise.index), "class"] = ""
    return noise[NOISE_SCHEMA.names]


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


OVERVIEW_SCHEMA = TableSchema(
    "size of suites",
    (
        Column("suite", pa.string(), "", "its name"),
        Column("n_sets", pa.int64(), "sets", "number of sets (domains)"),
        Column("n", pa.int64(), "images", "test images"),
        Column("n_classes", pa.int64(), "classes", "classes that it has images of"),
        Column("side", pa.string(), "pixels", "height and width of the images; empty if they vary"),
        Column("origin", pa.string(), "", "built here, or published: Sun et al. (2024), Table 1"),
    ),
)
PROMPTS_SCHEMA = TableSchema(
    "queries and prompts",
    (
        Column("group", pa.string(), "", "group of sets"),
        Column("style", pa.string(), "", "their style"),
        Column("text", pa.string(), "", "query or prompt, with placeholders"),
        Column("n_sets", pa.int64(), "sets", "sets that were collected by it"),
        Column("n", pa.int64(), "images", "kept images that were"),
    ),
)

# Sun et al. (2024), Table 1; the sizes of VLCS to Terra Incognita are 224 pixels as used there.
PUBLISHED = (
    ("CIFAR-10.1 and 10.2", 1, 2_000, 10, "32"),
    ("CIFAR-10-C̄", 50, 500_000, 10, "32"),
    ("CIFAR-10.1-C̄ and 10.2-C̄", 50, 100_000, 10, "32"),
    ("CIFAR-10-C", 19, 950_000, 10, "32"),
    ("CIFAR-10.1-C", 19, 190_000, 10, "32"),
    ("ImageNet-C", 75, 3_750_000, 1000, "224"),
    ("Colored MNIST", 3, 70_000, 2, "28"),
    ("Rotated MNIST", 6, 70_000, 10, "28"),
    ("VLCS", 4, 10_729, 5, "224"),
    ("Office-Home", 4, 15_588, 65, "224"),
    ("PACS", 4, 9_991, 7, "224"),
    ("Terra Incognita", 4, 24_788, 10, "224"),
    ("DomainNet", 6, 586_575, 345, "224"),
    ("CIFAR-10-Warehouse", 180, 608_691, 10, "224"),
)


def tabulate_overview(images: pd.DataFrame, settings: WarehouseSettings) -> pd.DataFrame:
    """Put the size of a warehouse beside those of Sun et al. (2024), Table 1."""
    kept = images[images["status"] == KEPT]
    own = (
        settings.warehouse, kept["set"].nunique(), len(kept), kept["class"].nunique(),
        ", ".join(map(str, settings.export.sides)), "built here",
    )  # fmt: skip
    rows = [own, *((*row, "published") for row in PUBLISHED)]
    return pd.DataFrame(rows, columns=OVERVIEW_SCHEMA.names)


def tabulate_prompts(images: pd.DataFrame) -> pd.DataFrame:
    """List the texts that images were found or generated by: Sun et al. (2024), Table 4."""
    kept = images[(images["status"] == KEPT) & images["query"].notna()]
    texts = [
        _with_placeholders(query, {"class": class_name, "colour": colour})
        for query, class_name, colour in zip(
            kept["query"], kept["class_given"], kept["colour_query"], strict=True
        )
    ]
    grouped = kept.assign(text=texts).groupby(["group", "style", "text"], sort=False)["set"]
    found = grouped.agg(n_sets="nunique", n="size").reset_index()
    return found[PROMPTS_SCHEMA.names]


def _with_placeholders(text: str, names: dict[str, str | None]) -> str:
    for name, value in names.items():
        if isinstance(value, str) and value:
            text = text.replace(value, f"{{{name}}}")
    return text
