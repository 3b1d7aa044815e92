"""The results table of a pair and criterion: runs averaged over seeds, one row per model.

Accuracies are tabulated by origin, so that every gap is original minus replication, whichever set
is the source of the matching.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from matcheval.errors import InputError
from matcheval.protocol.schemas import MODEL_TABLE

if TYPE_CHECKING:
    import pandas as pd


def join_runs(tables: Sequence[pa.Table]) -> pa.Table:
    """Concatenate the runs of several models on one pair and criterion, in the order given."""
    first, *others = tables
    for table in others:
        for origin in ("original", "replication"):
            key = f"{origin} datapoints".encode()
            here, there = (t.schema.metadata or {} for t in (table, first))
            if here.get(key) != there.get(key):
                raise InputError(
                    f"model '{table['model'][0]}' has other indices or labels on "
                    f"'{table[origin][0]}' than model '{first['model'][0]}'",
                    remedy="Predict the same datapoints with all models of a study",
                )
    return pa.concat_tables(tables)


def tabulate_runs(runs: Sequence[pa.Table]) -> "pd.DataFrame":
    """Average the runs of one pair and criterion over seeds, one row per model."""
    import pandas as pd

    frame = join_runs(runs).to_pandas()
    for column in ("pair", "criterion", "epsilon", "source"):
        if len(set(frame[column])) != 1:
            values = sorted(frame[column].unique())
            raise InputError(f"the runs have different values: {values}", field=column)
    frame = _by_origin(frame)
    groups = frame.groupby("model", sort=False)
    columns = {"n_seeds": groups.size()}
    for column in MODEL_TABLE.names:
        base, _, statistic = column.rpartition("_")
        if statistic in ("mean", "std", "sem"):
            columns[column] = groups[base].agg(statistic)
        elif column in frame and column != "model":
            columns[column] = groups[column].first()
    table = pd.DataFrame(columns).rename_axis("model").reset_index()[MODEL_TABLE.names]
    return table.sort_values(
        ["accuracy_original", "model"], ascending=[False, True], ignore_index=True
    )


def _by_origin(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Add quantities by origin to runs, which hold them by role."""
    original_is_source = frame["source"] == frame["original"]
    frame = frame.copy()
    for quantity in ("n", "accuracy", "matched_accuracy", "confidence", "matched_confidence"):
        source, target = frame[f"{quantity}_source"], frame[f"{quantity}_target"]
        frame[f"{quantity}_original"] = source.where(original_is_source, target)
        frame[f"{quantity}_replication"] = target.where(original_is_source, source)
    for gap, accuracy in (("gap", "accuracy"), ("matched_gap", "matched_accuracy")):
        frame[gap] = frame[f"{accuracy}_original"] - frame[f"{accuracy}_replication"]
    return frame
