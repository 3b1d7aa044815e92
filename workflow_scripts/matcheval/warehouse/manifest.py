"""The manifest: a row per image with what became of it and why, by rules and people's decisions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import pyarrow as pa

from matcheval.errors import ErrorCollector, InputError, check_known, listed
from matcheval.io.tables import Column, TableSchema, text
from matcheval.io.user_files import read_csv_rows
from matcheval.warehouse.duplicates import ACROSS, CONFLICT, COPY, LEAKED
from matcheval.warehouse.sets import SourceSet, find_sets
from matcheval.warehouse.settings import WarehouseSettings

KEEP, REJECT, RELABEL = "keep", "reject", "relabel"
REASONS = ("noise", "wrong class", "several objects", "duplicate", "unsafe", "other")
DECISION_COLUMNS = ("image_id", "decision", "reason", "class", "reviewer")
_BOX_COLUMNS = ("image_id", "x0", "y0", "x1", "y1", "kind")

KEPT, PENDING, REJECTED, DUPLICATE = "kept", "pending", "rejected", "duplicate"
STATUSES = (KEPT, PENDING, REJECTED, DUPLICATE)
# Reasons besides those of the decoder and of reviewers.
DISAGREE, UNREVIEWED, LICENCE, LEAK = "reviewers disagree", "not reviewed", "licence", "leakage"
UNSTATED = "unstated"


_TEXT = pa.string()


def _optional(name: str, meaning: str, type_: pa.DataType = _TEXT, unit: str = "") -> Column:
    """Declare a column whose values may be missing."""
    return Column(name, type_, unit, meaning, nullable=True)


_CLASS_GIVEN = text("class_given", "class that it was collected for")
_SHA256 = _optional("sha256", "of pixels and shape")
_SIZE = tuple(
    _optional(name, "after its orientation is applied", pa.int32(), "pixels")
    for name in ("width", "height")
)
_FOUND = (
    _optional("colour_measured", "most frequent colour"),
    _optional("query", "text that it was found by"),
)
_MAKING = (
    _optional("retrieved", "date"),
    _optional("generator", "what generated it"),
    _optional("seed", "of the generator"),
)
_FLAGS = (
    Column("animated", pa.bool_(), "", "whether it is the first frame of several"),
    Column("misnamed", pa.bool_(), "", "whether the suffix is of another format"),
)

READ_SCHEMA = TableSchema(
    "images as they were read",
    text("image_id", "set, and digest of pixels and place"),
    text("place", "class and file name, within the set"),
    _CLASS_GIVEN,
    _optional("problem", "why it is not taken"),
    _optional("detail", "the decoder's words"),
    *_FLAGS, _SHA256,
    _optional("phash", "perceptual hash", pa.uint64()),
    *_SIZE, *_FOUND,
    _optional("url", "its address"),
    _optional("licence", "as stated"),
    *_MAKING,
)  # fmt: skip
IMAGES_SCHEMA = TableSchema(
    "images of a warehouse",
    text("image_id", "name of the image: its set, and digest of pixels and place"),
    text("path", "where it is in its set: class and file name"),
    _SHA256,
    _optional("phash", "perceptual hash, 64 bits in hexadecimal"),
    text("set", "its set"),
    text("group", "group of its set"),
    text("source", "where it comes from"),
    text("style", "style of its set"),
    _optional("colour_query", "colour that was asked for"),
    *_FOUND, _CLASS_GIVEN,
    text("class", "its class, corrected by reviewers"),
    text("status", "kept, pending, rejected or duplicate"),
    _optional("reason", "why it is not kept, or was relabelled"),
    _optional("duplicate_of", "the image that it is a copy of"),
    *_SIZE,
    text("licence", "as stated, or the fallback"),
    _optional("url", "its address"),
    *_MAKING, *_FLAGS,
    Column("reviewers", pa.int32(), "people", "who decided on it"),
    Column("blurred", pa.int32(), "boxes", "boxes that are blurred in the exported image"),
)  # fmt: skip

_T = TypeVar("_T")


@dataclass(frozen=True)
class Decision:
    """A reviewer's decision on an image."""

    image_id: str
    decision: str
    reason: str
    class_name: str
    reviewer: str

    @property
    def outcome(self) -> tuple[str, str]:
        """The decision and the corrected class: what reviewers must agree on."""
        return self.decision, self.class_name


@dataclass(frozen=True)
class Box:
    """A box to blur, in pixels from the upper left corner of the upright image."""

    x0: int
    y0: int
    x1: int
    y1: int
    kind: str


@dataclass(frozen=True)
class Review:
    """Reviewers' decisions on the images of one set and the boxes to blur, by image."""

    decisions: Mapping[str, Sequence[Decision]]
    boxes: Mapping[str, Sequence[Box]]

    @property
    def state(self) -> list[dict[str, list[dict[str, Any]]]]:
        """Decisions and boxes as JSON values, whose changes make results out of date."""
        return [
            {image: [asdict(row) for row in rows] for image, rows in part.items()}
            for part in (self.decisions, self.boxes)
        ]


class Warehouse:
    """A warehouse: its settings, the user's sets of images, and people's decisions on them."""

    def __init__(self, settings: WarehouseSettings, file: str = "") -> None:
        self.settings, self.file = settings, file

    @cached_property
    def sets(self) -> dict[str, SourceSet]:
        """The user's sets of images, by name."""
        return find_sets(self.settings)

    @cached_property
    def reviews(self) -> dict[str, Review]:
        """The decisions and boxes of every set, by set; read from CSV files and checked."""
        settings = self.settings
        parse = partial(_parse_decision, settings.class_names)
        decisions = self._read_rows(settings.review.decisions or (), DECISION_COLUMNS, parse)
        boxes = self._read_rows(
            [settings.boxes] if settings.boxes else (), _BOX_COLUMNS, _parse_box
        )
        return {name: Review(decisions.get(name, {}), boxes.get(name, {})) for name in self.sets}

    def _read_rows(
        self,
        paths: Iterable[str],
        columns: Sequence[str],
        parse: Callable[[Mapping[str, str], str], _T],
    ) -> dict[str, dict[str, list[_T]]]:
        """Read and parse CSV rows, by set and image; skip undecided ones; raise all errors."""
        problems = ErrorCollector()
        by_set: dict[str, dict[str, list[_T]]] = {}
        for path in paths:
            for number, row in enumerate(read_csv_rows(Path(path).expanduser(), columns), 2):
                cells = {column: row[column].strip() for column in columns}
                if cells.get("decision") == "":
                    continue  # of a worklist that is not filled in yet
                where = f"{path}, line {number}"
                with problems.collected():
                    name = cells["image_id"].rpartition("/")[0]
                    check_known("set", [name], self.sets, file=where)
                    rows = by_set.setdefault(name, {}).setdefault(cells["image_id"], [])
                    rows.append(parse(cells, where))
        problems.raise_any()
        return by_set


def _parse_decision(classes: Sequence[str], row: Mapping[str, str], where: str) -> Decision:
    decision = Decision(
        row["image_id"], row["decision"].lower(), row["reason"].lower(), row["class"],
        row["reviewer"],
    )  # fmt: skip
    decisions = (KEEP, REJECT, RELABEL)
    check_known("decision", [decision.decision], decisions, file=where)
    for key, value, allowed in (
        ("reason", decision.reason, REASONS),
        ("class", decision.class_name, classes),
    ):
        check_known(key, [value] if value else [], allowed, file=where, field=key)
    if not decision.reviewer:
        raise InputError("is empty", file=where, field="reviewer")
    if decision.decision == REJECT and not decision.reason:
        problem = f"'{decision.image_id}' is rejected without a reason"
        remedy = f"Give one of {', '.join(REASONS)}"
        raise InputError(problem, file=where, field="reason", remedy=remedy)
    if (decision.decision == RELABEL) != bool(decision.class_name):
        raise InputError(
            f"'{decision.image_id}': decision '{decision.decision}' and corrected class "
            f"'{decision.class_name}' contradict each other", file=where, field="class",
            remedy="A corrected class belongs to relabel, and to nothing else",
        )  # fmt: skip
    return decision


def _parse_box(row: Mapping[str, str], where: str) -> Box:
    try:
        x0, y0, x1, y1 = (int(row[side]) for side in ("x0", "y0", "x1", "y1"))
    except ValueError as error:
        raise InputError(f"'{row['image_id']}': {error}", file=where) from error
    if not (0 <= x0 < x1 and 0 <= y0 < y1):
        problem = f"'{row['image_id']}': {x0}, {y0}, {x1}, {y1} is not a box"
        remedy = "Give x0 < x1 and y0 < y1, in pixels from the upper left corner"
        raise InputError(problem, file=where, remedy=remedy)
    return Box(x0, y0, x1, y1, row["kind"])


def decide_set(warehouse: Warehouse, name: str, read: pa.Table, duplicates: pa.Table) -> pa.Table:
    """Decide the status of the images of a set; return its rows of `IMAGES_SCHEMA`."""
    settings, source, review = warehouse.settings, warehouse.sets[name], warehouse.reviews[name]
    images = read.to_pylist()
    _check_review(review, images, name)
    findings: dict[str, dict[str, str]] = {}
    for row in duplicates.to_pylist():
        findings.setdefault(row["image_id"], {}).setdefault(row["finding"], row["other"])
    allowed = settings.licences.export
    rows = []
    for image in images:
        image_id = image["image_id"]
        decisions, copies = review.decisions.get(image_id, ()), findings.get(image_id, {})
        # Where reviewers disagree, only the arbiter's decision counts.
        final = [row for row in decisions if row.reviewer == settings.review.arbiter] or decisions
        decision = final[0] if len({row.outcome for row in final}) == 1 else None
        licence = image["licence"] or settings.licences.fallback or UNSTATED
        status, reason = _status(image, bool(decisions), decision, copies, settings)
        if status == KEPT and allowed and licence not in allowed:
            status, reason = REJECTED, LICENCE
        # The image that this one duplicates, even if that one is left out.
        original = copies.get(COPY) or (copies.get(ACROSS) if status == DUPLICATE else None)
        rows.append({
            **image, "path": image["place"], "set": name, "group": source.group,
            "source": source.source, "style": source.style, "colour_query": source.colour,
            "phash": None if image["phash"] is None else f"{image['phash']:016x}",
            "class": (decision and decision.class_name) or image["class_given"],
            "status": status, "reason": reason, "licence": licence, "duplicate_of": original,
            "reviewers": len({row.reviewer for row in decisions}),
            "blurred": len(review.boxes.get(image_id, ())),
        })  # fmt: skip
    return IMAGES_SCHEMA.from_frame(pd.DataFrame(rows, columns=IMAGES_SCHEMA.names, dtype=object))


def _check_review(review: Review, images: Sequence[Mapping[str, Any]], set_name: str) -> None:
    """Check that decisions and boxes name readable images of the set, and fit them."""
    sound = {image["image_id"]: image for image in images if image["problem"] is None}
    for part in (review.decisions, review.boxes):
        unknown = [image for image in part if image not in sound]
        if unknown:
            raise InputError(
                f"set '{set_name}' has no image {listed(unknown, 5)}", file="decisions",
                remedy="Names of images are in the worklist; they change when an image is replaced",
            )  # fmt: skip
    for image, decisions in review.decisions.items():
        class_given = sound[image]["class_given"]
        if any(decision.class_name == class_given for decision in decisions):
            problem = f"'{image}' is relabelled to '{class_given}', which is its class"
            raise InputError(problem, file="decisions", remedy="Decide 'keep'")
    for image, boxes in review.boxes.items():
        width, height = sound[image]["width"], sound[image]["height"]
        for box in boxes:
            if box.x1 > width or box.y1 > height:
                raise InputError(
                    f"'{image}' has {width} × {height} pixels, and box {box.x0}, {box.y0}, "
                    f"{box.x1}, {box.y1} reaches beyond them", file="boxes",
                )  # fmt: skip


def _status(
    image: Mapping[str, Any],
    is_reviewed: bool,
    decision: Decision | None,
    copies: Mapping[str, str],
    settings: WarehouseSettings,
) -> tuple[str, str | None]:
    """Return an image's status and the reason; `decision` is the one that counts, if any."""
    if image["problem"] is not None:
        return REJECTED, image["problem"]
    if decision is not None:
        return (REJECTED if decision.decision == REJECT else KEPT), decision.reason or None
    rules = settings.duplicates
    for applies, status, reason in (
        (is_reviewed, PENDING, DISAGREE),
        (LEAKED in copies and rules.leaked == "drop", REJECTED, LEAK),
        (COPY in copies, DUPLICATE, "copy in its set"),
        (ACROSS in copies and rules.across == "drop", DUPLICATE, "copy in an earlier set"),
        (CONFLICT in copies, PENDING, CONFLICT),
        (settings.review.unreviewed == "pending", PENDING, UNREVIEWED),
    ):
        if applies:
            return status, reason
    return KEPT, None
