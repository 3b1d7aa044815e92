"""Violations of typed settings in a person's words: where, what was given, what it should be."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from matcheval.changes import KEYS
from matcheval.errors import suggest
from matcheval.names import MODEL_PATTERN, NAME_PATTERN

_MAX_SHOWN = 100  # longer values are abbreviated in messages


def explain(error: ValidationError, kind: type[BaseModel], given: Any) -> list[str]:
    """Put violations in a person's words, one text per place."""
    places: dict[str, dict[str, None]] = {}
    missing: dict[str, list[str]] = {}
    violations = error.errors(include_url=False)
    for violation in violations:
        if _is_other_alternative(violation, violations):
            continue
        path, last = _place(violation["loc"], given)
        if violation["type"] == "union_tag_invalid":
            path.append("kind")
        if violation["type"] == "missing":
            key = f"entry {last + 1}" if isinstance(last, int) else str(last)
            missing.setdefault(_quoted(path), []).append(key)
        elif violation["type"] == "extra_forbidden":
            parent = _quoted(path[:-1])
            places.setdefault(
                f"{parent}: {_unknown_key(str(path[-1]), kind, path[:-1], given)}", {}
            )
        else:
            places.setdefault(_quoted(path), {})[_reason(violation)] = None
    told = [f"{place}: {' and '.join(keys)} missing" for place, keys in missing.items()]
    return told + [
        f"{place}: {', or '.join(reasons)}" if reasons else place
        for place, reasons in places.items()
    ]


def _is_other_alternative(violation: ErrorDetails, violations: Sequence[ErrorDetails]) -> bool:
    """Whether a list is no fixed word, where what is wrong with the list is told as well."""
    *place, alternative = violation["loc"] or ("",)
    return (
        str(alternative).startswith("literal[")
        and isinstance(violation["input"], list | tuple)
        and any(
            list(one["loc"][: len(place)]) == place for one in violations if one is not violation
        )
    )


def _place(location: tuple[int | str, ...], given: Any) -> tuple[list[int | str], int | str | None]:
    """Keys and positions that lead to a place, without pydantic's names of alternatives."""
    path: list[int | str] = []
    last = location[-1] if location else None
    here, after_kind = given, False
    for part in location:
        # Below a block with alternatives comes the kind's name, which may be one of its keys, too.
        in_block = isinstance(here, Mapping) and here is not given
        if in_block and not after_kind and part == here.get("kind"):
            after_kind = True
            continue
        inside = (isinstance(here, Mapping) and part in here) or (
            isinstance(here, Sequence)
            and not isinstance(here, str)
            and isinstance(part, int)
            and part < len(here)
        )
        if inside:
            path.append(part)
            here, after_kind = here[part], False
    return path, last


def _quoted(path: Sequence[int | str]) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{_shown(part)}"
    return f"'{text.removeprefix('.')}'" if text else "top level"


def _unknown_key(key: str, kind: type[BaseModel], path: Sequence[int | str], given: Any) -> str:
    model = _model_at(kind, path, given)
    name = ".".join([*(part for part in path if isinstance(part, str)), key])
    if name in KEYS:
        return f"'{key}' is no more: {KEYS[name]}"
    known = list(model.model_fields) if model is not None else []
    return f"unknown key '{_shown(key)}'. {suggest(key, known)}"


def _model_at(
    kind: type[BaseModel], path: Sequence[int | str], given: Any
) -> type[BaseModel] | None:
    """Find the settings class at a place; among alternatives, the one of the given kind."""
    candidates: list[Any] = [kind]
    here = given
    for part in path:
        here = here[part]
        inner: list[Any] = []
        for candidate in candidates:
            fields = getattr(candidate, "model_fields", None)
            annotation = fields[part].annotation if fields and part in fields else candidate
            inner += models_in(annotation)
        candidates = inner
    tag = here.get("kind") if isinstance(here, Mapping) else None
    for candidate in candidates:
        field = candidate.model_fields.get("kind")
        if field is None or tag in getattr(field.annotation, "__args__", ()):
            return candidate  # type: ignore[no-any-return]
    return candidates[0] if candidates else None


def models_in(annotation: Any) -> list[type[BaseModel]]:
    """Return the settings classes in a type, such as the alternatives of a union."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for inner in getattr(annotation, "__args__", ()) for model in models_in(inner)]


def _shown(value: Any) -> str:
    """A value on one line, shortened."""
    text = str(value)
    text = text if text.isprintable() else repr(text)[1:-1]
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 3]}..."


def _reason(violation: ErrorDetails) -> str:
    """What is wrong with one value."""
    value, context = violation["input"], violation.get("ctx", {})
    shown = _shown(value)
    bounds = {
        "greater_than": ("above", "gt"),
        "greater_than_equal": ("at least", "ge"),
        "less_than": ("below", "lt"),
        "less_than_equal": ("at most", "le"),
    }
    kind = violation["type"]
    if kind in bounds:
        word, key = bounds[kind]
        return f"{shown} must be {word} {context[key]:.15g}"
    if kind in ("literal_error", "enum", "union_tag_invalid"):
        expected = str(context.get("expected", context.get("expected_tags", "")))
        names = expected.replace(" or ", ", ").replace("'", "")
        return f"'{_shown(context.get('tag', value))}' is none of {names}"
    if kind == "union_tag_not_found":
        return "kind missing"
    if kind == "string_pattern_mismatch":
        if context["pattern"] == NAME_PATTERN:
            return f"'{shown}' must be letters, digits, '.', '_' and '-', and not begin with a sign"
        if context["pattern"] == MODEL_PATTERN:
            return f"'{shown}' has no '{{model}}', which stands for the names of the models"
        return f"'{shown}' does not have the form {context['pattern']}"
    if kind == "string_too_long":
        return f"'{shown[:20]}...' has more than {context['max_length']} characters"
    if kind == "finite_number":
        return f"{shown} is not a finite number"
    if kind == "int_parsing_size":
        return f"'{shown}' is too large"
    if kind == "invalid_key" or violation["loc"][-1:] == ("[key]",):
        return f"key '{shown}' is not a text"
    if value is None or kind == "string_too_short" or context.get("actual_length") == 0:
        return "is empty"
    if kind in ("too_short", "too_long"):
        word, key = ("least", "min_length") if kind == "too_short" else ("most", "max_length")
        return f"'{shown}' must have at {word} {context[key]} entries"
    words = {
        "float_parsing": "a number", "float_type": "a number", "int_parsing": "a whole number",
        "int_type": "a whole number", "int_from_float": "a whole number", "string_type": "a text",
        "bool_type": "true or false", "bool_parsing": "true or false", "tuple_type": "a list",
        "list_type": "a list", "dict_type": "a mapping of keys to values",
        "model_type": "a mapping of keys to values",
        "model_attributes_type": "a mapping of keys to values",
    }  # fmt: skip
    if kind in words:
        return f"'{shown}' is not {words[kind]}"
    if kind == "value_error":
        message = str(context["error"])
        return f"'{shown}' {message}" if message.startswith("is ") else message
    return f"{violation['msg'][:1].lower()}{violation['msg'][1:]}"
