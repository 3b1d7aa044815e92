"""Scores of a pool of models: how often they agree, and agreement on the line (ALine).

Models that agree with many others tend to be right, and on the probit scale agreement on a target
is about the same line of agreement on the base as accuracy is of accuracy (Baek, Jiang, Raghunathan
& Kolter, 2022). All is computed from predicted classes; only ALine needs labels, those of the base.

A model outside of the pool is compared with all models of the pool, but not with others outside of
it, and has no influence on the scores of the pool (`PoolScore.of_models`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial

import numpy as np
import numpy.typing as npt

from matcheval.accuracy_prediction.scores.outputs import Classes, Floats, Predictions
from matcheval.accuracy_prediction.scores.score import Data, Described, NotAvailableError, Predicts
from matcheval.statistics.lines import Scale, from_scale, to_scale

USABLE = (0.05, 0.98)  # pairs of models with other agreements are left out
MIN_PAIRS = 3
_MORE = "Add models that differ more"


def agreement(predictions: Predictions) -> Floats:
    """Return the matrix of shares of datapoints on which two models predict the same class."""
    counts = _compile_equal_counts()(np.ascontiguousarray(predictions))
    return np.asarray(counts / predictions.shape[1])


@cache
def _compile_equal_counts() -> Callable[[Predictions], Classes]:
    # Compiled here, because a dry run imports this module and need not wait for Numba.
    from matcheval.jit import compiled

    @compiled()
    def equal_counts(predictions: Predictions) -> Classes:
        """Return the matrix of numbers of equal predictions of two models."""
        counts = np.empty((len(predictions), len(predictions)), np.int64)
        for i in range(len(predictions)):
            for j in range(i, len(predictions)):
                count = np.int32(0)  # narrow, so that more comparisons fit into a vector register
                for k in range(predictions.shape[1]):
                    count += np.int32(predictions[i, k] == predictions[j, k])
                counts[i, j] = counts[j, i] = count
        return counts

    return equal_counts


_probit = partial(to_scale, scale=Scale.PROBIT)


@dataclass(frozen=True, eq=False)
class Agreements:
    """Pairwise agreements of models on a target and on the base, and accuracies on the base.

    `recipes` has equal numbers for models that differ in their seed only; None if not known.
    """

    target: Floats
    base: Floats
    accuracy: Floats
    recipes: Classes | None = None

    def among(self, models: Classes) -> "Agreements":
        """Return the agreements and accuracies of only the models with these indices."""
        index = np.ix_(models, models)
        recipes = None if self.recipes is None else self.recipes[models]
        return Agreements(self.target[index], self.base[index], self.accuracy[models], recipes)

    @cached_property
    def pairs(self) -> tuple[Classes, Classes]:
        """Indices of pairs with both agreements within `USABLE` and no accuracy of 0 or 1."""
        i, j = np.triu_indices(len(self.target), 1)
        low, high = USABLE
        usable = (self.accuracy[i] % 1 > 0) & (self.accuracy[j] % 1 > 0)
        for values in (self.base[i, j], self.target[i, j]):
            usable &= (values >= low) & (values <= high)
        return i[usable], j[usable]

    @cached_property
    def line(self) -> tuple[float, float]:
        """Slope and intercept of a regression of target agreement on base agreement, in probits."""
        if len(self.pairs[0]) < MIN_PAIRS:
            raise NotAvailableError(
                f"pairs of models with agreements in [{USABLE[0]}, {USABLE[1]}] on base and "
                f"target: {len(self.pairs[0])}; a line needs {MIN_PAIRS}. {_MORE}"
            )
        x, y = _probit(self.base[self.pairs]), _probit(self.target[self.pairs])
        if np.ptp(x) == 0:
            raise NotAvailableError(
                "all pairs of models agree equally often on the base, which determines no line. "
                + _MORE
            )
        slope, intercept = np.linalg.lstsq(np.stack([x, np.ones_like(x)], 1), y)[0]
        return float(slope), float(intercept)


def mean_agreement(agreements: Agreements) -> Floats:
    """Compute each model's mean agreement with the other models on the target (MS-AoL of P2)."""
    matrix = agreements.target
    return np.asarray((matrix.sum(axis=1) - np.diag(matrix)) / (len(matrix) - 1))


def aline_s(agreements: Agreements) -> Floats:
    """Estimate accuracies by ALine-S: Φ(slope Φ⁻¹(accuracy on base) + intercept) of the line."""
    slope, intercept = agreements.line
    probits = _probit(agreements.accuracy)
    probits[~np.isfinite(probits)] = np.nan
    return from_scale(slope * probits + intercept, Scale.PROBIT)


def aline_d(agreements: Agreements) -> Floats:
    """Estimate accuracies by ALine-D: least squares for the mean probits of pairs of models."""
    slope, _ = agreements.line
    i, j = pairs = agreements.pairs
    accuracy = _probit(agreements.accuracy)
    wanted = _probit(agreements.target[pairs])
    wanted += slope * ((accuracy[i] + accuracy[j]) / 2 - _probit(agreements.base[pairs]))
    rows = np.arange(len(i))
    matrix = np.zeros((len(i), len(accuracy)))
    matrix[rows, i] = matrix[rows, j] = 0.5
    probits = np.linalg.lstsq(matrix, wanted)[0]
    probits[~_is_determined(i, j, len(accuracy))] = np.nan
    return from_scale(probits, Scale.PROBIT)


def agreement_of_seeds(agreements: Agreements, *, cross: bool = False) -> Floats:
    """Return for each model how often the models of its recipe agree with each other; NaN if alone.

    Models of a recipe differ only in their seed. With `cross`, it is instead how often the model
    agrees with those of other recipes.
    """
    matrix, n = agreements.target, len(agreements.target)
    recipes = np.arange(n) if agreements.recipes is None else agreements.recipes
    is_same = np.equal(recipes[:, None], recipes)
    if cross:
        sums, counts = np.where(is_same, 0, matrix).sum(axis=1), (~is_same).sum(axis=1)
    else:  # of all pairs of a recipe, each counted twice
        together = is_same.astype(np.float64)
        sums = together @ np.where(is_same & ~np.eye(n, dtype=bool), matrix, 0).sum(axis=1)
        counts = (together @ together.sum(axis=1) - together.sum(axis=1)).astype(np.int64)
    return np.divide(sums, counts, out=np.full(n, np.nan), where=counts > 0)


def _is_determined(i: Classes, j: Classes, n_models: int) -> npt.NDArray[np.bool_]:
    """Return which of `n_models` unknowns the sums over the pairs `i`, `j` determine."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    start, end = np.concatenate([i, j]), np.concatenate([j, i]) + n_models
    graph = coo_array((np.ones(len(start)), (start, end)), (2 * n_models, 2 * n_models))
    component = connected_components(graph, directed=False)[1]
    return np.equal(component[:n_models], component[n_models:])


@dataclass(frozen=True, kw_only=True)
class PoolScore(Described):
    """A score of all models of a pool at once: MS-AoL, or a variant of it."""

    compute: Callable[[Agreements], Floats]
    method: str = "ms_aol"
    direction: int = 1
    undetermined: str = "the agreements of its pairs do not determine it"

    def of_models(self, agreements: Agreements, in_pool: npt.NDArray[np.bool_]) -> Floats:
        """Return the score of every model; those outside of the pool do not change the others'."""
        pool = np.flatnonzero(in_pool)
        values = np.empty(len(in_pool))
        values[pool] = self.compute(agreements.among(pool))
        for model in np.flatnonzero(~in_pool):
            values[model] = self.compute(agreements.among(np.append(pool, model)))[-1]
        return values


_aline = partial(
    PoolScore, predicts=Predicts.ACCURACY, needs=(Data.MODELS, Data.BASE_LABELS),
    source="Baek et al. (2022); agreement_trajectory.ipynb",
)  # fmt: skip
_gde = partial(
    PoolScore, method="gde", title="Disagreement", predicts=Predicts.ACCURACY, needs=(Data.MODELS,),
    source="Jiang et al. (2022)",
    undetermined="no other model is trained by the same recipe with another seed",
)  # fmt: skip
POOL_SCORES = {
    score.name: score
    for score in (
        PoolScore(
            title="MS-AoL", predicts=Predicts.BY_REGRESSION, needs=(Data.MODELS,), source="P2",
            compute=mean_agreement,
        ),
        _aline(title="ALine-S", variant="aline_s", compute=aline_s),
        _aline(title="ALine-D", variant="aline_d", compute=aline_d),
        _gde(compute=agreement_of_seeds),
        _gde(variant="cross", compute=partial(agreement_of_seeds, cross=True)),
    )
}  # fmt: skip
