"""The user's sets of images: as a query plan names them, and as found in folders or a list.

A set is one source with one style and one colour, or one template, and has all classes (Sun et al.
2024, section 2). Nothing is searched, downloaded or generated here: people do that, by the plan.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from matcheval.datasets.kinds import DatasetSpec
from matcheval.errors import ErrorCollector, InputError, check_known, configuration_error
from matcheval.io.files import files_below, readable
from matcheval.io.self_digests import digest_of
from matcheval.io.tables import Column, TableSchema, text
from matcheval.io.user_files import read_csv_rows
from matcheval.names import is_name
from matcheval.warehouse import WAREHOUSE_VERSION
from matcheval.warehouse.settings import PlannedGroup, WarehouseSettings

PLAN_SCHEMA = TableSchema(
    "query plan",
    text("set", "name of the set"),
    text("group", "group of sets that it belongs to"),
    text("source", "search engine, photo site or generator"),
    text("style", "style of the images"),
    Column("colour", pa.string(), "", "colour asked for; null if none, or not known by name",
           nullable=True),
    text("template", "text of the query, with its placeholders"),
    text("class", "class to search for"),
    text("text", "text of the query"),
)  # fmt: skip
_NAMES = "Use letters, digits, '.', '_' and '-'"


@dataclass(frozen=True, slots=True)
class ImageMetadata:
    """Where an image comes from; None for what is not known."""

    query: str | None = None
    url: str | None = None
    licence: str | None = None
    retrieved: str | None = None
    generator: str | None = None
    seed: str | None = None


@dataclass(frozen=True, slots=True)
class ImageFile:
    """An image file of a set, with its place (class and file name) there."""

    file: Path
    place: str
    class_name: str
    metadata: ImageMetadata


@dataclass(frozen=True)
class SourceSet:
    """A set of the user's images, which lie in a folder or are listed one by one."""

    name: str
    group: str = ""
    source: str = ""
    style: str = ""
    colour: str | None = None
    classes: tuple[str, ...] = ()
    folder: Path | None = None
    metadata: ImageMetadata = ImageMetadata()
    listed: tuple[ImageFile, ...] = ()

    def files(self) -> Iterator[ImageFile]:
        """Iterate over its image files, sorted by place; hidden files are left out."""
        yield from self.listed
        if self.folder is None:
            return
        for file in files_below(self.folder):
            place = file.relative_to(self.folder)
            name = place.parts[0]
            query = self.metadata.query and self.metadata.query.replace("{class}", name)
            yield ImageFile(file, place.as_posix(), name, replace(self.metadata, query=query))

    def file_at(self, place: str) -> Path:
        """Return the path of the image file at a place, its class and file name."""
        return self._listed_by_place[place] if self.folder is None else self.folder / place

    @cached_property
    def _listed_by_place(self) -> dict[str, Path]:
        return {image.place: image.file for image in self.listed}


@dataclass(frozen=True)
class PlannedSet:
    """A set of the query plan; its template is a query with placeholders."""

    name: str
    group: str
    source: str
    style: str
    colour: str | None
    template: str

    @property
    def query(self) -> str:
        """The query with the colour filled in, and `{class}` still in it."""
        return self.template.replace("{colour}", self.colour or "")


def planned_sets(groups: Mapping[str, PlannedGroup]) -> dict[str, PlannedSet]:
    """Expand the groups of a plan into its sets, by name; names must be valid and distinct."""
    sets: dict[str, PlannedSet] = {}
    for group, settings in groups.items():
        for planned in _expand_group(group, settings):
            field = f"plan.{group}.name"
            if not is_name(planned.name):
                problem = f"'{planned.name}' cannot be the name of a set"
                raise configuration_error(problem, field=field, remedy=_NAMES)
            if planned.name in sets:
                remedy = "Name them by {group}, {source}, {colour} and {key}"
                problem = f"two sets are named '{planned.name}'"
                raise configuration_error(problem, field=field, remedy=remedy)
            sets[planned.name] = planned
    return sets


def _expand_group(group: str, settings: PlannedGroup) -> Iterator[PlannedSet]:
    """Yield a set for each source, colour and template of a group of the plan."""
    for source, colours in settings.sources.items():
        options: Iterable[tuple[str, str | None]] = [("", None)]
        if isinstance(colours, int):
            options = [(f"{number:02d}", None) for number in range(1, colours + 1)]
        elif colours is not None:
            options = zip(colours, colours, strict=True)
        for option, colour in options:
            for key, template in settings.all_templates.items():
                parts = {"group": group, "source": source, "colour": option, "key": key}
                name = settings.name or "-".join(f"{{{k}}}" for k, v in parts.items() if v)
                style = _fill(settings.style, parts)
                yield PlannedSet(_fill(name, parts), group, source, style, colour, template)


def _fill(pattern: str, values: Mapping[str, str]) -> str:
    """Replace the placeholders of a pattern; spaces in values become hyphens."""
    for name, value in values.items():
        pattern = pattern.replace(f"{{{name}}}", value.replace(" ", "-"))
    return pattern


def tabulate_plan(settings: WarehouseSettings) -> pa.Table:
    """Return the query plan as a table with a row per set and class (`PLAN_SCHEMA`)."""
    rows = [
        (*asdict(planned).values(), name, planned.query.replace("{class}", name))
        for planned in planned_sets(settings.plan).values()
        for name in settings.class_names
    ]
    return PLAN_SCHEMA.from_frame(pd.DataFrame(rows, columns=PLAN_SCHEMA.names, dtype=object))


# What a list or table may say of a set, and of a single image.
_SET_FIELDS = ("group", "source", "style", "colour")
_IMAGE_FIELDS = tuple(field.name for field in fields(ImageMetadata))
_SYNONYMS = {"date": "retrieved"}


def find_sets(settings: WarehouseSettings) -> dict[str, SourceSet]:
    """Find the user's sets, in folders or a list, by name, with descriptions; read no image."""
    place = settings.images or settings.files
    if place is None:
        raise InputError(
            "names no images", file=settings.warehouse, field="images",
            remedy="Give the folder of your images, or 'files', a list of them",
        )  # fmt: skip
    find = _sets_in_list if settings.images is None else _sets_in_folder
    sets = find(Path(place).expanduser(), settings.class_names)
    if not sets:
        raise InputError("has no images", file=place)
    for name, plan in planned_sets(settings.plan).items():
        if name in sets:
            source = sets[name]
            set_values = {key: getattr(source, key) or getattr(plan, key) for key in _SET_FIELDS}
            metadata = replace(source.metadata, query=plan.query)
            sets[name] = replace(source, metadata=metadata, **set_values)
    if settings.about is not None:
        sets |= _read_descriptions(sets, Path(settings.about).expanduser())
    in_order = sorted(sets.values(), key=lambda source: (source.group, source.name))
    return {source.name: source for source in in_order}


def _sets_in_folder(root: Path, classes: tuple[str, ...]) -> dict[str, SourceSet]:
    """Find the sets below a folder, whose images lie in <group>/<set>/<class>/."""
    if not root.is_dir():
        raise InputError("no such folder", file=root)
    problems = ErrorCollector()
    sets: dict[str, SourceSet] = {}
    for group in _subfolders(root, problems):
        for folder in _subfolders(group, problems):
            with problems.collected():
                present = [class_folder.name for class_folder in _subfolders(folder, problems)]
                _check_set_name(folder.name, sets, folder)
                check_known("class", present, classes, file=folder, field=None)
                ordered = tuple(name for name in classes if name in present)
                source = SourceSet(folder.name, group.name, classes=ordered, folder=folder)
                sets[folder.name] = source
    problems.raise_any()
    return sets


def _subfolders(folder: Path, problems: ErrorCollector) -> list[Path]:
    """List the visible subfolders of a folder in order; files beside them are problems."""
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    for entry in entries:
        with problems.collected():
            if not entry.is_dir():
                remedy = "Images lie in <group>/<set>/<class>/"
                raise InputError("lies in no class folder", file=entry, remedy=remedy)
    return [entry for entry in entries if entry.is_dir()]


def _check_set_name(name: str, others: Collection[str], file: object) -> None:
    if not is_name(name):
        raise InputError(f"'{name}' cannot be the name of a set", file=file, remedy=_NAMES)
    if name.casefold() in {other.casefold() for other in others}:
        remedy = "Names of sets are distinct"
        raise InputError(f"there is another set '{name}'", file=file, remedy=remedy)


def _sets_in_list(path: Path, classes: tuple[str, ...]) -> dict[str, SourceSet]:
    """Read sets from a list of image files; the rows of a set must describe it alike."""
    problems = ErrorCollector()
    sets: dict[str, SourceSet] = {}  # as the first row of each describes it
    files: dict[str, dict[str, ImageFile]] = {}  # by set and place
    for number, row in enumerate(_list_rows(path), 1):
        where, name = f"{path}, row {number}", row["set"]
        with problems.collected():
            set_values: dict[str, Any] = {key: row[key] for key in _SET_FIELDS if row.get(key)}
            described = SourceSet(name, **set_values)
            if not row["file"]:
                raise InputError("is empty", file=where, field="file")
            if name not in sets:
                _check_set_name(name, sets, where)
                sets[name], files[name] = described, {}
            for key in _SET_FIELDS:
                value, first = getattr(described, key) or "", getattr(sets[name], key) or ""
                if value != first:
                    problem = f"set '{name}' has '{value}', and '{first}' in its first row"
                    remedy = "A set has one source, style and colour"
                    raise InputError(problem, file=where, field=key, remedy=remedy)
            check_known("class", [row["class"]], classes, file=where, field=None)
            file = Path(row["file"])
            place = f"{row['class']}/{file.as_posix().lstrip('/')}"
            if place in files[name]:
                raise InputError(f"'{file}' is listed twice", file=where)
            metadata = ImageMetadata(**{key: row.get(key) or None for key in _IMAGE_FIELDS})
            full = path.parent / file  # the file itself if its path is absolute
            files[name][place] = ImageFile(full, place, row["class"], metadata)
    problems.raise_any()
    for name, source in sets.items():
        listed = tuple(sorted(files[name].values(), key=lambda image: image.place))
        present = {image.class_name for image in listed}
        ordered = tuple(class_name for class_name in classes if class_name in present)
        sets[name] = replace(source, listed=listed, classes=ordered)
    return sets


def _list_rows(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV or JSON Lines list of image files, with values as stripped text."""
    required = ("file", "set", "class")
    is_json = path.suffix.lower() == ".jsonl"
    for row in _read_json_lines(path, required) if is_json else read_csv_rows(path, required):
        yield {
            _SYNONYMS.get(key, key): "" if value is None else str(value).strip()
            for key, value in row.items()
            if key is not None
        }


def _read_json_lines(path: Path, required: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    with readable(path, "a readable text file"):
        lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(filter(str.strip, lines), 1):
        where = f"{path}, row {number}"
        with readable(where, "JSON"):
            row = json.loads(line)
        if not isinstance(row, dict) or any(key not in row for key in required):
            raise InputError(f"has not the keys {', '.join(required)}", file=where)
        yield row


def _read_descriptions(sets: Mapping[str, SourceSet], path: Path) -> dict[str, SourceSet]:
    """Return the sets that a CSV table describes, with its descriptions."""
    described: dict[str, SourceSet] = {}
    problems = ErrorCollector()
    columns = ("set", *_SET_FIELDS, *_IMAGE_FIELDS, *_SYNONYMS)
    for row in read_csv_rows(path, ["set"]):
        with problems.collected():
            check_known("column", map(str, row), columns, file=path, field=None)
            name = row["set"]
            check_known("set", [name], sets, file=path, field=None)
            if name in described:
                raise InputError(f"set '{name}' occurs twice", file=path)
            cells = {_SYNONYMS.get(key, key): value for key, value in row.items() if value}
            set_values: dict[str, Any] = {key: cells[key] for key in _SET_FIELDS if key in cells}
            image_values = {key: cells[key] for key in _IMAGE_FIELDS if key in cells}
            metadata = replace(sets[name].metadata, **image_values)
            described[name] = replace(sets[name], metadata=metadata, **set_values)
    problems.raise_any()
    return described


def reading_state(source: SourceSet, settings: WarehouseSettings) -> str:
    """Return a digest that changes with a set's files or the settings for reading them."""
    stats = [(image.place, image.file.stat()) for image in source.files() if image.file.exists()]
    files = [(place, stat.st_size, stat.st_mtime_ns) for place, stat in stats]
    metadata = [asdict(source.metadata), [asdict(image.metadata) for image in source.listed]]
    decoding = settings.decoding.model_dump(mode="json")
    return digest_of([WAREHOUSE_VERSION, source.name, metadata, files, decoding])


def reference_state(name: str, settings: WarehouseSettings) -> str:
    """Return a digest that changes when a base or training set must be hashed again."""
    block = settings.against[name]
    options = {key: value for key, value in block.items() if key != "kind"}
    files = DatasetSpec(name, block["kind"], options).custom_files_state
    return digest_of([WAREHOUSE_VERSION, block, files])
