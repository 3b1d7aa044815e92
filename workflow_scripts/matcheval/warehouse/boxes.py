"""Boxes that are blurred in exported images, so that faces and number plates are not shown."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from matcheval.errors import ErrorCollector, InputError, unknown_name_error
from matcheval.io.user_files import read_csv_rows

if TYPE_CHECKING:
    from PIL import Image

_COLUMNS = ("image_id", "x0", "y0", "x1", "y1", "kind")
_SOFTNESS = 3  # the standard deviation of the blur is the box's larger side over this


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


def blur(image: "Image.Image", boxes: Sequence[Box]) -> "Image.Image":
    """Blur boxes; nothing of what is in a box reaches the rest of the image, nor the other way."""
    from PIL import ImageFilter  # not for a plan, which reads the boxes only

    blurred = image.copy()
    for box in boxes:
        corners = (box.x0, box.y0, box.x1, box.y1)
        radius = max(box.x1 - box.x0, box.y1 - box.y0) / _SOFTNESS
        part = blurred.crop(corners).filter(ImageFilter.GaussianBlur(radius))
        blurred.paste(part, corners)
    return blurred
