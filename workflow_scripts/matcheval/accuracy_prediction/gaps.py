"""How the matched evaluation protocol sees the gaps whose size the methods predict."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from matcheval.accuracy_prediction.outputs.model_outputs import Classes, Outputs
from matcheval.accuracy_prediction.schemas import SET
from matcheval.accuracy_prediction.scoring import SuiteReader, set_columns
from matcheval.datasets.suites import Pair, Suite
from matcheval.io.tables import Column, TableSchema, fraction
from matcheval.predictions.records import Predictions
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.confidence_bins import Scored
from matcheval.protocol.decomposition import decompose
from matcheval.protocol.gaps import matched_gap
from matcheval.protocol.settings import MatchingMethod

GAPS = TableSchema(
    "gaps on a suite",
    (
        *SET,
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
        fraction("confidence_part_low", "95 % interval over resamples of datapoints"),
        fraction("confidence_part_high", "95 % interval over resamples of datapoints"),
        fraction("conditional_part", "the rest of the gap: at equal confidence"),
        fraction("conditional_part_low", "95 % interval over resamples of datapoints"),
        fraction("conditional_part_high", "95 % interval over resamples of datapoints"),
        fraction("confidence_share", "confidence part over gap; NaN if |gap| < 2 gap_se"),
    ),
)


def tabulate_gaps(
    model: str,
    suite: Suite,
    base: str,
    reader: SuiteReader,
    read: Callable[[str], Outputs],
    method: MatchingMethod,
    seeds: Iterable[int],
) -> pd.DataFrame:
    """Match and decompose the gap between the base and every set of a suite."""
    rows = []
    for member in suite.members:
        of_base, of_set = reader.sides(member, read(member.dataset))
        rows.append(
            {
                **set_columns(model, suite, base, member),
                **_gap(model, Pair(member.dataset, base, member.dataset), of_base, of_set, method,
                       list(seeds)),
            }
        )  # fmt: skip
    return pd.DataFrame(rows, columns=GAPS.names)


def _gap(
    model: str, pair: Pair, base: Outputs, target: Outputs, method: MatchingMethod, seeds: list[int]
) -> Mapping[str, Any]:
    comparison = Comparison(model, pair, _predictions(base), _predictions(target))
    matched = matched_gap(comparison, method, seeds)
    parts = decompose(_scored(base), _scored(target))
    return {
        "n": len(target), "n_base": len(base),
        "accuracy_base": base.accuracy, "accuracy": target.accuracy,
        "gap": parts.gap, "gap_se": parts.gap_se,
        "matched_gap": matched.mean, "matched_gap_sd": matched.std,
        "share_matched": matched.share_matched,
        "confidence_part": parts.confidence_part,
        "confidence_part_low": parts.confidence_low, "confidence_part_high": parts.confidence_high,
        "conditional_part": parts.conditional_part,
        "conditional_part_low": parts.conditional_low,
        "conditional_part_high": parts.conditional_high,
        "confidence_share": parts.share,
    }  # fmt: skip


def _scored(outputs: Outputs) -> Scored:
    return Scored(outputs.confidences, outputs.correct)


def single_labels(outputs: Outputs) -> Classes:
    """Return one label per datapoint: of several the one that is predicted, else the first."""
    labels = outputs.labels
    assert labels is not None
    if labels.ndim == 1:
        return labels
    first = np.take_along_axis(labels, (labels >= 0).argmax(axis=1)[:, None], axis=1)[:, 0]
    return np.where(outputs.correct, outputs.predicted, first)


def _predictions(outputs: Outputs) -> Predictions:
    return Predictions(
        index=np.arange(len(outputs), dtype=np.int32),
        label=single_labels(outputs).astype(np.int16),
        prediction=outputs.predicted.astype(np.int16),
        probability=outputs.confidences.astype(np.float32),
    )
