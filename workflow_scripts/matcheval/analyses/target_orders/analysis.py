"""The analysis of the order of the targets: settings."""

from typing import ClassVar

from pydantic import Field

from matcheval.protocol.pair_tables import PairTableAnalysis, PairTableSettings
from matcheval.settings import Count


class TargetOrdersSettings(PairTableSettings):
    """Pairs whose targets are matched in random orders."""

    orders: Count = Field(20, description="Random orders, each with picks of its own")


class TargetOrders(PairTableAnalysis):
    """Match the targets in random orders, and in dataset order."""

    name: ClassVar[str] = "target_orders"
    Settings: ClassVar[type[TargetOrdersSettings]] = TargetOrdersSettings
    settings: TargetOrdersSettings

    @property
    def runs_per_seed(self) -> int:
        """One for the seed, and its share of the orders."""
        return 2 + self.settings.orders // self.matching.settings.seeds
