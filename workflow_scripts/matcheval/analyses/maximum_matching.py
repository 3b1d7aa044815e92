"""Numbers of matched pairs, by the greedy protocol and in a largest possible matching."""

from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa

from matcheval.io.tables import Column, TableSchema, fraction
from matcheval.io.text_tables import TextColumn
from matcheval.protocol.compared_models import MATCHED_MODEL, ComparedModels
from matcheval.protocol.matching import maximum_size, plan_matching
from matcheval.protocol.pair_tables import PairTableAnalysis, lay_out_matched

SCHEMA = TableSchema(
    "largest matchings",
    (
        *MATCHED_MODEL,
        Column("n_seeds", pa.int32(), "1", "runs of the protocol"),
        Column("n_target", pa.int32(), "datapoints", "size of the target set"),
        Column("n_matched", pa.float64(), "pairs", "matched by the protocol, mean over seeds"),
        Column("n_matched_least", pa.int32(), "pairs", "least of the seeds"),
        Column("n_matched_most", pa.int32(), "pairs", "most of the seeds"),
        Column("n_maximum", pa.int32(), "pairs", "in a largest possible matching"),
        fraction("fraction_lost", "n_maximum minus n_matched, over n_target"),
    ),
)


def tabulate(compared: ComparedModels) -> pd.DataFrame:
    """Count the pairs of the protocol and of a largest matching of the same candidates."""
    rows = []
    for one in compared.matched():
        source, target = one.comparison.source, one.comparison.target
        largest = maximum_size(plan_matching(source, target, one.method))
        matched = np.array(one.measured["n_matched"])
        rows.append({
            **one.identity, "n_seeds": len(matched), "n_target": len(target),
            "n_matched": float(matched.mean()), "n_matched_least": int(matched.min()),
            "n_matched_most": int(matched.max()), "n_maximum": largest,
            "fraction_lost": float(largest - matched.mean()) / len(target),
        })  # fmt: skip
    return pd.DataFrame(rows, columns=SCHEMA.names)


def text_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Format the numbers for a readable table."""
    return lay_out_matched(table, {
        "Model": "{model}", "Matching": "{matching}", "Targets": "{n_target:,}",
        "Matched by the protocol": "{n_matched:,.1f}", "Largest possible": "{n_maximum:,}",
        "Lost (% of targets)": "{fraction_lost:.1%}",
    })  # fmt: skip


class MaximumMatching(PairTableAnalysis):
    """Compare the number of matched pairs with that of a largest possible matching."""

    name: ClassVar[str] = "maximum_matching"
    caption: ClassVar[str] = (
        "Pairs that the protocol matches on **{{ snakemake.wildcards.pair }}**, mean over "
        "seeds, and pairs of a largest possible matching of the same candidates."
    )
