"""`matcheval.compare_models`: two models on the same images, datapoint by datapoint."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa

from matcheval.analyses.paired_gaps import paired_row
from matcheval.api.inputs import (
    Data,
    Estimate,
    Shown,
    columns_of,
    layout_of,
    source_of,
    warn_each,
)  # fmt: skip
from matcheval.api.pairs import check_names, distinct_names, set_name, told_of
from matcheval.errors import InputError, check_known
from matcheval.figures.intervals import plot_intervals
from matcheval.figures.style import shortened
from matcheval.io.tables import write_table
from matcheval.io.text_tables import aligned, signed, supported_digits
from matcheval.predictions.datapoints import Alignment, datapoint_names, shared_datapoints
from matcheval.predictions.files import read_predictions
from matcheval.predictions.formats import InMemory
from matcheval.predictions.layout import Layout, class_names
from matcheval.predictions.records import Predictions
from matcheval.predictions.suspicions import check_truth, suspicions
from matcheval.protocol.blocks import groups, groups_of_models, paired_images
from matcheval.protocol.compared_models import differing
from matcheval.statistics.claims import FEW_GROUPS, Strength
from matcheval.statistics.intervals import LEVEL
from matcheval.statistics.significance import mcnemar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROLES = ("first", "second")
N_SHOWN = 5  # datapoints in a text
_NAME_WIDTH = 30
_BY_ORDER = (
    "rows are paired by their order, as not both files name the datapoints: files that are sorted "
    "by class may have different orders within the classes"
)
FILES = ("disagreements.csv", "disagreements.parquet")
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
    warnings : tuple of str
        What looks wrong about the input, and which datapoints are left out.
    notes : tuple of str
        What was recognised in files and tables by other names than the standard ones.
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
        low, value, high = self.difference.low, self.difference.value, self.difference.high
        # McNemar's test is exact, where the interval of a few differences is too narrow.
        is_sure = self._n_groups >= FEW_GROUPS if self._n_groups else self.p < 1 - LEVEL
        strength = Strength.ESTABLISHED if is_sure else Strength.SUGGESTED
        if not (low > 0 or high < 0):
            strength = Strength.OPEN
        digits = supported_digits(100 * low, 100 * high)
        sign = -1 if value < 0 and strength is not Strength.OPEN else 1
        bounds = (low, high)[::sign]
        points, *ends = (signed(100 * sign * one, digits) for one in (value, *bounds))
        points = f"{points} points" + ("" if self.remark else f" [{', '.join(ends)}]")
        if strength is Strength.OPEN:
            return f"{strength}: which is better ({points}, {self.first} minus {self.second})."
        better, other = (self.first, self.second)[:: 1 if value > 0 else -1]
        return f"{strength}: {better} is more accurate than {other}, by {points}."

    def to_pandas(self, table: str = "numbers", *, all: bool = False) -> pd.DataFrame:
        """Return a table of the results.

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

        Raises
        ------
        InputError
            If there is no such table.
        """
        check_known("table", [table], _TABLES)
        if table == "datapoints":
            return columns_of(self._datapoints, _FEW[table], every=all)
        numbers = {name: value for name, value in vars(self).items() if name in _NUMBERS}
        one = self.difference
        ends = {"difference": one.value, "difference_low": one.low, "difference_high": one.high}
        return columns_of(pd.DataFrame([numbers | ends])[[*_NUMBERS]], _FEW[table], every=all)

    def plot(self) -> "Figure":
        """Draw the difference of the accuracies with its interval.

        Returns
        -------
        matplotlib.figure.Figure
            Not known to pyplot.
        """
        name, one = f"{self.first} minus {self.second}", self.difference
        row = name, 100 * one.value, 100 * one.low, 100 * one.high
        return plot_intervals([row], "Difference of accuracies (points)", zero=True)

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write the datapoints of different predictions, as `compare-models --output` does.

        Parameters
        ----------
        folder : path-like
            Created if need be; files of an earlier comparison in it are replaced.

        Returns
        -------
        list of Path
            `disagreements.csv` and `disagreements.parquet`.

        Raises
        ------
        InputError
            If a file cannot be written.
        """
        files = [Path(folder, name) for name in FILES]
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

    Returns
    -------
    ModelComparison

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
    sources = [source_of(one, role) for one, role in zip((first, second), ROLES, strict=True)]
    layout, n_classes = layout_of(
        sources, columns, classes, first_label, labels_are_true=labels_are_true
    )
    result = compare_on_one_set(sources, layout, n_classes, names)
    warn_each(result.warnings)
    return result


def compare_on_one_set(
    sources: Sequence[Path | InMemory],
    layout: Layout,
    n_classes: int | None = None,
    names: tuple[str, str] | None = None,
) -> ModelComparison:
    """Read the predictions of two models on one set, align and compare them."""
    read = [read_predictions(source, n_classes, layout) for source in sources]
    if names is None:
        given = [one.metadata.get("model", "") for one in read]
        named = [own or set_name(one, "") for own, one in zip(given, sources, strict=True)]
        names = distinct_names(named, sources, ROLES)
    alignment = Alignment()
    placed = [alignment.place(one, source) for one, source in zip(read, sources, strict=True)]
    _check_start(placed[0], placed[1], names)
    shared, left_out = shared_datapoints(dict(zip(names, placed, strict=True)))
    one, other = shared.values()
    if one.datapoints_digest != other.datapoints_digest:
        raise InputError(
            f"{names[1]} is not of the datapoints of {names[0]}: {differing(other, one)}",
            remedy="Give the predictions of both models on the same images",
        )  # fmt: skip
    of_all = groups_of_models((one, other), sources)
    blocks = paired_images(one, other) if of_all is None else groups(of_all, of_all, shared=True)
    row = paired_row(one.correct, other.correct, blocks, LEVEL)
    only = int((one.correct & ~other.correct).sum()), int((other.correct & ~one.correct).sum())
    both = int((one.correct & other.correct).sum())
    warnings = [
        *left_out,
        *check_truth((one, other), layout, sources[0]),
        *(
            f"{name}: {text}"
            for name, of in shared.items()
            for text in suspicions(of.label, of.prediction, of.probability, of.metadata)
        ),
    ]
    if np.array_equal(one.prediction, other.prediction):
        warnings.append("both models predict the same: is a file compared with itself?")
    return ModelComparison(
        *names, n=len(one), accuracy_first=row["accuracy_original"],
        accuracy_second=row["accuracy_replication"],
        difference=Estimate(row["gap"], row["gap_low"], row["gap_high"]), p=float(mcnemar(*only)),
        both_right=both, only_first=only[0], only_second=only[1],
        both_wrong=len(one) - both - sum(only), remark=row["reason"], warnings=tuple(warnings),
        notes=(
            *(t for n, r in zip(names, placed, strict=True) for t in told_of(n, r)),
            *([] if all(r.is_identified for r in placed) else [_BY_ORDER]),
        ),
        _datapoints=_disagreements(one, other, layout), _n_groups=blocks.n if blocks.grouped else 0,
    )  # fmt: skip


def _check_start(one: Predictions, other: Predictions, names: tuple[str, str]) -> None:
    """Refuse indices of the same rows of which those of one file are higher by one."""
    if len(one) != len(other) or not np.array_equal(one.label, other.label):
        return
    shift = (other.index - one.index).astype(int)
    if (abs(shift) == 1).all() and (shift == shift[0]).all():
        raise InputError(
            f"datapoints are counted from {other.index[0]} in {names[1]} and from {one.index[0]} "
            f"in {names[0]}, and have the same labels",
            remedy="Count them alike, or leave the column out of both files",
        )  # fmt: skip


def describe(found: ModelComparison, where: str) -> str:
    """Return all numbers and the first datapoints; `where` says where the others are."""
    first, second = (shortened(name, _NAME_WIDTH) for name in (found.first, found.second))
    design = f"by {found._n_groups} groups" if found._n_groups else "by image"
    accuracies = [f"{100 * one:.2f} %" for one in (found.accuracy_first, found.accuracy_second)]
    lines = [
        f"{found.first} against {found.second}, on the same {found.n:,} datapoints", "",
        *aligned([("", first, second), ("accuracy", *accuracies)]), "",
        found.verdict, *([found.remark] if found.remark else []),
        f"McNemar's exact test: p = {found.p:.2g}",
        *([] if found.remark else [f"Brackets: 95 % interval, paired {design}."]), "",
        *aligned([
            ("datapoints", f"{second} right", f"{second} wrong"),
            (f"{first} right", f"{found.both_right:,}", f"{found.only_first:,}"),
            (f"{first} wrong", f"{found.only_second:,}", f"{found.both_wrong:,}"),
        ]),
    ]  # fmt: skip
    rows = found._datapoints.head(N_SHOWN)
    if len(rows):
        cells = [
            (
                shortened(row["datapoint"], _NAME_WIDTH), row["label"],
                *(f"{row[of]} ({100 * row[f'{of}_probability']:.1f} %)" for of in ROLES),
            )
            for _, row in rows.iterrows()
        ]  # fmt: skip
        heading = "Worth a look, as the models disagree; the most confident wrong one first:"
        lines += ["", heading, *aligned([("datapoint", "true", first, second), *cells])]
    if (more := len(found._datapoints) - len(rows)) > 0:
        lines.append(f"... and {more:,} more: {where}")
    return "\n".join([*lines, ""])


def _disagreements(one: Predictions, other: Predictions, layout: Layout) -> pd.DataFrame:
    """Tabulate the datapoints of other predicted classes, the most confident wrong one first."""
    wrong = [np.where(side.correct, -1, side.probability) for side in (one, other)]
    which = np.where(one.correct, "second", np.where(other.correct, "first", "both"))
    table = pd.DataFrame({
        "index": one.index,
        "datapoint": datapoint_names(other if one.keys is None else one),
        "label": class_names(layout, one.label),
        "first": class_names(layout, one.prediction), "first_probability": one.probability,
        "second": class_names(layout, other.prediction), "second_probability": other.probability,
        "wrong": which, "wrong_probability": np.maximum(*wrong).astype(np.float32),
    })[one.prediction != other.prediction]  # fmt: skip
    return table.sort_values("wrong_probability", ascending=False, kind="stable", ignore_index=True)
