"""Gaps matched by the protocol, and how what it says of them goes with errors of predictions."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from matcheval.accuracy_prediction import scoring
from matcheval.accuracy_prediction.predicting import PROCEDURE, PROCEDURE_COLUMNS, subgroups_of
from matcheval.accuracy_prediction.scores.outputs import Classes, Outputs
from matcheval.datasets.suites import Pair
from matcheval.io.tables import CONFIDENCE_LEVEL, Column, TableSchema, fraction, write_table
from matcheval.predictions.records import Predictions
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.decomposition import Scored
from matcheval.protocol.settings import MatchingMethod
from matcheval.statistics.intervals import LEVEL, schema_at_level

LOGGER = logging.getLogger(__name__)

GAPS = TableSchema(
    "gaps on a suite",
    (
        *scoring.SET,
        Column("n", pa.int64(), "datapoints", "of the set, of the classes that count"),
        Column("n_base", pa.int64(), "datapoints", "of the base, of the same classes"),
        fraction("accuracy_base", "accuracy on these datapoints of the base"),
        fraction("accuracy", "accuracy on the set"),
        fraction("gap", "accuracy on the base minus accuracy on the set"),
        fraction("gap_se", "its standard error over resamples of datapoints"),
        fraction("matched_gap", "mean over seeds; NaN if nothing is matched"),
        fraction("matched_gap_sd", "standard deviation over seeds: no standard error"),
        fraction("share_matched", "matched targets over all targets, mean over seeds"),
        fraction("confidence_part", "part of the gap that goes with confidence"),
        fraction("confidence_part_low", "{level} interval over resamples of datapoints"),
        fraction("confidence_part_high", "{level} interval over resamples of datapoints"),
        fraction("conditional_part", "the rest of the gap: at equal confidence"),
        fraction("conditional_part_low", "{level} interval over resamples of datapoints"),
        fraction("conditional_part_high", "{level} interval over resamples of datapoints"),
        fraction("confidence_share", "confidence part over gap; NaN if |gap| < 2 gap_se"),
    ),
)


def tabulate_gaps(
    model: str, reader: scoring.SuiteReader, method: MatchingMethod, seeds: Sequence[int],
    confidence: float = LEVEL,
) -> pd.DataFrame:  # fmt: skip
    """Match and decompose the gap between the base and every set of a suite."""
    # Here, because a dry run imports this module and need not wait for Numba and SciPy.
    from matcheval.protocol import compared_models
    from matcheval.protocol.decomposition import decompose

    rows = []
    for member in reader.given.suite.members:
        of_base, of_set = sides = reader.sides(member)
        pair = Pair(member.dataset, reader.given.base, member.dataset)
        comparison = Comparison(model, pair, *map(_predictions, sides))
        matched = compared_models.MatchedModel.of(comparison, method, list(seeds))
        scored = (Scored(one.confidences, one.correct) for one in sides)
        parts = decompose(*scored, level=confidence)
        rows.append(
            {
                **reader.given.columns(model, member),
                "n": len(of_set), "n_base": len(of_base),
                "accuracy_base": of_base.accuracy, "accuracy": of_set.accuracy,
                **vars(parts),
                "matched_gap": compared_models.mean_of_defined(matched.matched_gaps),
                "matched_gap_sd": compared_models.std_of_defined(matched.matched_gaps),
                "share_matched": float(np.mean(1 - matched.fractions_unmatched)),
            }
        )  # fmt: skip
    return pd.DataFrame(rows, columns=GAPS.names)


def single_labels(outputs: Outputs) -> Classes:
    """Return one label per datapoint: of several the one that is predicted, else the first."""
    labels = outputs.label_rows
    first = np.take_along_axis(labels, (labels >= 0).argmax(axis=1)[:, None], axis=1)[:, 0]
    return np.where(outputs.correct, outputs.predicted, first)


def _predictions(outputs: Outputs) -> Predictions:
    return Predictions(
        index=np.arange(len(outputs), dtype=np.int32),
        label=single_labels(outputs).astype(np.int16),
        prediction=outputs.predicted.astype(np.int16),
        probability=outputs.confidences.astype(np.float32),
    )


RESAMPLES = 1000
MIN_SETS = 5  # fewer say nothing about a correlation of ranks
Floats = npt.NDArray[np.float64]
_OVER_SUBGROUPS = "bootstrap over subgroups"

# What the protocol says of a gap, and what readers call it.
MEASURES: Mapping[str, str] = {
    "matched_gap": "matched gap",
    "confidence_part": "confidence part",
    "conditional_part": "conditional part",
    "confidence_share": "confidence share",
}

_SERIES = ("predicted_gap", "underestimated", "gap")


def _number(name: str, meaning: str) -> Column:
    return Column(name, pa.float64(), "1", meaning)


PREDICTED_GAPS = TableSchema(
    "predicted and matched gaps",
    (
        scoring.SUITE,
        *PROCEDURE_COLUMNS,
        *scoring.METHOD,
        Column("measure", pa.string(), "", "what the protocol says of a gap"),
        Column("n_models", pa.int64(), "models", f"with at least {MIN_SETS} sets"),
        Column("n_sets", pa.int64(), "sets", "at most, of a model"),
        fraction("mae", "mean absolute error of the predicted gaps, over sets, then over models"),
        _number(
            "with_gap",
            "Spearman correlation over sets of predicted gap and measure, mean over models",
        ),
        _number("with_error", "likewise of the underestimated part of the gap and the measure"),
        _number("with_error_low", _OVER_SUBGROUPS),
        _number("with_error_high", _OVER_SUBGROUPS),
        _number(
            "given_gap",
            "with_error, the ranks of the gap itself held constant (partial correlation)",
        ),
        _number("given_gap_low", _OVER_SUBGROUPS),
        _number("given_gap_high", _OVER_SUBGROUPS),
        CONFIDENCE_LEVEL,
    ),
)  # fmt: skip


def join(predicted: pd.DataFrame, gaps: pd.DataFrame) -> pd.DataFrame:
    """Put predicted gaps beside what the protocol says of the gaps."""
    own = ["gap", "gap_se", *MEASURES, "share_matched"]
    whole = predicted[predicted["view"] == scoring.WHOLE]
    joined = whole.merge(gaps[["model", "dataset", *own]], on=["model", "dataset"])
    joined["predicted_gap"] = joined["accuracy_base"] - joined["predicted"]
    joined["underestimated"] = joined["gap"] - joined["predicted_gap"]
    return joined


def tabulate_comparison(
    joined: pd.DataFrame, confidence: float = 0.95, resamples: int = RESAMPLES
) -> pd.DataFrame:
    """Correlate the errors of predicted gaps with the protocol's measures of the gaps."""
    keys = ["suite", *PROCEDURE, "method", "variant"]
    means = joined.groupby([*keys, "model", "dataset"], sort=False)[[*_SERIES, *MEASURES]].mean()
    sets = joined.drop_duplicates("dataset")
    units = pd.Series(subgroups_of(sets), sets["dataset"])
    levels = [(1 - confidence) / 2, (1 + confidence) / 2]
    rows = []
    for case, of_method in means.groupby(level=keys, sort=False):
        mae = of_method["underestimated"].abs().groupby(level="model").mean().mean()
        named = dict(zip(keys, case, strict=True)) | {"mae": mae, "confidence": confidence}
        found: dict[str, dict[str, float | int]] = {}
        for measures in _measured_alike(of_method):
            found |= _correlations(of_method, measures, units, levels, resamples)
        rows += [named | {"measure": measure} | found[measure] for measure in MEASURES]
    return pd.DataFrame(rows, columns=PREDICTED_GAPS.names)


def _measured_alike(rows: pd.DataFrame) -> list[list[str]]:
    """Group measures that are known for the same models and sets, since they share ranks."""
    alike: dict[bytes, list[str]] = {}
    for measure in MEASURES:
        known = np.asarray(rows[[*_SERIES, measure]].notna().all(axis=1))
        alike.setdefault(known.tobytes(), []).append(measure)
    return list(alike.values())


def _correlations(
    rows: pd.DataFrame, measures: Sequence[str], units: "pd.Series[int]", levels: Sequence[float],
    resamples: int,
) -> dict[str, dict[str, float | int]]:  # fmt: skip
    """Average each measure's correlation over models, with a bootstrap interval over subgroups."""
    known = rows[[*_SERIES, *measures]].dropna()
    sets = list(dict.fromkeys(known.index.get_level_values("dataset")))
    models = [
        frame.droplevel(list(range(frame.index.nlevels - 1))).reindex(sets).to_numpy()
        for _, frame in known.groupby(level="model", sort=False)
        if len(frame) >= MIN_SETS
    ]
    n_sets = max((int(np.isfinite(values[:, 0]).sum()) for values in models), default=0)
    found: dict[str, dict[str, float | int]] = {
        measure: {"n_models": len(models), "n_sets": n_sets} for measure in measures
    }
    if not models:
        return found
    once, drawn = np.ones((len(sets), 1)), _drawn(units[sets].to_numpy(), resamples)
    of_data = _mean_of_known([_spearman(values, once) for values in models])
    of_resamples = _mean_of_known([_spearman(values, drawn) for values in models])
    for m, measure in enumerate(measures):
        for n, name in enumerate(("with_gap", "with_error", "given_gap")):
            found[measure][name] = of_data[n, m, 0]
            resampled = of_resamples[n, m]
            if name != "with_gap" and np.isfinite(resampled).any():
                low, high = np.nanquantile(resampled, levels)
                found[measure] |= {f"{name}_low": low, f"{name}_high": high}
    return found


def _drawn(units: npt.NDArray[np.integer], resamples: int) -> Floats:
    """Draw subgroups with replacement: how often each set (rows) is in each resample (columns)."""
    _, first, unit = np.unique(units, return_index=True, return_inverse=True)
    place = np.argsort(np.argsort(first))[unit]  # in the order in which they appear
    chosen = np.random.default_rng(0).integers(len(first), size=(resamples, len(first)))
    times = np.stack([np.bincount(row, minlength=len(first)) for row in chosen], axis=1)
    return times[place].astype(np.float64)


def _mean_of_known(values: Sequence[Floats]) -> Floats:
    """Average over models, ignoring NaN; NaN where all models have NaN."""
    stacked = np.stack(values)
    known = np.isfinite(stacked)
    with np.errstate(invalid="ignore"):
        found: Floats = np.where(known, stacked, 0).sum(axis=0) / known.sum(axis=0)
    return found


def _spearman(values: Floats, times: Floats) -> Floats:
    """Compute one model's rank correlations, by resample; `times` is how often a row is drawn."""
    known = np.isfinite(values[:, 0])
    times = np.where(known[:, None], times, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        unit = np.stack([_unit_ranks(np.where(known, each, np.inf), times) for each in values.T])
        product = np.einsum("inr,jnr->ijr", unit[:3] * times, unit)
        of_error, of_gap, error_gap = product[1, 3:], product[2, 3:], product[1, 2]
        rest = np.sqrt((1 - of_gap**2) * (1 - error_gap**2))
        partial = np.where(rest > 1e-6, (of_error - of_gap * error_gap) / rest, np.nan)
    return np.stack([product[0, 3:], of_error, partial])


def _unit_ranks(values: Floats, times: Floats) -> Floats:
    """Return centred ranks scaled to length 1, by resample; unknown values are infinite."""
    # Of equal values the mean of their ranks: those before, and half of them.
    before = (values < values[:, None]) + 0.5 * (values == values[:, None])
    ranks = before @ times - times.sum(axis=0) / 2
    ranks[np.isinf(values)] = 0
    length = np.sqrt((times * ranks**2).sum(axis=0))
    return np.asarray(ranks / length, np.float64)


def write_gaps(
    *, model: str, given: scoring.SuiteOutputs, method: MatchingMethod, seeds: Sequence[int],
    confidence: float, gaps: Path,
) -> None:  # fmt: skip
    """Write one model's gap on each set of a suite, with its matched gap and its decomposition."""
    reader = scoring.SuiteReader(given, given.files.reader([model], model))
    table = tabulate_gaps(model, reader, method, seeds, confidence)
    write_table(schema_at_level(GAPS, confidence).from_frame(table), gaps)
    LOGGER.info("%s: %d sets", model, len(table))
