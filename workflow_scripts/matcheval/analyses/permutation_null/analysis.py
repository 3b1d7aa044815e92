"""The analysis of null distributions: settings."""

from typing import ClassVar

from pydantic import Field

from matcheval.analyses.permutation_null.figures import plot  # noqa: F401
from matcheval.analyses.permutation_null.tables import SCHEMA, tabulate, text_columns  # noqa: F401
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
    caption: ClassVar[str] = (
        "Gap, matched gap and share of unmatched targets on **{{ snakemake.wildcards.pair }}**, "
        "beside what they are if the same datapoints are divided into two sets at random and "
        "matched again. In the figure, models are ordered by increasing gap; bars are the "
        "middle 95 % of the null distribution; the mark is the run that is compared with it, "
        "the line the mean over seeds, with its 95 % interval. A small p of the matched gap "
        "says that the two sets differ in something, not that accuracies differ at equal "
        "confidence."
    )
    Settings: ClassVar[type[PermutationNullSettings]] = PermutationNullSettings
    settings: PermutationNullSettings
    has_figure: ClassVar[bool] = True

    @property
    def runs_per_seed(self) -> int:
        """Every permutation is matched once, not once per seed."""
        return 1 + self.settings.permutations // self.matching.settings.seeds
