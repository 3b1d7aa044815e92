"""McNemar's test on the matched pairs of every model, matching and seed."""

from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa

from matcheval.io.tables import Column, TableSchema, fraction
from matcheval.protocol.analysis import PairTableAnalysis
from matcheval.protocol.compared_models import MATCHED_MODEL, ComparedModels, MatchedModel
from matcheval.protocol.matching import UNMATCHED
from matcheval.protocol.standard_errors import one_run_error
from matcheval.statistics.intervals import mcnemar


def _means_over_seeds(table: pd.DataFrame) -> pd.DataFrame:
    means = table.groupby(["model", "matching"], sort=False).mean(numeric_only=True)
    return means.reset_index()


SCHEMA = TableSchema(
    "McNemar's test on matched pairs",
    *MATCHED_MODEL,
    Column("seed", pa.int32(), "1", "seed of the run"),
    Column("n_pairs", pa.int32(), "pairs", "matched pairs"),
    Column("only_original", pa.int32(), "pairs", "right on the original only"),
    Column("only_replication", pa.int32(), "pairs", "right on the replication only"),
    fraction("matched_gap", "original minus replication, of the run; NaN without a pair"),
    fraction("matched_gap_se", "its standard error: of the pairs' differences; NaN below two"),
    fraction("p", "two-sided exact p-value of the run; NaN without a pair"),
    fraction("median_p", "median of p over the seeds of this model: no p-value"),
    fraction("bound_p", "twice the median, at most 1, which is a p-value"),
    summary=_means_over_seeds,
    shown={
        "Model": "{model}", "Matching": "{matching}", "Pairs": "{n_pairs:,.1f}",
        "Right on original only": "{only_original:,.1f}",
        "On replication only": "{only_replication:,.1f}", "Median p over seeds": "{median_p:.2g}",
        "p ≤": "{bound_p:.2g}",
    },
)  # fmt: skip


def tabulate(compared: ComparedModels) -> pd.DataFrame:
    """Tabulate McNemar's test: matched pairs that are correct on one set only, and p-values."""
    table = pd.DataFrame([row for model in compared.matched() for row in _rows_of_seeds(model)])
    table["p"] = mcnemar(table["only_original"], table["only_replication"])
    table.loc[table["n_pairs"] == 0, "p"] = np.nan
    medians = table.groupby(["model", "matching"])["p"].transform("median")
    return table.assign(median_p=medians, bound_p=np.minimum(1.0, 2 * medians))[SCHEMA.names]


def _rows_of_seeds(model: MatchedModel) -> list[dict[str, Any]]:
    """Count, for each seed, the matched pairs that are correct on one set only."""
    comparison, rows = model.comparison, []
    sides = comparison.source.correct, comparison.target.correct
    for (seed, row), gap in zip(model.rows.items(), model.matched_gaps, strict=True):
        is_matched = row != UNMATCHED
        source, target = sides[0][row[is_matched]], sides[1][is_matched]
        only = int((source & ~target).sum()), int((target & ~source).sum())
        original, replication = only if comparison.source_is_original else only[::-1]
        rows.append({
            **model.identity, "seed": seed, "n_pairs": int(is_matched.sum()),
            "only_original": original, "only_replication": replication, "matched_gap": gap,
            "matched_gap_se": one_run_error(*sides, row),
        })  # fmt: skip
    return rows


class McNemar(PairTableAnalysis):
    """Test whether as many matched pairs are correct only on the original as only on the new."""

    name: ClassVar[str] = "mcnemar"
    caption: ClassVar[str] = (
        "McNemar's test on the matched pairs of **{{ snakemake.wildcards.pair }}**: mean "
        "numbers of pairs, over seeds, of which the model is right on the original only, or on "
        "the replication only. The median of the seeds' p-values describes them; twice the "
        "median is a p-value."
    )

    @classmethod
    def title(cls) -> str:
        """The name that readers see: `McNemar's test`."""
        return "McNemar's test"
