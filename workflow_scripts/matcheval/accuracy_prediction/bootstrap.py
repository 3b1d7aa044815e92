"""Bootstrap intervals of mean absolute errors."""

import warnings

import numpy as np
import numpy.typing as npt
import pandas as pd

_BLOCK = 1 << 20  # draws at a time, 8 MiB

# What is drawn with replacement: sets; subgroups, whose sets, such as the severities of a
# corruption, are not independent; models; pairs of model and set.
DRAWN = ("sets", "subgroups", "models", "rows")

Floats = npt.NDArray[np.float64]


def subgroups_of(sets: pd.DataFrame) -> npt.NDArray[np.intp]:
    """Return the number of each set's subgroup; a set without one is a subgroup of its own."""
    named = sets["subgroup"].where(sets["subgroup"] != "", sets["dataset"])
    return pd.factorize(pd.MultiIndex.from_arrays([sets["group"], named]))[0]


def error_intervals(
    error: Floats,
    known: npt.NDArray[np.bool_],
    units: npt.NDArray[np.intp],
    confidence: float,
    resamples: int,
    seed: int,
) -> list[dict[str, float]]:
    """Return bootstrap intervals of the mean error of every method, over what `DRAWN` names."""
    n_methods, n_models, n_sets = error.shape
    found: list[dict[str, float]] = [{} for _ in range(n_methods)]
    weight = known.astype(np.float64)
    has_any = known.any(axis=2)
    by_model: Floats = error.sum(axis=2) / weight.sum(axis=2).clip(1)
    levels = [(1 - confidence) / 2, (1 + confidence) / 2]

    def add(name: str, means: Floats, chosen: npt.NDArray[np.bool_]) -> None:
        for m in np.flatnonzero(chosen):
            low, high = np.nanquantile(means[:, m], levels)
            found[m] |= {f"mae_{name}_low": float(low), f"mae_{name}_high": float(high)}

    def add_sets(name: str, of: npt.NDArray[np.intp]) -> None:
        """Draw sets with the same number in `of` together."""
        n_units = int(of.max()) + 1
        if n_units < 2:
            return
        together = np.eye(n_units)[of]
        sums, weights = error @ together, weight @ together
        means = _resampled(
            sums.reshape(-1, n_units), weights.reshape(-1, n_units), resamples, seed
        ).reshape(resamples, n_methods, n_models)
        means = np.where(has_any, means, np.nan)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # methods without any known error
            several = (weights.sum(axis=1) > 0).sum(axis=1) > 1
            add(name, np.nanmean(means, axis=2), several)

    add_sets("sets", np.arange(n_sets))
    add_sets("subgroups", np.unique(units, return_inverse=True)[1])
    add("models", _resampled(by_model, np.asarray(has_any, np.float64), resamples, seed),
        has_any.sum(axis=1) > 2)  # fmt: skip
    flat = known.reshape(n_methods, -1)
    add("rows", _resampled(error.reshape(n_methods, -1), flat.astype(np.float64), resamples, seed),
        flat.sum(axis=1) > 1)  # fmt: skip
    return found


def _resampled(values: Floats, weight: Floats, resamples: int, seed: int) -> Floats:
    """Return sums of values over sums of weights of resampled columns, shape (resamples, rows)."""
    n, rng = values.shape[1], np.random.default_rng(seed)
    found = np.empty((resamples, len(values)))
    size = max(1, _BLOCK // n)
    for start in range(0, resamples, size):
        part = found[start : start + size]
        drawn = rng.integers(n, size=(len(part), n)) + n * np.arange(len(part))[:, None]
        counts = np.bincount(drawn.ravel(), minlength=len(part) * n).reshape(-1, n).astype(float)
        with np.errstate(invalid="ignore", divide="ignore"):
            part[:] = (counts @ values.T) / (counts @ weight.T)
    return found
