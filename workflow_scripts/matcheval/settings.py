"""The base of all typed settings, and the types that they share.

Each part of the library that a person configures declares its settings as a class of its own, next
to the code that uses them: names, types, defaults, ranges and the checks across fields. The
configuration of a study (`study.configuration`) is put together from these classes.
"""

import difflib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from matcheval.changes import KEYS
from matcheval.errors import InputError, check_known, suggest
from matcheval.names import MAX_LABEL_LENGTH, MAX_NAME_LENGTH, MODEL_PATTERN, NAME_PATTERN, is_label

_MAX_SHOWN = 100  # longer values are abbreviated in messages

T = TypeVar("T")


class Settings(BaseModel):
    """Base class of settings: frozen; unknown keys, NaN and infinities are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def _refuse_boolean(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("is not a number")
    return value


def _parse_boolean(value: Any) -> Any:
    """Read booleans, also as the texts 'true' and 'false' of Snakemake; refuse other values."""
    if isinstance(value, str):
        value = {"true": True, "false": False}.get(value.lower())
    if not isinstance(value, bool):
        raise ValueError("is neither true nor false")
    return value


def _check_unique(values: Sequence[T]) -> Sequence[T]:
    repeated = sorted(str(value) for value, n in Counter(values).items() if n > 1)
    if repeated:
        raise ValueError(f"'{repeated[0]}' occurs twice")
    return values


def _check_label(text: str) -> str:
    if not is_label(text):
        raise ValueError(
            f"'{_shorten(text)}' has a line break or a control character, or over "
            f"{MAX_LABEL_LENGTH} characters"
        )
    return text


def _check_distinct_names(by_name: dict[str, T]) -> dict[str, T]:
    """Refuse names that differ only in case, as some file systems take them for one."""
    seen: dict[str, str] = {}
    for name in by_name:
        twin = seen.setdefault(name.casefold(), name)
        if twin != name:
            raise ValueError(f"'{twin}' and '{name}' differ only in upper and lower case")
    return by_name


Boolean = Annotated[bool, BeforeValidator(_parse_boolean)]
Number = Annotated[float, BeforeValidator(_refuse_boolean)]
Integer = Annotated[int, BeforeValidator(_refuse_boolean)]
Count = Annotated[Integer, Field(ge=1)]
Seed = Annotated[Integer, Field(ge=0)]
Fraction = Annotated[Number, Field(ge=0, le=1)]
OpenFraction = Annotated[Number, Field(gt=0, lt=1)]
PathText = Annotated[str, Field(min_length=1)]
Name = Annotated[str, Field(pattern=NAME_PATTERN, max_length=MAX_NAME_LENGTH)]
Label = Annotated[str, AfterValidator(_check_label)]  # of classes and groups
Unique = AfterValidator(_check_unique)


class Need(StrEnum):
    """What a setting needs of the dataset that it names."""

    IMAGES = "images"
    ACCURACIES = "accuracies"
    CORRECTNESS = "correctness"
    PROBABILITIES = "probabilities"


@dataclass(frozen=True)
class Ref:
    """Marks a setting as the name of a model, dataset, pair or suite of the study."""

    kind: Literal["model", "dataset", "pair", "suite"]
    needs: Need | None = None


ModelName = Annotated[Name, Ref("model")]
DatasetName = Annotated[Name, Ref("dataset")]
ImagesName = Annotated[Name, Ref("dataset", Need.IMAGES)]
EvaluatedName = Annotated[Name, Ref("dataset", Need.ACCURACIES)]
CorrectName = Annotated[Name, Ref("dataset", Need.CORRECTNESS)]
PairName = Annotated[Name, Ref("pair")]
SuiteName = Annotated[Name, Ref("suite")]
UniqueItems = Field(json_schema_extra={"uniqueItems": True})
UniqueTuple = Annotated[tuple[T, ...], Unique, UniqueItems]
SomeUnique = Annotated[tuple[T, ...], Unique, UniqueItems, Field(min_length=1)]
Names = UniqueTuple[Name]
SomeNames = SomeUnique[Name]
ModelNames = UniqueTuple[ModelName]
Named = Annotated[dict[Name, T], AfterValidator(_check_distinct_names)]


def one_of(valid: Collection[str]) -> AfterValidator:
    """Return a validator that refuses texts other than the valid ones, with a suggestion."""

    def check(value: str) -> str:
        check_known("value", [value], valid)
        return value

    return AfterValidator(check)


def _text_as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


# A list of texts, or one text for a list of one; and the same of names.
_AsTexts = BeforeValidator(_text_as_list, json_schema_input_type=PathText | tuple[PathText, ...])
_AsNames = BeforeValidator(_text_as_list, json_schema_input_type=Name | tuple[Name, ...])
Texts = Annotated[tuple[PathText, ...], _AsTexts, Field(min_length=1)]
NameOrNames = Annotated[tuple[Name, ...], _AsNames, Unique, Field(min_length=1)]
EvaluatedNames = Annotated[tuple[EvaluatedName, ...], _AsNames, Unique, Field(min_length=1)]


def read_settings(kind: type[BaseModel], values: Any, *, file: object = "configuration") -> Any:
    """Read values as settings of a class, or raise all errors in plain words."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise InputError("; ".join(explain(error, kind, values)), file=file) from error


def explain(error: ValidationError, kind: type[BaseModel], values: Any) -> list[str]:
    """Describe a pydantic error in plain words, one text per wrong place."""
    places: dict[str, list[str]] = {}
    missing: dict[str, list[str]] = {}
    violations = error.errors(include_url=False)
    for violation in violations:
        if _is_redundant(violation, violations):
            continue
        path, last = _key_path(violation["loc"], values)
        if violation["type"] == "union_tag_invalid":
            path.append("kind")
        if violation["type"] == "missing":
            key = f"entry {last + 1}" if isinstance(last, int) else str(last)
            missing.setdefault(_format_path(path), []).append(key)
        elif violation["type"] == "extra_forbidden":
            reason = _explain_unknown_key(str(path[-1]), kind, path[:-1], values)
            places.setdefault(f"{_format_path(path[:-1])}: {reason}", [])
        else:
            places.setdefault(_format_path(path), []).append(_describe_violation(violation))
    messages = [f"{place}: {' and '.join(keys)} missing" for place, keys in missing.items()]
    for place, reasons in places.items():
        messages.append(": ".join(filter(None, [place, ", or ".join(dict.fromkeys(reasons))])))
    return messages


def _is_redundant(violation: ErrorDetails, violations: Sequence[ErrorDetails]) -> bool:
    """Whether a violation says only that a list is no fixed word, beside others on that list."""
    *place, alternative = violation["loc"] or ("",)
    if not str(alternative).startswith("literal[") or not isinstance(
        violation["input"], list | tuple
    ):
        return False
    others = (other["loc"] for other in violations if other is not violation)
    return any(list(location[: len(place)]) == place for location in others)


def _key_path(
    location: tuple[int | str, ...], values: Any
) -> tuple[list[int | str], int | str | None]:
    """Return the keys and indices that lead to a violation, and the last part of its location."""
    path: list[int | str] = []
    value, after_kind = values, False
    for part in location:
        is_block = isinstance(value, Mapping)
        # Below a block with alternatives comes the kind's name, which may be one of its keys, too.
        if is_block and value is not values and not after_kind and part == value.get("kind"):
            after_kind = True
            continue
        is_item = isinstance(value, list | tuple) and isinstance(part, int) and part < len(value)
        if is_item or (is_block and part in value):
            path.append(part)
            value, after_kind = value[part], False
    return path, location[-1] if location else None


def _format_path(path: Sequence[int | str]) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{_shorten(part)}"
    return f"'{text.removeprefix('.')}'" if text else "top level"


def _explain_unknown_key(
    key: str, kind: type[BaseModel], path: Sequence[int | str], values: Any
) -> str:
    model = _class_at(kind, path, values)
    name = ".".join([*(part for part in path if isinstance(part, str)), key])
    instead = KEYS.get(name) or KEYS.get(f"*.{key}")
    if instead:
        return f"'{key}' is no more: {instead}"
    keys = list(model.model_fields) if model is not None else []
    return f"unknown key '{_shorten(key)}'. {suggest(key, keys)}"


def _class_at(
    kind: type[BaseModel], path: Sequence[int | str], values: Any
) -> type[BaseModel] | None:
    """Find the settings class at a path; among alternatives, the one of the given `kind`."""
    candidates, value = [kind], values
    for part in path:
        value = value[part]
        inside = (
            model.model_fields[part].annotation if part in model.model_fields else model
            for model in candidates
        )  # fmt: skip
        candidates = [model for annotation in inside for model in models_in(annotation)]
    tag = value.get("kind") if isinstance(value, Mapping) else None

    def fits(candidate: type[BaseModel]) -> bool:
        field = candidate.model_fields.get("kind")
        return field is None or tag in get_args(field.annotation)

    return next(iter([*filter(fits, candidates), *candidates]), None)


def models_in(annotation: Any) -> list[type[BaseModel]]:
    """Return the settings classes that a type contains, such as alternatives of a union."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for inner in getattr(annotation, "__args__", ()) for model in models_in(inner)]


def _shorten(value: Any) -> str:
    """Return a value as text on one line, shortened."""
    text = str(value)
    text = text if text.isprintable() else repr(text)[1:-1]
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 3]}..."


# What is wrong with a value, by pydantic's name for it.
_REASONS = {
    "greater_than": "{text} must be above {gt:.15g}",
    "greater_than_equal": "{text} must be at least {ge:.15g}",
    "less_than": "{text} must be below {lt:.15g}",
    "less_than_equal": "{text} must be at most {le:.15g}",
    "finite_number": "{text} is not a finite number",
    "int_parsing_size": "'{text}' is too large",
    "string_too_long": "'{text:.20}...' has more than {max_length} characters",
    "too_short": "'{text}' must have at least {min_length} entries",
    "too_long": "'{text}' must have at most {max_length} entries",
    "union_tag_not_found": "kind missing",
    "string_type": "'{text}' is not a text: put it in quotes, as it is written",
    **dict.fromkeys(("float_parsing", "float_type"), "'{text}' is not a number"),
    **dict.fromkeys(
        ("int_parsing", "int_type", "int_from_float"), "'{text}' is not a whole number"
    ),
    **dict.fromkeys(("bool_type", "bool_parsing"), "'{text}' is not true or false"),
    **dict.fromkeys(("tuple_type", "list_type"), "'{text}' is not a list"),
    **dict.fromkeys(
        ("dict_type", "model_type", "model_attributes_type"),
        "'{text}' is not a mapping of keys to values",
    ),
}


def _describe_violation(violation: ErrorDetails) -> str:
    """Say in plain words what is wrong with a value."""
    kind, value, context = violation["type"], violation["input"], violation.get("ctx", {})
    text = _shorten(value)
    if kind in ("literal_error", "enum", "union_tag_invalid"):
        expected = str(context.get("expected", context.get("expected_tags", "")))
        names = expected.replace(" or ", ", ").replace("'", "")
        name = _shorten(context.get("tag", value))
        near = difflib.get_close_matches(name, names.split(", "), n=1)
        return f"'{name}' is none of {names}" + (f" (did you mean '{near[0]}'?)" if near else "")
    if kind == "string_pattern_mismatch":
        if context["pattern"] == NAME_PATTERN:
            return f"'{text}' must be letters, digits, '.', '_' and '-', and not begin with a sign"
        if context["pattern"] == MODEL_PATTERN:
            return f"'{text}' has no '{{model}}', which stands for the names of the models"
        return f"'{text}' does not have the form {context['pattern']}"
    if kind == "invalid_key" or violation["loc"][-1:] == ("[key]",):
        return f"key '{text}' is not a text: put it in quotes, as it is written"
    if value is None or kind == "string_too_short" or context.get("actual_length") == 0:
        return "is empty"
    if kind in _REASONS:
        return _REASONS[kind].format(text=text, **context)
    if kind == "value_error":
        message = str(context["error"])
        return f"'{text}' {message}" if message.startswith("is ") else message
    return f"{violation['msg'][:1].lower()}{violation['msg'][1:]}"
