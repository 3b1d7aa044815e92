"""The manifest: a row per image with what became of it and why, by rules and people's decisions."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import pyarrow as pa

from matcheval.errors import ErrorCollector, InputError, check_known, listed
from matcheval.io.tables import Column, TableSchema
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
    reason: str
    class_name: str
    reviewer: str

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

    decisions: Mapping[str, Sequence[Decision]]
    boxes: Mapping[str, Sequence[Box]]

    @property
    def state(self) -> list[dict[str, list[dict[str, Any]]]]:
        """Decisions and boxes as JSON values."""
        return [
            {name: [asdict(one) for one in several] for name, several in part.items()}
            for part in (self.decisions, self.boxes)
        ]


class Warehouse:
    """A warehouse: its settings, the user's sets of images, and what people said of them."""

    def __init__(self, settings: WarehouseSettings) -> None:
        self.settings = settings

    @cached_property
    def sets(self) -> dict[str, SourceSet]:
        """The sets by name."""
        return find_sets(self.settings)

    @cached_property
    def reviews(self) -> dict[str, Review]:
        """Decisions and boxes, by set."""
        settings = self.settings
        decision = partial(_decision, settings.class_names)
        decisions = self._said(settings.review.decisions or (), DECISION_COLUMNS, decision)
        boxes = self._said([settings.boxes] if settings.boxes else (), _BOX_COLUMNS, _box)
        return {name: Review(decisions.get(name, {}), boxes.get(name, {})) for name in self.sets}

    def _said(
        self,
        paths: Iterable[str],
        columns: Sequence[str],
        parse: Callable[[Mapping[str, str], Sequence[_T], str], _T],
    ) -> dict[str, dict[str, list[_T]]]:
        """Read CSV files of what was said of images, by set and image, in the order of files."""
        problems = ErrorCollector()
        said: dict[str, dict[str, list[_T]]] = {}
        for path in paths:
            for number, row in enumerate(read_csv_rows(Path(path).expanduser(), columns), 2):
                cells = {column: row[column].strip() for column in columns}
                if not cells.get("decision", "given"):
                    continue  # of a worklist that is not filled in yet
                where = f"{path}, line {number}"
                with problems.collected():
                    name = cells["image_id"].rpartition("/")[0]
                    check_known("set", [name], self.sets, file=where, field=None)
                    before = said.setdefault(name, {}).setdefault(cells["image_id"], [])
                    before.append(parse(cells, before, where))
        problems.raise_any()
        return said


def _decision(
    classes: Sequence[str], row: Mapping[str, str], before: Sequence[Decision], where: str
) -> Decision:
    """Check a decision, given those on the same image."""
    image, decision, reason = row["image_id"], row["decision"].lower(), row["reason"].lower()
    one = Decision(image, decision, reason, row["class"], row["reviewer"])
    check_known("decision", [decision], (KEEP, REJECT, RELABEL), file=where, field=None)
    for key, value, known in (("reason", reason, REASONS), ("class", one.class_name, classes)):
        check_known(key, [value] if value else [], known, file=where, field=key)
    if not one.reviewer:
        raise InputError("is empty", file=where, field="reviewer")
    if decision == REJECT and not reason:
        raise InputError(
            f"'{image}' is rejected without a reason", file=where, field="reason",
            remedy=f"Give one of {', '.join(REASONS)}",
        )  # fmt: skip
    if (decision == RELABEL) != bool(one.class_name):
        raise InputError(
            f"'{image}': decision '{decision}' and corrected class '{one.class_name}' contradict "
            "each other", file=where, field="class",
            remedy="A corrected class belongs to relabel, and to nothing else",
        )  # fmt: skip
    for other in before:
        if other.reviewer == one.reviewer and other.outcome != one.outcome:
            raise InputError(
                f"reviewer '{one.reviewer}' decided on '{image}' before, and differently: "
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


def decide_set(warehouse: Warehouse, name: str, read: pa.Table, duplicates: pa.Table) -> pa.Table:
    """Decide what becomes of the images of a set, given the duplicates in it (`IMAGES_SCHEMA`)."""
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
        given, found = review.decisions.get(image_id, ()), findings.get(image_id, {})
        # What reviewers agree on, or the arbiter has decided; None if neither.
        final = [one for one in given if one.reviewer == settings.review.arbiter] or given
        decision = final[0] if len({one.outcome for one in final}) == 1 else None
        licence = image["licence"] or settings.licences.fallback or UNSTATED
        status, reason = _status(image, bool(given), decision, found, settings)
        if status == KEPT and allowed and licence not in allowed:
            status, reason = REJECTED, LICENCE
        # The image that this one duplicates, even if that one is left out.
        original = found.get(COPY) or (found.get(ACROSS) if status == DUPLICATE else None)
        rows.append({
            **image, "path": image["place"], "set": name, "group": source.group,
            "source": source.source, "style": source.style, "colour_query": source.colour,
            "phash": None if image["phash"] is None else f"{image['phash']:016x}",
            "class": (decision and decision.class_name) or image["class_given"],
            "status": status, "reason": reason, "licence": licence, "duplicate_of": original,
            "reviewers": len({one.reviewer for one in given}),
            "blurred": len(review.boxes.get(image_id, ())),
        })  # fmt: skip
    return IMAGES_SCHEMA.from_frame(pd.DataFrame(rows, columns=IMAGES_SCHEMA.names, dtype=object))


def _check_review(review: Review, rows: Sequence[Mapping[str, Any]], name: str) -> None:
    """Check that a set has the images that people said something of, and that this can be."""
    sound = {row["image_id"]: row for row in rows if row["problem"] is None}
    for part in (review.decisions, review.boxes):
        unknown = [image for image in part if image not in sound]
        if unknown:
            raise InputError(
                f"set '{name}' has no image {listed(unknown, 5)}", file="decisions",
                remedy="Names of images are in the worklist; they change when an image is replaced",
            )  # fmt: skip
    for image, decisions in review.decisions.items():
        given = sound[image]["class_given"]
        if any(one.class_name == given for one in decisions):
            problem = f"'{image}' is relabelled to '{given}', which is its class"
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
    found: Mapping[str, str],
    settings: WarehouseSettings,
) -> tuple[str, str | None]:
    """What becomes of an image, and why; licences aside."""
    if image["problem"] is not None:
        return REJECTED, image["problem"]
    if decision is not None:
        return (REJECTED if decision.decision == REJECT else KEPT), decision.reason or None
    copies = settings.duplicates
    for applies, status, reason in (
        (is_reviewed, PENDING, DISAGREE),
        (LEAKED in found and copies.leaked == "drop", REJECTED, LEAK),
        (COPY in found, DUPLICATE, "copy in its set"),
        (ACROSS in found and copies.across == "drop", DUPLICATE, "copy in an earlier set"),
        (CONFLICT in found, PENDING, CONFLICT),
        (settings.review.unreviewed == "pending", PENDING, UNREVIEWED),
    ):
        if applies:
            return status, reason
    return KEPT, None


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
            n, agreed = len(pairs), sum(one == other for one, other in pairs)
            rows.append((first, second, n, agreed, agreed / n, cohen_kappa(pairs)))
    return pd.DataFrame(rows, columns=AGREEMENT_SCHEMA.names, dtype=object)


def cohen_kappa(pairs: Sequence[tuple[object, object]]) -> float | None:
    """Compute Cohen's kappa, agreement beyond chance; None where chance alone agrees always."""
    n = len(pairs)
    observed = sum(one == other for one, other in pairs) / n
    firsts, seconds = (Counter(outcomes) for outcomes in zip(*pairs, strict=True))
    chance = sum(count * seconds[outcome] for outcome, count in firsts.items()) / n**2
    return None if chance == 1 else (observed - chance) / (1 - chance)
