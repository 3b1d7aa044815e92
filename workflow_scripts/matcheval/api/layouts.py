"""Arguments of the Python interface that say how predictions are laid out."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from matcheval.api.inputs import Given
from matcheval.datasets.label_spaces import label_space, resolve_classes
from matcheval.errors import InputError
from matcheval.predictions.layout import LABEL_SPACES, Layout, check_columns_given


def layout_of(
    given: Sequence[Given],
    columns: Mapping[str, str] | None,
    classes: int | str | Sequence[str] | None,
    first_label: int,
) -> tuple[Layout, int | None]:
    """Say how predictions are laid out, finding the names of classes where none are given.

    Parameters
    ----------
    given : sequence of Given
        All that are compared.
    columns : mapping of str to str, optional
        Names of the given columns by ours.
    classes : int, str, or sequence of str, optional
        Number of classes; `cifar10` or `imagenet`; or names in the order of their labels.
    first_label : int
        0 or 1.

    Returns
    -------
    layout : Layout
    n_classes : int or None
        Number of classes, if it was given.

    Raises
    ------
    InputError
        If an argument is not valid, or one of `given` cannot be read.
    """
    theirs = dict(columns or {})
    check_columns_given(theirs, "arguments", "columns")
    if first_label not in (0, 1):
        raise InputError(f"first_label is {first_label!r:.40}", remedy="Give 0 or 1")
    names, n_classes = _classes(classes)
    layout = Layout(theirs, names, int(first_label))
    if names is None:
        found = sorted({name for one in given for name in one.class_names(layout)})
        layout = Layout(theirs, tuple(found) or None, int(first_label))
    return layout, n_classes


def _classes(given: int | str | Sequence[str] | None) -> tuple[tuple[str, ...] | None, int | None]:
    if given is None:
        return None, None
    if isinstance(given, str):
        if given not in LABEL_SPACES:
            raise InputError(
                f"classes is '{given:.60}'",
                remedy="Give their number, a list of their names, 'cifar10' or 'imagenet'",
            )
        return label_space(given), None
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        return None, int(given)
    if isinstance(given, bool) or not isinstance(given, Iterable):
        raise InputError(
            f"classes is {given!r:.60}", remedy="Give their number, or a list of their names"
        )
    names = list(given)
    if len(names) < 2 or not all(isinstance(name, str) for name in names):
        raise InputError(
            "classes are not at least two names", remedy="Give a list of texts, in order of labels"
        )
    return resolve_classes(names), None
