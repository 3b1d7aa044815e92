"""Write what is generated from the library: two schemas and two pages.

python docs/make_settings.py
"""

import inspect
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import make_json_schema
import make_tables

from matcheval.accuracy_prediction.scores import ALL_SCORES
from matcheval.accuracy_prediction.scores.score import Predicts
from matcheval.models.sizes import SPECIFICATIONS
from matcheval.names import NAME_PATTERN
from matcheval.study.configuration import configuration_model
from matcheval.training.options import ALGORITHMS, OPTIMIZERS
from matcheval.training.recipe import Recipe
from matcheval.warehouse.settings import WarehouseSettings

ROOT = Path(__file__).parents[1]
SCHEMA = ROOT / "rules" / "schemas" / "config.schema.json"
PAGE = ROOT / "docs" / "settings.md"
TABLES = ROOT / "docs" / "tables.md"
RESULTS = ROOT / "workflow_scripts" / "matcheval" / "results.schema.json"

Schema = dict[str, Any]
# Number of blocks with the same key from which on the key is explained once for all of them.
MANY = 3
HEAD = """# All settings

<!-- Generated from the typed settings by `make settings`; do not edit. -->

Keys without a default must be given. docs/configuration.md explains study files.

## Keys that several blocks have

Each block below names those that it has.
"""
WORDS = {"integer": "whole number", "number": "number", "boolean": "`true` or `false`"}
BOUNDS = {
    "exclusiveMinimum": "above", "minimum": "at least", "exclusiveMaximum": "below",
    "maximum": "at most",
}  # fmt: skip


class SettingsPage:
    """The page of all settings in Markdown, made from the JSON schema of study files."""

    def __init__(self, schema: Schema) -> None:
        self._schema, self._definitions = schema, schema["$defs"]

    def text(self) -> str:
        """Return the page: a table per block, after one of the keys that many blocks share."""
        properties = dict(self._schema["properties"])
        datasets = properties.pop("datasets")
        plain = {k: v for k, v in properties.items() if not [*self._find_blocks(v)]}
        blocks = [("## Top level", {"properties": plain, "required": self._schema["required"]})]
        for name in (name for name in properties if name not in plain):
            blocks += self._list_blocks(f"`{name}`", properties[name])
        blocks.append(("## `datasets`: a block per dataset, by `kind`", {"properties": {}}))
        blocks += self._list_blocks("", datasets, "###")
        rows = Counter(row for _, block in blocks for row in self._key_rows(block).values())
        shared = {row for row, count in rows.items() if count >= MANY}
        return "\n".join([
            HEAD,
            keys_table([row for row in rows if row in shared]),
            self._block_tables(blocks, shared),
        ])  # fmt: skip

    def warehouse_text(self) -> str:
        """Return a table per block of a warehouse's file, if the schema is that of such files."""
        blocks = [("## Warehouses: the file", self._schema)]
        for name, value in self._schema["properties"].items():
            blocks += self._list_blocks(f"`{name}`", value, "###")
        return "\n" + self._block_tables(blocks, set())

    def _block_tables(self, blocks: list[tuple[str, Schema]], shared: set[str]) -> str:
        return "\n".join(
            part
            for heading, block in blocks
            for part in (f"{heading}\n", *self._describe_block(block, shared))
        )

    def _find_blocks(self, schema: Any) -> Iterator[Schema]:
        """Yield the definitions of blocks that a value can be or hold, not those inside them."""
        for part in schema if isinstance(schema, list) else [schema]:
            if "$ref" in part:
                definition = self._definitions[part["$ref"].rpartition("/")[2]]
                if "properties" in definition:
                    yield definition
                continue
            for key in ("anyOf", "oneOf", "items", "prefixItems"):
                yield from self._find_blocks(part.get(key, []))
            yield from self._find_blocks(value_schema(part) or [])

    def _list_blocks(
        self, title: str, schema: Schema, level: str = "##"
    ) -> list[tuple[str, Schema]]:
        """List headings and definitions of a value's blocks, and of those inside them."""
        blocks: list[tuple[str, Schema]] = []
        for block in self._find_blocks(schema):
            kind = block["properties"].get("kind", {}).get("const")
            heading = ", ".join(filter(None, (title, kind and f"kind `{kind}`")))
            blocks.append((f"{level} {heading}", block))
            for name, value in block["properties"].items():
                inner = f"{title[:-1]}.{name}`" if title else f"{heading}, `{name}`"
                blocks += self._list_blocks(inner, value, "###")
        return blocks

    def _describe_block(self, block: Schema, shared: set[str]) -> Iterator[str]:
        """Yield a block's description, a table of its own keys, and the names of shared ones."""
        rows = self._key_rows(block)
        own = [row for row in rows.values() if row not in shared]
        others = ", ".join(f"`{name}`" for name, row in rows.items() if row in shared)
        if "description" in block:
            yield block["description"] + "\n"
        if own:
            yield keys_table(own)
        if others:
            yield f"{'Also' if own else 'Keys'}: {others} (above).\n"

    def _key_rows(self, block: Schema) -> dict[str, str]:
        """Return the table row of each key, without `kind`."""
        rows = {}
        for name, value in block["properties"].items():
            if "const" not in value:
                is_required = name in block.get("required", ())
                default = "" if is_required else f"`{self._default_text(value)}`"
                cells = name, default, self._type_text(value), value.get("description", "")
                rows[name] = "| `{}` | {} | {} | {} |".format(*cells).replace("|  |", "| |")
        return rows

    def _default_text(self, value: Schema) -> str:
        default = value.get("default")
        if isinstance(default, dict) and [*self._find_blocks(value)]:
            return "{}"
        if default == "":
            return '""'
        return str(default) if isinstance(default, str) else json.dumps(default).replace('"', "")

    def _type_text(self, schema: Schema) -> str:
        """Describe the type of a value in words."""
        if "$ref" in schema:
            schema = self._definitions[schema["$ref"].rpartition("/")[2]]
        options = schema.get("anyOf") or schema.get("oneOf")
        if "properties" in schema:
            return "a block, below"
        if options:
            words = [self._type_text(option) for option in options if option != {"type": "null"}]
            return " or ".join(dict.fromkeys(words))
        if "const" in schema or "enum" in schema:
            return " or ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
        if schema.get("type") == "array":
            return f"list of {self._type_text(schema.get('items') or schema['prefixItems'][0])}"
        if schema.get("type") == "object":
            values = value_schema(schema)
            if values and [*self._find_blocks(values)]:
                return "blocks by name, below"
            words = self._type_text(values or {})
            return f"for each name, {words}" if "by name" in words else f"{words} by name"
        if schema.get("type") == "string":
            return "name" if schema.get("pattern") == NAME_PATTERN else "text"
        bounds = [f"{word} {schema[key]}" for key, word in BOUNDS.items() if key in schema]
        return ", ".join([WORDS.get(schema.get("type", ""), "value"), *bounds])


def value_schema(schema: Schema) -> Schema | None:
    """Return the schema of an object's values if its keys are free names, else None."""
    patterns = schema.get("patternProperties")
    values = next(iter(patterns.values())) if patterns else schema.get("additionalProperties")
    return values if isinstance(values, dict) else None


def keys_table(rows: list[str]) -> str:
    """Return rows of keys as a Markdown table, with its head."""
    head = ["| key | default | values | meaning |", "| --- | --- | --- | --- |"]
    return "\n".join([*head, *rows]) + "\n"


COLUMNS = """
## Recipes: columns

Columns of a model catalogue for models of kind `trained`. Those without a default are required.

"""
# What the docstring says of names in the code, and what the page says.
IN_CODE = {
    r"One of `[\w.]+`: ": "",
    r" \(`[A-Z_]+`\)| \(see `[\w.]+`\)": "",
    r"(One of|Names in) `[\w.]+`.*": "A name of docs/models.md, or of a table below.",
}
CHOICES = """
## Recipes: losses, augmentations and schedules

With parameters and their defaults, for three columns of a model catalogue.

- `loss`: `cross_entropy`; `focal` (γ, 2); `focal_sample_dependent`; `brier`; `label_smoothing`
  (α, 0.1); `mmce`, `mmce_weighted` (λ, 4 and 2; Kumar et al. 2018); `mmce_mukhoti`,
  `mmce_weighted_mukhoti` (λ, 1 and 2; Mukhoti et al. 2020)
- `augmentation`: `none`; `shift`, `noise`, `cutout`, `mixup` for small images; `basic` (random
  crop, mirroring), `basic_mixup` (α, 1), `basic_cutmix` (α, 1; half of the batches),
  `basic_ricap` (β, 0.3)
- `schedule`: `constant`; `cosine`; `warmup_cosine` (linear rise over the first fifth); `step`
  (×0.1 at 50 and 75 %); `multistep` (×0.2 at 30, 60 and 80 %); `onecycle`
"""
RECIPES = """
## Recipes: architectures

For the columns `architecture`, `width` and `depth` of a model catalogue. Images must have at least
the side shown.

"""
OPTIONS = """
## Recipes: algorithms and optimisers

For the columns `algorithm`, `optimizer` and `options`. Each algorithm or optimiser has a row,
followed by a row for each of its options.

"""
METHODS = """
## Methods of accuracy prediction

For `accuracy_prediction.methods` and `predict-accuracy --methods`. All need the model's
predictions. *Fitted* methods need further labelled sets. P1 is Guillory et al. (2021), P2 Sun et
al. (2024); docs/accuracy-prediction.md explains both.

"""
PREDICTED = {
    Predicts.ACCURACY: "accuracy", Predicts.GAP: "gap, fitted",
    Predicts.BY_REGRESSION: "accuracy, fitted",
}  # fmt: skip
SINGLE = {
    "own": "", "erm": " With one training set, this is `erm`.",
    "refused": " Refused with one training set.",
}  # fmt: skip


def recipes_section() -> str:
    """Return the section on the columns of recipes, as the docstring of `Recipe` has them."""
    text = inspect.getdoc(Recipe) or ""
    for code, words in IN_CODE.items():
        text = re.sub(code, words, text)
    described = re.findall(r"^(\w[\w, ]*) : .*\n((?:    .*\n?)+)", text, re.MULTILINE)
    meanings = {
        name: " ".join(words.split()) for names, words in described for name in names.split(", ")
    }
    defaults = {
        field.name: "" if field.default is MISSING is field.default_factory
        else f"`{json.dumps({} if field.default is MISSING else field.default)}`"
        for field in fields(Recipe)
    }  # fmt: skip
    rows = [[f"`{name}`", default, meanings[name]] for name, default in defaults.items()]
    return COLUMNS + markdown_table(["column", "default", "meaning"], rows)


def architectures_section() -> str:
    """Return the section with a row per architecture of networks that are trained here."""
    rows = []
    for name, spec in SPECIFICATIONS.items():
        any_width = spec.widths.text == "at least 1"
        widths = spec.width if any_width else f"{spec.width}: {spec.widths.text}"
        rows.append([f"`{name}`", spec.family, widths, spec.depths.text, f"{spec.min_side}"])
    return RECIPES + markdown_table(["name", "family", "width", "depth", "side (pixels)"], rows)


def algorithms_section() -> str:
    """Return the section with a row per algorithm and optimiser, and one per option."""
    rows = []
    for name, options in {**ALGORITHMS, **OPTIMIZERS}.items():
        meaning = (options.__doc__ or "").splitlines()[0]
        if name in ALGORITHMS:
            meaning += SINGLE[options.single_source]
        rows.append([f"`{name}`", "", "", meaning])
        for option, field in options.model_fields.items():
            rows.append(["", f"`{option}`", f"{field.default}", field.description or ""])
    return OPTIONS + markdown_table(["name", "option", "default", "meaning"], rows)


def methods_section() -> str:
    """Return the section with a row per method of accuracy prediction."""
    rows = []
    for score in ALL_SCORES.values():
        needs = ", ".join(need.partition(":")[0] for need in score.needs)
        predicted = PREDICTED[score.predicts]
        rows.append([f"`{score.name}`", score.title, needs, predicted, score.source])
    return METHODS + markdown_table(["name", "title", "also needs", "predicts", "source"], rows)


def markdown_table(head: list[str], rows: list[list[str]]) -> str:
    """Return a head and rows as a Markdown table."""
    cells = [head, ["---"] * len(head), *rows]
    return "".join("| {} |\n".format(" | ".join(row)).replace("|  ", "| ") for row in cells)


# What pydantic calls bounds of a value that a function of ours looks at first.
_BOUND_KEYWORDS = {
    "gt": "exclusiveMinimum", "ge": "minimum", "lt": "exclusiveMaximum", "le": "maximum",
}  # fmt: skip
_LENGTH_KEYWORDS = {"array": "minItems", "object": "minProperties"}


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of study files, by which editors complete and check them."""
    schema = _with_standard_bounds(configuration_model().model_json_schema())
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "Configuration of a study",
    }


def _with_standard_bounds(schema: Any) -> Any:
    """Rename pydantic's bounds in a schema, such as `gt`, to JSON Schema's, recursively."""
    if isinstance(schema, list):
        return [_with_standard_bounds(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    keywords = dict(_BOUND_KEYWORDS)
    if schema.get("type") in _LENGTH_KEYWORDS:
        keywords["minLength"] = _LENGTH_KEYWORDS[schema["type"]]
    return {keywords.get(key, key): _with_standard_bounds(value) for key, value in schema.items()}


def generated_files() -> dict[Path, str]:
    """Return the text of each generated file, by path."""
    schema = json_schema()
    results = make_json_schema.schema()
    return {
        SCHEMA: json.dumps(schema, indent=2, ensure_ascii=False) + "\n",
        RESULTS: json.dumps(results, indent=1, ensure_ascii=False) + "\n",
        PAGE: SettingsPage(schema).text()
        + recipes_section()
        + CHOICES
        + architectures_section()
        + algorithms_section()
        + SettingsPage(WarehouseSettings.model_json_schema()).warehouse_text()
        + methods_section(),
        TABLES: make_tables.page(),
    }


if __name__ == "__main__":
    for path, text in generated_files().items():
        path.write_text(text, encoding="utf-8")
