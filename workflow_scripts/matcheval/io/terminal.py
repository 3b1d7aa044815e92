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
Result = TypeVar("Result")


def tracked(items: Sequence[T], work: str, *, progress: bool) -> Iterator[T]:
    """Iterate over items; of several, a terminal shows the progress on standard error."""
    if not (progress and len(items) > 1 and sys.stderr.isatty()):
        return iter(items)
    from tqdm import tqdm

    return iter(tqdm(items, work, leave=False))


def map_in_order(
    function: Callable[[T], Result], items: Iterable[T], n_workers: int,
    pool_of: "Callable[[int], Executor] | None" = None, *, ahead: int = 4,
) -> Iterator[Result]:  # fmt: skip
    """Map by workers, in order, reading few items for each ahead; `Executor.map` reads them all."""
    from concurrent.futures import ThreadPoolExecutor

    waiting = deque[Any]()  # futures
    with (pool_of or ThreadPoolExecutor)(n_workers) as pool:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > ahead * n_workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
