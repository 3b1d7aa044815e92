"""`matcheval.compare`: models on two sets, before and after matching."""

import os
import shutil
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from matcheval.api.comparison import KINDS, Compared, chosen_analyses, compare_sets
from matcheval.api.evaluating import evaluate, pretrained_model
from matcheval.api.pairs import Origin, PairOptions, all_sources, inputs_by_model, read_compared
from matcheval.errors import InputError, check_known
from matcheval.io.files import atomic_file, check_place
from matcheval.predictions.inputs import (
    Estimate,
    Shown,
    columns_of,
    is_number,
    layout_of,
    warn_each,
)
from matcheval.protocol.criteria import EPSILON, MARGIN, N_SEEDS_COMPARED, Criterion

# Tables and figures are imported when they are made: files that are refused do not wait for them.
if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from matcheval.protocol.verdicts import Verdict

_TABLES = ("gaps", "models", "accuracies")
_GAPS = (
    "gap", "gap_low", "gap_high", "confidence_part",
    "confidence_part_low", "confidence_part_high", "matched_gap", "matched_gap_low",
    "matched_gap_high", "fraction_unmatched",
)  # fmt: skip
_FEW = {  # columns that tables have unless all are asked for
    "gaps": ("criterion", "n_original", "n_replication", *_GAPS),
    "models": ("criterion", "model", *_GAPS),
    "accuracies": (
        "criterion", "model", "n_original", "n_replication", "accuracy_original",
        "accuracy_replication", "matched_accuracy_original_mean",
        "matched_accuracy_replication_mean", "fraction_unmatched_mean",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class GapEstimate(Shown):
    """A matched gap under one matching criterion, of one model or of the mean over several models.

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
    def _of(cls, row: "pd.Series[float]") -> "GapEstimate":
        estimates = ("gap", "matched_gap", "confidence_part", "conditional_part")
        numbers = ("narrowing", "reference_narrowing", "fraction_unmatched")
        values: dict[str, Any] = {name: Estimate._of(row, name) for name in estimates}
        values |= {name: float(row[name]) for name in numbers}
        return cls(criterion=str(row["matching"]), remarks=str(row["remarks"]), **values)


@dataclass(frozen=True, eq=False)
class ComparisonResult(Shown):
    """Models on two sets, before and after matching; what `compare` returns.

    `print(result)` shows what `matched-eval compare` prints: of many models an overview.

    Attributes
    ----------
    title : str
        What is compared.
    original, replication, source : str
        Names of the sets, and of the one in which matches were sought.
    models : tuple of str
        Names of the models.
    gaps : mapping of str to GapEstimate
        By criterion; of the one model, or of the mean over all.
    verdict : Verdict
        What the comparison shows, how sure that is, and what to do next; `print(result.verdict)`.
    warnings : tuple of str
        What looks wrong about the input, and where most targets are unmatched.
    notes : tuple of str
        What was recognised in files and tables by other names than the standard ones.
    analyses : tuple of str
        Further analyses, which are tables and figures by these names.
    """

    title: str
    original: str
    replication: str
    source: str
    models: tuple[str, ...]
    gaps: Mapping[str, GapEstimate]
    verdict: "Verdict"
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    analyses: tuple[str, ...]
    _compared: Compared = field(repr=False)
    _asked: str = field(repr=False)

    def __str__(self) -> str:
        """Return the text that `matched-eval compare` prints."""
        from matcheval.api.comparison_output import describe

        return describe(self._compared, "to_pandas(...) has all")

    def to_pandas(self, table: str = "gaps", *, all: bool = False) -> "pd.DataFrame":
        """Return one of the result tables; accuracies and gaps are fractions.

        Parameters
        ----------
        table : str
            `gaps`: a row per criterion, means over the models; `models`: the same quantities, a row
            per criterion and model; `accuracies`: accuracies, confidences and matched accuracies
            with their spread over seeds, a row per criterion and model. Or one of `analyses`.
        all : bool
            All columns, those of `matcheval.protocol.schemas.MEAN_GAPS`, of `GAPS` there, or of
            `MODEL_TABLE`, in place of the most important ones.

        Returns
        -------
        pandas.DataFrame
            A new table: `criterion`, `model`, numbers of datapoints (`n_original`, ...), `gap`,
            `confidence_part` and `matched_gap` with the bounds of their intervals (`_low`, `_high`)
            and `fraction_unmatched`; or accuracies before and after matching; of an analysis, the
            columns that its page describes.

        Raises
        ------
        InputError
            If there is no such table.
        """
        if table in self.analyses:
            return self._compared.analyses[table].table.copy()
        check_known("table", [table], (*_TABLES, *self.analyses))
        import pandas as pd

        gaps = self._compared.gaps
        parts = {
            "gaps": [gaps.means], "models": [*gaps.models.values()],
            "accuracies": [*self._compared.tables.values()],
        }  # fmt: skip
        return columns_of(pd.concat(parts[table], ignore_index=True), _FEW[table], every=all)

    def plot(self, kind: str = "gaps", *, criterion: str | None = None) -> "Figure":
        """Draw a figure.

        Parameters
        ----------
        kind : str
            `gaps`: gaps, their parts and their narrowing; `matched_accuracy`: accuracy before and
            after matching; `confidence`: accuracy against mean confidence; `reliability`: accuracy
            against confidence in bins, of a single model. Or one of `analyses` that has a figure.
        criterion : str, optional
            One of `gaps`; by default the first. An analysis shows all.

        Returns
        -------
        matplotlib.figure.Figure
            Not known to pyplot: a notebook shows it as the last value of a cell,
            `figure.savefig("gaps.pdf")` saves it.

        Raises
        ------
        InputError
            If there is no such figure or criterion; or `reliability` is asked of several models.
        """
        if kind in self.analyses:
            return self._compared.analyses[kind].figure()
        check_known("kind of figure", [kind], (*KINDS, *self.analyses))
        if criterion is None:
            return self._compared.figure(kind)
        check_known("criterion", [criterion], self.gaps)
        return self._compared.figure(kind, Criterion(criterion))

    def save(self, folder: str | os.PathLike[str], *, figures: Sequence[str] = ()) -> list[Path]:
        """Write report, tables and figures, as `matched-eval compare --output` does.

        Parameters
        ----------
        folder : path-like
            Created if need be. Files of an earlier comparison in it are replaced.
        figures : sequence of str
            Formats of figures beside SVG: `pdf`, `png`.

        Returns
        -------
        list of Path
            All files; `report.html` is the one to open.

        Raises
        ------
        InputError
            If the folder holds other files, or cannot be written.
        """
        from matcheval.api.comparison_output import write_comparison

        return write_comparison(self._compared, Path(folder), self._asked, figures)

    def report(self, file: str | os.PathLike[str]) -> Path:
        """Write the report alone, a page that holds its figures.

        Parameters
        ----------
        file : path-like
            Such as `report.html`; replaced if it is there.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        InputError
            If it cannot be written.
        """
        check_place(Path(file))
        with TemporaryDirectory() as folder, atomic_file(file) as partial:
            self.save(folder)
            shutil.copyfile(Path(folder, "report.html"), partial)
        return Path(file)

    def write(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Do what `save` does, whose name this was until 0.3."""
        message = "`write` is called `save`, and goes after 0.3"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return self.save(folder)


def compare(
    original: Any,
    replication: Any,
    replication_of_model: Any = None,
    *,
    source: Origin | None = None,
    criteria: str | Sequence[str] = ("label_probability", "probability"),
    epsilon: float = EPSILON,
    margin: float = MARGIN,
    seeds: int = N_SEEDS_COMPARED,
    model: str = "",
    pair: str = "pair",
    names: tuple[str, str] | None = None,
    paired: bool = False,
    groups_shared: bool = False,
    analyses: str | Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    classes: int | str | Sequence[str] | None = None,
    first_label: int = 0,
    labels_are_true: bool = False,
    progress: bool = False,
) -> ComparisonResult:
    """Compare accuracies on an original and a replicated test set, before and after matching.

    The numbers are those of `matched-eval compare`. One model takes 0.2 s for 10,000 and 2,000
    datapoints of 10 classes, 1.9 s for 50,000 and 10,000 of 1,000 classes; the first call also
    imports and compiles for some seconds.

    Parameters
    ----------
    original, replication : path-like, table, mapping of arrays, or mapping of these by model
        A model's predictions on each set, a row per datapoint, with labels:

        - a file as of `matched-eval compare` (Parquet, CSV, TSV, JSON, npz), or one on the Hugging
          Face hub, `hf://user/repository/old.csv`; with `{model}` in both paths, the files of all
          models;
        - a DataFrame, Arrow table or table of another library that Arrow can read, with columns
          `label` (int, from 0, or names), `prediction` (likewise), `probability` (float in [0, 1],
          the largest softmax value); or a column per class, `logit_0`, `logit_1`, ... or `p_0`,
          ..., in place of the latter two; and optionally `index` (int) and `group`. The index of a
          DataFrame is not used;
        - a mapping of arrays: `labels` (int, shape (n,)) and `logits` or `probabilities` (float,
          shape (n, n_classes)), or `prediction` (int) and `probability` (float), shape (n,); and
          optionally `index` (int) and `group` (text or int), shape (n,);
        - a mapping of any of these by the names of models.
    replication_of_model : optional
        `compare(model, original, replication)` runs a model on both sets first, as `evaluate` does:
        a network, function or name (`hf://user/repository`), and a `DataLoader`, a dataset or
        arrays of each set.
    source : {"original", "replication"}, optional
        The set in which matches are sought for every datapoint of the other. By default the larger
        one, the original if both are equally large.
    criteria : {"label_probability", "probability"} or sequence of these
        `label_probability` (predicted label and probability agree, Algorithm 1) and `probability`
        (Algorithm 2).
    epsilon : float
        Largest difference of matched probabilities, in (0, 1].
    margin : float
        Differences of accuracy below it do not matter, for the verdict; a fraction.
    seeds : int
        Random runs per model, with seeds 0, 1, ...; 1 to 10,000. Where more would move the matched
        gap visibly, the result says so.
    model : str
        Name of the model, where predictions have none; by default that by which it was loaded, or
        `model`. Random matches depend on it.
    pair : str
        Name of the pair; random matches depend on it.
    names : tuple of str, optional
        What original and replication are called in texts and figures; by default as predictions or
        files say.
    paired : bool
        Both sets show the same images, row by row.
    groups_shared : bool
        A name of a group means the same group in both sets.
    analyses : str or sequence of str
        Further analyses, as studies make them with default settings: `mcnemar`, `class_gaps`,
        `epsilon_sweep` and others of a pair's matched predictions (docs/analyses.md). Their
        tables and figures have their names.
    columns : mapping of str to str, optional
        Names of the given columns or arrays by ours: `{"label": "target"}`.
    classes : int, str or sequence of str, optional
        Number of classes, to check labels and predictions against; or their names in the order of
        the labels, `cifar10` or `imagenet`. By default names are those that occur, sorted.
    first_label : {0, 1}
        The number of the first class, 0 or 1.
    labels_are_true : bool
        Accept labels that all predictions equal, which otherwise look like predictions.
    progress : bool
        Whether a terminal shows progress bars.

    Returns
    -------
    ComparisonResult

    Raises
    ------
    InputError
        If arrays or tables have no such columns, the wrong shape, dtype or number of classes,
        missing values or labels out of range; if models are of different datapoints; if an analysis
        needs other predictions; or if an argument is out of range. The message names array, row and
        value.

    Warns
    -----
    InputWarning
        For input that looks wrong, and where most targets are unmatched.

    References
    ----------
    Anzaku et al. (2022), arXiv 2209.01848, section 3, Algorithms 1 and 2.

    Examples
    --------
    >>> import numpy as np
    >>> import matcheval as me
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(0, 10, 2000)
    >>> logits = rng.normal(size=(2000, 10)) + 3 * np.eye(10)[labels]
    >>> result = me.compare(
    ...     {"labels": labels[:1500], "logits": logits[:1500]},
    ...     {"labels": labels[1500:], "logits": logits[1500:]},
    ... )
    >>> result.verdict.claims[0].strength.value
    'inconclusive'
    """
    is_run = replication_of_model is not None
    if is_run and isinstance(original, str):
        model = model or original.removeprefix("hf://")
    options = PairOptions(
        criteria, epsilon, seeds, pair, model, source, paired, groups_shared, names
    )
    if not is_number(margin) or not 0 < margin < 1:
        remedy = "Give a fraction between 0 and 1, such as 0.01 for one percentage point"
        raise InputError(f"margin is {margin!r:.60}", remedy=remedy)
    chosen = chosen_analyses(analyses)
    if is_run:
        run = pretrained_model(original) if isinstance(original, str) else original
        sets = replication, replication_of_model
        original, replication = (evaluate(run, images, progress=progress) for images in sets)
    models, left_out = inputs_by_model(original, replication)
    layout, n_classes = layout_of(
        all_sources(models), columns, classes, first_label, labels_are_true
    )
    read = read_compared(models, options, layout, n_classes, left_out, progress=progress)
    compared = compare_sets(read, chosen, margin=margin, progress=progress)
    asked = (
        f"matcheval.compare(..., source={source!r}, criteria={[*read.methods]}, "
        f"epsilon={epsilon}, margin={margin}, seeds={seeds}, pair={pair!r}, paired={paired}, "
        f"groups_shared={groups_shared}, analyses={[*compared.analyses]})"
    )
    gaps = [GapEstimate._of(row) for _, row in compared.gaps.means.iterrows()]
    result = ComparisonResult(
        title=compared.title, original=read.pair.original, replication=read.pair.replication,
        source=read.comparisons[0].source_name,
        models=tuple(comparison.model for comparison in read.comparisons),
        gaps={gap.criterion: gap for gap in gaps}, verdict=compared.verdict,
        warnings=tuple(compared.warnings), notes=read.notes, analyses=tuple(compared.analyses),
        _compared=compared, _asked=asked,
    )  # fmt: skip
    warn_each(result.warnings)
    return result
