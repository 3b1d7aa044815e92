"""The analysis of gaps within classes."""

from typing import ClassVar

from matcheval.protocol.pair_tables import PairTableAnalysis


class ClassGaps(PairTableAnalysis):
    """Divide the gap of every class, matched as in the whole run."""

    name: ClassVar[str] = "class_gaps"
    has_figure: ClassVar[bool] = True
