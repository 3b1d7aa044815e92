"""The query plan: what to search for, or what to generate, for every set and class.

A set is one source with one style and one colour, or one template, and has all classes (Sun et al.
2024, section 2). Nothing is searched, downloaded or generated here: people do that, by the plan.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from matcheval.errors import configuration_error
from matcheval.io.tables import Column, TableSchema
from matcheval.names import is_name
from matcheval.warehouse.settings import PlannedGroup

PLAN_SCHEMA = TableSchema(
    "query plan",
    (
        Column("set", pa.string(), "", "name of the set"),
        Column("group", pa.string(), "", "group of sets that it belongs to"),
        Column("source", pa.string(), "", "search engine, photo site or generator"),
        Column("style", pa.string(), "", "style of the images"),
        Column("colour", pa.string(), "", "colour asked for; null if none, or not known by name",
               nullable=True),
        Column("template", pa.string(), "", "text of the query, with its placeholders"),
        Column("class", pa.string(), "", "class to search for"),
        Column("text", pa.string(), "", "text of the query"),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class PlannedSet:
    """A set of the plan."""

    name: str
    group: str
    source: str
    style: str
    colour: str | None
    template: str

    def text(self, class_name: str) -> str:
        """Return the query of a class."""
        return self.template.replace("{colour}", self.colour or "").replace("{class}", class_name)


def planned_sets(groups: Mapping[str, PlannedGroup]) -> dict[str, PlannedSet]:
    """Expand the groups of a plan into its sets."""
    found: dict[str, PlannedSet] = {}
    for group, settings in groups.items():
        for planned in _sets_of_group(group, settings):
            if not is_name(planned.name):
                raise configuration_error(
                    f"'{planned.name}' cannot be the name of a set",
                    field=f"plan.{group}.name",
                    remedy="Use letters, digits, '.', '_' and '-'",
                )
            if planned.name in found:
                raise configuration_error(
                    f"two sets are named '{planned.name}'",
                    field=f"plan.{group}.name",
                    remedy="Name them by {group}, {source}, {colour} and {key}",
                )
            found[planned.name] = planned
    return found


def _sets_of_group(group: str, settings: PlannedGroup) -> Iterator[PlannedSet]:
    for source, colours in settings.sources.items():
        options: list[tuple[str, str | None]] = [("", None)]
        if isinstance(colours, int):
            options = [(f"{number:02d}", None) for number in range(1, colours + 1)]
        elif colours is not None:
            options = [(colour, colour) for colour in colours]
        for option, colour in options:
            for key, template in settings.all_templates.items():
                parts = {"group": group, "source": source, "colour": option, "key": key}
                pattern = settings.name or "-".join(f"{{{k}}}" for k, v in parts.items() if v)
                yield PlannedSet(
                    _filled(pattern, parts), group, source, _filled(settings.style, parts), colour,
                    template,
                )  # fmt: skip


def _filled(pattern: str, parts: Mapping[str, str]) -> str:
    for name, value in parts.items():
        pattern = pattern.replace(f"{{{name}}}", value.replace(" ", "-"))
    return pattern


def tabulate_plan(groups: Mapping[str, PlannedGroup], classes: tuple[str, ...]) -> pa.Table:
    """Write out a plan with a row per set and class."""
    rows = [
        (one.name, one.group, one.source, one.style, one.colour, one.template, name, one.text(name))
        for one in planned_sets(groups).values()
        for name in classes
    ]
    return PLAN_SCHEMA.table(
        dict(zip(PLAN_SCHEMA.names, map(list, zip(*rows, strict=True)), strict=True))
    )
