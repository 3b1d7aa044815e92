"""The manifest: a row per image with what became of it and why, by rules and people's decisions."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import pyarrow as pa

from matcheval.errors import ErrorCollector, InputError, unknown_name_error
from matcheval.io.tables import Column, TableSchema
from matcheval.io.user_files import read_csv_rows
from matcheval.warehouse.duplicates import ACROSS, CONFLICT, COPY, LEAKED
from matcheval.warehouse.sets import SourceSet
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

_text = pa.string()
_CLASS_GIVEN = Column("class_given", _text, "", "class that it was collected for")
_SHA256 = Column("sha256", _text, "", "of pixels and shape", nullable=True)
_COLOUR = Column("colour_measured", _text, "", "most frequent colour", nullable=True)
_QUERY = Column("query", _text, "", "text that it was found by", nullable=True)
_URL = Column("url", _text, "", "its address", nullable=True)
_MADE = (
    Column("retrieved", _text, "", "date", nullable=True),
    Column("generator", _text, "", "what generated it", nullable=True),
    Column("seed", _text, "", "of the generator", nullable=True),
)
_FLAGS = (
    Column("animated", pa.bool_(), "", "whether it is the first frame of several"),
    Column("misnamed", pa.bool_(), "", "whether the suffix is of another format"),
)

READ_SCHEMA = TableSchema(
    "images as they were read",
    (
        Column("image_id", _text, "", "set, and digest of pixels and place"),
        Column("place", _text, "", "class and file name, within the set"),
        _CLASS_GIVEN,
        Column("problem", _text, "", "why it is not taken", nullable=True),
        Column("detail", _text, "", "the decoder's words", nullable=True),
        *_FLAGS,
        _SHA256,
        Column("phash", pa.uint64(), "", "perceptual hash", nullable=True),
        Column("width", pa.int32(), "pixels", "after its orientation is applied", nullable=True),
        Column("height", pa.int32(), "pixels", "after its orientation is applied", nullable=True),
        _COLOUR,
        _QUERY,
        _URL,
        Column("licence", _text, "", "as stated", nullable=True),
        *_MADE,
    ),
)
IMAGES_SCHEMA = TableSchema(
    "images of a warehouse",
    (
        Column("image_id", _text, "", "name of the image: its set, and digest of pixels and place"),
        Column("path", _text, "", "where it is in its set: class and file name"),
        _SHA256,
        Column("phash", _text, "", "perceptual hash, 64 bits in hexadecimal", nullable=True),
        Column("set", _text, "", "its set"),
        Column("group", _text, "", "group of its set"),
        Column("source", _text, "", "where it comes from"),
        Column("style", _text, "", "style of its set"),
        Column("colour_query", _text, "", "colour that was asked for", nullable=True),
        _COLOUR,
        _QUERY,
        _CLASS_GIVEN,
        Column("class", _text, "", "its class, corrected by reviewers"),
        Column("status", _text, "", "kept, pending, rejected or duplicate"),
        Column("reason", _text, "", "why it is not kept, or was relabelled", nullable=True),
        Column("duplicate_of", _text, "", "the image that it is a copy of", nullable=True),
        Column("width", pa.int32(), "pixels", "", nullable=True),
        Column("height", pa.int32(), "pixels", "", nullable=True),
        Column("licence", _text, "", "as stated, or the fallback"),
        _URL,
        *_MADE,
        *_FLAGS,
        Column("reviewers", pa.int32(), "people", "who decided on it"),
        Column("blurred", pa.int32(), "boxes", "boxes that are blurred in the exported image"),
    ),
)
AGREEMENT_SCHEMA = TableSchema(
    "agreement of reviewers",
    (
        Column("first", _text, "", "a reviewer"),
        Column("second", _text, "", "another reviewer"),
        Column("n", pa.int64(), "images", "images that both decided on"),
        Column("n_agreed", pa.int64(), "images", "of these, with the same decision and class"),
        Column("agreement", pa.float64(), "fraction", "n_agreed over n"),
        Column("kappa", pa.float64(), "1",
               "Cohen's kappa; null where chance alone agrees always", nullable=True),
    ),
)  # fmt: skip

_T = TypeVar("_T")


@dataclass(frozen=True)
class Decision:
    """A reviewer's decision on an image."""

    image_id: str
    decision: str
    reason: str = ""
    class_name: str = ""
    reviewer: str = ""

    @property
    def outcome(self) -> tuple[str, str]:
        """What the image becomes: decision, and corrected class."""
        return self.decision, self.class_name


@dataclass(frozen=True)
class Box:
    """A box of an image, in pixels from its upper left corner after its orientation is applied."""

    x0: int
    y0: int
    x1: int
    y1: int
    kind: str


@dataclass(frozen=True)
class Review:
    """What people said about the images of a set: decisions and boxes to blur, by image."""

    decisions: Mapping[str, Sequence[Decision]] = field(default_factory=dict)
    boxes: Mapping[str, Sequence[Box]] = field(default_factory=dict)

    @property
    def state(self) -> list[dict[str, list[dict[str, Any]]]]:
        """Decisions and boxes as JSON values."""
        return [
            {name: [asdict(one) for one in several] for name, several in part.items()}
            for part in (self.decisions, self.boxes)
        ]


def read_reviews(settings: WarehouseSettings, sets: Mapping[str, SourceSet]) -> dict[str, Review]:
    """Read the files of decisions and boxes, by set."""
    files = settings.review.decisions or ()
    decision = partial(_decision, settings.class_names)
    decisions = _read_by_image(files, DECISION_COLUMNS, sets, decision)
    boxes = _read_by_image([settings.boxes] if settings.boxes else (), _BOX_COLUMNS, sets, _box)
    return {name: Review(decisions.get(name, {}), boxes.get(name, {})) for name in sets}


def _read_by_image(
    paths: Iterable[str],
    columns: Sequence[str],
    sets: Mapping[str, SourceSet],
    parse: Callable[[Mapping[str, str], Sequence[_T], str], _T],
) -> dict[str, dict[str, list[_T]]]:
    """Read CSV files of what was said of images, by set and image, in the order of the files."""
    problems = ErrorCollector()
    found: dict[str, dict[str, list[_T]]] = {}
    for path in paths:
        for number, row in enumerate(read_csv_rows(Path(path).expanduser(), columns), 2):
            cells = {column: row[column].strip() for column in columns}
            if not cells.get("decision", "given"):
                continue  # of a worklist that is not filled in yet
            where = f"{path}, line {number}"
            with problems.collected():
                name = cells["image_id"].rpartition("/")[0]
                if name not in sets:
                    raise unknown_name_error("set", name, sets, file=where)
                before = found.setdefault(name, {}).setdefault(cells["image_id"], [])
                before.append(parse(cells, before, where))
    problems.raise_any()
    return found


def _decision(
    classes: Sequence[str], row: Mapping[str, str], before: Sequence[Decision], where: str
) -> Decision:
    """Check a decision, given those on the same image."""
    one = Decision(
        row["image_id"], row["decision"].lower(), row["reason"].lower(), row["class"],
        row["reviewer"],
    )  # fmt: skip
    if one.decision not in (KEEP, REJECT, RELABEL):
        raise unknown_name_error("decision", one.decision, (KEEP, REJECT, RELABEL), file=where)
    if one.reason and one.reason not in REASONS:
        raise unknown_name_error("reason", one.reason, REASONS, file=where, field="reason")
    if one.class_name and one.class_name not in classes:
        raise unknown_name_error("class", one.class_name, classes, file=where, field="class")
    if not one.reviewer:
        raise InputError("is empty", file=where, field="reviewer")
    if one.decision == REJECT and not one.reason:
        raise InputError(
            f"'{one.image_id}' is rejected without a reason", file=where, field="reason",
            remedy=f"Give one of {', '.join(REASONS)}",
        )  # fmt: skip
    if (one.decision == RELABEL) != bool(one.class_name):
        raise InputError(
            f"'{one.image_id}': decision '{one.decision}' and corrected class "
            f"'{one.class_name}' contradict each other",
            file=where, field="class",
            remedy="A corrected class belongs to relabel, and to nothing else",
        )  # fmt: skip
    for other in before:
        if other.reviewer == one.reviewer and other.outcome != one.outcome:
            raise InputError(
                f"reviewer '{one.reviewer}' decided on '{one.image_id}' before, and differently: "
                f"{' '.join(other.outcome).strip()}, {' '.join(one.outcome).strip()}",
                file=where, remedy="Delete one of the two",
            )  # fmt: skip
    return one


def _box(row: Mapping[str, str], before: Sequence[Box], where: str) -> Box:
    try:
        x0, y0, x1, y1 = (int(row[side]) for side in ("x0", "y0", "x1", "y1"))
    except ValueError as error:
        raise InputError(f"'{row['image_id']}': {error}", file=where) from error
    if not (0 <= x0 < x1 and 0 <= y0 < y1):
        raise InputError(
            f"'{row['image_id']}': {x0}, {y0}, {x1}, {y1} is no box", file=where,
            remedy="Give x0 < x1 and y0 < y1, in pixels from the upper left corner",
        )  # fmt: skip
    return Box(x0, y0, x1, y1, row["kind"])


def decide_set(
    source: SourceSet,
    read: pa.Table,
    duplicates: pa.Table,
    review: Review,
    settings: WarehouseSettings,
) -> pa.Table:
    """Decide what becomes of the images of a set, given the duplicates in it (`IMAGES_SCHEMA`)."""
    images = read.to_pylist()
    _check_review(review, images, source.name)
    findings: dict[str, dict[str, str]] = {}
    for row in duplicates.to_pylist():
        findings.setdefault(row["image_id"], {}).setdefault(row["finding"], row["other"])
    allowed = settings.licences.export
    rows = []
    for image in images:
        name = image["image_id"]
        given = review.decisions.get(name, ())
        decision = _combine(given, settings.review.arbiter)
        found = findings.get(name, {})
        licence = image["licence"] or settings.licences.fallback or UNSTATED
        status, reason = _status(image, bool(given), decision, found, settings)
        if status == KEPT and allowed and licence not in allowed:
            status, reason = REJECTED, LICENCE
        # The image that this one duplicates, even if that one is left out.
        original = found.get(COPY) or (found.get(ACROSS) if status == DUPLICATE else None)
        rows.append({
            **image, "path": image["place"], "set": source.name, "group": source.group,
            "source": source.source, "style": source.style, "colour_query": source.colour,
            "phash": None if image["phash"] is None else f"{image['phash']:016x}",
            "class": (decision and decision.class_name) or image["class_given"],
            "status": status, "reason": reason, "licence": licence, "duplicate_of": original,
            "reviewers": len({one.reviewer for one in given}),
            "blurred": len(review.boxes.get(name, ())),
        })  # fmt: skip
    return IMAGES_SCHEMA.from_frame(pd.DataFrame(rows, columns=IMAGES_SCHEMA.names, dtype=object))


def _check_review(review: Review, rows: Sequence[Mapping[str, Any]], name: str) -> None:
    """Check that a set has the images that people said something of, and that this can be."""
    sound = {row["image_id"]: row for row in rows if row["problem"] is None}
    for part in (review.decisions, review.boxes):
        unknown = [image for image in part if image not in sound]
        if unknown:
            more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
            raise InputError(
                f"set '{name}' has no image {', '.join(unknown[:5])}{more}", file="decisions",
                remedy="Names of images are in the worklist; they change when an image is replaced",
            )  # fmt: skip
    for image, decisions in review.decisions.items():
        if any(one.class_name == sound[image]["class_given"] for one in decisions):
            raise InputError(
                f"'{image}' is relabelled to '{sound[image]['class_given']}', which is its class",
                file="decisions", remedy="Decide 'keep'",
            )  # fmt: skip
    for image, boxes in review.boxes.items():
        width, height = sound[image]["width"], sound[image]["height"]
        for box in boxes:
            if box.x1 > width or box.y1 > height:
                raise InputError(
                    f"'{image}' has {width} × {height} pixels, and box {box.x0}, {box.y0}, "
                    f"{box.x1}, {box.y1} reaches beyond them", file="boxes",
                )  # fmt: skip


def _combine(decisions: Sequence[Decision], arbiter: str) -> Decision | None:
    """What reviewers agree on, or the arbiter has decided; None if neither."""
    final = [one for one in decisions if one.reviewer == arbiter] or decisions
    return final[0] if len({one.outcome for one in final}) == 1 else None


def _status(
    image: Mapping[str, Any],
    is_reviewed: bool,
    decision: Decision | None,
    found: Mapping[str, str],
    settings: WarehouseSettings,
) -> tuple[str, str | None]:
    """What becomes of an image, and why; licences aside."""
    if image["problem"] is not None:
        return REJECTED, image["problem"]
    if decision is not None:
        return (REJECTED if decision.decision == REJECT else KEPT), decision.reason or None
    if is_reviewed:
        return PENDING, DISAGREE
    if LEAKED in found and settings.duplicates.leaked == "drop":
        return REJECTED, LEAK
    if COPY in found:
        return DUPLICATE, "copy in its set"
    if ACROSS in found and settings.duplicates.across == "drop":
        return DUPLICATE, "copy in an earlier set"
    if CONFLICT in found:
        return PENDING, CONFLICT
    return (KEPT, None) if settings.review.unreviewed == "keep" else (PENDING, UNREVIEWED)


def tabulate_agreement(reviews: Iterable[Review], arbiter: str) -> pd.DataFrame:
    """Count how often reviewers agree, for all pairs who decided on the same images."""
    outcomes: dict[str, dict[str, tuple[str, str]]] = {}
    for review in reviews:
        for image, decisions in review.decisions.items():
            for one in decisions:
                if one.reviewer != arbiter:
                    outcomes.setdefault(one.reviewer, {})[image] = one.outcome
    rows = []
    for first, second in combinations(sorted(outcomes), 2):
        common = sorted(outcomes[first].keys() & outcomes[second].keys())
        if common:
            pairs = [(outcomes[first][image], outcomes[second][image]) for image in common]
            agreed = sum(one == other for one, other in pairs)
            share = agreed / len(pairs)
            rows.append((first, second, len(pairs), agreed, share, cohen_kappa(pairs)))
    return pd.DataFrame(rows, columns=AGREEMENT_SCHEMA.names, dtype=object)


def cohen_kappa(pairs: Sequence[tuple[object, object]]) -> float | None:
    """Compute Cohen's kappa, agreement beyond chance; None where chance alone agrees always."""
    n = len(pairs)
    observed = sum(one == other for one, other in pairs) / n
    firsts = Counter(one for one, _ in pairs)
    seconds = Counter(other for _, other in pairs)
    chance = sum(count * seconds[outcome] for outcome, count in firsts.items()) / n**2
    return None if chance == 1 else (observed - chance) / (1 - chance)
