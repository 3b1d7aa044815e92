"""The base of all typed settings, and the types that they share.

Each part of the library that a person configures declares its settings as a class of its own, next
to the code that uses them: names, types, defaults, ranges and the checks across fields. The
configuration of a study (`study.configuration`) is put together from these classes.
"""

from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)

from matcheval.errors import InputError
from matcheval.names import MAX_NAME_LENGTH, NAME_PATTERN
from matcheval.settings_errors import explain

T = TypeVar("T")


class Settings(BaseModel):
    """Settings of one part: frozen; unknown keys, NaN and infinities are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def _not_boolean(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("is not a number")
    return value


def _as_boolean(value: Any) -> Any:
    """Read the text that Snakemake hands on from the command line; other text is refused."""
    given = (
        {"true": True, "false": False}.get(value.lower(), value)
        if isinstance(value, str)
        else value
    )
    if not isinstance(given, bool):
        raise ValueError("is neither true nor false")
    return given


def _unique(values: Sequence[T]) -> Sequence[T]:
    repeated = sorted({str(value) for value in values if list(values).count(value) > 1})
    if repeated:
        raise ValueError(f"'{repeated[0]}' occurs twice")
    return values


def _with_distinct_names(named: dict[str, T]) -> dict[str, T]:
    """Refuse names that differ only in case: some file systems take them for one."""
    seen: dict[str, str] = {}
    for name in named:
        twin = seen.setdefault(name.casefold(), name)
        if twin != name:
            raise ValueError(f"'{twin}' and '{name}' differ only in upper and lower case")
    return named


Boolean = Annotated[bool, BeforeValidator(_as_boolean)]
Number = Annotated[float, BeforeValidator(_not_boolean)]
Integer = Annotated[int, BeforeValidator(_not_boolean)]
Count = Annotated[Integer, Field(ge=1)]
Seed = Annotated[Integer, Field(ge=0)]
Fraction = Annotated[Number, Field(ge=0, le=1)]
OpenFraction = Annotated[Number, Field(gt=0, lt=1)]
PathText = Annotated[str, Field(min_length=1)]
Name = Annotated[str, Field(pattern=NAME_PATTERN, max_length=MAX_NAME_LENGTH)]
Unique = AfterValidator(_unique)
UniqueItems = Field(json_schema_extra={"uniqueItems": True})
Names = Annotated[tuple[Name, ...], Unique, UniqueItems]
SomeNames = Annotated[tuple[Name, ...], Unique, UniqueItems, Field(min_length=1)]
Named = Annotated[dict[Name, T], AfterValidator(_with_distinct_names)]


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


# A list of texts, or one text for a list of one.
Texts = Annotated[
    tuple[PathText, ...],
    BeforeValidator(_as_list, json_schema_input_type=PathText | tuple[PathText, ...]),
    Field(min_length=1),
]
# A list of names, or one name for a list of one.
NameOrNames = Annotated[
    tuple[Name, ...],
    BeforeValidator(_as_list, json_schema_input_type=Name | tuple[Name, ...]),
    Unique,
    Field(min_length=1),
]


def read_settings(kind: type[BaseModel], given: Any, *, file: object = "configuration") -> Any:
    """Read settings of a class."""
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        raise InputError("; ".join(explain(error, kind, given)), file=file) from error
