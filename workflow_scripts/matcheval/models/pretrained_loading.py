"""Loading of the pretrained models of timm and torchvision from downloaded weights."""

from pathlib import Path
from typing import Any

import torch
from torch import nn

from matcheval.datasets.dataset import Dataset
from matcheval.datasets.label_spaces import imagenet_classes
from matcheval.errors import InputError
from matcheval.models.loaded_model import LoadedModel, state_digest
from matcheval.models.published import Published, describe_timm, describe_torchvision
from matcheval.models.rows import ModelSource
from matcheval.models.timm_library import load_timm
from matcheval.models.transforms import Transform

_REMEDY = "Delete it: the workflow downloads it again"


def load_timm_model(source: ModelSource, weights: Path, dataset: Dataset) -> LoadedModel:
    """Load a pretrained model of timm."""
    published = describe_timm(source.source)
    overlay: dict[str, Any] = {"file": str(weights)}
    if weights.suffix == ".safetensors":
        # Files of the hub are state dicts, even of models first published in a custom format.
        overlay["custom_load"] = False
    try:
        module = load_timm().create_model(
            source.source, pretrained=True, pretrained_cfg_overlay=overlay
        )
    except Exception as error:  # timm and torch raise many kinds for damaged or wrong files
        raise _wrong_weights(source, weights, error) from error
    return _loaded(module, published, f"timm {source.source}")


def load_torchvision_model(source: ModelSource, weights: Path, dataset: Dataset) -> LoadedModel:
    """Load a pretrained model of torchvision."""
    from torchvision import models

    published = describe_torchvision(source.source)
    member = models.get_weight(source.source)
    names = [n for n in models.list_models(module=models)
             if models.get_model_weights(n) is type(member)]  # fmt: skip
    try:
        state = torch.load(weights, map_location="cpu", weights_only=True)
        # Some of torchvision's builders set options of the model from the weights object (such as
        # Inception's input transform) and call the object for the state dict. They therefore get
        # the object itself, which returns the downloaded file instead of downloading.
        member.get_state_dict = lambda *_, **__: state
        module = models.get_model(names[0], weights=member)
    except Exception as error:  # torchvision and torch raise many kinds as well
        raise _wrong_weights(source, weights, error) from error
    finally:
        vars(member).pop("get_state_dict", None)
    return _loaded(module, published, f"torchvision {published.source}")


def _loaded(module: nn.Module, published: Published, description: str) -> LoadedModel:
    """Describe a pretrained model; one of 1,000 classes is taken to have ImageNet's."""
    classes = imagenet_classes() if published.n_classes == 1000 else None
    return LoadedModel(
        module, Transform.from_json(published.transform), published.n_classes, classes,
        state_digest(module.state_dict()), description,
    )  # fmt: skip


def _wrong_weights(source: ModelSource, weights: Path, error: Exception) -> InputError:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reason = " ".join(lines[:2]) if lines else type(error).__name__
    return InputError(
        f"not the weights of {source.source} ({reason})", file=weights, remedy=_REMEDY
    )
