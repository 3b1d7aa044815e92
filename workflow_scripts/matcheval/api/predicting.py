"""`matcheval.predict_accuracy`: how accurate a model will be on sets without labels."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa

from matcheval.accuracy_prediction.estimation import choose_methods, estimate_accuracies
from matcheval.accuracy_prediction.output_files import UserFile, check_comparable, read_user_file
from matcheval.accuracy_prediction.recommendation import Recommendation, describe, recommend
from matcheval.accuracy_prediction.scores.outputs import Outputs
from matcheval.errors import InputError
from matcheval.predictions import inputs
from matcheval.predictions.formats import InMemory
from matcheval.predictions.inputs import Data, Estimate, Models, Shown, columns_of, source_of
from matcheval.predictions.records import LabelRule
from matcheval.predictions.suspicions import suspicions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_RESAMPLES = 1_000_000
_FEW = (
    "target", "title", "predicted", "predicted_low", "predicted_high", "accuracy", "error",
    "reason",
)  # fmt: skip


@dataclass(frozen=True)
class PredictedAccuracy(Shown):
    """The accuracy that one method predicts on one set.

    Attributes
    ----------
    target : str
        Name of the set.
    method, variant, title : str
        The method as arguments name it, its variant (empty for the default), and what papers call
        it.
    predicted : Estimate
        Predicted accuracy, a fraction, not clipped to [0, 1]; NaN if there is none. The interval is
        over datapoints, and does not hold the error of the method's assumption.
    accuracy, error : float
        True accuracy, and the absolute difference from it; NaN if the set has no labels.
    reason : str
        Why there is no prediction and what to provide, or how it is flagged.
    """

    target: str
    method: str
    variant: str
    title: str
    predicted: Estimate
    accuracy: float
    error: float
    reason: str

    def __str__(self) -> str:
        """Return the accuracies in percent, or why there is none."""
        if self.predicted.value != self.predicted.value:
            return f"{self.title} on {self.target}: n/a ({self.reason})"
        true = "" if self.accuracy != self.accuracy else f"; true {100 * self.accuracy:.2f} %"
        return f"{self.title} on {self.target}: {self.predicted} %{true}"

    @classmethod
    def _of(cls, row: "pd.Series[float]") -> "PredictedAccuracy":
        return cls(
            **{name: str(row[name]) for name in ("target", "method", "variant", "title", "reason")},
            predicted=Estimate._from_row(row, "predicted"),
            accuracy=float(row["accuracy"]), error=float(row["error"]),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class AccuracyPredictions(Shown):
    """Predicted accuracies of a model on sets; what `predict_accuracy` returns.

    `print(result)` shows what `matched-eval predict-accuracy` prints.

    Attributes
    ----------
    base : str
        Name of the labelled set.
    n_base : int
        Its datapoints.
    accuracy_base : float
        Accuracy on it, a fraction.
    recommendations : tuple of Recommendation
        One per set: which prediction to rely on, if any, and why.
    predictions : tuple of PredictedAccuracy
        One per set and method.
    warnings, notes : tuple of str
        What looks wrong about the input; what was recognised.
    """

    base: str
    n_base: int
    accuracy_base: float
    recommendations: tuple[Recommendation, ...]
    predictions: tuple[PredictedAccuracy, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    _table: pa.Table = field(repr=False)

    def __str__(self) -> str:
        """Return the text that `matched-eval predict-accuracy` prints."""
        return describe(self.base, self._table.to_pylist())

    def _in_notebook(self) -> tuple[Sequence[str], pd.DataFrame]:
        """Return the lines and the table that a notebook shows."""
        claims = [f"{r.strength}: {r.text} ({r.reason})" for r in self.recommendations]
        return claims, self.to_pandas()

    def to_pandas(self, *, all: bool = False) -> pd.DataFrame:
        """Return all predictions as a table, a row per set and method; accuracies are fractions.

        Parameters
        ----------
        all : bool
            All columns of `matcheval.accuracy_prediction.estimation.ESTIMATES`.

        Returns
        -------
        pandas.DataFrame
            A new table with `target`, `title` of the method, `predicted`, `predicted_low`,
            `predicted_high`, `accuracy`, `error` and `reason`: NaN and a reason where there is no
            prediction.
        """
        return columns_of(self._table.to_pandas(), _FEW, every=all)

    def plot(self) -> "Figure":
        """Draw predicted accuracies with intervals, a panel per set."""
        from matcheval.accuracy_prediction.figures import plot_estimates

        return plot_estimates(self._table.to_pandas())


def predict_accuracy(
    base: Data,
    targets: "Models | Sequence[Data]",
    *,
    methods: str | Sequence[str] = (),
    calibration: Mapping[str, Data] | Sequence[Data] = (),
    calibration_groups: Sequence[str] = (),
    resamples: int = 200,
    seed: int = 0,
    columns: Mapping[str, str] | None = None,
    classes: int | str | Sequence[str] | None = None,
    first_label: int = 0,
    labels_are_true: bool = False,
    progress: bool = False,
) -> AccuracyPredictions:
    """Predict a model's accuracy on sets without labels, from its outputs there.

    The numbers are those of `matched-eval predict-accuracy`.

    Parameters
    ----------
    base : path-like, table or mapping of arrays
        The model's outputs on a labelled set, as `compare` takes them. Most methods need the scores
        of all classes: arrays `logits` (float, shape (n, n_classes)) rather than `prediction` and
        `probability`. Some need `features` (float, shape (n, n_features)), the input of the last
        linear layer: an array of a mapping, or a file `<model>.features.parquet` beside the file.
    targets : path-like, table or mapping of arrays; or sequence of these, or mapping by name
        Its outputs on sets whose accuracy is asked for, in the same forms. Sets without a name are
        called as their files say. Labels may be missing; where they are given, the error of every
        prediction is known, too.
    methods : str or sequence of str
        By name, or variants as `method:variant`: `ac` (average confidence), `ac_temperature` (after
        temperature scaling), `doc_feat` (difference of confidences), `atc_mc` and `atc_ne` (average
        thresholded confidence), `cot` and `cott` (optimal transport), .... An unknown name is
        answered with those that there are. By default these seven and, with sets for calibration,
        all that need a regression.
    calibration : sequence or mapping of such outputs
        On at least three further labelled sets, which regressions are fitted on. Their intervals
        over sets (jackknife+, level 0.9) are in `to_pandas(all=True)`.
    calibration_groups : sequence of str
        The group of each of these sets, such as its corruption, for intervals that leave out whole
        groups: severities of one corruption are not exchangeable. By default each is its own.
    resamples : int
        Resamples of the datapoints for the intervals, 0 for none.
    seed : int
        Of resamples and random splits, not negative.
    columns, classes, first_label, labels_are_true, progress
        As for `compare`.

    Returns
    -------
    AccuracyPredictions
        A method whose inputs are not there has a row, too, that says what it needs.

    Raises
    ------
    InputError
        If arrays or tables have the wrong columns, shape, dtype or number of classes, missing
        values or labels out of range; a method is unknown; or there are one or two sets for
        calibration.

    Warns
    -----
    InputWarning
        For input that looks wrong.

    References
    ----------
    Guillory et al. (2021), arXiv 2107.03315 (AC, DoC); Garg et al. (2022), arXiv 2201.04234 (ATC);
    Lu et al. (2023), arXiv 2305.15640 (COT); Barber et al. (2021), Ann. Stat. 49 (jackknife+);
    docs/accuracy-prediction.md lists all methods with their sources.

    Examples
    --------
    >>> import numpy as np
    >>> import matcheval as me
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(0, 10, 1500)
    >>> logits = rng.normal(size=(1500, 10)) + 2 * np.eye(10)[labels]
    >>> result = me.predict_accuracy(
    ...     {"labels": labels[:1000], "logits": logits[:1000]},
    ...     {"new photos": {"logits": logits[1000:]}},
    ...     methods=["ac_temperature", "atc_mc"],
    ...     resamples=0,
    ... )
    >>> [prediction.title for prediction in result.predictions]
    ['AC TempScaling', 'ATC-MC']
    """
    inputs.check_whole("seed", seed, 0)
    inputs.check_whole("resamples", resamples, 0, MAX_RESAMPLES)
    if inputs.holds_several(calibration):
        calibration = list(calibration.values())
    if not isinstance(calibration, list | tuple):
        remedy = "Give a list of files, tables or dicts of arrays, one per set"
        raise InputError(f"calibration is a {type(calibration).__name__}", remedy=remedy)
    names = (methods,) if isinstance(methods, str) else tuple(methods)
    chosen = choose_methods(names, calibrated=bool(calibration))
    is_named, sets = inputs.holds_several(targets), dict[str, Data]()
    if inputs.holds_several(targets):
        sets = {str(name): data for name, data in targets.items()}
    elif isinstance(targets, list | tuple):
        for i, data in enumerate(targets):
            sets[str(data) if isinstance(data, str | Path) else f"target {i}"] = data
    else:
        sets = {"target": targets}
    base_source = source_of(base, "base")
    target_sources = {name: source_of(data, name) for name, data in sets.items()}
    calibration_sources = [
        source_of(data, f"calibration set {i}") for i, data in enumerate(calibration)
    ]
    layout = inputs.layout_of(
        [base_source, *calibration_sources, *target_sources.values()], columns, classes,
        first_label, labels_are_true,
    )  # fmt: skip
    warnings, notes = list[str](), [*layout.notes]

    def read(source: Path | InMemory, labels: LabelRule, base: UserFile | None = None) -> UserFile:
        """Read the outputs on a set, check them against the base, and collect notes, warnings."""
        file = read_user_file(source, labels=labels, layout=layout)
        if isinstance(source, InMemory):
            features = inputs.features_of(source, len(file.outputs))
            file = replace(file, outputs=replace(file.outputs, features=features))
        if base is not None:
            check_comparable(base, file)
        outputs = file.outputs
        values = outputs.labels, outputs.predicted, outputs.confidences
        if file.notes:
            notes.append(f"{file.name}: {', '.join(file.notes)}")
        warnings.extend(f"{file.name}: {text}" for text in suspicions(*values, file.metadata))
        return file

    base_file = read(base_source, "required")
    calibration_outputs = [
        read(source, "required", base_file).outputs for source in calibration_sources
    ]

    def read_targets() -> Iterator[tuple[str, Outputs]]:
        """Yield each target's name and outputs, read one after the other, as they are large."""
        taken: set[str] = set()
        for key, source in target_sources.items():
            file = read(source, "optional", base_file)
            name = key if is_named or file.name in taken else file.name
            taken.add(name)
            yield name, file.outputs

    table = estimate_accuracies(
        base_file.outputs, read_targets(), methods=chosen, calibration=calibration_outputs,
        groups=tuple(map(str, calibration_groups)), n_resamples=int(resamples), seed=int(seed),
        progress=progress,
    )  # fmt: skip
    inputs.warn_each(warnings)
    return AccuracyPredictions(
        base=base_file.name, n_base=len(base_file.outputs),
        accuracy_base=base_file.outputs.accuracy,
        recommendations=tuple(recommend(table.to_pylist())),
        predictions=tuple(PredictedAccuracy._of(row) for _, row in table.to_pandas().iterrows()),
        warnings=tuple(warnings), notes=tuple(notes), _table=table,
    )  # fmt: skip
