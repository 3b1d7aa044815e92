"""Manifests of suites: CSV files with a row per set."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from matcheval.datasets.label_spaces import SUBSETS
from matcheval.errors import InputError, unknown_name_error
from matcheval.io.user_files import read_numbered_rows
from matcheval.settings import read_settings
from matcheval.study.suite_placeholders import Place
from matcheval.study.suite_settings import SuiteMember

_PATHS = ("path", "file", "files", "images", "labels", "source", "devkit", "kind")
_MEMBER_COLUMNS = (
    "name",
    "dataset",
    "group",
    "subgroup",
    "severity",
    "classes",
    "note",
    "groups",
    "all_labels",
)


def manifest_members(path: Path, common: SuiteMember) -> Iterator[tuple[SuiteMember, Place]]:
    """Yield the members of a manifest, each with its place."""
    header, rows = read_numbered_rows(path, "manifest of a suite")
    if len(set(header)) < len(header):
        raise InputError("a column is named twice", file=path, field="header")
    if "name" not in header or not rows:
        raise InputError(
            "has no column 'name'" if rows else "has no rows",
            file=path,
            remedy="Give a header line with the columns, and a row per set (docs/suites.md)",
        )
    for column in common.data:
        if column not in header or column in _MEMBER_COLUMNS:
            raise unknown_name_error(
                "column", column, [c for c in header if c not in _MEMBER_COLUMNS], file=path,
                field="data",
            )  # fmt: skip
    known = (*_MEMBER_COLUMNS, *common.data)
    for line, row in rows:
        place: Place = {"file": f"{path}, line {line}"}
        if None in row or None in row.values():
            raise InputError("the row has not as many cells as the header", **place)
        cells = {key: value.strip() for key, value in row.items() if value.strip()}
        if not cells:
            continue
        options = {k: _option(k, v) for k, v in cells.items() if k not in known}
        shared = dict(common.dataset) if isinstance(common.dataset, dict) else {}
        named = cells.get("dataset", "" if shared or options else cells.get("name"))
        if named and options:
            raise InputError(
                f"'{next(iter(options))}' has no effect beside the name of a dataset", **place
            )
        values: dict[str, Any] = {
            "dataset": named or {**shared, **options},
            "name": None if named else cells.get("name"),
            "group": cells.get("group", common.group),
            "subgroup": cells.get("subgroup", common.subgroup),
            "severity": cells.get("severity", common.severity),
            "classes": _class_names(cells["classes"]) if "classes" in cells else common.classes,
            "groups": cells.get("groups", common.groups),
            "all_labels": cells.get("all_labels", common.all_labels),
        }
        yield read_settings(SuiteMember, values, file=place["file"]), place


def _class_names(cell: str) -> str | tuple[str, ...]:
    return (
        cell if cell in SUBSETS else tuple(name.strip() for name in cell.split(";") if name.strip())
    )


def _option(name: str, cell: str) -> Any:
    """Read an option of a dataset: paths are texts, all else is written as in YAML."""
    if name in _PATHS:
        return cell
    try:
        return yaml.safe_load(cell)
    except yaml.YAMLError:
        return cell
