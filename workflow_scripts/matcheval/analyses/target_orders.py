"""Matched gaps of every model over random orders of the targets, and in dataset order."""

from typing import Any, ClassVar

import pandas as pd
import pyarrow as pa
from pydantic import Field

from matcheval.io.tables import Column, TableSchema, fraction
from matcheval.io.text_tables import TextColumn
from matcheval.protocol.compared_models import (
    MATCHED_MODEL,
    ComparedModels,
    MatchedModel,
    mean_of_defined,
    std_of_defined,
)
from matcheval.protocol.pair_tables import PairTableAnalysis, PairTableSettings, lay_out_matched
from matcheval.protocol.settings import Order
from matcheval.settings import Count

SCHEMA = TableSchema(
    "matched gaps by order of the targets",
    (
        *MATCHED_MODEL,
        Column("n_seeds", pa.int32(), "1", "runs in dataset order"),
        Column("n_orders", pa.int32(), "1", "runs in random orders"),
        fraction("matched_gap_seeds", "matched gap in dataset order, mean over seeds"),
        fraction("matched_gap_seeds_std", "standard deviation over seeds: of the picks (ddof = 1)"),
        fraction("matched_gap_orders", "matched gap, mean over random orders"),
        fraction("matched_gap_orders_std", "standard deviation over these: of orders and picks"),
        fraction("difference", "mean over orders minus mean over seeds"),
        fraction("fraction_unmatched_seeds", "unmatched targets in dataset order, mean"),
        fraction("fraction_unmatched_orders", "unmatched targets, mean over random orders"),
    ),
)


def tabulate(compared: ComparedModels, *, orders: int = 20) -> pd.DataFrame:
    """Match every model in dataset order, once per seed, and once in each of several random orders.

    Parameters
    ----------
    known : ComparedModels
    orders : int
        Number of random orders, each one run with picks of its own.

    Returns
    -------
    pandas.DataFrame
        Columns of `SCHEMA`, a row per model and matching.
    """
    rows = []
    for comparison in compared.comparisons:
        for name, method in compared.methods.items():
            found = []
            for order, seeds in ((Order.DATASET, compared.seeds), (Order.RANDOM, range(orders))):
                changed = method.model_copy(update={"order": order})
                found.append(MatchedModel.of(comparison, changed, seeds, name))
            rows.append(_row(*found))
    return pd.DataFrame(rows, columns=SCHEMA.names)


def _row(in_order: MatchedModel, at_random: MatchedModel) -> dict[str, Any]:
    seeds, orders = in_order.matched_gaps, at_random.matched_gaps
    return {
        **in_order.identity,
        "n_seeds": len(seeds),
        "n_orders": len(orders),
        "matched_gap_seeds": mean_of_defined(seeds),
        "matched_gap_seeds_std": std_of_defined(seeds),
        "matched_gap_orders": mean_of_defined(orders),
        "matched_gap_orders_std": std_of_defined(orders),
        "difference": mean_of_defined(orders) - mean_of_defined(seeds),
        "fraction_unmatched_seeds": float(in_order.fractions_unmatched.mean()),
        "fraction_unmatched_orders": float(at_random.fractions_unmatched.mean()),
    }


def text_columns(table: pd.DataFrame) -> list[TextColumn]:
    """Format matched gaps for a readable table."""
    return lay_out_matched(table, {
        "Model": "{model}", "Matching": "{matching}", "Dataset order": "{matched_gap_seeds:+.2%}",
        "SD over seeds": "{matched_gap_seeds_std:+.2%}",
        "Random orders": "{matched_gap_orders:+.2%}",
        "SD over orders": "{matched_gap_orders_std:+.2%}",
        "Difference of means": "{difference:+.2%}",
    })  # fmt: skip


class TargetOrdersSettings(PairTableSettings):
    """Pairs whose targets are matched in random orders."""

    orders: Count = Field(20, description="Random orders, each with picks of its own")


class TargetOrders(PairTableAnalysis):
    """Match the targets in random orders, and in dataset order."""

    name: ClassVar[str] = "target_orders"
    caption: ClassVar[str] = (
        "Matched gap on **{{ snakemake.wildcards.pair }}** with the targets in dataset order, "
        "over seeds, and in random orders."
    )
    Settings: ClassVar[type[TargetOrdersSettings]] = TargetOrdersSettings
    settings: TargetOrdersSettings

    @property
    def runs_per_seed(self) -> int:
        """One for the seed, and its share of the orders."""
        return 2 + self.settings.orders // self.matching.settings.seeds
