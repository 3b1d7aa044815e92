"""Accuracies over the revisions of a set that was reviewed and sampled again.

Recht et al. (2019), arXiv 1902.10811, appendix C.3.2: does cleaning a new test set change what
models make of it?
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

from matcheval.analyses.schemas import REVISIONS
from matcheval.errors import InputError
from matcheval.statistics.intervals import clopper_pearson


def tabulate_revisions(
    sets: Mapping[str, pa.Table], name: str, confidence: float = 0.95, without: Sequence[str] = ()
) -> pd.DataFrame:
    """Tabulate top-1 accuracies on sets in their order.

    Parameters
    ----------
    sets : mapping
        Tables of schema `replication.schemas.ACCURACIES`, by the name of the set, first to last.
    name : str
        Of what these are revisions of.
    confidence : float
        Level of the Clopper-Pearson intervals; NaN where the size of a set is not known.
    without : sequence of str
        Models that are left out.

    Returns
    -------
    pandas.DataFrame
        Columns of `schemas.REVISIONS`, by model in the order of the first set, then by revision.

    Raises
    ------
    InputError
        If a model is missing in a revision.
    """
    accuracies = {}
    for dataset, table in sets.items():
        frame = table.to_pandas()
        kept = (frame["top"] == 1) & ~frame["model"].isin(without)
        accuracies[dataset] = frame[kept].set_index("model")
    models = next(iter(accuracies.values())).index
    rows = []
    for model in models:
        before = float("nan")
        for number, (dataset, frame) in enumerate(accuracies.items(), start=1):
            if model not in frame.index:
                raise InputError(f"no model '{model}'", file=dataset, field="followups.revisions")
            row = _row(frame.loc[model], before, confidence)
            before = row["accuracy"]
            rows.append(
                {"model": model, "revisions": name, "number": number, "dataset": dataset, **row}
            )
    return pd.DataFrame(rows, columns=REVISIONS.names)


def _row(found: pd.Series, before: float, confidence: float) -> dict[str, Any]:
    n, correct = int(found["n"]), int(found["n_correct"])
    low = high = float("nan")
    if n:
        interval = clopper_pearson(correct, n, confidence)
        low, high = float(interval.low), float(interval.high)
    return {
        "n": n,
        "n_correct": correct,
        "accuracy": float(found["accuracy"]),
        "accuracy_low": low,
        "accuracy_high": high,
        "change": float(found["accuracy"]) - before,
        "confidence": confidence,
    }
