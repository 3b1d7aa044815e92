"""Building datasets: one function per kind of source.

To add a kind, write a module with a function like `build_digits` - it imports what it needs
inside, so that listing the kinds stays cheap - and add one line to `_BUILDERS` and to
`KIND_VERSIONS`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from matcheval.datasets.dataset import Dataset
from matcheval.datasets.digits import build_digits
from matcheval.errors import InputError

_BUILDERS: dict[str, Callable[[str, Mapping[str, Any]], Dataset]] = {
    "digits": build_digits,
}

KINDS = tuple(_BUILDERS)

# Raised by hand when an edit changes what a kind gives: datasets are made by a `shell:` rule, which
# takes no notice of the library, and everything else would be made again after them.
KIND_VERSIONS = {"digits": 2}


def build_dataset(name: str, kind: str, options: Mapping[str, Any]) -> Dataset:
    """Build a dataset from its source.

    Parameters
    ----------
    name : str
        The dataset's name.
    kind : str
        One of `KINDS`.
    options : mapping
        What the kind takes; see its module.

    Raises
    ------
    InputError
        If the kind is unknown, or its options are not what it takes.
    """
    if kind not in _BUILDERS:
        raise InputError(
            f"unknown kind '{kind}'", file=name, field="kind", remedy=f"Known: {', '.join(KINDS)}"
        )
    return _BUILDERS[kind](name, options)
