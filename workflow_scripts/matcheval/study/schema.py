"""The JSON schema of configurations and the page of all settings, from the typed settings."""

import inspect
import types
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin

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


def settings_page(analyses: Sequence[type[Analysis]]) -> str:
    """Write a Markdown page with a table of every block of the configuration."""
    model = configuration_model(analyses)
    core = [name for name in CoreConfiguration.model_fields if name != "datasets"]
    plain = [name for name in core if not models_in(model.model_fields[name].annotation)]
    parts = [
        "# All settings\n",
        "<!-- Generated from the typed settings by `make settings`; do not edit. -->\n",
        "Keys without a default must be given. docs/configuration.md explains study files.\n",
        "## Top level\n",
        _table({name: model.model_fields[name] for name in plain}),
    ]
    for name in (n for n in (*core, *(a.name for a in analyses)) if n not in plain):
        parts += _block(f"`{name}`", model.model_fields[name].annotation)
    parts.append("## `datasets`: a block per dataset, by `kind`\n")
    for kind in models_in(model.model_fields["datasets"].annotation):
        parts += _block("", kind, level="###")
    return "\n".join(parts)


def _block(title: str, annotation: Any, level: str = "##") -> list[str]:
    """Heading, description and table of a block, then those of the blocks within."""
    parts: list[str] = []
    for model in models_in(annotation):
        fields = dict(model.model_fields)
        kind = fields.pop("kind", None)
        tag = f"kind `{get_args(kind.annotation)[0]}`" if kind and get_args(kind.annotation) else ""
        heading = ", ".join(part for part in (title, tag) if part)
        parts += [f"{level} {heading}\n", f"{inspect.getdoc(model)}\n"]
        if fields:
            parts.append(_table(fields))
        for name, field in fields.items():
            if models_in(field.annotation):
                inner = f"{title.removesuffix('`')}.{name}`" if title else f"{heading}, `{name}`"
                parts += _block(inner, field.annotation, "###")
    return parts


def values_text(field: FieldInfo) -> str:
    """Return the type and range of a setting in words."""
    is_name = any(getattr(item, "pattern", None) == NAME_PATTERN for item in field.metadata)
    extra = field.json_schema_extra
    listed: Any = extra.get("enum") if isinstance(extra, dict) else None
    kind = "name" if is_name else _values(Literal[*listed] if listed else field.annotation)
    return ", ".join(dict.fromkeys([kind, *_bounds(field.metadata)]))


def _table(fields: Mapping[str, FieldInfo]) -> str:
    rows = ["| key | default | values | meaning |", "| --- | --- | --- | --- |"]
    for name, field in fields.items():
        default = "" if field.is_required() else f"`{_shown(field.get_default())}`"
        meaning = field.description or ""
        rows.append(f"| `{name}` | {default} | {values_text(field)} | {meaning} |")
    return "\n".join(rows).replace("|  |", "| |") + "\n"


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
    if any(getattr(item, "pattern", None) == NAME_PATTERN for item in _metadata(annotation)):
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


def _metadata(annotation: Any) -> list[Any]:
    """What an `Annotated` type says, fields unpacked."""
    found = list(getattr(annotation, "__metadata__", ()))
    return found + [inner for item in found for inner in getattr(item, "metadata", ())]


def _bounds(metadata: Sequence[Any]) -> list[str]:
    found = []
    for item in metadata:
        for attribute, word in _BOUNDS.items():
            bound = getattr(item, attribute, None)
            if isinstance(bound, int | float):
                found.append(f"{word} {bound}")
        found += _bounds(getattr(item, "metadata", ()))
    return found
