"""Progress bars of long work on several models."""

import sys
from collections.abc import Iterator, Sequence
from typing import TypeVar

from tqdm import tqdm

T = TypeVar("T")


def each(items: Sequence[T], work: str, *, progress: bool) -> Iterator[T]:
    """Iterate over items; of several, a terminal shows the progress on standard error."""
    shown = progress and len(items) > 1 and sys.stderr.isatty()
    return iter(tqdm(items, work, disable=not shown, leave=False))
