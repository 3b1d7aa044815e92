"""A study's configuration: read, completed with defaults, checked against its schema.

What the keys mean together is checked in `study`.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, ValidationError

from matcheval.errors import InputError, meant
from matcheval.io.yaml_files import read_yaml

# What a study of one's own inherits from the default study: how, and not what, to compute.
SETTINGS = (
    "results", "mirror", "matching", "inference", "figures", "save_pairs", "replication",
    "followups",
)  # fmt: skip
# What a study trains on is its own; how is inherited.
TRAINING_SETS = ("train", "validation")
# Which follow-ups the default study makes are its own, too.
NO_FOLLOWUPS: dict[str, Any] = {
    "searches": [], "near_duplicates": {}, "hard_images": [], "people": {}, "balanced": [],
    "by_frequency": {}, "groups": {}, "shared_errors": [], "revisions": {}, "difficulty": [],
    "without": [],
}  # fmt: skip


def complete_config(
    given: Mapping[str, Any], defaults_file: str | os.PathLike[str]
) -> dict[str, Any]:
    """Fill in what a configuration leaves out.

    A configuration that names its `study` is a study of its own, and takes the settings (not
    the models, datasets and pairs) that it leaves out from the defaults. Any other one, such as
    a few values from the command line, changes the default study.

    Parameters
    ----------
    given : mapping
        What the user gave; perhaps nothing.
    defaults_file : path-like
        YAML file of the default study. Its model catalogue is looked for beside it.

    Returns
    -------
    dict
        The whole configuration, not yet checked.

    Raises
    ------
    InputError
        If the defaults cannot be read, or datasets or pairs come without a name of the study.
    """
    defaults = read_yaml(defaults_file)
    defaults["models"] = str(Path(defaults_file).parent / defaults["models"])
    if "study" not in given:
        alone = [key for key in ("datasets", "pairs") if key in given]
        if alone:
            raise InputError(
                f"the configuration brings its own {' and '.join(alone)} but no name",
                field="study",
                remedy="Name the study, as in 'study: mine'",
            )
        return _merged(defaults, given)
    settings = {key: defaults[key] for key in SETTINGS if key in defaults}
    # The default study's chosen models are its own.
    settings["figures"] = settings["figures"] | {"reliability_models": []}
    settings["save_pairs"] = []
    settings["replication"] = settings["replication"] | {
        "fit_without": [],
        "range_without": [],
        "published": "",
    }
    if given.get("training"):
        training = defaults.get("training", {})
        settings["training"] = {k: v for k, v in training.items() if k not in TRAINING_SETS}
    settings["followups"] = settings["followups"] | NO_FOLLOWUPS
    return _merged(settings, given)


def check_config(config: Mapping[str, Any], schema_file: str | os.PathLike[str]) -> None:
    """Check a configuration against its JSON schema.

    Raises
    ------
    InputError
        Listing every violation: where, the value, and what it should be.
    """
    schema = json.loads(Path(schema_file).read_text(encoding="utf-8"))
    errors = sorted(Draft202012Validator(schema).iter_errors(config), key=lambda e: e.json_path)
    if errors:
        told = dict.fromkeys(map(_explain, errors))  # a key that is missing is an error each
        raise InputError("; ".join(told), file="configuration")


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Merge mappings, deeply: what `over` says wins, lists are replaced.

    Text that replaces a number or a truth value is read as one: Snakemake hands on
    `--config 'a={b: 1}'` with the inner values unread, and YAML takes 1e-3 for text.
    """
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        if isinstance(value, str) and isinstance(old, bool):
            value = {"true": True, "false": False}.get(value.lower(), value)
        elif isinstance(value, str) and (isinstance(old, int | float) or old == "auto"):
            value = _as_number(value)
        if isinstance(value, list) and isinstance(old, list) and _are_numbers(old):
            value = [_as_number(item) if isinstance(item, str) else item for item in value]
        both = isinstance(value, Mapping) and isinstance(old, Mapping)
        merged[key] = _merged(old, value) if both else value  # type: ignore[arg-type]
    return merged


def _are_numbers(values: list[Any]) -> bool:
    return bool(values) and all(isinstance(value, int | float) for value in values)


def _as_number(text: str) -> int | float | str:
    """Read a number; other text is given back, for the schema to refuse."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _explain(error: ValidationError) -> str:
    """One violation in a person's words."""
    place = error.json_path.removeprefix("$").removeprefix(".")
    key = f"'{place}'" if place else "top level"
    if error.validator == "additionalProperties" and error.validator_value is False:
        known = list(error.schema.get("properties", {}))
        unknown = [name for name in error.instance if name not in known]
        told = [f"{key}: unknown key '{name}'. {meant(str(name), known)}" for name in unknown]
        return "; ".join(told)
    if error.validator == "required":
        missing = [name for name in error.validator_value if name not in error.instance]
        why = " (a study of its own brings them)" if not place else ""
        return f"{key}: {' and '.join(missing)} missing{why}"
    if error.validator == "pattern":
        what = {
            r"\{model\}": "hold {model}, the model's name",
            "^auto$": "be a whole number, or auto",
        }.get(error.validator_value, "be letters, digits, '.', '_' and '-'")
        return f"{key}: '{error.instance}' must {what}"
    if error.validator == "enum":
        wanted = ", ".join(map(str, error.validator_value))
        return f"{key}: '{error.instance}' is none of {wanted}"
    if error.validator in ("exclusiveMinimum", "minimum"):
        least = "above" if error.validator == "exclusiveMinimum" else "at least"
        return f"{key}: {error.instance} must be {least} {error.validator_value}"
    if error.validator == "type" and error.instance is None:
        return f"{key}: is empty"
    return f"{key}: {error.message}"
