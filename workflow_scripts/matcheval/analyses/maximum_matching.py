"""Numbers of matched pairs, by the greedy protocol and in a largest possible matching."""

from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa

from matcheval.io.columns import fraction
from matcheval.io.tables import Column, TableSchema
from matcheval.io.text_tables import TextColumn, percent_cell
from matcheval.protocol.compared_models import MATCHED_MODEL, ComparedModels
from matcheval.protocol.matching import UNMATCHED
from matcheval.protocol.maximum_matching import maximum_size
from matcheval.protocol.pair_tables import PairTableAnalysis
from matcheval.protocol.plans import plan_matching
from matcheval.protocol.words import matching_column

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


def tabulate(known: ComparedModels) -> pd.DataFrame:
    """Count the pairs of the protocol and of a largest matching of the same candidates."""
    rows = []
    for one in known.matched():
        source, target, method = one.comparison.source, one.comparison.target, one.method
        plan = plan_matching(source, target, method.criterion, method.epsilon, method.score)
        largest = maximum_size(plan)
        matched = np.array([(row != UNMATCHED).sum() for row in one.rows.values()])
        rows.append(
            {
                **one.identity,
                "n_seeds": len(matched),
                "n_target": len(target),
                "n_matched": float(matched.mean()),
                "n_matched_least": int(matched.min()),
                "n_matched_most": int(matched.max()),
                "n_maximum": largest,
                "fraction_lost": float(largest - matched.mean()) / len(target),
            }
        )
    return pd.DataFrame(rows, columns=SCHEMA.names)


def text_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Format the numbers for a readable table."""
    return [
        TextColumn("Model", table["model"].tolist(), is_number=False),
        matching_column(table["matching"]),
        TextColumn("Targets", [f"{n:,}" for n in table["n_target"]]),
        TextColumn("Matched by the protocol", [f"{n:,.1f}" for n in table["n_matched"]]),
        TextColumn("Largest possible", [f"{n:,}" for n in table["n_maximum"]]),
        TextColumn("Lost (% of targets)", [percent_cell(lost) for lost in table["fraction_lost"]]),
    ]


class MaximumMatching(PairTableAnalysis):
    """Compare the number of matched pairs with that of a largest possible matching."""

    name: ClassVar[str] = "maximum_matching"
    caption: ClassVar[str] = (
        "Pairs that the protocol matches on **{{ snakemake.wildcards.pair }}**, mean over "
        "seeds, and pairs of a largest possible matching of the same candidates."
    )
