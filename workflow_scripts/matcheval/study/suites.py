"""Expansion of the suites of a configuration into datasets and members."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import yaml
from pydantic import Field, model_validator

from matcheval import settings
from matcheval.datasets.label_spaces import SUBSETS, class_subset
from matcheval.datasets.suites import Groups, Member, Suite
from matcheval.errors import ErrorCollector, InputError, check_known, configuration_error
from matcheval.io.user_files import read_numbered_rows, read_yaml
from matcheval.names import MAX_NAME_LENGTH, is_name
from matcheval.settings import Name, Named, PathText, Settings, read_settings
from matcheval.study.rules import path_pattern
from matcheval.warehouse.manifest import Warehouse
from matcheval.warehouse.settings import read_warehouse

Texts = settings.UniqueTuple[str]
Classes = Annotated[tuple[settings.Label, ...], settings.Unique]


class SuiteMember(Settings):
    """A member of a suite: one dataset, or all datasets that a pattern, manifest or suite gives."""

    dataset: Name | dict[str, Any] | None = Field(
        None,
        description="Name of a dataset, or the block of one, whose texts may have {placeholders}",
    )
    suite: Name | None = Field(None, description="Another suite, all of whose members are taken")
    manifest: PathText | None = Field(
        None, description="CSV file with a member per row (docs/datasets.md)"
    )
    warehouse: PathText | None = Field(
        None, description="File of a warehouse, all of whose sets are taken (docs/datasets.md)"
    )
    side: settings.Count | None = Field(
        None, description="Height and width of a warehouse's images, in pixels; 32 by default"
    )
    data: Texts = Field(
        (), description="Columns of the manifest that are data about its sets, and no options"
    )
    name: Annotated[str, Field(max_length=MAX_NAME_LENGTH)] | None = Field(
        None, description="Name of the dataset of a block, with its placeholders"
    )
    values: dict[str, settings.SomeUnique[str | settings.Integer]] = Field(
        {}, description="Values of placeholders; by default those that existing files have"
    )
    group: settings.Label = Field("", description="What kind of set it is; may have placeholders")
    subgroup: settings.Label = Field("", description="A finer kind; may have placeholders")
    severity: settings.Number | str | None = Field(
        None, description="How strong the shift is, a number; may be a placeholder"
    )
    classes: Literal["imagenet-a", "imagenet-r"] | Texts = Field(
        (), description="The classes that it has images of, or a name of them; all by default"
    )
    groups: Annotated[dict[settings.Label, Classes], Field(min_length=1)] | PathText | None = Field(
        None,
        description="Its classes, if each is a group of classes of the label space: the classes by "
        "the name of their group, or a YAML file of them",
    )
    all_labels: PathText | None = Field(
        None,
        description="CSV file with columns name (of an image) and labels (separated by ;), where "
        "images have several true classes; a prediction of one of them is right",
    )

    @model_validator(mode="after")
    def _check_combination(self) -> "SuiteMember":
        origins = ["dataset", "suite", "manifest", "warehouse"]
        origins = [key for key in origins if getattr(self, key) is not None]
        has_block = isinstance(self.dataset, dict)
        if self.manifest is not None and has_block:
            origins.remove("dataset")  # what all rows of the manifest have in common
        described = ("group", "subgroup", "severity", "classes", "groups", "all_labels")
        refused = {
            "give one of 'dataset', 'suite', 'manifest' and 'warehouse'": len(origins) != 1,
            "'side' belongs to a warehouse": self.side is not None and self.warehouse is None,
            "what is known of the members of a suite or warehouse is given there": (
                (self.suite or self.warehouse) and any(getattr(self, key) for key in described)
            ),
            "give 'classes', or 'groups' of classes, not both": self.classes and self.groups,
            "'name' and 'values' belong to the block of a dataset": (
                (self.name or self.values) and (self.manifest is not None or not has_block)
            ),
            "'data' names columns of a manifest, and there is none": (
                self.data and self.manifest is None
            ),
        }
        for problem, is_refused in refused.items():
            if is_refused:
                raise ValueError(problem)
        return self


class SuiteSettings(Settings):
    """A named collection of datasets."""

    members: Annotated[tuple[Name | SuiteMember, ...], Field(min_length=1)] = Field(
        description="Names of datasets, or members with what is known of them"
    )


class SuitesSettings(Settings):
    """The block `suites` of a configuration, which is read before all else."""

    suites: Named[SuiteSettings] = Field({}, description="Collections of datasets")


Place = dict[str, str]  # where a member is: `file`, and perhaps `field`

_PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")
_MODEL = "model"  # placeholder that prediction files keep
_FILLED_KEYS = ("name", "group", "subgroup", "severity", "all_labels")  # beside the block itself


def placeholder_values(member: SuiteMember, place: Place) -> list[dict[str, str]]:
    """Return a member's placeholder values for each dataset that its block stands for."""
    assert isinstance(member.dataset, dict)
    texts = [text for text in _strings(member.dataset) if _placeholders(text)]
    names = list(dict.fromkeys(name for text in texts for name in _placeholders(text)))
    check_known("placeholder", member.values, names, **place)
    for key in _FILLED_KEYS:
        used = _placeholders(str(getattr(member, key) or ""))
        check_known("placeholder", used, names, **place)
    listed = {name: tuple(map(str, member.values[name])) for name in names if name in member.values}
    if len(listed) == len(names):
        return [dict(zip(listed, values, strict=True)) for values in product(*listed.values())]
    patterns = [text for text in texts if set(_placeholders(text)) == set(names)]
    fillings = next((paths for text in patterns if (paths := _match_paths(text, listed))), [])
    if texts and not fillings:
        remedy = "Put them there, correct the pattern, or list the 'values' of its placeholders"
        raise InputError(f"no file or folder matches {texts[0]}", **place, remedy=remedy)
    for name, wanted in listed.items():
        absent = [value for value in wanted if all(values[name] != value for values in fillings)]
        if absent:
            problem = f"no file or folder matches {texts[0]} with '{absent[0]}' for '{name}'"
            raise InputError(problem, **place)
    return fillings or [{}]


def _match_paths(pattern: str, listed: Mapping[str, tuple[str, ...]]) -> list[dict[str, str]]:
    """Return placeholder values, in natural order, of the existing paths that match a pattern."""
    path = str(Path(pattern).expanduser())
    expression = path_pattern(path, "[^/]+", unnamed=_MODEL)
    glob = Path(_PLACEHOLDER.sub("*", re.sub(r"([*?\[])", r"[\1]", path)))
    files = Path(glob.anchor or ".").glob(str(glob.relative_to(glob.anchor or ".")))
    matches = (expression.fullmatch(str(file)) for file in files)
    values = {tuple(match.groupdict().items()) for match in matches if match}
    visible = [items for items in values if not any(v.startswith(".") for _, v in items)]
    kept = [dict(items) for items in visible if all(v in listed.get(k, (v,)) for k, v in items)]
    return sorted(kept, key=lambda filling: [_natural_key(value) for value in filling.values()])


def _natural_key(text: str) -> list[tuple[int, int | str]]:
    """Sorting key that puts numbers within texts in order, such as 9 before 10."""
    parts = re.split(r"(\d+)", text)
    return [(0, int(part)) if part.isdigit() else (1, part) for part in parts if part]


def _placeholders(text: str) -> list[str]:
    """Return the names of all placeholders in a text but `{model}`."""
    return [name for name in _PLACEHOLDER.findall(text) if name != _MODEL]


def _strings(block: Any) -> Iterator[str]:
    """Yield all strings in a nested block of a configuration."""
    if isinstance(block, str):
        yield block
    elif isinstance(block, Mapping | list | tuple):
        for value in block.values() if isinstance(block, Mapping) else block:
            yield from _strings(value)


def fill_placeholders(block: Any, values: Mapping[str, str]) -> Any:
    """Replace the placeholders in all strings of a nested block by their values."""
    if isinstance(block, str):
        return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), block)
    if isinstance(block, Mapping):
        return {key: fill_placeholders(value, values) for key, value in block.items()}
    if isinstance(block, list | tuple):
        return [fill_placeholders(value, values) for value in block]
    return block


_PATHS = ("path", "file", "files", "images", "labels", "source", "devkit", "kind")
_DESCRIBING = ("group", "subgroup", "severity", "groups", "all_labels")
_MEMBER_COLUMNS = ("name", "dataset", "classes", "note", *_DESCRIBING)


def manifest_members(path: Path, common: SuiteMember) -> Iterator[tuple[SuiteMember, Place]]:
    """Yield the members that the rows of a CSV manifest define, each with file and line."""
    header, rows = read_numbered_rows(path, "manifest of a suite")
    if len(set(header)) < len(header):
        raise InputError("a column is named twice", file=path, field="header")
    if "name" not in header or not rows:
        problem = "has no column 'name'" if rows else "has no rows"
        remedy = "Give a header line with the columns, and a row per set (docs/datasets.md)"
        raise InputError(problem, file=path, remedy=remedy)
    others = [column for column in header if column not in _MEMBER_COLUMNS]
    check_known("column", common.data, others, file=path, field="data")
    no_options = (*_MEMBER_COLUMNS, *common.data)
    for line, row in rows:
        place: Place = {"file": f"{path}, line {line}"}
        if None in row or None in row.values():
            raise InputError("the row has not as many cells as the header", **place)
        cells = {key: value.strip() for key, value in row.items() if value.strip()}
        if not cells:
            continue
        options = {k: _parse_option(k, v) for k, v in cells.items() if k not in no_options}
        shared = dict(common.dataset) if isinstance(common.dataset, dict) else {}
        named = cells.get("dataset", "" if shared or options else cells.get("name"))
        if named and options:
            problem = f"'{next(iter(options))}' has no effect beside the name of a dataset"
            raise InputError(problem, **place)
        values: dict[str, Any] = {
            "dataset": named or {**shared, **options},
            "name": None if named else cells.get("name"),
            "classes": common.classes,
        }
        values |= {key: cells.get(key, getattr(common, key)) for key in _DESCRIBING}
        if classes := cells.get("classes", ""):
            listed = [name.strip() for name in classes.split(";") if name.strip()]
            values["classes"] = classes if classes in SUBSETS else listed
        yield read_settings(SuiteMember, values, file=place["file"]), place


def _parse_option(name: str, cell: str) -> Any:
    """Read the cell of a dataset's option: as text for paths, else as YAML."""
    if name in _PATHS:
        return cell
    try:
        return yaml.safe_load(cell)
    except yaml.YAMLError:
        return cell


def warehouse_members(file: str, side: int) -> Iterator[tuple[SuiteMember, Place]]:
    """Yield a member for each set of a warehouse, each with the warehouse's file."""
    warehouse = Warehouse(read_warehouse(Path(file).expanduser()))
    class_names = warehouse.settings.class_names
    for name, source in warehouse.sets.items():
        decisions = warehouse.reviews[name].decisions.values()
        corrected = {decision.class_name for several in decisions for decision in several}
        present = corrected.union(source.classes)
        classes = tuple(name for name in class_names if name in present)
        yield SuiteMember(
            dataset={"kind": "warehouse_set", "warehouse": file, "set": name, "side": side},
            name=name, group=source.group, subgroup=source.source,
            classes=() if len(classes) == len(class_names) else classes,
        ), {"file": file}  # fmt: skip


_GIVE_NAME = "Give 'name', with the placeholders of the block"


class ExpandedSuites(NamedTuple):
    """Suites by name, and the blocks of the datasets that they define."""

    suites: Mapping[str, Suite]
    datasets: Mapping[str, Mapping[str, Any]]


def expand_suites(blocks: Any, datasets: Iterable[str]) -> ExpandedSuites:
    """Read the suites of a configuration, and expand patterns, manifests and nested suites."""
    read: SuitesSettings = read_settings(SuitesSettings, {"suites": blocks})
    expansion = _Expansion(read.suites, set(map(str, datasets)))
    problems, suites = ErrorCollector(), dict[str, Suite]()
    folded = {name.casefold() for name in expansion.datasets}
    for name in read.suites:
        with problems.collected():
            if name.casefold() in folded:
                problem = f"'{name}' is the name of a dataset as well"
                remedy = "Rename the suite"
                raise configuration_error(problem, field=f"suites.{name}", remedy=remedy)
        with problems.collected():
            suites[name] = Suite(name, tuple(expansion.members(name)))
    problems.raise_any()
    return ExpandedSuites(suites, expansion.blocks)


class _Expansion:
    """Expands the suites of a study to members, and gathers the datasets that these define."""

    def __init__(self, suites: Mapping[str, SuiteSettings], datasets: set[str]) -> None:
        self._suites, self.datasets = suites, datasets
        self.blocks: dict[str, dict[str, Any]] = {}

    def members(self, suite: str, outer: tuple[str, ...] = ()) -> list[Member]:
        """Return the members of a suite; `outer` are the suites that it is nested in."""
        field = f"suites.{suite}.members"
        if suite in outer:
            problem = f"suite '{suite}' is nested in itself"
            raise configuration_error(problem, field=f"suites.{outer[-1]}")
        members: dict[str, Member] = {}
        for number, member in enumerate(self._suites[suite].members, 1):
            place = {"file": "configuration", "field": f"{field}, entry {number}"}
            if isinstance(member, str):
                member = SuiteMember(dataset=member)
            for expanded in self._expand(member, place, (*outer, suite)):
                key = expanded.dataset.casefold()
                if members.get(key) == expanded and member.suite is not None:
                    continue  # in two nested suites
                if key in members:
                    problem = f"dataset '{expanded.dataset}' is in suite '{suite}' twice"
                    remedy = "Leave one out, or give 'name' a placeholder"
                    raise InputError(problem, **place, remedy=remedy)
                members[key] = expanded
        return list(members.values())

    def _expand(
        self, member: SuiteMember, place: Place, outer: tuple[str, ...]
    ) -> Iterator[Member]:
        """Yield the members that an entry of a suite stands for."""
        if member.suite is not None:
            check_known("suite", [member.suite], self._suites, **place)
            yield from self.members(member.suite, outer)
        elif member.warehouse is not None:
            for row, file in warehouse_members(member.warehouse, member.side or 32):
                yield from self._expand(row, file, outer)
        elif member.manifest is not None:
            for row, line in manifest_members(Path(member.manifest), member):
                yield from self._expand(row, line, outer)
        elif isinstance(member.dataset, str):
            check_known("dataset", [member.dataset], self.datasets, **place)
            yield _build_member(member, member.dataset, place)
        else:
            for values in placeholder_values(member, place):
                yield self._define(member, values, place)

    def _define(self, member: SuiteMember, values: Mapping[str, str], place: Place) -> Member:
        """Define the dataset of a block with filled placeholders, and return its member."""
        name = fill_placeholders(member.name or "-".join(values.values()), values)
        if not is_name(name):
            problem = f"'{name}' cannot be a name of a dataset"
            remedy = f"Use letters, digits, '.', '_' and '-'. {_GIVE_NAME}"
            raise InputError(problem, **place, remedy=remedy)
        block = fill_placeholders(member.dataset, values)
        if name in self.datasets or self.blocks.setdefault(name, block) != block:
            problem = f"there is another dataset '{name}'"
            raise InputError(problem, **place, remedy=_GIVE_NAME)
        texts = {key: fill_placeholders(getattr(member, key), values) for key in _FILLED_KEYS}
        return _build_member(member.model_copy(update=texts), name, place)


def _build_member(member: SuiteMember, name: str, place: Place) -> Member:
    try:
        severity = None if member.severity in (None, "") else float(member.severity)
    except ValueError:
        severity = math.nan
    if severity is not None and not math.isfinite(severity):
        raise InputError(f"severity '{member.severity}' of '{name}' is not a number", **place)
    classes = member.classes
    classes = class_subset(classes) if isinstance(classes, str) else classes
    groups = _read_groups(member, name, place)
    return Member(
        name, member.group, member.subgroup, severity, classes, groups, member.all_labels or ""
    )


def _read_groups(member: SuiteMember, name: str, place: Place) -> Groups:
    """Return a set's groups of classes, read from a file if one is named."""
    groups: Any = member.groups or {}
    if isinstance(groups, str):
        place = {"file": groups}
        block = {"dataset": name, "groups": read_yaml(groups)}
        groups = read_settings(SuiteMember, block, **place).groups
    seen: dict[str, str] = {}
    for group, classes in groups.items():
        for label in classes:
            if label in seen:
                problem = f"groups: class '{label}' is in '{seen[label]}' and in '{group}'"
                raise InputError(problem, **place, remedy="A class belongs to one group only")
            seen[label] = group
        if not classes:
            raise InputError(f"groups: '{group}' has no classes", **place)
    return tuple(groups.items())
