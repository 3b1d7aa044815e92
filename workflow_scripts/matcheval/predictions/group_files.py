"""Groups of datapoints, such as writers or videos: a column of prediction files, or a CSV file."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from matcheval.errors import InputError
from matcheval.io.user_files import read_csv_rows
from matcheval.predictions.formats import InMemory, Source, read_lists, suffix_of
from matcheval.predictions.layout import Layout

GROUP = "group"
Texts = npt.NDArray[np.str_]


def read_group_column(source: Source, index: npt.NDArray[np.int32], layout: Layout) -> Texts | None:
    """Read the groups that a prediction file, or a table in memory, names.

    Parameters
    ----------
    source : path-like or InMemory
        What `files.read_predictions` has read.
    index : int32 array, shape (n,)
        Indices of its predictions, increasing.
    layout : Layout
        How the file is laid out.

    Returns
    -------
    str array, shape (n,), or None
        In order of the indices; None if there is no column `group`.

    Raises
    ------
    InputError
        If a group is empty, or their number is another.
    """
    is_parquet = not isinstance(source, InMemory) and suffix_of(Path(source)) == ".parquet"
    if is_parquet and GROUP not in pq.read_schema(source).names:
        return None  # without reading the scores of all classes
    columns = read_lists(source, (GROUP, "index"), layout)
    if GROUP not in columns:
        return None
    groups = columns[GROUP]
    if len(groups) != len(index):
        raise InputError(f"{len(groups)} for {len(index)} datapoints", file=source, field=GROUP)
    if "index" in columns:
        order = np.argsort(np.array(columns["index"], np.int64), kind="stable")
        groups = [groups[row] for row in order.tolist()]
    return _checked(groups, source)


def read_group_file(
    path: Path, index: npt.NDArray[np.int32], names: Sequence[str] | None = None
) -> Texts:
    """Read the groups of a dataset from a CSV file of the user's.

    Parameters
    ----------
    path : Path
        Columns `group`, and `index` (position in the dataset, from 0) or `name` (of the image, as
        in the dataset's `datapoints.parquet`). Rows of other datapoints are not used.
    index : int32 array, shape (n,)
        Positions of the datapoints.
    names : sequence of str, optional
        Names of all images of the dataset, by position.

    Raises
    ------
    InputError
        If the file is not readable, names a datapoint twice or one not at all, or a group is empty.
    """
    rows = read_csv_rows(path, (GROUP,))
    key = "index" if rows and "index" in rows[0] else "name"
    if rows and key not in rows[0]:
        raise InputError(
            "has neither a column 'index' nor 'name'", file=path,
            remedy="Name every datapoint by its position or, if it is an image, by its name",
        )  # fmt: skip
    if key == "name" and names is None:
        raise InputError(
            "names images, but the set consists of predictions", file=path, field="name",
            remedy="Give a column 'index' with the positions of the datapoints",
        )  # fmt: skip
    found: dict[str, str] = {}
    for row in rows:
        if row[key] in found:
            raise InputError(f"'{row[key]}' has two rows", file=path, field=key)
        found[row[key]] = row[GROUP]
    wanted = [str(i) if key == "index" or names is None else names[i] for i in index.tolist()]
    missing = [one for one in wanted if one not in found]
    if missing:
        raise InputError(
            f"has no row of '{missing[0]}' (and {len(missing) - 1} more)", file=path, field=key,
            remedy="Give every datapoint a group; a datapoint alone is a group of its own",
        )  # fmt: skip
    return _checked([found[one] for one in wanted], path)


def _checked(groups: Sequence[object], file: object) -> Texts:
    texts = ["" if group is None or group != group else str(group).strip() for group in groups]
    if not all(texts):
        raise InputError(f"row {texts.index('')} (from 0) is empty", file=file, field=GROUP)
    return np.array(texts)
