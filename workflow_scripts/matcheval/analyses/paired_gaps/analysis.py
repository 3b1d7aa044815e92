"""The analysis of plain gaps between paired sets."""

from typing import ClassVar

from matcheval.errors import configuration_error
from matcheval.protocol.pair_tables import PairTableAnalysis


class PairedGaps(PairTableAnalysis):
    """Test the accuracies on two sets of the same images, image by image."""

    name: ClassVar[str] = "paired_gaps"

    @property
    def runs_per_seed(self) -> int:
        """Nothing is matched."""
        return 0

    def check(self) -> None:
        """Check pairs and models."""
        super().check()
        for pair in self.settings.pairs:
            if not self.study.pairs[pair].paired:
                raise configuration_error(
                    f"pair '{pair}' is not declared as paired",
                    field=self.field("pairs"),
                    remedy="If both sets show the same images, row by row, set paired: true",
                )
