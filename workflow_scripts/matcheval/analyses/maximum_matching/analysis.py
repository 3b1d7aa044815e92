"""The analysis of how many targets the greedy order of the protocol leaves out."""

from typing import ClassVar

from matcheval.protocol.pair_tables import PairTableAnalysis


class MaximumMatching(PairTableAnalysis):
    """Compare the number of matched pairs with that of a largest possible matching."""

    name: ClassVar[str] = "maximum_matching"
