"""Documents of a warehouse, from its manifest: tables, notice, suites, figures and worklists."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from matcheval.errors import InputError
from matcheval.figures import style
from matcheval.figures.contact_sheet import Picture, plot_contact_sheet
from matcheval.figures.forms import drawing, name_rows
from matcheval.io.delimited_text import escape_frame_formulas
from matcheval.io.files import atomic_file, write_text
from matcheval.io.tables import Column, TableSchema, text, write_table
from matcheval.io.text_tables import TextColumn, counted
from matcheval.io.user_files import read_yaml_list
from matcheval.names import is_name
from matcheval.warehouse import FIGURE_SUFFIXES, TABLE_SUFFIXES, manifest
from matcheval.warehouse.duplicates import ACROSS, CONFLICT, COPY, DUPLICATES_SCHEMA, LEAKED
from matcheval.warehouse.images import PROBLEMS, blur, decode_again, fit_square
from matcheval.warehouse.manifest import KEPT, LICENCE, PENDING, REJECTED, STATUSES, Box, Warehouse
from matcheval.warehouse.settings import WarehouseSettings


def _count_column(name: str, meaning: str, unit: str = "images") -> Column:
    return Column(name, pa.int64(), unit, meaning)


_SET, _GROUP = text("set", "name of the set"), text("group", "its group")
_IMAGE = text("image_id", "name of the image")


def _format_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Format the columns of any of these tables as texts for readers."""
    columns = []
    for name in table.columns:
        values = table[name].tolist()
        is_number = any(isinstance(value, int | float) for value in values)
        cells = [_format_cell(value) for value in values]
        columns.append(TextColumn(name.replace("_", " "), cells, is_number=is_number))
    return columns


def _format_cell(value: object) -> str:
    """Format a value; a float is a fraction, shown in percent."""
    if value is None or value != value or value == "":
        return "–"
    if isinstance(value, float):
        return f"{100 * value:.1f} %"
    return f"{value:,}" if isinstance(value, int) else str(value)


_table = partial(TableSchema, shown=_format_columns)
SCHEMAS = {
    "overview": _table(
        "size of suites",
        text("suite", "its name"),
        _count_column("n_sets", "number of sets (domains)", "sets"),
        _count_column("n", "test images"),
        _count_column("n_classes", "classes that it has images of", "classes"),
        Column("side", pa.string(), "pixels",
               "height and width of the images; empty if they vary"),
        text("origin", "built here, or published: Sun et al. (2024), Table 1"),
    ),
    "prompts": _table(
        "queries and prompts",
        text("group", "group of sets"),
        text("style", "their style"),
        text("text", "query or prompt, with placeholders"),
        _count_column("n_sets", "sets that were collected by it", "sets"),
        _count_column("n", "kept images that were"),
    ),
    "sets": _table(
        "sets of a warehouse",
        _SET,
        _GROUP,
        text("source", "where its images come from"),
        text("style", "their style"),
        Column("colour", pa.string(), "", "colour that was asked for", nullable=True),
        _count_column("n_read", "files that were read"),
        _count_column("n", "of these, kept"),
        _count_column("n_pending", "of these, waiting for a decision"),
        _count_column("n_rejected", "of these, rejected"),
        _count_column("n_duplicate", "of these, copies"),
        _count_column("n_relabelled", "kept under another class than they came with"),
        _count_column("n_reviewed", "decided on by a person"),
        _count_column("n_blurred", "kept, with blurred boxes"),
        _count_column("largest_class", "kept images of the largest class"),
        _count_column("smallest_class", "of the smallest class that is not absent"),
        text("absent_classes", "classes without kept images, separated by ;"),
        Column("colour_agreement", pa.float64(), "fraction",
               "kept images whose measured colour is the one asked for; null if none was",
               nullable=True),
    ),
    "classes": _table(
        "kept images by set and class",
        _SET, _GROUP, text("class", "name of the class"), _count_column("n", "kept images"),
    ),
    "origins": _table(
        "kept images by origin",
        text("source", "where the images come from"),
        text("style", "their style"),
        _count_column("n_sets", "sets of this origin", "sets"),
        _count_column("n", "kept images"),
    ),
    "steps": _table(
        "what each step found",
        text("step", "step of the build"),
        text("finding", "what was found"),
        _count_column("n", "how many"),
    ),
    "warnings": _table("warnings", _SET, text("warning", "what is remarkable")),
    "noise": _table(
        "noise record: images that reviewers rejected or relabelled",
        _SET,
        _IMAGE,
        text("class_given", "class that it was collected for"),
        text("class", "corrected class; empty if it was rejected"),
        Column("reason", pa.string(), "", "reviewers' reason", nullable=True),
    ),
}  # fmt: skip

_PUBLISHED = Path(__file__).with_name("published_suites.yaml")


def document_warehouse(warehouse: Warehouse, folder: Path) -> None:
    """Write the tables, notice, suite manifests and figures of a built warehouse."""
    files = [folder / "sets" / name / "images.parquet" for name in warehouse.sets]
    together = pa.concat_tables(map(manifest.IMAGES_SCHEMA.read, files))
    write_table(together, folder / "images.parquet")
    images = together.to_pandas()
    duplicates = DUPLICATES_SCHEMA.read(folder / "duplicates.parquet").to_pandas()
    tables = tabulate(warehouse, images, duplicates)
    for name, table in tables.items():
        paths = [folder / "tables" / f"{name}{suffix}" for suffix in TABLE_SUFFIXES]
        SCHEMAS[name].write(table, paths)
    settings, kept = warehouse.settings, images[images["status"] == KEPT]
    pages = {"NOTICE.md": _notice_page(settings, kept)}
    for side in settings.export.sides:
        pages[f"suite-{side}.csv"] = _suite_csv(tables["sets"], settings, side, folder)
    for name, page in pages.items():
        write_text(folder / name, page)
    _save_figures(warehouse, kept, tables, folder / "figures")


def tabulate(
    warehouse: Warehouse, images: pd.DataFrame, duplicates: pd.DataFrame
) -> dict[str, pd.DataFrame]:
    """Make all tables of `SCHEMAS` by name, of plain Python values with None for missing ones."""
    settings = warehouse.settings
    kept = images[images["status"] == KEPT]
    sets = _tabulate_sets(warehouse, images)
    by_origin = sets.groupby(["source", "style"], sort=False)["n"]
    tables = {
        "overview": _tabulate_overview(settings, kept),
        "prompts": tabulate_prompts(kept),
        "sets": sets,
        "classes": _tabulate_classes(warehouse, kept),
        "origins": by_origin.agg(n_sets="size", n="sum").reset_index(),
        "steps": _tabulate_steps(images, duplicates, list(settings.against)),
        "warnings": _tabulate_warnings(sets, settings),
        "noise": _tabulate_noise(images),
    }
    return {
        name: table[SCHEMAS[name].names].astype(object).where(table.notna(), None)
        for name, table in tables.items()
    }


def _tabulate_overview(settings: WarehouseSettings, kept: pd.DataFrame) -> pd.DataFrame:
    """List this warehouse's size beside published ones: Sun et al. (2024), Table 1."""
    own = (
        settings.warehouse, kept["set"].nunique(), len(kept), kept["class"].nunique(),
        ", ".join(map(str, settings.export.sides)), "built here",
    )  # fmt: skip
    rows = [own, *((*row, "published") for row in read_yaml_list(_PUBLISHED))]
    return pd.DataFrame(rows, columns=SCHEMAS["overview"].names)


def tabulate_prompts(kept: pd.DataFrame) -> pd.DataFrame:
    """Count kept images by query, with placeholders restored: Sun et al. (2024), Table 4."""
    kept = kept[kept["query"].notna()]
    texts = []
    for query, *values in zip(
        kept["query"], kept["class_given"], kept["colour_query"], strict=True
    ):
        for name, value in zip(("class", "colour"), values, strict=True):
            if isinstance(value, str) and value:
                query = query.replace(value, f"{{{name}}}")
        texts.append(query)
    grouped = kept.assign(text=texts).groupby(["group", "style", "text"], sort=False)["set"]
    return grouped.agg(n_sets="nunique", n="size").reset_index()


def _tabulate_sets(warehouse: Warehouse, images: pd.DataFrame) -> pd.DataFrame:
    """Count each set's images by status and review, and in its largest and smallest class."""
    rows, by_set = [], dict(list(images.groupby("set")))
    for name, source in warehouse.sets.items():
        images_of_set = by_set.get(name, images.iloc[:0])
        kept = images_of_set[images_of_set["status"] == KEPT]
        counts = kept["class"].value_counts()
        counts = counts.reindex(list(warehouse.settings.class_names), fill_value=0)
        present, asked = counts[counts > 0], source.colour
        rows.append({
            "set": name, "group": source.group, "source": source.source, "style": source.style,
            "colour": asked, "n_read": len(images_of_set), "n": len(kept),
            **{f"n_{status}": int((images_of_set["status"] == status).sum())
               for status in STATUSES if status != KEPT},
            "n_relabelled": int((kept["class"] != kept["class_given"]).sum()),
            "n_reviewed": int((images_of_set["reviewers"] > 0).sum()),
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


def _tabulate_classes(warehouse: Warehouse, kept: pd.DataFrame) -> pd.DataFrame:
    """Count the kept images of each set and class, absent classes included."""
    counts = kept.groupby(["set", "class"]).size().to_dict()
    rows = [
        (name, source.group, class_name, int(counts.get((name, class_name), 0)))
        for name, source in warehouse.sets.items()
        for class_name in warehouse.settings.class_names
    ]
    return pd.DataFrame(rows, columns=SCHEMAS["classes"].names)


def _tabulate_steps(
    images: pd.DataFrame, duplicates: pd.DataFrame, references: Sequence[str]
) -> pd.DataFrame:
    """Count what each step of a build found, zeros included."""

    def count_reason(reason: str) -> int:
        return int((images["reason"] == reason).sum())

    def count_duplicates(finding: str, **where: str) -> int:
        rows = duplicates["finding"] == finding
        for column, value in where.items():
            rows &= duplicates[column] == value
        return int(duplicates.loc[rows, "image_id"].nunique())

    reviewed = images["reviewers"] > 0
    by_people = reviewed & (images["status"] == REJECTED) & (images["reason"] != LICENCE)
    leaks = [(name, count_duplicates(LEAKED, other_set=name)) for name in references]
    rows = [
        ("decode", "files", len(images)),
        *(("decode", problem, count_reason(problem)) for problem in PROBLEMS),
        ("decode", "animated, first frame taken", int(images["animated"].sum())),
        ("decode", "wrongly named", int(images["misnamed"].sum())),
        ("decode", "images", int(images["sha256"].notna().sum())),
        ("duplicates", "exact copies in a set", count_duplicates(COPY, match="exact")),
        ("duplicates", "near copies in a set", count_duplicates(COPY, match="near")),
        ("duplicates", "one picture, two classes in a set", count_duplicates(CONFLICT)),
        ("duplicates", "also in an earlier set", count_duplicates(ACROSS)),
        *(("duplicates", f"also in {name}", n) for name, n in leaks),
        ("review", "decided on by people", int(reviewed.sum())),
        ("review", "rejected by people", int(by_people.sum())),
        ("review", "relabelled", int((images["class"] != images["class_given"]).sum())),
        ("review", "reviewers disagree", count_reason(manifest.DISAGREE)),
        ("review", "not reviewed, and waiting", count_reason(manifest.UNREVIEWED)),
        ("export", "left out for their licence", count_reason(LICENCE)),
        ("export", "left out as leaked", count_reason(manifest.LEAK)),
        ("export", "with blurred boxes", int((images["blurred"] > 0).sum())),
        *(("result", status, int((images["status"] == status).sum())) for status in STATUSES),
    ]
    return pd.DataFrame(rows, columns=SCHEMAS["steps"].names)


def _tabulate_warnings(sets: pd.DataFrame, settings: WarehouseSettings) -> pd.DataFrame:
    """List the sets that are small, large or imbalanced, lack classes, or wait for decisions."""
    limits = settings.warnings
    rows: list[tuple[Any, str]] = []
    for row in sets.to_dict("records"):
        ratio = row["largest_class"] / row["smallest_class"] if row["smallest_class"] else 0
        absent = row["absent_classes"].replace(";", ", ")
        warnings = {
            f"{row['n']:,} images, fewer than {limits.smallest:,}": row["n"] < limits.smallest,
            f"{row['n']:,} images, more than {limits.largest:,}": row["n"] > limits.largest,
            f"no images of {absent}": absent,
            f"the largest class is {ratio:.1f} times the smallest": ratio > limits.imbalance,
            f"{row['n_pending']:,} images wait for a decision": row["n_pending"],
        }
        rows += [(row["set"], warning) for warning, applies in warnings.items() if applies]
    return pd.DataFrame(rows, columns=SCHEMAS["warnings"].names)


def _tabulate_noise(images: pd.DataFrame) -> pd.DataFrame:
    """List the images that reviewers rejected or relabelled: the noise record."""
    relabelled = images["class"] != images["class_given"]
    rejected = (images["reviewers"] > 0) & (images["status"] == REJECTED) & ~relabelled
    noise = images[relabelled | (rejected & (images["reason"] != LICENCE))].copy()
    noise.loc[rejected.reindex(noise.index), "class"] = ""
    return noise


def _notice_page(settings: WarehouseSettings, kept: pd.DataFrame) -> str:
    """Return the text of NOTICE.md, which counts the kept images by source and licence."""
    counts: Any = kept.groupby(["source", "licence"]).size()
    lines = [
        f"# Notice: images of {settings.warehouse}", "",
        "Numbers of images by source and licence, as they were stated by whoever collected them. "
        "This is a list, not a permission: whether a licence permits a use is for its user to "
        "judge.", "", "| source | licence | images |", "| --- | --- | --: |",
        *(f"| {source or '–'} | {licence} | {n:,} |" for (source, licence), n in counts.items()),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _suite_csv(sets: pd.DataFrame, settings: WarehouseSettings, side: int, folder: Path) -> str:
    """Return the CSV manifest of a suite (docs/datasets.md), with a row per set."""
    rows = []
    for row in sets.to_dict("records"):
        place = folder / "sets" / row["set"] / str(side)
        absent = row["absent_classes"].split(";")
        present = ";".join(name for name in settings.class_names if name not in absent)
        rows.append({
            "name": row["set"], "group": row["group"], "subgroup": row["source"],
            "source": row["source"], "style": row["style"], "colour": row["colour"] or "",
            "classes": present if row["absent_classes"] else "",
            "images": place / "images.npy", "labels": place / "labels.npy",
        })  # fmt: skip
    return escape_frame_formulas(pd.DataFrame(rows)).to_csv(index=False, lineterminator="\n")


def _save_figures(
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
        style.save_figure(figure, *(folder / f"{name}{suffix}" for suffix in FIGURE_SUFFIXES))


# --- figures: counts by class and origin, samples, contact sheets for reviewers


_BOX, _BAR, _MARGIN = 1.7, 0.17, 0.8  # inches: heights
_MOST_CHARACTERS = 120  # of upright labels beside each other
_MOST_SETS = 12  # of a group on a sheet of samples
_PER_ROW, _ROWS = 10, 6  # of a reviewer's contact sheet
SAMPLE_SIDE = 64  # pixels
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")


def plot_classes(table: pd.DataFrame) -> "style.Figure":
    """Draw box plots of the images per class, by group of sets: Sun et al. (2024), Figure 1B."""
    groups = [(str(name), part) for name, part in table.groupby("group", sort=False)]
    note = "Boxes are quartiles over the sets of a group; kept images."
    with drawing(6.8, _BOX * len(groups) + 0.4, "", note) as figure:
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
                np.arange(1, len(classes) + 1), [style.shortened(name, 24) for name in classes],
                rotation=90 if characters > _MOST_CHARACTERS else 0, fontsize=style.NOTE_SIZE,
            )  # fmt: skip
            axes.set_ylim(bottom=0)
            axes.set_ylabel("Images")
            n_sets = counted(part["set"].nunique(), "set")
            axes.set_title(f"{group or 'no group'}: {n_sets}", loc="left")
    return figure


def plot_origins(table: pd.DataFrame) -> "style.Figure":
    """Draw the numbers of images by source and style: Sun et al. (2024), Figure 6."""
    from matplotlib.ticker import MaxNLocator

    styles = list(dict.fromkeys(table["style"]))
    origins = zip(table["source"], table["style"], strict=True)
    names = [", ".join(filter(None, origin)) for origin in origins]
    with drawing(3.4, _BAR * len(table) + _MARGIN, "") as figure:
        axes = figure.subplots()
        colours = [_COLOURS[styles.index(name) % len(_COLOURS)] for name in table["style"]]
        bars = axes.barh(range(len(table)), table["n"], color=colours, height=0.7)
        axes.bar_label(bars, [f" {n:,}" for n in table["n"]], fontsize=6)
        name_rows(axes, [name or "–" for name in names])
        axes.set_xlim(0, 1.18 * max(1, int(table["n"].max())))
        axes.grid(False, axis="y")
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.set_xlabel("Kept images")
    return figure


def plot_samples(warehouse: Warehouse, kept: pd.DataFrame, group: str) -> "style.Figure":
    """Draw sample images of a group, a row per set: Sun et al. (2024), Figure 1C."""
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
    warehouse: Warehouse, set_name: str, place: str, boxes: Sequence[Box] = ()
) -> npt.NDArray[np.uint8]:
    """Read an image of a set for a contact sheet, as a small square with its boxes blurred."""
    settings = warehouse.settings
    image = decode_again(warehouse.sets[set_name].file_at(place), settings.decoding)
    return np.asarray(fit_square(blur(image, boxes), SAMPLE_SIDE, settings.export.fit))


def write_worklist(
    warehouse: Warehouse, images: pd.DataFrame, folder: Path, *, pending_only: bool = False
) -> int:
    """Write contact sheets and a table to decide on pending and kept images; return how many."""
    file = folder / "worklist.csv"
    if file.exists():
        problem = "is there already, and may hold decisions"
        raise InputError(problem, file=file, remedy="Name another folder")
    chosen = images[images["status"].isin([PENDING] if pending_only else [PENDING, KEPT])]
    if chosen.empty:
        raise InputError("no image is waiting for review", file=warehouse.settings.warehouse)
    pages = []
    for (name, class_name), images_of_class in chosen.groupby(["set", "class_given"], sort=False):
        for number, start in enumerate(range(0, len(images_of_class), _PER_ROW * _ROWS), 1):
            page = images_of_class.iloc[start : start + _PER_ROW * _ROWS].copy()
            page["sheet"] = sheet = f"{name}/{class_name}-{number}.png"
            page["position"] = range(1, len(page) + 1)
            pictures = [
                Picture(_thumbnail(warehouse, str(name), row["path"]), str(row["position"]),
                        marked=row["status"] == PENDING)
                for row in page.to_dict("records")
            ]  # fmt: skip
            lines = [pictures[i : i + _PER_ROW] for i in range(0, len(pictures), _PER_ROW)]
            note = "Framed: waiting for a decision."
            style.save_figure(
                plot_contact_sheet(lines, f"{name}: {class_name}", note), folder / sheet
            )
            pages.append(page)
    rows = pd.concat(pages)
    rows["why"], decision = rows["reason"], [*manifest.DECISION_COLUMNS]
    rows[decision[1:]] = ""  # for people to fill in
    columns = [*decision, "sheet", "position", "set", "class_given", "status", "why"]
    with atomic_file(file) as partial_file:
        escape_frame_formulas(rows[columns]).to_csv(partial_file, index=False, lineterminator="\n")
    return len(rows)
