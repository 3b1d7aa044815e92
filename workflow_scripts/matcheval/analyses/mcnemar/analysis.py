"""The analysis of discordant matched pairs."""

from typing import ClassVar

from matcheval.protocol.pair_tables import PairTableAnalysis


class McNemar(PairTableAnalysis):
    """Test whether matched pairs are right on one side only equally often on both sides."""

    name: ClassVar[str] = "mcnemar"

    @classmethod
    def title(cls) -> str:
        """Its name for a reader."""
        return "McNemar's test"
