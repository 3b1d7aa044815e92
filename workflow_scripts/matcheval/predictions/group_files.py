"""Groups of datapoints, such as writers or videos: a column of prediction files, or a CSV file."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from matcheval.errors import InputError
from matcheval.io.user_files import read_csv_rows
from matcheval.predictions.alignment import key_texts
from matcheval.predictions.records import Predictions

GROUP = "group"
Texts = npt.NDArray[np.str_]


def groups_of(predictions: Predictions, file: object) -> Texts | None:
    """Return the groups that a prediction file names, if it does, in order of its rows."""
    return None if predictions.groups is None else _checked(list(predictions.groups), file)


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
    known = ["" if group is None or group != group else group for group in groups]
    texts = [text.strip() for text in key_texts(known)]
    if not all(texts):
        raise InputError(f"row {texts.index('')} (from 0) is empty", file=file, field=GROUP)
    return np.array(texts)
