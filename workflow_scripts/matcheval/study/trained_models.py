"""Models that are trained, and what analyses run them on."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matcheval.study.catalogue import Model


@dataclass(frozen=True)
class TrainedModel:
    """A model that is trained."""

    model: "Model"
    train: tuple[str, ...]
    validation: tuple[str, ...]
    waits_for: str = ""

    @property
    def train_text(self) -> str:
        """Names of the training sets, joined by `+`, which no name contains."""
        return "+".join(self.train)

    @property
    def validation_text(self) -> str:
        """Names of the validation sets, joined likewise."""
        return "+".join(self.validation)


@dataclass(frozen=True)
class TestedModels:
    """Models that an analysis trains, and the sets that one job runs all of them on."""

    models: tuple[str, ...]
    datasets: tuple[str, ...]
