"""Reading YAML files."""

import os
from pathlib import Path
from typing import Any

import yaml

from matcheval.errors import InputError


def read_yaml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a YAML mapping.

    Raises
    ------
    InputError
        If the file is missing, no YAML or no mapping.
    """
    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError("no such file", file=path) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"not readable as YAML ({error})", file=path) from error
    if not isinstance(content, dict):
        raise InputError("is not a mapping of keys to values", file=path)
    return content
