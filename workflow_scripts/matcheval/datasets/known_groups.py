"""Groups of the images of published sets, which follow from the images' names."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence

# Rows of scikit-learn's digits at which a sheet begins (see `digits`): the labels show that all
# writers copied the same 130 digits. Fourteen sheets are by thirteen writers: who wrote two of them
# is not known, so that a sheet is taken for a writer.
_SHEETS = (0, 130, 256, 386, 516, 646, 776, 906, 1029, 1157, 1287, 1415, 1545, 1667)


def writers(names: Sequence[str]) -> list[str]:
    """Return the sheets of handwritten digits."""
    return [f"sheet {bisect_right(_SHEETS, int(name.split('/')[1]))}" for name in names]


# By kind of dataset.
KNOWN_GROUPS: Mapping[str, Callable[[Sequence[str]], list[str]]] = {"digits": writers}
