"""`matcheval.compare` and `matcheval.match`: predictions on two sets, before and after matching."""

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from matcheval.api.evaluating import evaluate, pretrained_model
from matcheval.api.pairs import UNNAMED, PairOptions, read_pair, warnings_of
from matcheval.errors import InputError, advice_for_caller, check_known
from matcheval.io.tables import write_table
from matcheval.io.terminal import tracked
from matcheval.names import Origin
from matcheval.predictions.inputs import Data, GapEstimate, Shown, columns_of, is_number, warn_each
from matcheval.protocol.criteria import EPSILON, MARGIN, N_SEEDS, N_SEEDS_COMPARED, Criterion
from matcheval.protocol.schemas import RUNS

# What computes and draws is imported once predictions are read, which are often refused.
if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from matplotlib.figure import Figure

    from matcheval.api.comparison import ComparisonResult
    from matcheval.protocol.analysis import PairTableAnalysis
    from matcheval.protocol.compared_models import ComparedModels, MatchedModel

Table = Literal["runs", "pairs"]
_TABLES: tuple[Table, ...] = ("runs", "pairs")
RUN_FILES, PAIRS_FILE = ("runs.parquet", "runs.csv"), "pairs.parquet"
_FEW = ("seed", "n_matched", "matched_accuracy_source", "matched_accuracy_target",
        "fraction_unmatched")  # fmt: skip


@dataclass(frozen=True, eq=False)
class MatchResult(Shown):
    """One model's predictions on two sets, matched once per seed; what `match` returns.

    Attributes
    ----------
    model : str
        Name of the model.
    source, target : str
        Names of the sets: matches are sought in the source for every datapoint of the target.
    criterion : str
        `label_probability` or `probability`.
    epsilon : float
        Largest difference of matched probabilities.
    matched_accuracy_source, matched_accuracy_target : float
        Accuracy on the matched subsets, a fraction, mean over the seeds with a matched pair; NaN
        if there is none.
    fraction_unmatched : float
        Share of the targets without a match, mean over seeds.
    warnings, notes : tuple of str
        What looks wrong, and whether most targets are unmatched; what was recognised.
    """

    model: str
    source: str
    target: str
    criterion: str
    epsilon: float
    matched_accuracy_source: float
    matched_accuracy_target: float
    fraction_unmatched: float
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    _matched: "MatchedModel" = field(repr=False)
    _runs: "pa.Table" = field(repr=False)
    _pair: str = field(repr=False)

    def __str__(self) -> str:
        """Return text: what was matched, matched accuracies and the share of unmatched targets."""
        accuracies = self.matched_accuracy_source, self.matched_accuracy_target
        source, target = (f"{100 * accuracy:.2f} %" for accuracy in accuracies)
        return (
            f"{self.model}: {self.target} matched in {self.source} by {self.criterion}, ε = "
            f"{self.epsilon:g}\nmatched accuracy: {source} on {self.source}, {target} on "
            f"{self.target}; {100 * self.fraction_unmatched:.2f} % of the targets are unmatched"
        )

    def to_pandas(self, table: Table = "runs", *, all: bool = False) -> "pd.DataFrame":
        """Return the results of all runs, or the matched pairs, as a table.

        Parameters
        ----------
        table : str
            `runs`: sizes, accuracies and mean confidences of all subsets, as fractions, a row per
            seed; `pairs`: matched datapoints by their index, a row per pair and seed.
        all : bool
            All columns of `matcheval.protocol.schemas.RUNS`, in place of `seed`, `n_matched`,
            matched accuracies and `fraction_unmatched`.

        Returns
        -------
        pandas.DataFrame
            A new table; columns of `pairs` are `seed`, `source_index` and `target_index`.
        """
        check_known("table", [table], _TABLES)
        if table == "pairs":
            return self._matched.pairs().to_pandas()
        return columns_of(self._runs.select(RUNS.names).to_pandas(), _FEW, every=all)

    def plot(self) -> "Figure":
        """Draw accuracy against confidence in bins, for both sets and their matched subsets."""
        from matcheval.protocol.reliability import plot_reliability

        return plot_reliability(self._matched)

    def save(self, folder: str | os.PathLike[str], *, pairs: bool = False) -> list[Path]:
        """Write `runs.parquet` and `runs.csv` to a folder, and return their paths.

        Parameters
        ----------
        folder : path-like
            Created if need be; files of an earlier match in it are replaced.
        pairs : bool
            Also write the matched datapoints, `pairs.parquet`.
        """
        columns = {name: self._runs[name].to_numpy() for name in RUNS.names}
        metadata = {
            "model": self.model, "pair": self._pair, "epsilon": str(self.epsilon),
            "criterion": self.criterion,
        }  # fmt: skip
        tables = dict.fromkeys(RUN_FILES, RUNS.table(columns, metadata))
        if pairs:
            tables[PAIRS_FILE] = self._matched.pairs()
        for name, table in tables.items():
            write_table(table, Path(folder, name))
        return [Path(folder, name) for name in tables]


def compare(
    original: Any,
    replication: Any,
    model: str | Callable[..., Any] = "",
    *,
    model_name: str = "",
    source: Origin | None = None,
    criteria: str | Sequence[str] = ("label_probability", "probability"),
    epsilon: float = EPSILON,
    margin: float = MARGIN,
    seeds: int = N_SEEDS_COMPARED,
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
) -> "ComparisonResult":
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
        - a mapping of any of these by the names of models;
        - or images and labels to run a model on: a `DataLoader`, a dataset or arrays, as `evaluate`
          takes them.
    model : str, torch.nn.Module or callable
        The name of the model, where predictions have none. Of images: the network or function
        that is run on both sets, or the name of a pretrained one (`evaluate`).
    model_name : str
        What the model is called; by default `model` if that is a name, or the network's class.
        Random matches depend on it.
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
        For input that looks wrong, an `epsilon` above 0.05, and where most targets are unmatched.

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
    if not (isinstance(model, str) or callable(model)):
        original, replication, model = replication, model, original
        message = (
            "compare(model, original, replication) goes after 0.3: write "
            "compare(original, replication, model=model)"
        )
        warnings.warn(message, DeprecationWarning, stacklevel=2)
    name = model_name or _default_name(model)
    options = PairOptions(
        criteria, epsilon, seeds, pair, name, source, paired, groups_shared, names
    )
    if not is_number(margin) or not 0 < margin < 1:
        remedy = "Give a fraction between 0 and 1, such as 0.01 for one percentage point"
        raise InputError(f"margin is {margin!r:.60}", remedy=remedy)
    kinds: Sequence[type[PairTableAnalysis]] = ()
    if analyses:
        kinds = _find_analyses([analyses] if isinstance(analyses, str) else analyses)
    if model and _is_images(original):
        network = pretrained_model(model) if isinstance(model, str) else model
        original, replication = (
            evaluate(network, images, progress=progress) for images in (original, replication)
        )
    compared = read_pair(
        original, replication, options, columns, classes, first_label, labels_are_true,
        progress=progress,
    )  # fmt: skip
    from matcheval.api.comparison import ComparisonResult
    from matcheval.protocol.gaps import estimate_gaps
    from matcheval.protocol.jobs import tabulate_runs
    from matcheval.protocol.verdicts import verdicts, with_accuracies
    from matcheval.study.tables import AnalysisTable

    analysis_tables = {
        kind.name: AnalysisTable(kind, import_module(kind.__module__).tabulate(compared))
        for kind in tracked(kinds, "analyses", progress=progress)
    }
    estimates = estimate_gaps(compared, progress=progress)
    tables = {Criterion(name): tabulate_runs(runs) for name, runs in estimates.runs.items()}
    rows = [row for _, row in estimates.means.iterrows()]
    by_matching = {
        (pair, criterion.value): with_accuracies(estimates.models[criterion.value], table)
        for criterion, table in tables.items()
    }
    (verdict,) = verdicts(rows, by_matching, margin=margin)
    shares = {c: float(t["fraction_unmatched_mean"].mean()) for c, t in tables.items()}
    gaps = map(GapEstimate._from_row, rows)
    result = ComparisonResult(
        title=_comparison_title(compared), original=compared.pair.original,
        replication=compared.pair.replication, source=compared.comparisons[0].source_name,
        models=tuple(comparison.model for comparison in compared.comparisons),
        gaps={gap.criterion: gap for gap in gaps},
        verdict=replace(verdict, next_step=advice_for_caller(verdict.next_step)),
        warnings=tuple(warnings_of(compared, shares)), notes=compared.notes,
        analyses=tuple(analysis_tables), _compared=compared, _estimates=estimates, _tables=tables,
        _analyses=analysis_tables, _margin=margin,
        _asked=f"matcheval.compare(..., source={source!r}, criteria={[*compared.methods]}, "
        f"epsilon={epsilon}, margin={margin}, seeds={seeds}, pair={pair!r}, paired={paired}, "
        f"groups_shared={groups_shared}, analyses={[*analysis_tables]})",
    )  # fmt: skip
    warn_each(result.warnings)
    return result


def _default_name(model: Any) -> str:
    """Name a model that the caller does not: a function by its name, a network by its class."""
    if isinstance(model, str):
        return model.removeprefix("hf://")
    return str(getattr(model, "__name__", type(model).__name__))


def _find_analyses(names: Sequence[str]) -> "list[type[PairTableAnalysis]]":
    """Return the analyses of a pair that have these names; raise an error for any other."""
    from matcheval.protocol.analysis import PairTableAnalysis
    from matcheval.registry import ANALYSES

    pair_analyses = {kind.name: kind for kind in ANALYSES if issubclass(kind, PairTableAnalysis)}
    for name in names:
        if name not in pair_analyses and name in {kind.name for kind in ANALYSES}:
            remedy = f"Here there are {', '.join(pair_analyses)}"
            raise InputError(f"the analysis '{name}' needs a study", remedy=remedy)
    check_known("analysis", names, pair_analyses)
    return [pair_analyses[name] for name in dict.fromkeys(names)]


def _is_images(data: object) -> bool:
    """Whether data are images to run a model on, rather than predictions."""
    is_table = hasattr(data, "__arrow_c_stream__")
    return not (is_table or isinstance(data, str | os.PathLike | Mapping))


def _comparison_title(compared: "ComparedModels") -> str:
    """Return a title: the model, if it has a name, or the number of models, and the sets."""
    sets = " against ".join(
        name if origin in (name, name.rpartition(" (")[2][:-1]) else f"{name} ({origin})"
        for origin, name in compared.pair.datasets.items()
    )
    n, first = len(compared.comparisons), compared.comparisons[0]
    if n > 1:
        return f"{n} models: {sets}"
    return sets if first.model == UNNAMED else f"{first.model}: {sets}"


def match(
    original: Data,
    replication: Data,
    *,
    source: Origin | None = None,
    criterion: str = "label_probability",
    epsilon: float = EPSILON,
    seeds: int = N_SEEDS,
    model: str = "",
    pair: str = "pair",
    columns: Mapping[str, str] | None = None,
    classes: int | str | Sequence[str] | None = None,
    first_label: int = 0,
    labels_are_true: bool = False,
) -> MatchResult:
    """Match each datapoint of the target set with one of the source of about equal confidence.

    The numbers are those of `matched-eval match`.

    Parameters
    ----------
    original, replication : path-like, table or mapping of arrays
        One model's predictions on each set, as for `compare`.
    source : {"original", "replication"}, optional
        The set in which matches are sought for every datapoint of the other. By default the larger
        one, the original if both are equally large.
    criterion : {"label_probability", "probability"}
        `label_probability`: the predicted label agrees, and the probability up to `epsilon`
        (Algorithm 1); `probability`: the latter (Algorithm 2).
    seeds : int
        Random runs, with seeds 0, 1, ...; 1 to 10,000.
    model : str
        Name of the model, where predictions have none. Random matches depend on it.
    epsilon, pair, columns, classes, first_label, labels_are_true
        As for `compare`.

    Raises
    ------
    InputError
        As `compare`.

    Warns
    -----
    InputWarning
        For input that looks wrong, and where most targets are unmatched.

    References
    ----------
    Anzaku et al. (2022), arXiv 2209.01848, section 3, Algorithms 1 and 2.

    Examples
    --------
    >>> import matcheval as me
    >>> old = {"label": [0, 1, 1], "prediction": [0, 1, 0], "probability": [0.9, 0.8, 0.6]}
    >>> new = {"label": [0, 1], "prediction": [0, 0], "probability": [0.901, 0.7]}
    >>> result = me.match(old, new, seeds=1)
    >>> result.to_pandas("pairs").values.tolist()
    [[0, 0, 0]]
    >>> result.fraction_unmatched
    0.5
    """
    options = PairOptions(criterion, epsilon, seeds, pair, model, source)
    compared = read_pair(
        original, replication, options, columns, classes, first_label, labels_are_true
    )
    if (n := len(compared.comparisons)) > 1:
        raise InputError(f"{n} models are given, and one is matched", remedy="Or compare them all")
    from matcheval.protocol.compared_models import MatchedModel

    (comparison,), (method,) = compared.comparisons, compared.methods.values()
    matched = MatchedModel.of(comparison, method, compared.seeds)
    runs = matched.runs()
    frame = runs.select(RUNS.names).to_pandas()
    means = ("matched_accuracy_source", "matched_accuracy_target", "fraction_unmatched")
    share = float(frame["fraction_unmatched"].mean())
    result = MatchResult(
        model=comparison.model, source=comparison.source_name, target=comparison.target_name,
        criterion=method.criterion.value, epsilon=method.epsilon,
        **{name: float(frame[name].mean()) for name in means},
        warnings=tuple(warnings_of(compared, {method.criterion: share})), notes=compared.notes,
        _matched=matched, _runs=runs, _pair=pair,
    )  # fmt: skip
    warn_each(result.warnings)
    return result
