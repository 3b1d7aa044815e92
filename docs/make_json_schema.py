"""The JSON schema of what commands print with `--json`, from the tables and results they print."""

from dataclasses import fields
from typing import Any

import pyarrow as pa

from matcheval.accuracy_prediction.estimation import ESTIMATES
from matcheval.analyses.sampling.image_search import NEAREST_IMAGES
from matcheval.few_labels.accuracy import AccuracyEstimate
from matcheval.few_labels.differences import AccuracyDifference
from matcheval.few_labels.plans import LabelNeeds
from matcheval.io.tables import TableSchema
from matcheval.io.terminal import JSON_VERSION
from matcheval.protocol.schemas import GAPS, MEAN_GAPS, MODEL_TABLE, RUNS
from matcheval.statistics.claims import Strength
from matcheval.warehouse.sets import PLAN_SCHEMA

Schema = dict[str, Any]
TEXT, WHOLE, FLAG = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
NUMBER = {"type": ["number", "null"]}  # null: not defined
TEXT_OR_NONE, WHOLE_OR_NONE = {"type": ["string", "null"]}, {"type": ["integer", "null"]}
# As dataclasses annotate their fields.
TYPES = {
    "str": TEXT, "int": WHOLE, "float": NUMBER, "float | None": NUMBER, "int | None": WHOLE_OR_NONE,
}  # fmt: skip


def record(properties: Schema, optional: tuple[str, ...] = ()) -> Schema:
    """Return the schema of an object with these keys; later versions may add keys."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "required": required, "properties": properties}


def list_of(items: Schema) -> Schema:
    """Return the schema of a list of such items."""
    return {"type": "array", "items": items}


def by_name(values: Schema) -> Schema:
    """Return the schema of an object whose keys are names, each with such a value."""
    return {"type": "object", "additionalProperties": values}


def table(schema: TableSchema) -> Schema:
    """Return the schema of a table as a list of rows, with the meaning of each column."""
    columns = {
        column.name: cell(column.type, column.nullable)
        | {"description": column.meaning_at() + (f" ({column.unit})" if column.unit else "")}
        for column in schema.columns
    }
    return list_of(record(columns))


def cell(kind: pa.DataType, nullable: bool) -> Schema:
    """Return the schema of a cell; null stands for missing values, and in floats for NaN."""
    if pa.types.is_integer(kind):
        return WHOLE_OR_NONE if nullable else WHOLE
    if pa.types.is_boolean(kind):
        return FLAG
    return NUMBER if pa.types.is_floating(kind) else TEXT_OR_NONE if nullable else TEXT


def numbers(result: type) -> Schema:
    """Return schemas of the public fields of a result class that are numbers or texts, by name."""
    kinds = {field.name: str(field.type) for field in fields(result) if field.name[0] != "_"}
    return {name: TYPES[kind] for name, kind in kinds.items() if kind in TYPES}


FILES = {"written": list_of(TEXT)}
WARNINGS = {"warnings": list_of(TEXT)}
ACCURACY = record({**numbers(AccuracyEstimate), "exact_lower": NUMBER, "exact_upper": NUMBER}
                  | WARNINGS)  # fmt: skip
DIFFERENCE = record(numbers(AccuracyDifference) | WARNINGS)
TWO_MODELS = {
    "first": TEXT, "second": TEXT, "n": WHOLE, "accuracy_first": NUMBER, "accuracy_second": NUMBER,
    "difference": NUMBER, "difference_low": NUMBER, "difference_high": NUMBER, "p": NUMBER,
    "both_right": WHOLE, "only_first": WHOLE, "only_second": WHOLE, "both_wrong": WHOLE,
    "remark": TEXT,
}  # fmt: skip
DISAGREEMENT = {
    "index": WHOLE, "datapoint": TEXT, "label": TEXT, "first": TEXT, "first_probability": NUMBER,
    "second": TEXT, "second_probability": NUMBER, "wrong": TEXT, "wrong_probability": NUMBER,
}  # fmt: skip
STRENGTH = {"enum": [str(strength) for strength in Strength]}
NAMES = {"models": list_of(TEXT), "datasets": list_of(TEXT)}
QUESTIONS = ["accuracy", "calibration", "confidence", "left"]
CLAIM = record({
    "question": {"enum": QUESTIONS}, "finding": TEXT, "text": TEXT,
    "value": NUMBER, "low": NUMBER, "high": NUMBER, "strength": STRENGTH, "reason": TEXT,
})  # fmt: skip
COUNTS = record({"lost": list_of(TEXT), "gained": list_of(TEXT), "n": WHOLE})
CALIBRATED = record({"overconfident": list_of(TEXT), "underconfident": list_of(TEXT), "n": WHOLE})
VERDICT = record({
    "pair": TEXT, "claims": list_of(CLAIM), "next_step": TEXT,
    "models": {"anyOf": [COUNTS, {"type": "null"}]},
    "calibration": {"anyOf": [CALIBRATED, {"type": "null"}]},
})  # fmt: skip
ADVICE = record({
    "target": TEXT, "method": TEXT, "predicted": NUMBER, "low": NUMBER, "high": NUMBER,
    "strength": STRENGTH, "text": TEXT, "reason": TEXT, "next_step": TEXT,
})  # fmt: skip
COMMANDS: dict[str, Schema] = {
    "compare": record({
        "verdict": VERDICT,
        "means": table(MEAN_GAPS), "models": by_name(table(GAPS)),
        "tables": by_name(table(MODEL_TABLE)), "analyses": by_name(list_of({"type": "object"})),
        **FILES,
    }),
    "compare-models": record(
        {**TWO_MODELS, "datapoints": list_of(record(DISAGREEMENT)), **FILES}
    ),
    "match": record({
        "model": TEXT, "pair": TEXT, "criterion": TEXT, "epsilon": NUMBER, "runs": table(RUNS),
        **FILES,
    }),
    "predict-accuracy": record(
        {"base": TEXT, "recommendations": list_of(ADVICE), "predictions": table(ESTIMATES)}
    ),
    "label-plan": record({
        "n": WHOLE, "half_width": NUMBER, "level": NUMBER, "recommended": TEXT, "design": TEXT,
        "seed": WHOLE, "n_labels": WHOLE, "n_done": WHOLE, "n_needed": WHOLE,
        "needs": list_of(record(numbers(LabelNeeds))), **FILES,
    }),
    "estimate-accuracy": {
        "anyOf": [ACCURACY, DIFFERENCE],  # of one model, of two
        **record({"gap": DIFFERENCE}, optional=("gap",)),
    },
    "init": record({
        "study": TEXT, "files": list_of(TEXT), "models": WHOLE, "datasets": list_of(TEXT),
        "command": TEXT_OR_NONE, "compare": TEXT_OR_NONE, "report": TEXT, "missing": TEXT_OR_NONE,
        "opened": TEXT_OR_NONE,
    }),
    "check-study": record(
        {"study": TEXT, **NAMES, "pairs": list_of(TEXT), "suites": list_of(TEXT), "opened": TEXT}
    ),
    "doctor": record({
        "works": FLAG, "versions": by_name(TEXT_OR_NONE),
        "findings": list_of(
            record({"subject": TEXT, "state": TEXT, "found": TEXT, "remedy": TEXT})
        ),
    }),
    "duplicates": record({"neighbours": table(NEAREST_IMAGES), **FILES}),
    "warehouse-plan": record({"plan": table(PLAN_SCHEMA), **FILES}),
    "warehouse-build": record(
        {"folder": TEXT, "sets": list_of(TEXT), "exported": list_of(TEXT)}
    ),
    "warehouse-worklist": record({"images": WHOLE, "written": list_of(TEXT)}),
    **{f"replicate-{step}": record(FILES) for step in ("simulate", "count", "sample", "allocate")},
}  # fmt: skip


def schema() -> Schema:
    """Return the schema of the output of all commands; its key `schema` names the command."""
    schemas = {}
    for name, described in COMMANDS.items():
        key = {"const": f"matched-eval/{name}/{JSON_VERSION}"}
        schemas[name] = described | {
            "required": ["schema", *described["required"]],
            "properties": {"schema": key, **described["properties"]},
        }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What the commands of matched-eval print with --json",
        "description": "Fractions are between 0 and 1; null is what is not defined. Versions "
        "with the same number may add keys (docs/promise.md).",
        "oneOf": [{"$ref": f"#/$defs/{name}"} for name in schemas],
        "$defs": schemas,
    }
