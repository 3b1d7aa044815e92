"""`matcheval.compare_models`: two models on the same images, datapoint by datapoint."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa

from matcheval.analyses.paired_gaps import paired_row
from matcheval.api.pairs import check_names, distinct_names, notes_of, set_name
from matcheval.errors import InputError, check_known
from matcheval.figures.forms import plot_intervals
from matcheval.figures.style import shortened
from matcheval.io.tables import write_table
from matcheval.io.text_tables import aligned, signed, supported_digits
from matcheval.predictions import inputs
from matcheval.predictions.datapoints import Alignment, datapoint_names, shared_datapoints
from matcheval.predictions.files import read_predictions
from matcheval.predictions.inputs import Data, Estimate, Shown
from matcheval.predictions.layout import Layout, class_names
from matcheval.predictions.records import Predictions
from matcheval.predictions.suspicions import check_truth, suspicions
from matcheval.protocol.compared_models import describe_other_datapoints
from matcheval.protocol.comparisons import groups, groups_of_models, paired_images
from matcheval.statistics.claims import FEW_GROUPS, Strength
from matcheval.statistics.intervals import LEVEL, mcnemar

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROLES = ("first", "second")
N_SHOWN = 5  # datapoints in a text
_NAME_WIDTH = 30
_BY_ORDER = (
    "rows are paired by their order, as not both files name the datapoints: files that are sorted "
    "by class may have different orders within the classes"
)
OUTPUT_FILES = ("disagreements.csv", "disagreements.parquet")
_TABLES = ("numbers", "datapoints")
_FEW = {  # columns that tables have unless all are asked for
    "numbers": (
        "first", "second", "n", "accuracy_first", "accuracy_second", "difference",
        "difference_low", "difference_high", "p",
    ),
    "datapoints": ("datapoint", "label", "first", "second", "wrong"),
}  # fmt: skip
_NUMBERS = (*_FEW["numbers"], "both_right", "only_first", "only_second", "both_wrong", "remark")


@dataclass(frozen=True, eq=False)
class ModelComparison(Shown):
    """Two models on the same images; what `compare_models` returns.

    `print(result)` shows what `matched-eval compare-models` prints. Accuracies are fractions.

    Attributes
    ----------
    first, second : str
        Names of the models.
    n : int
        Datapoints that both predict.
    accuracy_first, accuracy_second : float
        Their accuracies on these.
    difference : Estimate
        Accuracy of the first minus that of the second; the interval is paired: of the datapoints'
        differences, or of groups where there are groups.
    p : float
        McNemar's exact two-sided p-value, which takes datapoints as independent.
    both_right, only_first, only_second, both_wrong : int
        Datapoints by which of the models is right.
    remark : str
        Why there is no interval; most often empty.
    warnings, notes : tuple of str
        What looks wrong, and which datapoints are left out; what was recognised.
    """

    first: str
    second: str
    n: int
    accuracy_first: float
    accuracy_second: float
    difference: Estimate
    p: float
    both_right: int
    only_first: int
    only_second: int
    both_wrong: int
    remark: str
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    _datapoints: pd.DataFrame = field(repr=False)
    _n_groups: int = field(repr=False)

    @property
    def verdict(self) -> str:
        """Which model is better, and how sure that is, in a sentence."""
        value, low, high = astuple(self.difference)
        # McNemar's test is exact, where the interval of a few differences is too narrow.
        is_sure = self._n_groups >= FEW_GROUPS if self._n_groups else self.p < 1 - LEVEL
        strength = Strength.ESTABLISHED if is_sure else Strength.SUGGESTED
        if not (low > 0 or high < 0):
            strength = Strength.OPEN
        digits = supported_digits(100 * low, 100 * high)
        sign = -1 if value < 0 and strength is not Strength.OPEN else 1
        bounds = (low, high)[::sign]
        points, *ends = (signed(100 * sign * part, digits) for part in (value, *bounds))
        points = f"{points} points" + ("" if self.remark else f" [{', '.join(ends)}]")
        if strength is Strength.OPEN:
            return f"{strength}: which is better ({points}, {self.first} minus {self.second})."
        better, other = (self.first, self.second)[:: 1 if value > 0 else -1]
        return f"{strength}: {better} is more accurate than {other}, by {points}."

    def _in_notebook(self) -> tuple[Sequence[str], pd.DataFrame]:
        """Return the lines and the table that a notebook shows."""
        sets = f"{self.first} against {self.second}, on the same {self.n:,} datapoints"
        return [sets, self.verdict], self.to_pandas()

    def to_pandas(self, table: str = "numbers", *, all: bool = False) -> pd.DataFrame:
        """Return the numbers, or the datapoints that are predicted differently, as a table.

        Parameters
        ----------
        table : str
            `numbers`: one row; `datapoints`: those on which the models predict different classes,
            the most confident wrong prediction first.
        all : bool
            All numbers, also of the datapoints that both or one have right; of `datapoints`, also
            `index`, `first_probability`, `second_probability` (float32), and `wrong_probability`,
            of the more confident wrong prediction.

        Returns
        -------
        pandas.DataFrame
            A new table. Columns of `numbers`: `first`, `second`, `n`, `accuracy_first`,
            `accuracy_second`, `difference` with `difference_low` and `difference_high`
            (fractions), `p`; of `datapoints`: `datapoint` (its file name or other name, or its
            index), `label`, `first`, `second` (classes as text) and `wrong` (`first`, `second` or
            `both`).
        """
        check_known("table", [table], _TABLES)
        if table == "datapoints":
            return inputs.columns_of(self._datapoints, _FEW[table], every=all)
        names = ("difference", "difference_low", "difference_high")
        numbers = vars(self) | dict(zip(names, astuple(self.difference), strict=True))
        row = {name: numbers[name] for name in _NUMBERS}
        return inputs.columns_of(pd.DataFrame([row]), _FEW[table], every=all)

    def plot(self, ax: "Axes | None" = None) -> "Figure":
        """Draw the difference of the accuracies with its interval.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into; by default those of a new figure.
        """
        difference = (100 * part for part in astuple(self.difference))
        row = (f"{self.first} minus {self.second}", *difference)
        return plot_intervals([row], "Difference of accuracies (points)", zero=True, ax=ax)

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write the datapoints that the models predict differently to a folder, made if need be.

        The files `disagreements.csv` and `disagreements.parquet`, whose paths are returned, replace
        those of an earlier comparison.
        """
        files = [Path(folder, name) for name in OUTPUT_FILES]
        write_table(pa.Table.from_pandas(self._datapoints, preserve_index=False), *files)
        return files

    def __str__(self) -> str:
        """Return the text that `matched-eval compare-models` prints."""
        return describe(self, 'to_pandas("datapoints") has all')


def compare_models(
    first: Data,
    second: Data,
    *,
    names: tuple[str, str] | None = None,
    columns: Mapping[str, str] | None = None,
    classes: int | str | Sequence[str] | None = None,
    first_label: int = 0,
    labels_are_true: bool = False,
) -> ModelComparison:
    """Compare the accuracies of two models on the same images.

    Parameters
    ----------
    first, second : path-like, table or mapping of arrays
        Each model's predictions, a row per datapoint, with labels, as for `compare`. Rows are
        aligned by index or file name, where both have them.
    names : tuple of str, optional
        What the models are called; by default as predictions or files say.
    columns, classes, first_label, labels_are_true
        As for `compare`.

    Raises
    ------
    InputError
        As `compare`; and if the datapoints of the models differ in labels or number.

    Warns
    -----
    InputWarning
        For input that looks wrong, and datapoints that only one model predicts.

    Examples
    --------
    >>> import matcheval as me
    >>> old = {"label": [0, 1, 1, 0], "prediction": [0, 0, 1, 0], "probability": [0.9] * 4}
    >>> new = {"label": [0, 1, 1, 0], "prediction": [0, 1, 1, 1], "probability": [0.8] * 4}
    >>> result = me.compare_models(old, new)
    >>> result.difference.value, result.only_first, result.only_second, result.p
    (0.0, 1, 1, 1.0)
    """
    if names is not None:
        check_names(names)
    sources = [inputs.source_of(first, ROLES[0]), inputs.source_of(second, ROLES[1])]
    layout = inputs.layout_of(sources, columns, classes, first_label, labels_are_true)
    read = [read_predictions(source, layout) for source in sources]
    if names is None:
        named = [
            predictions.metadata.get("model") or set_name(source, "")
            for predictions, source in zip(read, sources, strict=True)
        ]
        names = distinct_names(named, sources, ROLES)
    alignment = Alignment()
    placed = [alignment.place(*pair) for pair in zip(read, sources, strict=True)]
    _check_first_index(placed[0], placed[1], names)
    shared, left_out = shared_datapoints(dict(zip(names, placed, strict=True)))
    a, b = shared.values()
    if a.datapoints_digest != b.datapoints_digest:
        raise InputError(
            f"{names[1]} is not of the datapoints of {names[0]}: {describe_other_datapoints(b, a)}",
            remedy="Give the predictions of both models on the same images",
        )  # fmt: skip
    group = groups_of_models((a, b), sources)
    blocks = paired_images(a, b) if group is None else groups(group, group, shared=True)
    row = paired_row(a.correct, b.correct, blocks, LEVEL)
    only_first = int((a.correct & ~b.correct).sum())
    only_second = int((b.correct & ~a.correct).sum())
    both_right = int((a.correct & b.correct).sum())
    warnings = [*left_out, *check_truth((a.correct, b.correct), layout, sources[0])]
    for name, side in shared.items():
        texts = suspicions(side.label, side.prediction, side.probability, side.metadata)
        warnings += [f"{name}: {text}" for text in texts]
    if np.array_equal(a.prediction, b.prediction):
        warnings.append("both models predict the same: is a file compared with itself?")
    notes = [*layout.notes, *notes_of(names[0], placed[0]), *notes_of(names[1], placed[1])]
    if not all(predictions.is_identified for predictions in placed):
        notes.append(_BY_ORDER)
    result = ModelComparison(
        *names, n=len(a), accuracy_first=row["accuracy_original"],
        accuracy_second=row["accuracy_replication"],
        difference=Estimate(row["gap"], row["gap_low"], row["gap_high"]),
        p=float(mcnemar(only_first, only_second)), both_right=both_right, only_first=only_first,
        only_second=only_second, both_wrong=len(a) - both_right - only_first - only_second,
        remark=row["reason"], warnings=tuple(warnings), notes=tuple(notes),
        _datapoints=_disagreements(a, b, layout), _n_groups=blocks.n if blocks.grouped else 0,
    )  # fmt: skip
    inputs.warn_each(result.warnings)
    return result


def _check_first_index(first: Predictions, second: Predictions, names: tuple[str, str]) -> None:
    """Raise an error if one file counts the same datapoints from 0, the other from 1."""
    if len(first) != len(second) or not np.array_equal(first.label, second.label):
        return
    shift = (second.index - first.index).astype(int)
    if (abs(shift) == 1).all() and (shift == shift[0]).all():
        raise InputError(
            f"datapoints are counted from {second.index[0]} in {names[1]} and from "
            f"{first.index[0]} in {names[0]}, and have the same labels",
            remedy="Count them alike, or leave the column out of both files",
        )  # fmt: skip


def describe(result: ModelComparison, where: str) -> str:
    """Return the comparison as text: numbers, and first datapoints; `where` says where more are."""
    first, second = (shortened(name, _NAME_WIDTH) for name in (result.first, result.second))
    design = f"by {result._n_groups} groups" if result._n_groups else "by image"
    accuracies = [f"{100 * part:.2f} %" for part in (result.accuracy_first, result.accuracy_second)]
    lines = [
        f"{result.first} against {result.second}, on the same {result.n:,} datapoints", "",
        *aligned([("", first, second), ("accuracy", *accuracies)]), "",
        result.verdict, *([result.remark] if result.remark else []),
        f"McNemar's exact test: p = {result.p:.2g}",
        *([] if result.remark else [f"Brackets: 95 % interval, paired {design}."]), "",
        *aligned([
            ("datapoints", f"{second} right", f"{second} wrong"),
            (f"{first} right", f"{result.both_right:,}", f"{result.only_first:,}"),
            (f"{first} wrong", f"{result.only_second:,}", f"{result.both_wrong:,}"),
        ]),
    ]  # fmt: skip
    rows = result._datapoints.head(N_SHOWN)
    if len(rows):
        cells = [
            (
                shortened(row["datapoint"], _NAME_WIDTH), row["label"],
                *(f"{row[r]} ({100 * row[f'{r}_probability']:.1f} %)" for r in ROLES),
            )
            for _, row in rows.iterrows()
        ]  # fmt: skip
        heading = "Worth a look, as the models disagree; the most confident wrong one first:"
        lines += ["", heading, *aligned([("datapoint", "true", first, second), *cells])]
    if (more := len(result._datapoints) - len(rows)) > 0:
        lines.append(f"... and {more:,} more: {where}")
    return "\n".join([*lines, ""])


def _disagreements(first: Predictions, second: Predictions, layout: Layout) -> pd.DataFrame:
    """Tabulate the datapoints that models predict differently, the most confident wrong first."""
    wrong = [np.where(side.correct, -1, side.probability) for side in (first, second)]
    which = np.where(first.correct, "second", np.where(second.correct, "first", "both"))
    table = pd.DataFrame({
        "index": first.index,
        "datapoint": datapoint_names(second if first.keys is None else first),
        "label": class_names(layout, first.label),
        "first": class_names(layout, first.prediction), "first_probability": first.probability,
        "second": class_names(layout, second.prediction), "second_probability": second.probability,
        "wrong": which, "wrong_probability": np.maximum(*wrong).astype(np.float32),
    })[first.prediction != second.prediction]  # fmt: skip
    return table.sort_values("wrong_probability", ascending=False, kind="stable", ignore_index=True)
