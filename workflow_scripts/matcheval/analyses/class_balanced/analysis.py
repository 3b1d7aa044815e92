"""The analysis of accuracy on class-balanced subsets: settings and options."""

from typing import Any, ClassVar

from pydantic import Field

from matcheval.settings import Seed
from matcheval.study.tables import DatasetTableAnalysis, DatasetTableSettings


class ClassBalancedSettings(DatasetTableSettings):
    """Datasets to tabulate, and the seed of their class-balanced subsets."""

    seed: Seed = Field(0, description="Seed of the random subsets")


class ClassBalanced(DatasetTableAnalysis):
    """Compare accuracy on a dataset with accuracy on a random class-balanced subset."""

    name: ClassVar[str] = "class_balanced"
    Settings: ClassVar[type[ClassBalancedSettings]] = ClassBalancedSettings

    @property
    def options(self) -> dict[str, Any]:
        """Seed of the subsets, and confidence level of the intervals."""
        return {"seed": self.settings.seed, "confidence": self.study.confidence}
