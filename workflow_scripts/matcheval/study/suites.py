"""Expansion of the suites of a configuration into datasets and members."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matcheval.datasets.label_spaces import class_subset
from matcheval.datasets.suites import Groups, Member, Suite
from matcheval.errors import ErrorCollector, InputError, unknown_name_error
from matcheval.io.user_files import read_yaml
from matcheval.names import is_name
from matcheval.settings import read_settings
from matcheval.study.suite_manifests import manifest_members
from matcheval.study.suite_placeholders import Place, filled, values_of_placeholders
from matcheval.study.suite_settings import SuiteMember, SuiteSettings, SuitesSettings
from matcheval.study.warehouse_members import DEFAULT_SIDE, warehouse_members

_FILE = "configuration"


@dataclass(frozen=True)
class ExpandedSuites:
    """What the suites of a configuration stand for."""

    suites: Mapping[str, Suite]
    datasets: Mapping[str, Mapping[str, Any]]


def expand_suites(given: Any, datasets: Iterable[str]) -> ExpandedSuites:
    """Read the suites of a configuration, and expand patterns, manifests and nested suites."""
    settings: SuitesSettings = read_settings(SuitesSettings, {"suites": given})
    datasets = [str(name) for name in datasets]
    expansion = _Expansion(settings.suites, set(datasets))
    problems, suites = ErrorCollector(), {}
    folded = {str(dataset).casefold() for dataset in datasets}
    for name in settings.suites:
        with problems.collected():
            if name.casefold() in folded:
                raise InputError(
                    f"'{name}' is the name of a dataset as well",
                    file=_FILE,
                    field=f"suites.{name}",
                    remedy="Rename the suite",
                )
        with problems.collected():
            suites[name] = Suite(name, tuple(expansion.members(name)))
    problems.raise_any()
    return ExpandedSuites(suites, expansion.blocks)


class _Expansion:
    """Expands the suites of a study; a dataset that is in several suites is defined once."""

    def __init__(self, suites: Mapping[str, SuiteSettings], named: set[str]) -> None:
        self._suites, self._named = suites, named
        self.blocks: dict[str, dict[str, Any]] = {}

    def members(self, suite: str, outer: tuple[str, ...] = ()) -> list[Member]:
        """Return the members of a suite; `outer` are the suites in which it is nested."""
        field = f"suites.{suite}.members"
        if suite in outer:
            raise InputError(
                f"suite '{suite}' is nested in itself", file=_FILE, field=f"suites.{outer[-1]}"
            )
        found: dict[str, Member] = {}
        for number, member in enumerate(self._suites[suite].members, 1):
            place = {"file": _FILE, "field": f"{field}, entry {number}"}
            for one in self._expand(member, place, (*outer, suite)):
                if found.get(one.dataset.casefold()) == one and _is_suite(member):
                    continue  # in two nested suites
                if one.dataset.casefold() in found:
                    raise InputError(
                        f"dataset '{one.dataset}' is in suite '{suite}' twice",
                        **place,
                        remedy="Leave one out, or give 'name' a placeholder",
                    )
                found[one.dataset.casefold()] = one
        return list(found.values())

    def _expand(
        self, member: str | SuiteMember, place: Place, outer: tuple[str, ...]
    ) -> Iterator[Member]:
        if isinstance(member, str):
            member = SuiteMember(dataset=member)
        if member.suite is not None:
            if member.suite not in self._suites:
                raise unknown_name_error("suite", member.suite, self._suites, **place)
            yield from self.members(member.suite, outer)
        elif member.warehouse is not None:
            for one, line in warehouse_members(member.warehouse, member.side or DEFAULT_SIDE):
                yield from self._expand(one, line, outer)
        elif member.manifest is not None:
            for row, line in manifest_members(Path(member.manifest), member):
                yield from self._expand(row, line, outer)
        elif isinstance(member.dataset, str):
            if member.dataset not in self._named:
                raise unknown_name_error("dataset", member.dataset, self._named, **place)
            yield _member(member, member.dataset, {}, place)
        else:
            yield from self._from_block(member, place)

    def _from_block(self, member: SuiteMember, place: Place) -> Iterator[Member]:
        assert isinstance(member.dataset, dict)
        for values in values_of_placeholders(member, place):
            name = filled(member.name or "-".join(values.values()), values)
            if not is_name(name):
                raise InputError(
                    f"'{name}' cannot be a name of a dataset",
                    **place,
                    remedy="Give 'name', of letters, digits, '.', '_' and '-', with the "
                    "placeholders of the block",
                )
            block = filled(member.dataset, values)
            if name in self._named or self.blocks.setdefault(name, block) != block:
                raise InputError(
                    f"there is another dataset '{name}'",
                    **place,
                    remedy="Give 'name', with the placeholders of the block",
                )
            yield _member(member, name, values, place)


def _is_suite(member: str | SuiteMember) -> bool:
    return not isinstance(member, str) and member.suite is not None


def _member(member: SuiteMember, name: str, values: Mapping[str, str], place: Place) -> Member:
    severity = filled(member.severity, values)
    try:
        number = None if severity in (None, "") else float(severity)
        if number is not None and not math.isfinite(number):
            raise ValueError
    except ValueError as error:
        raise InputError(
            f"severity '{severity}' of '{name}' is not a number",
            **place,
        ) from error
    group, subgroup = filled(member.group, values), filled(member.subgroup, values)
    classes = member.classes
    classes = class_subset(classes) if isinstance(classes, str) else classes
    all_labels = filled(member.all_labels or "", values)
    groups = _groups(member, name, place)
    return Member(name, group, subgroup, number, classes, groups, all_labels)


def _groups(member: SuiteMember, name: str, place: Place) -> Groups:
    """Return the groups of classes of a set, read from their file if that is given."""
    given: Any = member.groups or {}
    if isinstance(given, str):
        place = {"file": given}
        given = read_settings(SuiteMember, {"dataset": name, "groups": read_yaml(given)}, **place)
        given = given.groups
    seen: dict[str, str] = {}
    for group, classes in given.items():
        for one in classes:
            if one in seen:
                raise InputError(
                    f"groups: class '{one}' is in '{seen[one]}' and in '{group}'", **place,
                    remedy="A class belongs to one group only",
                )  # fmt: skip
            seen[one] = group
        if not classes:
            raise InputError(f"groups: '{group}' has no classes", **place)
    return tuple(given.items())
