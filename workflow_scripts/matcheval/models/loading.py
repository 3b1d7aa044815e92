"""Loading of models of every kind of catalogue row."""

from collections.abc import Callable
from pathlib import Path

from matcheval.datasets.dataset import Dataset
from matcheval.datasets.label_spaces import compare_classes
from matcheval.errors import InputError
from matcheval.models.callable_loading import load_callable_model
from matcheval.models.checkpoint_loading import load_checkpoint_model, load_trained_model
from matcheval.models.loaded_model import LoadedModel
from matcheval.models.package_loading import load_package_model
from matcheval.models.pretrained_loading import load_timm_model, load_torchvision_model
from matcheval.models.rows import (
    CALLABLE,
    CHECKPOINT,
    FROM_CODE,
    PACKAGE,
    TIMM,
    TORCHVISION,
    TRAINED,
    ModelSource,
)


def load_model(source: ModelSource, weights: Path | None, dataset: Dataset) -> LoadedModel:
    """Load a model to predict a dataset."""
    if source.kind not in FROM_CODE and (weights is None or not weights.is_file()):
        raise InputError(
            "no such weights file", file=weights, remedy="Train or download the model first"
        )
    model = _LOADERS[source.kind](source, weights, dataset)
    _check_classes(source.name, model, dataset)
    return model


def load_network(source: ModelSource, dataset: Dataset) -> LoadedModel:
    """Load a model for its features: its classes need not be the dataset's."""
    return _LOADERS[source.kind](source, None, dataset)


def _check_classes(name: str, model: LoadedModel, dataset: Dataset) -> None:
    """Check that the model's classes are the dataset's, as far as both are known."""
    remedy = "Use a model and a dataset with the same classes in the same order"
    if model.n_classes not in (None, dataset.n_classes):
        raise InputError(
            f"number of classes is {dataset.n_classes}, but model {name} has {model.n_classes}",
            file=dataset.name,
            remedy=remedy,
        )
    ours, theirs = model.classes, dataset.classes
    # Names can be compared if both are wnids or neither is.
    if ours is None or _are_wnids(ours) != _are_wnids(theirs) or ours == theirs:
        return
    raise InputError(
        f"its classes differ from those of model {name}: {compare_classes(theirs, ours)}",
        file=dataset.name,
        remedy=remedy,
    )


def _are_wnids(classes: tuple[str, ...]) -> bool:
    return all(len(c) == 9 and c[0] == "n" and c[1:].isdecimal() for c in classes)


_LOADERS: dict[str, Callable[..., LoadedModel]] = {
    TRAINED: load_trained_model,
    CHECKPOINT: load_checkpoint_model,
    TIMM: load_timm_model,
    TORCHVISION: load_torchvision_model,
    CALLABLE: load_callable_model,
    PACKAGE: load_package_model,
}
