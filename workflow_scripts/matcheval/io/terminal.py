"""What commands show: JSON for other programs to read, and the progress of long work."""

import argparse
import json
import logging
import math
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from matcheval.errors import printable

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

LOGGER = logging.getLogger(__name__)
# A key that goes, or changes its meaning, raises it; a further key does not (docs/promise.md).
JSON_VERSION = 1


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option `--json` of a command."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def print_json(command: str, value: Mapping[str, Any]) -> None:
    """Print what a command found as JSON, with its name in results.schema.json."""
    document = {"schema": f"matched-eval/{command}/{JSON_VERSION}", **_defined(value)}
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    # Names of files that are not UTF-8 hold lone surrogates, which cannot be written.
    _write(text.encode(errors="backslashreplace").decode() + "\n")


def print_text(text: str = "") -> None:
    """Print a text, and what is not written yet, such as a help text."""
    _write(printable(text))


def _write(text: str) -> None:
    """Write to standard output; where that is gone, the exit code still says the result."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # takes the rest
        if not isinstance(error, BrokenPipeError):
            LOGGER.warning("warning: standard output cannot be written (%s)", error.strerror)


def json_rows(table: "pd.DataFrame | pa.Table") -> list[dict[str, Any]]:
    """Return the rows of a table as JSON values."""
    import pyarrow as pa

    if isinstance(table, pa.Table):
        rows: list[dict[str, Any]] = table.to_pylist()
    else:
        rows = json.loads(table.to_json(orient="records", double_precision=15))
    return [_defined(row) for row in rows]


def _defined(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _defined(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_defined(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


T = TypeVar("T")


def tracked(items: Sequence[T], work: str, *, progress: bool) -> Iterator[T]:
    """Iterate over items; of several, a terminal shows the progress on standard error."""
    if not (progress and len(items) > 1 and sys.stderr.isatty()):
        return iter(items)
    from tqdm import tqdm

    return iter(tqdm(items, work, leave=False))
