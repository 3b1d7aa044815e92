"""The analysis of null distributions: settings."""

from typing import ClassVar

from pydantic import Field

from matcheval.protocol.pair_tables import PairTableAnalysis, PairTableSettings
from matcheval.settings import Count, Seed


class PermutationNullSettings(PairTableSettings):
    """Pairs whose gaps are compared with those of random divisions of the same datapoints."""

    permutations: Count = Field(
        999, description="Random divisions besides the observed one; all where there are no more"
    )
    seed: Seed = Field(0, description="Seed of divisions and picks")


class PermutationNull(PairTableAnalysis):
    """Compare gaps with those that arise if both sets are draws from one population."""

    name: ClassVar[str] = "permutation_null"
    Settings: ClassVar[type[PermutationNullSettings]] = PermutationNullSettings
    settings: PermutationNullSettings
    has_figure: ClassVar[bool] = True

    @property
    def runs_per_seed(self) -> int:
        """Every permutation is matched once, not once per seed."""
        return 1 + self.settings.permutations // self.matching.settings.seeds
