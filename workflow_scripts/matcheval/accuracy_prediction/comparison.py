"""Whether what the protocol says of a gap tells how well the gap is predicted."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from matcheval.accuracy_prediction.bootstrap import subgroups_of
from matcheval.accuracy_prediction.schemas import METHOD, SUITE, WAY
from matcheval.accuracy_prediction.views import WHOLE
from matcheval.io.tables import CONFIDENCE_LEVEL, Column, TableSchema, fraction

RESAMPLES = 1000
MIN_SETS = 5  # fewer say nothing about a correlation of ranks
Floats = npt.NDArray[np.float64]

# What the protocol says of a gap, and what readers call it.
MEASURES: Mapping[str, str] = {
    "matched_gap": "matched gap",
    "confidence_part": "confidence part",
    "conditional_part": "conditional part",
    "confidence_share": "confidence share",
}

_SERIES = ("predicted_gap", "underestimated", "gap")

PREDICTED_GAPS = TableSchema(
    "predicted and matched gaps",
    (
        SUITE,
        *WAY,
        *METHOD,
        Column("measure", pa.string(), "", "what the protocol says of a gap"),
        Column("n_models", pa.int64(), "models", f"with at least {MIN_SETS} sets"),
        Column("n_sets", pa.int64(), "sets", "at most, of a model"),
        fraction("mae", "mean absolute error of the predicted gaps, over sets, then over models"),
        Column(
            "with_gap", pa.float64(), "1",
            "Spearman correlation over sets of predicted gap and measure, mean over models",
        ),
        Column(
            "with_error", pa.float64(), "1",
            "likewise of the underestimated part of the gap and the measure",
        ),
        Column("with_error_low", pa.float64(), "1", "bootstrap over subgroups"),
        Column("with_error_high", pa.float64(), "1", "bootstrap over subgroups"),
        Column(
            "given_gap", pa.float64(), "1",
            "with_error, the ranks of the gap itself held constant (partial correlation)",
        ),
        Column("given_gap_low", pa.float64(), "1", "bootstrap over subgroups"),
        Column("given_gap_high", pa.float64(), "1", "bootstrap over subgroups"),
        CONFIDENCE_LEVEL,
    ),
)  # fmt: skip


def join(predicted: pd.DataFrame, gaps: pd.DataFrame) -> pd.DataFrame:
    """Put predicted gaps beside what the protocol says of the gaps."""
    own = ["gap", "gap_se", *MEASURES, "share_matched"]
    whole = predicted[predicted["view"] == WHOLE]
    joined = whole.merge(gaps[["model", "dataset", *own]], on=["model", "dataset"])
    joined["predicted_gap"] = joined["accuracy_base"] - joined["predicted"]
    joined["underestimated"] = joined["gap"] - joined["predicted_gap"]
    return joined


def tabulate_comparison(
    joined: pd.DataFrame, confidence: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> pd.DataFrame:
    """Tabulate how the errors of predicted gaps go with what the protocol says of the gaps."""
    keys = ["suite", "protocol", "regressor", "calibrated_on", "method", "variant"]
    means = joined.groupby([*keys, "model", "dataset"], sort=False)[
        ["predicted_gap", "underestimated", "gap", *MEASURES]
    ].mean()
    places = joined.drop_duplicates("dataset").set_index("dataset")[["group", "subgroup"]]
    rows = []
    for case, of_method in means.groupby(level=keys, sort=False):
        mae = of_method["underestimated"].abs().groupby(level="model").mean().mean()
        named = dict(zip(keys, case, strict=True)) | {"mae": mae, "confidence": confidence}
        found: dict[str, dict[str, float | int]] = {}
        for measures in _measured_alike(of_method):
            found |= _correlations(of_method, measures, places, confidence, resamples, seed)
        rows += [named | {"measure": measure} | found[measure] for measure in MEASURES]
    return pd.DataFrame(rows, columns=PREDICTED_GAPS.names)


def _measured_alike(rows: pd.DataFrame) -> list[list[str]]:
    """Group the measures by the models and sets that they are known of: ranks are shared."""
    alike: dict[bytes, list[str]] = {}
    for measure in MEASURES:
        known = np.asarray(rows[[*_SERIES, measure]].notna().all(axis=1))
        alike.setdefault(known.tobytes(), []).append(measure)
    return list(alike.values())


def _correlations(
    rows: pd.DataFrame,
    measures: Sequence[str],
    places: pd.DataFrame,
    confidence: float,
    resamples: int,
    seed: int,
) -> dict[str, dict[str, float | int]]:
    """Return mean correlations over models by measure, with intervals over subgroups of sets."""
    known = rows[[*_SERIES, *measures]].dropna()
    sets = list(dict.fromkeys(known.index.get_level_values("dataset")))
    models = [
        frame.droplevel(list(range(frame.index.nlevels - 1))).reindex(sets).to_numpy()
        for _, frame in known.groupby(level="model", sort=False)
        if len(frame) >= MIN_SETS
    ]
    sizes = [int(np.isfinite(values[:, 0]).sum()) for values in models]
    counts: dict[str, float | int] = {"n_models": len(models), "n_sets": max(sizes, default=0)}
    found = {measure: dict(counts) for measure in measures}
    if not models:
        return found
    models = [np.vstack([values, np.full(values.shape[1], np.nan)]) for values in models]
    drawn = _drawn(subgroups_of(places.loc[sets].reset_index()), resamples, seed)
    whole = np.arange(len(sets))[None]
    of_data = _mean_of_known([_spearman(values, whole) for values in models])
    of_resamples = _mean_of_known([_spearman(values, drawn) for values in models])
    levels = [(1 - confidence) / 2, (1 + confidence) / 2]
    for m, measure in enumerate(measures):
        for n, name in enumerate(("with_gap", "with_error", "given_gap")):
            found[measure][name] = of_data[n, 0, m]
            resampled = of_resamples[n, :, m]
            if name != "with_gap" and np.isfinite(resampled).any():
                low, high = np.nanquantile(resampled, levels)
                found[measure] |= {f"{name}_low": low, f"{name}_high": high}
    return found


def _drawn(units: npt.NDArray[np.intp], resamples: int, seed: int) -> npt.NDArray[np.int64]:
    """Draw subgroups with replacement, each with all of its sets."""
    members = [np.flatnonzero(units == unit) for unit in np.unique(units)]
    chosen = np.random.default_rng(seed).integers(len(members), size=(resamples, len(members)))
    rows = [np.concatenate([members[unit] for unit in row]) for row in chosen]
    drawn = np.full((resamples, max(map(len, rows))), len(units), np.int64)
    for number, row in enumerate(rows):
        drawn[number, : len(row)] = row
    return drawn


def _mean_of_known(values: Sequence[Floats]) -> Floats:
    """Return the mean over models of what is not NaN; NaN where nothing is known."""
    stacked = np.stack(values)
    known = np.isfinite(stacked)
    with np.errstate(invalid="ignore"):
        found: Floats = np.where(known, stacked, 0).sum(axis=0) / known.sum(axis=0)
    return found


def _spearman(values: Floats, drawn: npt.NDArray[np.int64]) -> Floats:
    """Return correlations of ranks of the resampled rows of one model."""
    from scipy.stats import rankdata

    chosen = values[drawn]
    known = np.isfinite(chosen[:, :, :1])
    # The rows left out are ranked last, which changes no other rank.
    ranks = np.where(known, rankdata(np.where(known, chosen, np.inf), axis=1), 0)
    n_known = known.sum(axis=1, keepdims=True).clip(1)
    ranks -= np.where(known, ranks.sum(axis=1, keepdims=True) / n_known, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = np.sqrt((ranks**2).sum(axis=1, keepdims=True))
        unit = ranks / scale
        product = np.einsum("rni,rnj->rij", unit, unit)
        of_error, of_gap, error_gap = product[:, 1, 3:], product[:, 2, 3:], product[:, 1, 2, None]
        rest = np.sqrt((1 - of_gap**2) * (1 - error_gap**2))
        partial = np.where(rest > 1e-6, (of_error - of_gap * error_gap) / rest, np.nan)
    return np.stack([product[:, 0, 3:], of_error, partial])
