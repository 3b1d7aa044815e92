"""The text of a study file and its catalogue."""

import csv
import io
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

import yaml
from jinja2 import Environment, StrictUndefined

from matcheval.starting.drafts import Draft

_COLUMNS = ("name", "kind", "note")
_MAX_INLINE = 80  # characters of a mapping on one line


def render_study(draft: Draft, study: str, models: str, results: str, command: str) -> str:
    """Write a study file."""
    # The texts are no HTML: what a person names is quoted as YAML.
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True)
    environment.filters |= {"yaml": as_yaml, "mapping": as_mapping}
    template = environment.from_string(_template("study.yaml.j2"))
    prediction = {"base": draft.original}
    if draft.reference:
        prediction["reference"] = draft.reference
    return template.render(
        draft=draft, study=study, models=models, results=results, command=_one_line(command),
        prediction=prediction,
        runs_models=any(one.options["kind"] != "predictions" for one in draft.datasets),
    )  # fmt: skip


def render_catalogue(draft: Draft, prefix: str = "") -> str:
    """Write the catalogue of models."""
    if not draft.catalogue:
        rows = [[name, "predictions", ""] for name in draft.models]
        return _as_csv([list(_COLUMNS), *rows])
    header, *rows = csv.reader(io.StringIO(_template(draft.catalogue)))
    name = header.index("name")
    for row in rows:
        row[name] = f"{prefix}-{row[name]}" if prefix else row[name]
    return _as_csv([header, *rows])


def as_yaml(value: Any) -> str:
    """Write a value as YAML on one line."""
    text: str = yaml.dump(
        value, Dumper=_OneLine, default_flow_style=True, width=2**31 - 1, sort_keys=False,
        allow_unicode=True,
    )  # fmt: skip
    return text.removesuffix("\n").removesuffix("\n...").strip()


class _OneLine(yaml.SafeDumper):  # type: ignore[misc]  # yaml has no types
    """Writes line breaks and other control characters as escapes."""


def _as_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if not text.isprintable() else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_OneLine.add_representer(str, _as_text)


def as_mapping(value: Mapping[str, Any], indent: int, note: str = "") -> str:
    """Write a mapping as the value of a key: on the key's line if it is short."""
    comment = f"    # {note}" if note else ""
    flow = as_yaml(value)
    if len(flow) <= _MAX_INLINE:
        return f" {flow}{comment}"
    lines = (f"{' ' * indent}{as_yaml(key)}: {as_yaml(one)}" for key, one in value.items())
    return "\n".join([comment, *lines])


def _one_line(text: str) -> str:
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", "?", text)


def _as_csv(rows: list[list[str]]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()


def _template(name: str) -> str:
    return resources.files(__package__).joinpath("templates", name).read_text(encoding="utf-8")
