"""Names of studies, sets and models, from those of files and folders."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matcheval.names import MAX_NAME_LENGTH

_MAX_LISTED = 10  # names in a message


def as_name(text: str) -> str:
    """Make a name of a study, a set or a model from a text."""
    kept = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._")
    return kept[: MAX_NAME_LENGTH // 2] or "set"


def pattern_name(pattern: str) -> str:
    """Return what a set is called by the pattern of its prediction files."""
    path = Path(pattern)
    rest = path.name.split(".")[0].replace("{model}", "").strip("-_. ")
    folder = path.parent
    while "{model}" in folder.name:
        folder = folder.parent
    return as_name(rest or folder.resolve().name)


def distinct(one: str, two: str) -> tuple[str, str]:
    """Return two names that differ: themselves, or with what they are added."""
    return (one, two) if one.casefold() != two.casefold() else (f"{one}-original", f"{two}-new")


def suite_name(path: Path, base: str) -> str:
    """Return what the sets in a folder are called together."""
    name = as_name(path.resolve().name)
    return name if name.casefold() != base.casefold() else f"{name}-sets"


def listed(names: Sequence[str] | Mapping[str, Any]) -> str:
    """Return names for a message, shortened if there are many."""
    shown = ", ".join(list(names)[:_MAX_LISTED])
    return f"{shown} and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else shown
