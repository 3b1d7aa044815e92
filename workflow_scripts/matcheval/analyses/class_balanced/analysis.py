"""Accuracy on class-balanced subsets, as an analysis."""

from typing import Any, ClassVar

from pydantic import Field

from matcheval.settings import Seed
from matcheval.study.dataset_tables import DatasetTableAnalysis, DatasetTableSettings


class ClassBalancedSettings(DatasetTableSettings):
    """Which datasets, and the seed of the subsets."""

    seed: Seed = Field(0, description="Of the random subsets")


class ClassBalanced(DatasetTableAnalysis):
    """Compares accuracy on a dataset with that on a random class-balanced subset."""

    name: ClassVar[str] = "class_balanced"
    Settings: ClassVar[type[ClassBalancedSettings]] = ClassBalancedSettings

    @property
    def options(self) -> dict[str, Any]:
        """Seed and level of the intervals."""
        return {"seed": self.settings.seed, "confidence": self.study.confidence}
