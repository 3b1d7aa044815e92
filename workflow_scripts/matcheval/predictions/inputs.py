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

from matcheval.datasets.label_spaces import LABEL_SPACES, resolve_classes
from matcheval.downloads.hub import local_file
from matcheval.errors import InputError, InputWarning
from matcheval.predictions.column_names import COLUMNS, is_known_column
from matcheval.predictions.datapoints import GROUP
from matcheval.predictions.files import with_shared_classes
from matcheval.predictions.formats import InMemory
from matcheval.predictions.layout import Layout, check_column_names

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
    """Base class of results, which notebooks show as text and a small table."""

    def _repr_html_(self) -> str:
        claims, table = self._in_notebook()
        text = "".join(f"<p>{html.escape(claim)}</p>" for claim in claims)
        if table is None:
            return text
        return text + table.round(4).to_html(index=False, border=0, max_rows=_MAX_ROWS)

    def _in_notebook(self) -> "tuple[Sequence[str], pd.DataFrame | None]":
        """Return what notebooks show: the lines of the first paragraph, and the table if any."""
        tables = getattr(self, "to_pandas", None)
        return str(self).partition("\n\n")[0].splitlines(), tables and tables()


def columns_of(table: "pd.DataFrame", names: Sequence[str], *, every: bool) -> "pd.DataFrame":
    """Return a copy of a table with the named columns only, or with all columns if `every`."""
    return table.copy() if every else table[[*names]].copy()


def warn_each(texts: Iterable[str]) -> None:
    """Issue an `InputWarning` for each text, attributed to the caller's caller."""
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
    def _from_row(cls, row: "pd.Series[float]", name: str) -> "Estimate":
        return cls(*(float(row[name + end]) for end in ("", "_low", "_high")))

    def __str__(self) -> str:
        """Return the value times 100 with its interval: in percent or percentage points."""
        text = f"{100 * self.value + 0.0:.2f}"
        if self.low != self.low:  # NaN
            return text
        return f"{text} [{100 * self.low + 0.0:.2f}, {100 * self.high + 0.0:.2f}]"


GAP_PARTS = ("gap", "confidence_part", "conditional_part", "matched_gap")


@dataclass(frozen=True)
class GapEstimate(Shown):
    """A gap and matched gap under one matching criterion, for one model or as the mean of several.

    All quantities are fractions, not percent.

    Attributes
    ----------
    criterion : str
        `label_probability` (Algorithm 1 of the paper) or `probability` (Algorithm 2).
    gap : Estimate
        Accuracy on the original minus accuracy on the replication.
    matched_gap : Estimate
        The same of the matched subsets, mean over seeds.
    confidence_part, conditional_part : Estimate
        The part of the gap that confidence explains, and the part at equal confidence; no
        matching is used.
    narrowing : float
        1 minus matched gap over gap; NaN for a gap of 0.
    reference_narrowing : float
        Narrowing of a gap of which confidence gives no warning; NaN where there is no reference.
    fraction_unmatched : float
        Share of the targets without a match, mean over seeds and models.
    remarks : str
        Why values are NaN, and what else to know; most often empty.
    """

    criterion: str
    gap: Estimate
    matched_gap: Estimate
    confidence_part: Estimate
    conditional_part: Estimate
    narrowing: float
    reference_narrowing: float
    fraction_unmatched: float
    remarks: str

    def __str__(self) -> str:
        """Return the gaps in percentage points."""
        return (
            f"{self.criterion}: gap {self.gap} points; matched gap {self.matched_gap}; "
            f"{self.remarks or f'narrowing {100 * self.narrowing:.0f} %'}"
        )

    @classmethod
    def _from_row(cls, row: "pd.Series[float]") -> "GapEstimate":
        numbers = ("narrowing", "reference_narrowing", "fraction_unmatched")
        values: dict[str, Any] = {name: Estimate._from_row(row, name) for name in GAP_PARTS}
        values |= {name: float(row[name]) for name in numbers}
        return cls(criterion=str(row["matching"]), remarks=str(row["remarks"]), **values)


def source_of(data: object, name: str) -> Path | InMemory:
    """Return a path as a path, and a table or arrays as `InMemory`; `name` is for messages."""
    if isinstance(data, str | os.PathLike):
        return local_file(data)
    if isinstance(data, Mapping):
        return InMemory(name, {str(key): _to_array(data, key, name) for key in data})
    return InMemory(name, _to_arrow_table(data, name))


def features_of(source: Path | InMemory, n: int) -> npt.NDArray[np.float32] | None:
    """Return the features given in a mapping, (n, n_features), in order of `index`, or None."""
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


def _to_array(data: Mapping[str, Any], key: str, name: str) -> npt.NDArray[Any]:
    """Convert an array-like of any library to NumPy; refuse masked values and GPU tensors."""
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
        problem = f"{type(value).__name__} is not an array ({_first_line(error):.200})"
        raise InputError(problem, file=name, field=key, remedy=remedy) from error
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        problem = f"{int(np.ma.getmaskarray(value).sum())} values are masked"
        remedy = "Leave these datapoints out: array[~mask]"
        raise InputError(problem, file=name, field=key, remedy=remedy)
    return array


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _to_arrow_table(data: Any, name: str) -> pa.Table:
    """Convert a data frame or table to Arrow; refuse anything else, and repeated column names."""
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
        columns = [_decode_categories(column) for column in table.columns]
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        problem = f"this {kind} is not a table of plain columns ({_first_line(error):.300})"
        raise InputError(problem, file=name) from error
    names = table.schema.names
    if twice := [column for column in names if names.count(column) > 1]:
        raise InputError("occurs twice", file=name, field=twice[0])
    return pa.table(columns, names).replace_schema_metadata(table.schema.metadata)


def _decode_categories(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert a categorical column of numbers to numbers; leave texts as they are."""
    if isinstance(column.type, pa.BaseExtensionType):
        raise TypeError(f"a column is of type {column.type}")
    if pa.types.is_dictionary(column.type) and not pa.types.is_string(column.type.value_type):
        return column.cast(column.type.value_type)
    return column


def holds_several(data: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether data map names to the predictions of several models or sets, and hold no arrays."""
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
        if any(isinstance(key, str) and is_known_column(key) for key in data):
            return False
        raise InputError(
            "a mapping holds tables or files, and arrays",
            remedy="Give a dict of arrays for one model, or of files, tables and dicts by name",
        )
    return all(is_table)


def check_whole(name: str, value: object, least: int, most: int | None = None) -> None:
    """Refuse an argument that is no integer from `least` to `most`."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or value < least or value > (most or value):  # type: ignore[operator]
        some = f"{least}, {least + 1}, {least + 2}, ..."
        allowed = some if most is None else f"{least} to {most:,}"
        raise InputError(f"{name} is {value!r:.60}", remedy=f"Give {allowed}")


def is_number(value: object) -> TypeGuard[float]:
    """Whether an argument is a real number and no bool."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def layout_of(
    sources: Sequence[Path | InMemory],
    columns: Mapping[str, str] | None = None,
    classes: int | str | Sequence[str] | None = None,
    first_label: int = 0,
    labels_are_true: bool = False,
) -> Layout:
    """Check a caller's description of predictions; classes default to the names that occur."""
    by_ours = check_column_names(dict(columns or {}), "arguments", "columns")
    if first_label not in (0, 1):
        raise InputError(f"first_label is {first_label!r:.40}", remedy="Give 0 or 1")
    names, n_classes = _check_classes(classes)
    layout = Layout(
        by_ours, names, int(first_label), labels_are_true=labels_are_true, n_classes=n_classes
    )
    return with_shared_classes(sources, layout) if names is None else layout


def _check_classes(
    classes: int | str | Sequence[str] | None,
) -> tuple[tuple[str, ...] | None, int | None]:
    """Return the names of the classes, or None and their number; refuse anything else."""
    if isinstance(classes, str) and classes in LABEL_SPACES:
        return resolve_classes(classes), None
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
