"""The JSON schema of configurations and the page of all settings, from the typed settings."""

import inspect
import types
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from matcheval.names import NAME_PATTERN
from matcheval.settings import models_in
from matcheval.study.analysis import Analysis
from matcheval.study.configuration import CoreConfiguration, configuration_model

_BOUNDS = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}


def json_schema(analyses: Sequence[type[Analysis]]) -> dict[str, Any]:
    """Return the JSON Schema of study files, by which editors complete and check them."""
    schema = _standard(configuration_model(analyses).model_json_schema())
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "Configuration of a study",
    }


# What pydantic calls bounds of a value that a function of ours looks at first.
_BOUND_KEYWORDS = {
    "gt": "exclusiveMinimum", "ge": "minimum", "lt": "exclusiveMaximum", "le": "maximum",
}  # fmt: skip
_LENGTH_KEYWORDS = {"array": "minItems", "object": "minProperties"}


def _standard(schema: Any) -> Any:
    """Give bounds the names that JSON Schema has for them."""
    if isinstance(schema, list):
        return [_standard(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    keywords = dict(_BOUND_KEYWORDS)
    if schema.get("type") in _LENGTH_KEYWORDS:
        keywords["minLength"] = _LENGTH_KEYWORDS[schema["type"]]
    return {keywords.get(key, key): _standard(value) for key, value in schema.items()}


# Blocks that have the same key, from which on it is explained once for all of them.
_MANY = 3


def settings_page(analyses: Sequence[type[Analysis]]) -> str:
    """Write a Markdown page with a table of every block of the configuration."""
    model = configuration_model(analyses)
    core = [name for name in CoreConfiguration.model_fields if name != "datasets"]
    plain = [name for name in core if not models_in(model.model_fields[name].annotation)]
    blocks = [_Block("## Top level", "", {name: model.model_fields[name] for name in plain})]
    for name in (n for n in (*core, *(a.name for a in analyses)) if n not in plain):
        blocks += _blocks(f"`{name}`", model.model_fields[name].annotation)
    blocks.append(_Block("## `datasets`: a block per dataset, by `kind`", "", {}))
    for kind in models_in(model.model_fields["datasets"].annotation):
        blocks += _blocks("", kind, level="###")
    rows = Counter(row for block in blocks for row in block.rows.values())
    shared = {row for row, count in rows.items() if count >= _MANY}
    head = [
        "# All settings\n",
        "<!-- Generated from the typed settings by `make settings`; do not edit. -->\n",
        "Keys without a default must be given. docs/configuration.md explains study files.\n",
        "## Keys that several blocks have\n",
        "Each block below names those that it has.\n",
        _table([row for row in rows if row in shared]),
    ]
    return "\n".join([*head, *(part for block in blocks for part in block.parts(shared))])


@dataclass(frozen=True)
class _Block:
    """A block of the configuration."""

    heading: str
    description: str
    fields: Mapping[str, FieldInfo]

    @cached_property
    def rows(self) -> dict[str, str]:
        """The row of the table for each key."""
        return {name: _row(name, field) for name, field in self.fields.items()}

    def parts(self, shared: Collection[str]) -> list[str]:
        """Heading, description, and the keys: those that many blocks have by name only."""
        own = [row for row in self.rows.values() if row not in shared]
        names = [f"`{name}`" for name, row in self.rows.items() if row in shared]
        others = f"{'Also' if own else 'Keys'}: {', '.join(names)} (above)." if names else ""
        texts = [self.description, _table(own) if own else "", others]
        return [f"{self.heading}\n", *(f"{text.rstrip()}\n" for text in texts if text)]


def _blocks(title: str, annotation: Any, level: str = "##") -> list[_Block]:
    """Return a block, then the blocks within."""
    blocks: list[_Block] = []
    for model in models_in(annotation):
        fields = dict(model.model_fields)
        kind = fields.pop("kind", None)
        tag = f"kind `{get_args(kind.annotation)[0]}`" if kind and get_args(kind.annotation) else ""
        heading = ", ".join(part for part in (title, tag) if part)
        blocks.append(_Block(f"{level} {heading}", inspect.getdoc(model) or "", fields))
        for name, field in fields.items():
            if models_in(field.annotation):
                inner = f"{title.removesuffix('`')}.{name}`" if title else f"{heading}, `{name}`"
                blocks += _blocks(inner, field.annotation, "###")
    return blocks


def _table(rows: Sequence[str]) -> str:
    """Return a table of keys."""
    head = ["| key | default | values | meaning |", "| --- | --- | --- | --- |"]
    return "\n".join([*head, *rows]) + "\n"


def _row(name: str, field: FieldInfo) -> str:
    """Return the row of a key."""
    default = "" if field.is_required() else f"`{_shown(field.get_default())}`"
    extra: Any = field.json_schema_extra
    listed = extra.get("enum") if isinstance(extra, dict) else None
    kind: Any = Literal[*listed] if listed else field.annotation
    values = _values(Annotated[kind, *field.metadata] if field.metadata else kind)
    row = f"| `{name}` | {default} | {values} | {field.description or ''} |"
    return row.replace("|  |", "| |")


def _shown(value: Any) -> str:
    """A default as YAML has it."""
    if isinstance(value, BaseModel):
        return "{}" if value == type(value)() else str(value)
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "null"
    return str(value) if value != "" else '""'


def _values(annotation: Any) -> str:
    """The type of a value in words."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "a block, below"
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return " or ".join(f"`{member.value}`" for member in annotation)
    said = _flat(getattr(annotation, "__metadata__", ()))
    if any(getattr(item, "pattern", None) == NAME_PATTERN for item in said):
        return "name"
    words = {
        int: "whole number", float: "number", str: "text", bool: "`true` or `false`", Any: "value",
        dict[str, dict[str, Any]]: "for each name, values by name",
    }  # fmt: skip
    if annotation in words:
        return words[annotation]
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in inner)
    if origin is tuple:
        return f"list of {_values(inner[0])}"
    if origin is dict:
        return (
            f"{_values(inner[1])} by name" if not models_in(inner[1]) else "blocks by name, below"
        )
    if origin in (Union, types.UnionType):
        return " or ".join(_values(one) for one in inner if one is not type(None))
    if inner:  # Annotated
        return ", ".join([_values(inner[0]), *_bounds(inner[1:])])
    return str(annotation)


def _flat(metadata: Iterable[Any]) -> Iterator[Any]:
    """What an `Annotated` type says, and the fields in it."""
    for item in metadata:
        yield item
        yield from _flat(getattr(item, "metadata", ()))


def _bounds(metadata: Iterable[Any]) -> list[str]:
    return [
        f"{word} {bound}"
        for item in _flat(metadata)
        for attribute, word in _BOUNDS.items()
        if isinstance(bound := getattr(item, attribute, None), int | float)
    ]
