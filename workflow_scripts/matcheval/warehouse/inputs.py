"""Find the user's images: in folders or a list, with what a plan and a table say of them."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from matcheval.errors import ErrorCollector, InputError, unknown_name_error
from matcheval.io.user_files import read_csv_rows
from matcheval.names import is_name
from matcheval.warehouse.plan import planned_sets
from matcheval.warehouse.settings import WarehouseSettings
from matcheval.warehouse.source_sets import Facts, ImageFile, SourceSet

# What may be known of a set, and of a single image.
_OF_SET = ("group", "source", "style", "colour")
_OF_IMAGE = ("query", "url", "licence", "retrieved", "generator", "seed")
_RENAMED = {"date": "retrieved"}


def find_sets(settings: WarehouseSettings) -> dict[str, SourceSet]:
    """Find the user's sets; no image is read."""
    if settings.images is None and settings.files is None:
        raise InputError(
            "names no images", file=settings.warehouse, field="images",
            remedy="Give the folder of your images, or 'files', a list of them",
        )  # fmt: skip
    if settings.images is not None:
        sets = _sets_in_folder(Path(settings.images).expanduser(), settings.class_names)
    else:
        sets = _sets_in_list(Path(settings.files or "").expanduser(), settings.class_names)
    if not sets:
        raise InputError("has no images", file=settings.images or settings.files)
    sets = _with_plan(sets, settings)
    if settings.about is not None:
        sets = _with_about(sets, Path(settings.about).expanduser())
    return {one.name: one for one in sorted(sets.values(), key=lambda one: (one.group, one.name))}


def _sets_in_folder(root: Path, classes: tuple[str, ...]) -> dict[str, SourceSet]:
    if not root.is_dir():
        raise InputError("no such folder", file=root)
    problems = ErrorCollector()
    found: dict[str, SourceSet] = {}
    for group in _folders_in(root, problems):
        for folder in _folders_in(group, problems):
            with problems.collected():
                names = [each.name for each in _folders_in(folder, problems)]
                _check_set(folder.name, names, classes, found, folder)
                found[folder.name] = SourceSet(
                    folder.name, group.name, classes=_in_order(names, classes), folder=folder
                )
    problems.raise_any()
    return found


def _folders_in(folder: Path, problems: ErrorCollector) -> list[Path]:
    entries = sorted(each for each in folder.iterdir() if not each.name.startswith("."))
    for each in entries:
        with problems.collected():
            if not each.is_dir():
                raise InputError(
                    "lies in no class folder", file=each,
                    remedy="Images lie in <group>/<set>/<class>/",
                )  # fmt: skip
    return [each for each in entries if each.is_dir()]


def _check_set(
    name: str,
    given: Iterable[str],
    classes: tuple[str, ...],
    known: Mapping[str, SourceSet],
    file: object,
) -> None:
    if not is_name(name):
        raise InputError(
            f"'{name}' cannot be the name of a set", file=file,
            remedy="Use letters, digits, '.', '_' and '-'",
        )  # fmt: skip
    if name.casefold() in {other.casefold() for other in known}:
        raise InputError(
            f"there is another set '{name}'", file=file, remedy="Names of sets are distinct"
        )
    for class_name in given:
        if class_name not in classes:
            raise unknown_name_error("class", class_name, classes, file=file)


def _in_order(given: Iterable[str], classes: tuple[str, ...]) -> tuple[str, ...]:
    present = set(given)
    return tuple(name for name in classes if name in present)


def _sets_in_list(path: Path, classes: tuple[str, ...]) -> dict[str, SourceSet]:
    """Read a list of files; what it says of sets must be the same in all rows of a set."""
    problems = ErrorCollector()
    rows: dict[str, list[ImageFile]] = {}
    said: dict[str, dict[str, str]] = {}
    places: set[tuple[str, str]] = set()
    for number, row in enumerate(_list_rows(path), 1):
        where = f"{path}, row {number}"
        with problems.collected():
            _check_list_row(row, said, classes, where)
            file = Path(row["file"])
            place = f"{row['class']}/{file.as_posix().lstrip('/')}"
            if (row["set"], place) in places:
                raise InputError(f"'{file}' is listed twice", file=where)
            places.add((row["set"], place))
            facts = Facts(**{key: row.get(key) or None for key in _OF_IMAGE})
            full = file if file.is_absolute() else path.parent / file
            rows.setdefault(row["set"], []).append(ImageFile(full, place, row["class"], facts))
    problems.raise_any()
    return {
        name: SourceSet(
            name,
            group=said[name].get("group", ""),
            source=said[name].get("source", ""),
            style=said[name].get("style", ""),
            colour=said[name].get("colour"),
            classes=_in_order((one.class_name for one in files), classes),
            listed=tuple(sorted(files, key=lambda one: one.place)),
        )
        for name, files in rows.items()
    }


def _list_rows(path: Path) -> Iterator[dict[str, str]]:
    required = ("file", "set", "class")
    if path.suffix.lower() != ".jsonl":
        rows: Iterable[dict[str, Any]] = read_csv_rows(path, required)
    else:
        rows = _json_rows(path, required)
    for row in rows:
        texts = {k: "" if v is None else str(v).strip() for k, v in row.items() if k is not None}
        yield {_RENAMED.get(key, key): value for key, value in texts.items()}


def _json_rows(path: Path, required: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"not a readable text file ({error})", file=path) from error
    for number, line in enumerate(filter(str.strip, lines), 1):
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(f"not JSON ({error})", file=f"{path}, row {number}") from error
        if not isinstance(row, dict) or any(key not in row for key in required):
            raise InputError(
                f"has not the keys {', '.join(required)}", file=f"{path}, row {number}"
            )
        yield row


def _check_list_row(
    row: Mapping[str, str],
    said: dict[str, dict[str, str]],
    classes: tuple[str, ...],
    where: str,
) -> None:
    name = row["set"]
    of_set = {key: row[key] for key in _OF_SET if row.get(key)}
    if name not in said:
        if not row["file"]:
            raise InputError("is empty", file=where, field="file")
        _check_set(name, (), classes, {other: SourceSet(other, "") for other in said}, where)
        said[name] = of_set
    if said[name] != of_set:
        different = next(k for k in _OF_SET if said[name].get(k) != of_set.get(k))
        raise InputError(
            f"set '{name}' has '{of_set.get(different, '')}', and "
            f"'{said[name].get(different, '')}' in its first row",
            file=where, field=different, remedy="A set has one source, style and colour",
        )  # fmt: skip
    if row["class"] not in classes:
        raise unknown_name_error("class", row["class"], classes, file=where)


def _with_plan(sets: Mapping[str, SourceSet], settings: WarehouseSettings) -> dict[str, SourceSet]:
    planned = planned_sets(settings.plan)
    found = {}
    for name, one in sets.items():
        plan = planned.get(name)
        if plan is not None:
            query = plan.template.replace("{colour}", plan.colour or "")
            one = replace(
                one, group=one.group or plan.group, source=one.source or plan.source,
                style=one.style or plan.style, colour=one.colour or plan.colour,
                facts=replace(one.facts, query=query),
            )  # fmt: skip
        found[name] = one
    return found


def _with_about(sets: Mapping[str, SourceSet], path: Path) -> dict[str, SourceSet]:
    found, problems = dict(sets), ErrorCollector()
    known = ("set", *_OF_SET, *_OF_IMAGE, *_RENAMED)
    seen: set[str] = set()
    for row in read_csv_rows(path, ["set"]):
        with problems.collected():
            unknown = [key for key in row if key not in known]
            if unknown:
                raise unknown_name_error("column", str(unknown[0]), known, file=path)
            name = row["set"]
            if name not in found:
                raise unknown_name_error("set", name, found, file=path)
            if name in seen:
                raise InputError(f"set '{name}' occurs twice", file=path)
            seen.add(name)
            cells = {_RENAMED.get(key, key): value for key, value in row.items() if value}
            of_set: dict[str, Any] = {key: cells[key] for key in _OF_SET if key in cells}
            facts = replace(
                found[name].facts, **{key: cells[key] for key in _OF_IMAGE if key in cells}
            )
            found[name] = replace(found[name], facts=facts, **of_set)
    problems.raise_any()
    return found
