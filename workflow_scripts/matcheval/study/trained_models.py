"""Models that are trained, and what analyses run them on."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matcheval.study.catalogue import Model


@dataclass(frozen=True)
class TrainedModel:
    """A model that is trained.

    Attributes
    ----------
    model : Model
        Its name and recipe.
    train : tuple of str
        Names of the training sets, perhaps derived.
    validation : tuple of str
        Names of the validation sets, perhaps derived.
    waits_for : str
        File that has to be there before it is trained, such as a plan that was checked; empty for
        none. A newer one trains nothing again.
    """

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
    """Models that an analysis trains, and the sets that one job runs all of them on.

    Attributes
    ----------
    models : tuple of str
        Names of trained models.
    datasets : tuple of str
        Names of datasets with images.
    """

    models: tuple[str, ...]
    datasets: tuple[str, ...]
