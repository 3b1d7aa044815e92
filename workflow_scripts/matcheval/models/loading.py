"""Models of every kind of catalogue row, ready to run."""

import hashlib
import importlib
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor, nn

from matcheval.datasets.dataset import image_shape
from matcheval.datasets.folders import Dataset
from matcheval.datasets.label_spaces import compare_classes, imagenet_classes
from matcheval.errors import InputError
from matcheval.models.building import build_model
from matcheval.models.checkpoints import load_checkpoint
from matcheval.models.published import Published, describe_timm, describe_torchvision
from matcheval.models.rows import CALLABLE, CHECKPOINT, TIMM, TORCHVISION, TRAINED, ModelSource
from matcheval.models.timm_library import load_timm
from matcheval.models.transforms import NORMALIZATIONS, Transform

_DOWNLOADED = "Delete it: the workflow downloads it again"


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model, its transform, and what is known of its label space.

    Attributes
    ----------
    module : torch.nn.Module
        Maps normalised float32 NCHW images to logits.
    transform : Transform
        What its images go through.
    n_classes : int or None
        Number of classes; None if only its logits will tell.
    classes : tuple of str or None
        Their names by label, None where the model does not say; wnids for ImageNet's 1,000.
    weights_sha256 : str
        `state_digest` of its weights.
    description : str
        What it is, for a file's provenance.
    """

    module: nn.Module
    transform: Transform
    n_classes: int | None
    classes: tuple[str, ...] | None
    weights_sha256: str
    description: str


def load_model(source: ModelSource, weights: Path | None, dataset: Dataset) -> LoadedModel:
    """Load a model to be run on a dataset.

    Parameters
    ----------
    source : ModelSource
        What it is.
    weights : Path or None
        Its file of weights; None for a callable.
    dataset : Dataset
        Whose classes it has to tell; a plain state dict is given its number of classes, and the
        size of its images.

    Raises
    ------
    InputError
        If weights are missing, damaged or of another model or number of classes, a name is
        unknown, or the model's classes are not the dataset's.
    """
    if source.kind != CALLABLE and (weights is None or not weights.is_file()):
        raise InputError(
            "no such file of weights", file=weights, remedy="Train or download the model first"
        )
    model = _LOADERS[source.kind](source, weights, dataset)
    _check_classes(source.name, model, dataset)
    return model


def state_digest(state: Mapping[str, Tensor]) -> str:
    """SHA-256 of weights: name, type, shape and bytes of each tensor, sorted by name.

    Returns
    -------
    str
        64 hexadecimal digits; for our checkpoints those of `checkpoints.weights_digest`.
    """
    digest = hashlib.sha256()
    for name in sorted(state):
        tensor = state[name].detach().cpu().contiguous()
        kind = str(tensor.dtype).removeprefix("torch.")
        digest.update(f"{name} {kind} {tuple(tensor.shape)} ".encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _load_trained(source: ModelSource, weights: Path, dataset: Dataset) -> LoadedModel:
    checkpoint = load_checkpoint(weights)
    info = checkpoint.info
    if source.kind == TRAINED and info.model != source.name:
        raise InputError(
            f"is of '{info.model}', not of '{source.name}'",
            file=weights,
            remedy="Give the name it was made with, or make it again",
        )
    shape = image_shape(dataset)
    if info.input_shape != shape or info.max_value != dataset.max_value:
        raise InputError(
            f"image shape is {shape}, of values to {dataset.max_value}, but model "
            f"{source.name} takes {info.input_shape}, to {info.max_value}",
            file=dataset.name,
            remedy="Pair the model with a dataset of the kind it was trained on",
        )
    module = checkpoint.build()
    return LoadedModel(
        module, Transform.plain(info.mean, info.std), info.n_classes, info.classes,
        state_digest(module.state_dict()), f"{info.architecture}, trained by this workflow",
    )  # fmt: skip


def _load_checkpoint(source: ModelSource, weights: Path, dataset: Dataset) -> LoadedModel:
    """Load one of our checkpoints, or a plain state dict of one of our architectures."""
    try:
        with safe_open(str(weights), framework="pt") as archive:
            ours = "matcheval" in (archive.metadata() or {})
        if ours:
            return _load_trained(source, weights, dataset)
        state = load_file(weights)
    except (SafetensorError, OSError) as error:
        raise InputError(
            f"not a readable safetensors file, truncated perhaps ({error})", file=weights
        ) from error
    if not source.options:
        raise InputError(
            "a plain state dict, and the catalogue does not say of what",
            file=weights,
            remedy="Fill the columns architecture, width, depth and normalization of "
            f"model '{source.name}'",
        )
    options = dict(source.options)
    mean, std = NORMALIZATIONS[options.pop("normalization")]
    module = build_model(**options, input_shape=image_shape(dataset), n_classes=dataset.n_classes)
    _fill(module, state, weights, f"a {options['architecture']} for {dataset.name}")
    return LoadedModel(
        module, Transform.plain(mean, std), dataset.n_classes, None,
        state_digest(module.state_dict()), f"{options['architecture']} from {weights.name}",
    )  # fmt: skip


def _load_timm(source: ModelSource, weights: Path, dataset: Dataset) -> LoadedModel:
    published = describe_timm(source.source)
    overlay: dict[str, Any] = {"file": str(weights)}
    if weights.suffix == ".safetensors":
        # The hub's files are state dicts, also of models first published in a form of their own.
        overlay["custom_load"] = False
    try:
        module = load_timm().create_model(
            source.source, pretrained=True, pretrained_cfg_overlay=overlay
        )
    except Exception as error:  # whatever a damaged or foreign file makes timm and torch raise
        raise InputError(
            f"not the weights of {source.source} ({_first_line(error)})",
            file=weights,
            remedy=_DOWNLOADED,
        ) from error
    return _published_model(module, published, f"timm {source.source}")


def _load_torchvision(source: ModelSource, weights: Path, dataset: Dataset) -> LoadedModel:
    from torchvision import models

    published = describe_torchvision(source.source)
    member = models.get_weight(source.source)
    names = [n for n in models.list_models(module=models)
             if models.get_model_weights(n) is type(member)]  # fmt: skip
    try:
        state = torch.load(weights, map_location="cpu", weights_only=True)
        # Builders set a model's options by the weights they are given (Inception's input, say),
        # and take these from the weights' object.
        member.get_state_dict = lambda *_, **__: state
        module = models.get_model(names[0], weights=member)
    except Exception as error:  # as above
        raise InputError(
            f"not the weights of {source.source} ({_first_line(error)})",
            file=weights,
            remedy=_DOWNLOADED,
        ) from error
    finally:
        vars(member).pop("get_state_dict", None)
    return _published_model(module, published, f"torchvision {published.source}")


def _published_model(module: nn.Module, published: Published, description: str) -> LoadedModel:
    """A model whose weights are loaded; those of 1,000 classes tell ImageNet's."""
    classes = imagenet_classes() if published.n_classes == 1000 else None
    return LoadedModel(
        module, Transform.from_json(published.transform), published.n_classes, classes,
        state_digest(module.state_dict()), description,
    )  # fmt: skip


def _load_callable(source: ModelSource, weights: Path | None, dataset: Dataset) -> LoadedModel:
    """Call the user's function, for a module or a module and its transform."""
    module_name, _, name = source.source.partition(":")
    here = os.getcwd()  # noqa: PTH109
    if here not in sys.path:  # the installed command does not look for modules there by itself
        sys.path.insert(0, here)
    try:
        make = getattr(importlib.import_module(module_name), name)
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"cannot import '{name}' from '{module_name}' ({error})",
            file=source.name,
            field="source",
        ) from error
    made = make()
    module, transform = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
    if not isinstance(module, nn.Module):
        raise InputError(
            f"'{source.source}' returned a {type(module).__name__}",
            file=source.name,
            remedy="Return a torch.nn.Module, or a module and its transform",
        )
    return LoadedModel(
        module, as_transform(transform), None, None,
        state_digest(module.state_dict()), f"{source.source}, code {source.code_digest}",
    )  # fmt: skip


def as_transform(given: Any) -> Transform:
    """Take what a user gives as a transform.

    Parameters
    ----------
    given : object
        A `Transform`; a data configuration as `timm.data.resolve_data_config` returns; a
        torchvision weight's `transforms()`; None for pixels as stored, divided by the largest.

    Raises
    ------
    InputError
        If it is anything else.
    """
    if given is None:
        return Transform.plain()
    if isinstance(given, Transform):
        return given
    return (
        Transform.from_data_config(given)
        if isinstance(given, Mapping)
        else (Transform.from_preset(given))
    )


def _fill(module: nn.Module, state: Mapping[str, Tensor], file: Path, what: str) -> None:
    """Load a state dict, or say how it differs from what the module needs."""
    needed = module.state_dict()
    # Counters of batch norm play no part in evaluation, and older files have none.
    optional = {key for key in needed if key.endswith("num_batches_tracked")}
    differences = [
        *(f"{key} is missing" for key in needed.keys() - state.keys() - optional),
        *(f"{key} is of no use" for key in state.keys() - needed.keys()),
        *(
            f"{key} has shape {tuple(state[key].shape)}, not {tuple(needed[key].shape)}"
            for key in needed.keys() & state.keys()
            if state[key].shape != needed[key].shape
        ),
    ]
    if differences:
        more = f" (and {len(differences) - 1} more)" if len(differences) > 1 else ""
        raise InputError(
            f"not the weights of {what}: {min(differences)}{more}",
            file=file,
            remedy="Check architecture, width and depth in the catalogue, and that the number "
            "of classes is the dataset's",
        )
    module.load_state_dict(dict(state), strict=False)
    module.eval()


def _check_classes(name: str, model: LoadedModel, dataset: Dataset) -> None:
    """Refuse a model that tells other classes than the dataset's."""
    remedy = "Use a model and a dataset of one label space"
    if model.n_classes not in (None, dataset.n_classes):
        raise InputError(
            f"number of classes is {dataset.n_classes}, but model {name} takes {model.n_classes}",
            file=dataset.name,
            remedy=remedy,
        )
    ours, theirs = model.classes, dataset.classes
    # Names of classes are comparable if both sides give wnids, or neither does.
    if ours is None or _are_wnids(ours) != _are_wnids(theirs) or ours == theirs:
        return
    raise InputError(
        f"against model {name}: {compare_classes(theirs, ours)}", file=dataset.name, remedy=remedy
    )


def _are_wnids(classes: tuple[str, ...]) -> bool:
    return all(len(c) == 9 and c[0] == "n" and c[1:].isdecimal() for c in classes)


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:2]) if lines else type(error).__name__


_LOADERS: dict[str, Callable[..., LoadedModel]] = {
    TRAINED: _load_trained,
    CHECKPOINT: _load_checkpoint,
    TIMM: _load_timm,
    TORCHVISION: _load_torchvision,
    CALLABLE: _load_callable,
}
