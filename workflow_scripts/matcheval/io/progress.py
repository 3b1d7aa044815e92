"""Progress bars of long work on several models."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from tqdm import tqdm

T = TypeVar("T")


def each(items: Sequence[T], work: str, *, progress: bool) -> Iterator[T]:
    """Iterate over items, with a progress bar on standard error if that is a terminal.

    Parameters
    ----------
    items : sequence
    work : str
        What is done with them: the bar's title.
    progress : bool
        Whether a bar is wanted.
    """
    return iter(tqdm(items, work, disable=None if progress else True, leave=False))
