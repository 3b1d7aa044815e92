"""Reading YAML files."""

import os
from pathlib import Path
from typing import Any

import yaml

from matcheval.errors import InputError


def read_yaml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a YAML file whose top level is a mapping."""
    content = _read(path)
    if not isinstance(content, dict):
        raise InputError("is not a mapping of keys to values", file=path)
    return content


def read_yaml_list(path: str | os.PathLike[str]) -> list[Any]:
    """Read a YAML file whose top level is a list."""
    content = _read(path)
    if not isinstance(content, list):
        raise InputError("is not a list", file=path, remedy="Begin every entry with '- '")
    return content


def _read(path: str | os.PathLike[str]) -> Any:
    try:
        return yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError("no such file", file=path) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{path}, line {mark.line + 1}, column {mark.column + 1}" if mark else path
        what = ", ".join(filter(None, (error.context, error.problem)))
        remedy = "Indent with spaces; write texts with ': ' or '#' in quotes"
        raise InputError(f"not readable as YAML ({what})", file=place, remedy=remedy) from error
    except (yaml.YAMLError, ValueError, OSError, RecursionError) as error:
        # A ValueError is of text that is not UTF-8, or of an impossible date or number.
        raise InputError(f"not readable as YAML ({error})", file=path) from error
