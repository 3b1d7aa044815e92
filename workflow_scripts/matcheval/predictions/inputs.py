"""What the functions of the Python interface share: given predictions, their layout, estimates."""

import html
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from matcheval.datasets.label_spaces import label_space, resolve_classes
from matcheval.downloads.hub import local_file
from matcheval.errors import InputError, InputWarning
from matcheval.predictions.column_names import COLUMNS, is_known
from matcheval.predictions.datapoints import GROUP
from matcheval.predictions.files import with_shared_classes
from matcheval.predictions.formats import InMemory
from matcheval.predictions.layout import LABEL_SPACES, Layout, columns_given

if TYPE_CHECKING:
    import pandas as pd

# One model's predictions on one dataset.
Data: TypeAlias = "str | os.PathLike[str] | pd.DataFrame | pa.Table | Mapping[str, Any]"
# Those of one model or, by name, of several; or a pattern of files with {model}.
Models: TypeAlias = "Data | Mapping[str, Data]"

_MAX_ROWS = 20  # of a table in a notebook
# Names of arrays in lower case, which models and sets cannot have in a mapping.
_ARRAYS = {*COLUMNS, "labels", GROUP, "features"}


class Shown:
    """A result that notebooks show as its claims, and a small table below them."""

    def _repr_html_(self) -> str:
        claims, table = self._in_notebook()
        text = "".join(f"<p>{html.escape(claim)}</p>" for claim in claims)
        if table is None:
            return text
        return text + table.round(4).to_html(index=False, border=0, max_rows=_MAX_ROWS)

    def _in_notebook(self) -> "tuple[Sequence[str], pd.DataFrame | None]":
        """Return the first paragraph of the text, a line each, and the table of the result."""
        tables = getattr(self, "to_pandas", None)
        return str(self).partition("\n\n")[0].splitlines(), tables and tables()


def columns_of(table: "pd.DataFrame", few: Sequence[str], *, every: bool) -> "pd.DataFrame":
    """Return a copy of a table with few columns, or with all."""
    return table.copy() if every else table[[*few]].copy()


def warn_each(texts: Iterable[str]) -> None:
    """Warn the caller of the function that calls this one."""
    for text in texts:
        warnings.warn(text, InputWarning, stacklevel=3)


@dataclass(frozen=True)
class Estimate:
    """A quantity with its 95 % interval for the sampling of the sets.

    Attributes
    ----------
    value : float
        Fraction; gaps are original minus replication. NaN if it is not defined.
    low, high : float
        Bounds of the interval; NaN if there is none.
    """

    value: float
    low: float
    high: float

    @classmethod
    def _of(cls, row: "pd.Series[float]", name: str) -> "Estimate":
        return cls(*(float(row[name + end]) for end in ("", "_low", "_high")))

    def __str__(self) -> str:
        """Return the value in percent or percentage points, with its interval."""
        text = f"{100 * self.value + 0.0:.2f}"
        if self.low != self.low:  # NaN
            return text
        return f"{text} [{100 * self.low + 0.0:.2f}, {100 * self.high + 0.0:.2f}]"


def source_of(data: object, name: str) -> Path | InMemory:
    """Take over one model's predictions (`Data`) by a name, without looking at their values."""
    if isinstance(data, str | os.PathLike):
        return local_file(data)
    if isinstance(data, Mapping):
        return InMemory(name, {str(key): _array(data, key, name) for key in data})
    return InMemory(name, _table(data, name))


def features_of(source: Path | InMemory, n: int) -> npt.NDArray[np.float32] | None:
    """Return the features of all datapoints, shape (n, n_features), by index, if given."""
    arrays = source.data if isinstance(source, InMemory) else None
    if not isinstance(arrays, Mapping) or "features" not in arrays:
        return None
    features, wrong = arrays["features"], partial(InputError, file=source, field="features")
    is_matrix = features.ndim == 2 and len(features) == n and features.shape[1]
    if not is_matrix or features.dtype.kind != "f":
        problem = f"has shape {features.shape} and dtype {features.dtype}"
        raise wrong(problem, remedy=f"Give floats with a row for each of the {n} datapoints")
    if not np.isfinite(features).all():
        raise wrong("holds NaN or infinite values")
    if "index" in arrays:
        features = features[np.argsort(arrays["index"], kind="stable")]
    return features.astype(np.float32)


def _array(data: Mapping[str, Any], key: str, name: str) -> npt.NDArray[Any]:
    """Convert an array-like of any library; tensors must be in the processor's memory."""
    value: Any = None
    try:
        value = data[key]  # which an `.npz` file reads
        if str(getattr(value, "dtype", "")) == "torch.bfloat16":  # which NumPy does not have
            value = value.float()
        array = np.asarray(value)
        if array.dtype.kind == "O":  # which may be all texts, or all whole numbers
            from pandas.api.types import infer_dtype

            kind = infer_dtype(array.ravel(), skipna=False)
            array = array.astype({"string": str, "integer": np.int64}.get(kind, object))
    except Exception as error:  # whatever the object's own conversion raises
        remedy = "Give a NumPy array or a list; of a tensor, tensor.detach().cpu().numpy()"
        if isinstance(value, tuple):  # of a trainer: scores, hidden states
            remedy = f"Give one array of the {len(value)}: {key}[0], if scores come first"
        problem = f"{type(value).__name__} is not an array ({_reason(error):.200})"
        raise InputError(problem, file=name, field=key, remedy=remedy) from error
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        problem = f"{int(np.ma.getmaskarray(value).sum())} values are masked"
        remedy = "Leave these datapoints out: array[~mask]"
        raise InputError(problem, file=name, field=key, remedy=remedy)
    return array


def _reason(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _table(data: Any, name: str) -> pa.Table:
    """Convert a DataFrame or Arrow table; refuse all else, and names that occur twice."""
    import pandas as pd

    kind = type(data).__name__
    is_table = isinstance(data, pd.DataFrame | pa.Table) or hasattr(data, "__arrow_c_stream__")
    if not is_table or isinstance(data, pd.Series):
        remedy = "Give a path, a DataFrame, or a dict such as {'labels': ..., 'logits': ...}"
        problem = f"{kind} is neither a file nor a table nor arrays"
        raise InputError(problem, file=name, remedy=remedy)
    try:
        if isinstance(data, pd.DataFrame):
            table = pa.Table.from_pandas(data, preserve_index=False)
        else:
            table = pa.table(data)
        columns = [_decoded(column) for column in table.columns]
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        problem = f"this {kind} is not a table of plain columns ({_reason(error):.300})"
        raise InputError(problem, file=name) from error
    names = table.schema.names
    if twice := [column for column in names if names.count(column) > 1]:
        raise InputError("occurs twice", file=name, field=twice[0])
    return pa.table(columns, names).replace_schema_metadata(table.schema.metadata)


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return categories that are numbers as numbers; texts are resolved later."""
    if isinstance(column.type, pa.BaseExtensionType):
        raise TypeError(f"a column is of type {column.type}")
    if pa.types.is_dictionary(column.type) and not pa.types.is_string(column.type.value_type):
        return column.cast(column.type.value_type)
    return column


def is_of_several(data: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether a mapping holds predictions of several models or sets, by name, and no arrays."""
    if not isinstance(data, Mapping) or not len(data):
        return False
    if any(isinstance(key, str) and key.casefold() in _ARRAYS for key in data):
        return False  # a table may stand for an array: the logits as a DataFrame
    tables = (str, os.PathLike, Mapping)  # and those with Arrow's interface, as of pandas
    is_table = [
        isinstance(x, tables) or (hasattr(x, "__arrow_c_stream__") and hasattr(x, "columns"))
        for x in data.values()
    ]
    if any(is_table) and not all(is_table):
        if any(isinstance(key, str) and is_known(key) for key in data):
            return False
        raise InputError(
            "a mapping holds tables or files, and arrays",
            remedy="Give a dict of arrays for one model, or of files, tables and dicts by name",
        )
    return all(is_table)


def check_whole(name: str, value: object, least: int, most: int | None = None) -> None:
    """Check that an argument is a whole number in a range."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or value < least or value > (most or value):  # type: ignore[operator]
        some = f"{least}, {least + 1}, {least + 2}, ..."
        allowed = some if most is None else f"{least} to {most:,}"
        raise InputError(f"{name} is {value!r:.60}", remedy=f"Give {allowed}")


def is_number(value: object) -> TypeGuard[float]:
    """Whether an argument is a number."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def layout_of(
    sources: Sequence[Path | InMemory],
    columns: Mapping[str, str] | None = None,
    classes: int | str | Sequence[str] | None = None,
    first_label: int = 0,
    labels_are_true: bool = False,
) -> Layout:
    """Return how predictions are laid out; names of classes are by default those that occur."""
    by_ours = columns_given(dict(columns or {}), "arguments", "columns")
    if first_label not in (0, 1):
        raise InputError(f"first_label is {first_label!r:.40}", remedy="Give 0 or 1")
    names, n_classes = _classes(classes)
    layout = Layout(
        by_ours, names, int(first_label), labels_are_true=labels_are_true, n_classes=n_classes
    )
    return with_shared_classes(sources, layout) if names is None else layout


def _classes(
    classes: int | str | Sequence[str] | None,
) -> tuple[tuple[str, ...] | None, int | None]:
    """Return the names of classes, or their number, if either is given."""
    if isinstance(classes, str) and classes in LABEL_SPACES:
        return label_space(classes), None
    if classes is None or (isinstance(classes, int | np.integer) and not isinstance(classes, bool)):
        return None, classes
    if isinstance(classes, str | bool) or not isinstance(classes, Iterable):
        remedy = "Give their number, a list of their names, 'cifar10' or 'imagenet'"
        raise InputError(f"classes is {classes!r:.60}", remedy=remedy)
    names = list(classes)
    if len(names) < 2 or not all(isinstance(name, str) for name in names):
        remedy = "Give a list of texts, in order of labels"
        raise InputError("classes are not at least two names", remedy=remedy)
    return resolve_classes(names), None
