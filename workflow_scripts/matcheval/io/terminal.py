"""What commands show: JSON for other programs to read, and the progress of long work."""

import argparse
import json
import math
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option `--json` of a command."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    text = json.dumps(_defined(value), indent=2, ensure_ascii=False, allow_nan=False)
    # Names of files that are not UTF-8 hold lone surrogates, which cannot be written.
    sys.stdout.write(text.encode(errors="backslashreplace").decode() + "\n")


def json_rows(table: "pd.DataFrame | pa.Table") -> list[dict[str, Any]]:
    """Return the rows of a table as JSON values."""
    import pyarrow as pa

    if isinstance(table, pa.Table):
        rows: list[dict[str, Any]] = table.to_pylist()
    else:
        rows = json.loads(table.to_json(orient="records", double_precision=15))
    return [_defined(row) for row in rows]


def _defined(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _defined(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_defined(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


T = TypeVar("T")


def each(items: Sequence[T], work: str, *, progress: bool) -> Iterator[T]:
    """Iterate over items; of several, a terminal shows the progress on standard error."""
    if not (progress and len(items) > 1 and sys.stderr.isatty()):
        return iter(items)
    from tqdm import tqdm

    return iter(tqdm(items, work, leave=False))
