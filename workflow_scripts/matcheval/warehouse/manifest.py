"""The manifest: a row per image, with what became of it and why."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from matcheval.io.tables import Column, TableSchema
from matcheval.warehouse.boxes import check_inside
from matcheval.warehouse.decisions import REJECT, RELABEL, Decision, check_images, combine
from matcheval.warehouse.duplicates import ACROSS, CONFLICT, COPY, LEAKED
from matcheval.warehouse.review import Review
from matcheval.warehouse.settings import WarehouseSettings
from matcheval.warehouse.source_sets import SourceSet

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
