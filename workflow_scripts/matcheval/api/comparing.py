"""`matcheval.compare`: models on two sets, before and after matching."""

import warnings
from collections.abc import Mapping, Sequence

from matcheval.api.compared import compare_models
from matcheval.api.comparison_result import ComparisonResult
from matcheval.api.inputs import InputWarning, Models
from matcheval.api.layouts import layout_of
from matcheval.api.models import all_given, given_models
from matcheval.api.options import Origin, PairOptions, methods_of
from matcheval.api.pair_analyses import chosen_analyses
from matcheval.api.reading import read_compared
from matcheval.protocol.settings import EPSILON, N_SEEDS


def compare(
    original: Models,
    replication: Models,
    *,
    source: Origin | None = None,
    criteria: str | Sequence[str] = ("label_probability", "probability"),
    epsilon: float = EPSILON,
    seeds: int = N_SEEDS,
    model: str = "",
    pair: str = "pair",
    names: tuple[str, str] | None = None,
    paired: bool = False,
    groups_shared: bool = False,
    analyses: str | Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    classes: int | str | Sequence[str] | None = None,
    first_label: int = 0,
    progress: bool = False,
) -> ComparisonResult:
    """Compare accuracies on an original and a replicated test set, before and after matching.

    The numbers are those of `matched-eval compare`. One model takes 0.15 s for 10,000 and 2,000
    datapoints of 10 classes, 1.4 s for 50,000 and 10,000 of 1,000 classes; the first call also
    imports and compiles for some seconds.

    Parameters
    ----------
    original, replication : path-like, table, mapping of arrays, or mapping of these by model
        A model's predictions on each set, a row per datapoint, with labels:

        - a file as of `matched-eval compare` (Parquet, CSV, TSV, JSON, npz); with `{model}` in both
          paths, the files of all models;
        - a DataFrame, Arrow table or table of another library that Arrow can read, with columns
          `label` (int, from 0, or names), `prediction` (likewise), `probability` (float in [0, 1],
          the largest softmax value); or a column per class, `logit_0`, `logit_1`, ... or `p_0`,
          ..., in place of the latter two; and optionally `index` (int) and `group`. The index of a
          DataFrame is not used;
        - a mapping of arrays: `labels` (int, shape (n,)) and `logits` or `probabilities` (float,
          shape (n, n_classes)), or `prediction` (int) and `probability` (float), shape (n,); and
          optionally `index` (int) and `group` (text or int), shape (n,);
        - a mapping of any of these by the names of models.
    source : str, optional
        `original` or `replication`: the set in which matches are sought for every datapoint of the
        other. By default the larger one, the original if both are equally large.
    criteria : str or sequence of str
        `label_probability` (predicted label and probability agree, Algorithm 1) and `probability`
        (Algorithm 2).
    epsilon : float
        Largest difference of matched probabilities, in (0, 1].
    seeds : int
        Random runs per model, with seeds 0, 1, ...; 1 to 10,000.
    model : str
        Name of the model, where predictions have none. Random matches depend on it.
    pair : str
        Name of the pair; random matches depend on it.
    names : tuple of str, optional
        What original and replication are called in texts and figures; by default as predictions or
        files say.
    paired : bool
        Whether both sets show the same images, row by row.
    groups_shared : bool
        Whether a name of a group means the same group in both sets.
    analyses : str or sequence of str
        Further analyses, as studies make them with default settings: `mcnemar`, `class_gaps`,
        `maximum_matching`, `epsilon_sweep` and others of a pair's matched predictions
        (docs/analyses/README.md). Their tables and figures have their names.
    columns : mapping of str to str, optional
        Names of the given columns or arrays by ours: `{"label": "target"}`.
    classes : int, str or sequence of str, optional
        Number of classes, to check labels and predictions against; or their names in the order of
        the labels, `cifar10` or `imagenet`. By default names are those that occur, sorted.
    first_label : int
        The number of the first class, 0 or 1.
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
    >>> result.gaps["probability"].verdict
    'within sampling error of 0'
    """
    options = PairOptions(pair, model, source, paired, groups_shared, names)
    chosen = chosen_analyses([analyses] if isinstance(analyses, str) else [*analyses])
    methods = methods_of(criteria, epsilon, seeds)
    models, left_out = given_models(original, replication)
    layout, n_classes = layout_of(all_given(models), columns, classes, first_label)
    known = read_compared(models, options, methods, seeds, layout, n_classes, progress=progress)
    asked = (
        f"matcheval.compare(..., source={source!r}, criteria={[*methods]}, epsilon={epsilon}, "
        f"seeds={seeds}, pair={pair!r}, paired={paired}, groups_shared={groups_shared}, "
        f"analyses={[one.name for one in chosen]})"
    )
    result = ComparisonResult.of(compare_models(known, chosen, progress=progress), asked)
    for text in (*left_out, *result.warnings):
        warnings.warn(text, InputWarning, stacklevel=2)
    return result
