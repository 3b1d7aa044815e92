"""Gap, matched gap and unmatched share of every model beside their null distributions."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from matcheval.analyses.permutation_null.arrangements import Arrangements
from matcheval.analyses.permutation_null.null import (
    NullDistribution,
    Statistic,
    permuted_statistics,
    summarise,
)
from matcheval.io.tables import Column, TableSchema, fraction
from matcheval.io.text_tables import TextColumn, signed_cells
from matcheval.protocol.blocks import Blocks
from matcheval.protocol.compared_models import MATCHED_MODEL, ComparedModels, MatchedModel
from matcheval.protocol.matched_errors import error_of_model
from matcheval.protocol.words import matching_column

# No test at 5 % is possible where p cannot be smaller.
_LEVEL = 0.05

SCHEMA = TableSchema(
    "null distributions",
    (
        *MATCHED_MODEL,
        Column("statistic", pa.string(), "", "gap, matched_gap or fraction_unmatched"),
        fraction("mean_over_seeds", "of the real sets in dataset order, as in other tables"),
        fraction("mean_low", "lower bound of its 95 % interval; of matched gaps that have one"),
        fraction("mean_high", "upper bound of its 95 % interval"),
        fraction("observed", "of the real sets as they enter the comparison: one run"),
        fraction("null_mean", "mean of the null distribution"),
        fraction("null_std", "its standard deviation (ddof = 1)"),
        fraction("null_low", "its percentile 2.5"),
        fraction("null_high", "its percentile 97.5"),
        fraction("null_least", "its least value"),
        fraction("null_most", "its greatest value"),
        fraction("p", "share of divisions at least as extreme; NaN if there is no test"),
        fraction("smallest_p", "the smallest p that can occur"),
        Column("n_divisions", pa.int64(), "1", "divisions, the observed one included"),
        Column("n_undefined", pa.int64(), "1", "of them, those without a matched pair"),
        Column("exact", pa.bool_(), "", "whether all possible divisions are listed"),
        Column("reason", pa.string(), "", "why p is NaN; empty if it is not"),
    ),
)


def tabulate(known: ComparedModels, *, permutations: int = 999, seed: int = 0) -> pd.DataFrame:
    """Compare every model's gaps with those of random divisions of its datapoints."""
    first = known.comparisons[0]
    arrangements = Arrangements(len(first.source), len(first.target), known.blocks, permutations)
    displayed: dict[str, dict[tuple[Statistic, str], dict[str, Any]]] = {}
    for one in known.matched():
        displayed.setdefault(one.comparison.model, {}).update(_displayed(one, known.blocks))
    rows = []
    for comparison in known.comparisons:
        found = permuted_statistics(comparison, known.methods, arrangements, seed)
        for (statistic, matching), values in found.items():
            shown = displayed[comparison.model][statistic, matching]
            null = summarise(values, statistic, arrangements)
            rows.append({**shown, "statistic": statistic.value, **_columns(null)})
    return pd.DataFrame(rows, columns=SCHEMA.names)


def _displayed(
    one: MatchedModel, blocks: Blocks | None
) -> Iterator[tuple[tuple[Statistic, str], dict[str, Any]]]:
    """Identity and mean over seeds of each statistic of a model and matching."""
    nan = float("nan")
    no_matching = {"matching": "", "criterion": "", "epsilon": nan}
    original, replication = one.comparison.original, one.comparison.replication
    gap = float(original.correct.mean() - replication.correct.mean())
    matched = error_of_model(one, blocks)
    unmatched = float(one.fractions_unmatched.mean())

    def shown(mean: float, low: float = nan, high: float = nan) -> dict[str, Any]:
        return {**one.identity, "mean_over_seeds": mean, "mean_low": low, "mean_high": high}

    yield (Statistic.GAP, ""), shown(gap) | no_matching
    yield (Statistic.MATCHED_GAP, one.name), shown(matched.gap, matched.low, matched.high)
    yield (Statistic.UNMATCHED, one.name), shown(unmatched)


def _columns(null: NullDistribution) -> dict[str, Any]:
    p, reason = null.p, ""
    if np.isnan(null.observed):
        reason = "the observed value is undefined: no target was matched"
    elif null.is_exact and null.smallest_p > _LEVEL:
        p = float("nan")
        reason = f"no test: of {null.n} divisions of the groups, p cannot be below 5 %"
    return {
        "observed": null.observed, "null_mean": null.mean, "null_std": null.std,
        "null_low": null.low, "null_high": null.high,
        "null_least": null.least, "null_most": null.most,
        "p": p, "smallest_p": null.smallest_p, "n_divisions": null.n,
        "n_undefined": null.n_undefined, "exact": null.is_exact, "reason": reason,
    }  # fmt: skip


def text_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Format observed values and null distributions for a readable table."""
    low, high = (signed_cells(table[f"null_{end}"].tolist(), 2) for end in ("low", "high"))
    p = zip(table["p"], table["reason"], strict=True)
    return [
        TextColumn("Model", table["model"].tolist(), is_number=False),
        matching_column(table["matching"]),
        TextColumn("Of", table["statistic"].str.replace("_", " ").tolist(), is_number=False),
        TextColumn("Mean over seeds", signed_cells(table["mean_over_seeds"].tolist(), 2)),
        TextColumn("One run", signed_cells(table["observed"].tolist(), 2)),
        TextColumn("Null mean", signed_cells(table["null_mean"].tolist(), 2)),
        TextColumn("95 % of the null", [" to ".join(ends) for ends in zip(low, high, strict=True)]),
        TextColumn("p", [reason or f"{value:.3g}" for value, reason in p]),
    ]
