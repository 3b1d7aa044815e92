"""The analysis of the tolerance ε: settings."""

from typing import Annotated, ClassVar

from pydantic import Field

from matcheval.protocol.pair_tables import PairTableAnalysis, PairTableSettings
from matcheval.protocol.settings import Epsilon
from matcheval.settings import Unique, UniqueItems


class EpsilonSweepSettings(PairTableSettings):
    """Pairs that are matched with several values of ε."""

    epsilons: Annotated[tuple[Epsilon, ...], Unique, UniqueItems, Field(min_length=1)] = Field(
        (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.3, 1.0),
        description="Largest differences of matched scores, in place of each matching's own",
    )


class EpsilonSweep(PairTableAnalysis):
    """Match every model with several values of ε."""

    name: ClassVar[str] = "epsilon_sweep"
    Settings: ClassVar[type[EpsilonSweepSettings]] = EpsilonSweepSettings
    settings: EpsilonSweepSettings
    has_figure: ClassVar[bool] = True

    @property
    def runs_per_seed(self) -> int:
        """A run for each ε."""
        return len(self.settings.epsilons)
