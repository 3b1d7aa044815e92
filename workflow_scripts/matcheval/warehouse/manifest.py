"""The manifest: a row per image, with what became of it and why."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow as pa

from matcheval.errors import ErrorCollector, InputError, unknown_name_error
from matcheval.io.csv_rows import read_csv_rows
from matcheval.io.tables import Column, TableSchema
from matcheval.warehouse.duplicates import ACROSS, CONFLICT, COPY, LEAKED
from matcheval.warehouse.sets import SourceSet
from matcheval.warehouse.settings import WarehouseSettings

KEEP, REJECT, RELABEL = "keep", "reject", "relabel"
REASONS = ("noise", "wrong class", "several objects", "duplicate", "unsafe", "other")
COLUMNS = ("image_id", "decision", "reason", "class", "reviewer")

AGREEMENT_SCHEMA = TableSchema(
    "agreement of reviewers",
    (
        Column("first", pa.string(), "", "a reviewer"),
        Column("second", pa.string(), "", "another reviewer"),
        Column("n", pa.int64(), "images", "images that both decided on"),
        Column("n_agreed", pa.int64(), "images", "of these, with the same decision and class"),
        Column("agreement", pa.float64(), "fraction", "n_agreed over n"),
        Column("kappa", pa.float64(), "1",
               "Cohen's kappa; null where chance alone agrees always", nullable=True),
    ),
)  # fmt: skip


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


# By set, by image, in the order of the files.
Decisions = Mapping[str, Mapping[str, Sequence[Decision]]]


def read_decisions(
    paths: Iterable[str], classes: Sequence[str], sets: Iterable[str]
) -> dict[str, dict[str, list[Decision]]]:
    """Read files of decisions."""
    known, problems = tuple(sets), ErrorCollector()
    found: dict[str, dict[str, list[Decision]]] = {}
    for path in paths:
        for number, row in enumerate(read_csv_rows(Path(path).expanduser(), COLUMNS), 2):
            if not row["decision"].strip():
                continue
            with problems.collected():
                one = _decision(row, classes, f"{path}, line {number}")
                name = one.image_id.rpartition("/")[0]
                if name not in known:
                    raise unknown_name_error("set", name, known, file=f"{path}, line {number}")
                before = found.setdefault(name, {}).setdefault(one.image_id, [])
                _check_against(before, one, f"{path}, line {number}")
                before.append(one)
    problems.raise_any()
    return found


def _decision(row: Mapping[str, str], classes: Sequence[str], where: str) -> Decision:
    cells = {column: row[column].strip() for column in COLUMNS}
    one = Decision(
        cells["image_id"], cells["decision"].lower(), cells["reason"].lower(), cells["class"],
        cells["reviewer"],
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
    return one


def _check_against(before: Sequence[Decision], one: Decision, where: str) -> None:
    for other in before:
        if other.reviewer == one.reviewer and other.outcome != one.outcome:
            raise InputError(
                f"reviewer '{one.reviewer}' decided on '{one.image_id}' before, and differently: "
                f"{' '.join(other.outcome).strip()}, {' '.join(one.outcome).strip()}",
                file=where, remedy="Delete one of the two",
            )  # fmt: skip


def check_images(
    decisions: Mapping[str, Sequence[Decision]], given: Mapping[str, str], set_name: str
) -> None:
    """Check that a set has the images that were decided on, under another class if relabelled."""
    unknown = [image for image in decisions if image not in given]
    if unknown:
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        raise InputError(
            f"set '{set_name}' has no image {', '.join(unknown[:5])}{more}", file="decisions",
            remedy="Names of images are in the worklist; they change when an image is replaced",
        )  # fmt: skip
    for image, several in decisions.items():
        for one in several:
            if one.decision == RELABEL and one.class_name == given[image]:
                raise InputError(
                    f"'{image}' is relabelled to '{one.class_name}', which is its class",
                    file="decisions", remedy="Decide 'keep'",
                )  # fmt: skip


def combine(decisions: Sequence[Decision], arbiter: str) -> Decision | None:
    """Combine the decisions on an image."""
    final = [one for one in decisions if one.reviewer == arbiter] or decisions
    return final[0] if len({one.outcome for one in final}) == 1 else None


def tabulate_agreement(decisions: Decisions, arbiter: str) -> pa.Table:
    """Count how often reviewers agree, for all pairs who decided on the same images."""
    outcomes: dict[str, dict[str, tuple[str, str]]] = {}
    for by_image in decisions.values():
        for image, several in by_image.items():
            for one in (each for each in several if each.reviewer != arbiter):
                outcomes.setdefault(one.reviewer, {})[image] = one.outcome
    rows = []
    for first, second in combinations(sorted(outcomes), 2):
        common = sorted(outcomes[first].keys() & outcomes[second].keys())
        if not common:
            continue
        pairs = [(outcomes[first][image], outcomes[second][image]) for image in common]
        agreed = sum(one == other for one, other in pairs)
        rows.append((first, second, len(pairs), agreed, agreed / len(pairs), cohen_kappa(pairs)))
    columns = list(zip(*rows, strict=True)) or [()] * len(AGREEMENT_SCHEMA.names)
    return AGREEMENT_SCHEMA.table(dict(zip(AGREEMENT_SCHEMA.names, columns, strict=True)))


def cohen_kappa(pairs: Sequence[tuple[object, object]]) -> float | None:
    """Compute Cohen's kappa: agreement beyond chance."""
    n = len(pairs)
    observed = sum(one == other for one, other in pairs) / n
    firsts = Counter(one for one, _ in pairs)
    seconds = Counter(other for _, other in pairs)
    chance = sum(count * seconds[outcome] for outcome, count in firsts.items()) / n**2
    return None if chance == 1 else (observed - chance) / (1 - chance)


_COLUMNS = ("image_id", "x0", "y0", "x1", "y1", "kind")


@dataclass(frozen=True)
class Box:
    """A box of an image, in pixels from its upper left corner after its orientation is applied."""

    x0: int
    y0: int
    x1: int
    y1: int
    kind: str


def read_boxes(path: str | None, sets: Iterable[str]) -> dict[str, dict[str, list[Box]]]:
    """Read the boxes to blur."""
    if path is None:
        return {}
    known, problems = tuple(sets), ErrorCollector()
    found: dict[str, dict[str, list[Box]]] = {}
    for number, row in enumerate(read_csv_rows(Path(path).expanduser(), _COLUMNS), 2):
        where = f"{path}, line {number}"
        with problems.collected():
            image = row["image_id"].strip()
            name = image.rpartition("/")[0]
            if name not in known:
                raise unknown_name_error("set", name, known, file=where)
            try:
                sides = [int(row[side]) for side in ("x0", "y0", "x1", "y1")]
            except ValueError as error:
                raise InputError(f"'{image}': {error}", file=where) from error
            box = Box(sides[0], sides[1], sides[2], sides[3], row["kind"].strip())
            if not (0 <= box.x0 < box.x1 and 0 <= box.y0 < box.y1):
                raise InputError(
                    f"'{image}': {box.x0}, {box.y0}, {box.x1}, {box.y1} is no box", file=where,
                    remedy="Give x0 < x1 and y0 < y1, in pixels from the upper left corner",
                )  # fmt: skip
            found.setdefault(name, {}).setdefault(image, []).append(box)
    problems.raise_any()
    return found


def check_inside(image: str, boxes: Sequence[Box], width: int, height: int) -> None:
    """Check that boxes lie in an image."""
    for box in boxes:
        if box.x1 > width or box.y1 > height:
            raise InputError(
                f"'{image}' has {width} × {height} pixels, and box {box.x0}, {box.y0}, {box.x1}, "
                f"{box.y1} reaches beyond them", file="boxes",
            )  # fmt: skip


@dataclass(frozen=True)
class Review:
    """What people said about the images of a set."""

    decisions: Mapping[str, Sequence[Decision]] = field(default_factory=dict)
    boxes: Mapping[str, Sequence[Box]] = field(default_factory=dict)


@dataclass(frozen=True)
class Reviews:
    """What people said, by set and image."""

    decisions: Mapping[str, Mapping[str, list[Decision]]]
    boxes: Mapping[str, Mapping[str, list[Box]]]

    def of(self, set_name: str) -> Review:
        """Return what was said of a set."""
        return Review(self.decisions.get(set_name, {}), self.boxes.get(set_name, {}))

    def state(self, set_name: str) -> list[Any]:
        """Return what was said of a set, as JSON values."""
        review = self.of(set_name)
        return [
            {name: [asdict(one) for one in each] for name, each in part.items()}
            for part in (review.decisions, review.boxes)
        ]


def read_reviews(settings: WarehouseSettings, sets: Mapping[str, SourceSet]) -> Reviews:
    """Read the files of decisions and boxes."""
    decisions = read_decisions(settings.review.decisions or (), settings.class_names, sets)
    return Reviews(decisions, read_boxes(settings.boxes, sets))


KEPT, PENDING, REJECTED, DUPLICATE = "kept", "pending", "rejected", "duplicate"
STATUSES = (KEPT, PENDING, REJECTED, DUPLICATE)
# Reasons besides those of the decoder and of reviewers.
DISAGREE, UNREVIEWED, LICENCE, LEAK = "reviewers disagree", "not reviewed", "licence", "leakage"
UNSTATED = "unstated"

_text = pa.string()
IMAGES_SCHEMA = TableSchema(
    "images of a warehouse",
    (
        Column("image_id", _text, "", "name of the image: its set, and digest of pixels and place"),
        Column("path", _text, "", "where it is in its set: class and file name"),
        Column("sha256", _text, "", "of pixels and shape", nullable=True),
        Column("phash", _text, "", "perceptual hash, 64 bits in hexadecimal", nullable=True),
        Column("set", _text, "", "its set"),
        Column("group", _text, "", "group of its set"),
        Column("source", _text, "", "where it comes from"),
        Column("style", _text, "", "style of its set"),
        Column("colour_query", _text, "", "colour that was asked for", nullable=True),
        Column("colour_measured", _text, "", "most frequent colour", nullable=True),
        Column("query", _text, "", "text that it was found by", nullable=True),
        Column("class_given", _text, "", "class that it was collected for"),
        Column("class", _text, "", "its class, corrected by reviewers"),
        Column("status", _text, "", "kept, pending, rejected or duplicate"),
        Column("reason", _text, "", "why it is not kept, or was relabelled", nullable=True),
        Column("duplicate_of", _text, "", "the image that it is a copy of", nullable=True),
        Column("width", pa.int32(), "pixels", "", nullable=True),
        Column("height", pa.int32(), "pixels", "", nullable=True),
        Column("licence", _text, "", "as stated, or the fallback"),
        Column("url", _text, "", "its address", nullable=True),
        Column("retrieved", _text, "", "date", nullable=True),
        Column("generator", _text, "", "what generated it", nullable=True),
        Column("seed", _text, "", "of the generator", nullable=True),
        Column("animated", pa.bool_(), "", "whether it is the first frame of several"),
        Column("misnamed", pa.bool_(), "", "whether the suffix is of another format"),
        Column("reviewers", pa.int32(), "people", "who decided on it"),
        Column("blurred", pa.int32(), "boxes", "boxes that are blurred in the exported image"),
    ),
)


def decide_set(
    source: SourceSet,
    read: pa.Table,
    duplicates: pa.Table,
    review: Review,
    settings: WarehouseSettings,
) -> pa.Table:
    """Decide what becomes of the images of a set."""
    rows = read.to_pylist()
    _check_review(review, rows, source.name)
    findings: dict[str, dict[str, str]] = {}
    for row in duplicates.to_pylist():
        findings.setdefault(row["image_id"], {}).setdefault(row["finding"], row["other"])
    out = []
    for row in rows:
        name = row["image_id"]
        given = review.decisions.get(name, ())
        decision = combine(given, settings.review.arbiter) if given else None
        found = findings.get(name, {})
        licence = row["licence"] or settings.licences.fallback or UNSTATED
        status, reason = _status(row, list(given), decision, found, settings)
        if status == KEPT and settings.licences.export not in (None, ()):
            allowed = settings.licences.export or ()
            status, reason = (KEPT, reason) if licence in allowed else (REJECTED, LICENCE)
        relabelled = decision is not None and decision.decision == RELABEL
        out.append({
            **{key: row[key] for key in _AS_READ},
            "path": row["place"], "set": source.name, "group": source.group,
            "source": source.source, "style": source.style, "colour_query": source.colour,
            "phash": None if row["phash"] is None else f"{row['phash']:016x}",
            "class": decision.class_name if relabelled and decision else row["class_given"],
            "status": status, "reason": reason, "licence": licence,
            "duplicate_of": _original(status, found), "reviewers": len({d.reviewer for d in given}),
            "blurred": len(review.boxes.get(name, ())),
        })  # fmt: skip
    return IMAGES_SCHEMA.table({name: [row[name] for row in out] for name in IMAGES_SCHEMA.names})


_AS_READ = (
    "image_id", "sha256", "colour_measured", "query", "class_given", "width", "height", "url",
    "retrieved", "generator", "seed", "animated", "misnamed",
)  # fmt: skip


def _check_review(review: Review, rows: Sequence[Mapping[str, Any]], name: str) -> None:
    sound = {row["image_id"]: row for row in rows if row["problem"] is None}
    check_images(review.decisions, {k: row["class_given"] for k, row in sound.items()}, name)
    check_images(dict.fromkeys(review.boxes, ()), dict.fromkeys(sound, ""), name)
    for image, boxes in review.boxes.items():
        check_inside(image, boxes, sound[image]["width"], sound[image]["height"])


def _status(
    row: Mapping[str, Any],
    given: Sequence[Decision],
    decision: Decision | None,
    found: Mapping[str, str],
    settings: WarehouseSettings,
) -> tuple[str, str | None]:
    """What becomes of an image, and why."""
    if row["problem"] is not None:
        return REJECTED, row["problem"]
    if decision is not None:
        status = REJECTED if decision.decision == REJECT else KEPT
        return status, decision.reason or None
    if given:
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


def _original(status: str, found: Mapping[str, str]) -> str | None:
    """The image that this one duplicates, even if that one is left out; None if there is none."""
    return found.get(COPY) or (found.get(ACROSS) if status == DUPLICATE else None)
