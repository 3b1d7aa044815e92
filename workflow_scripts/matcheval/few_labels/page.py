"""The page on which a person labels images: one file that needs no server and no network."""

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matcheval.errors import InputError

_TYPES = {
    ".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".gif": "gif", ".webp": "webp", ".bmp": "bmp",
}  # fmt: skip


def labelling_page(
    rows: Sequence[Mapping[str, Any]], classes: Sequence[str], folder: Path, name: str
) -> str:
    """Return the page of a worklist; `name` keeps the progress of other worklists apart.

    Raises
    ------
    InputError
        If the predictions name no files, or a file is missing or of a type no browser shows.
    """
    template = (Path(__file__).parent / "labelling.html").read_text(encoding="utf-8")
    items = [
        {k: row[k] for k in ("order", "index", "file", "label", "status")}
        | {"image": _embedded(str(row["file"]), folder)}
        for row in rows
    ]
    content = {"name": name, "classes": list(classes), "items": items}
    # A file's name may not end the script that it is part of.
    text = json.dumps(content, ensure_ascii=False).replace("<", "\\u003c")
    return template.replace("/*CONTENT*/null", text)


def _embedded(name: str, folder: Path) -> str:
    if not name:
        raise InputError(
            "the predictions name no image files", field="images",
            remedy="Add a column file_name to the predictions, or label without the page",
        )  # fmt: skip
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()) or not path.is_file():
        raise InputError("no such image", file=path, field="images")
    kind = _TYPES.get(path.suffix.lower())
    if kind is None:
        remedy = f"Convert it to one of {', '.join(_TYPES)}"
        raise InputError("is of a type that browsers do not show", file=path, remedy=remedy)
    return f"data:image/{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
