"""What commands show, such as JSON for other programs; and long work, item by item."""

import argparse
import json
import logging
import math
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from matcheval.errors import printable

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import pandas as pd
    import pyarrow as pa

LOGGER = logging.getLogger(__name__)
# A key that goes, or changes its meaning, raises it; a further key does not (docs/promise.md).
JSON_VERSION = 1


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option `--json` of a command."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def print_json(command: str, value: Mapping[str, Any]) -> None:
    """Print a command's results as JSON; `command` names their schema in results.schema.json."""
    document = {"schema": f"matched-eval/{command}/{JSON_VERSION}", **_replace_non_finite(value)}
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    # Names of files that are not UTF-8 hold lone surrogates, which cannot be written.
    _write(text.encode(errors="backslashreplace").decode() + "\n")


def print_text(text: str = "") -> None:
    """Print a text, with control characters shown as codes, and flush standard output."""
    _write(printable(text))


def _write(text: str) -> None:
    """Write to standard output and flush; where it is closed, discard the text without an error."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # takes the rest
        if not isinstance(error, BrokenPipeError):
            LOGGER.warning("warning: standard output cannot be written (%s)", error.strerror)


def json_rows(table: "pd.DataFrame | pa.Table") -> list[dict[str, Any]]:
    """Return the rows of a table as dictionaries of JSON values, NaN and infinity as None."""
    import pyarrow as pa

    if isinstance(table, pa.Table):
        rows: list[dict[str, Any]] = table.to_pylist()
    else:
        rows = json.loads(table.to_json(orient="records", double_precision=15))
    return [_replace_non_finite(row) for row in rows]


def _replace_non_finite(value: Any) -> Any:
    """Replace NaN and infinity, also in nested lists and mappings, by None."""
    if isinstance(value, Mapping):
        return {key: _replace_non_finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_non_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


T = TypeVar("T")
Result = TypeVar("Result")


def tracked(items: Sequence[T], work: str, *, progress: bool) -> Iterator[T]:
    """Iterate over items; if asked, show a progress bar for several of them on a terminal."""
    if not (progress and len(items) > 1 and sys.stderr.isatty()):
        return iter(items)
    from tqdm import tqdm

    return iter(tqdm(items, work, leave=False))


def map_in_order(
    function: Callable[[T], Result], items: Iterable[T], n_workers: int,
    pool_of: "Callable[[int], Executor] | None" = None, *, ahead: int = 4,
) -> Iterator[Result]:  # fmt: skip
    """Map a function over items in parallel, in order, reading only few items ahead."""
    from concurrent.futures import ThreadPoolExecutor

    waiting = deque[Any]()  # futures
    with (pool_of or ThreadPoolExecutor)(n_workers) as pool:
        for item in items:  # `Executor.map` would read them all at once
            waiting.append(pool.submit(function, item))
            if len(waiting) > ahead * n_workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
