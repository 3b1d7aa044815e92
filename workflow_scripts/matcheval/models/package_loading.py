"""Loading of timm's architectures with the weights of an installed package."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from matcheval.datasets.dataset import Dataset
from matcheval.datasets.label_spaces import imagenet_classes
from matcheval.errors import InputError, suggest
from matcheval.models.loaded_model import LoadedModel, state_digest
from matcheval.models.networks import head_of
from matcheval.models.packages import package_weights, pretrained_weights
from matcheval.models.rows import ModelSource
from matcheval.models.timm_library import load_timm
from matcheval.models.transforms import Transform


def load_package_model(source: ModelSource, weights: Path | None, dataset: Dataset) -> LoadedModel:
    """Load an architecture of timm with the weights that an installed package holds."""
    package, _, architecture = source.source.partition(":")
    file = package_weights(package, model=source.name)
    timm = load_timm()
    if not timm.is_model(architecture):
        raise InputError(
            f"timm {timm.__version__} has no architecture '{architecture}'",
            file=source.name,
            field="source",
            remedy=suggest(architecture, timm.list_models()),
        )
    module: nn.Module = timm.create_model(architecture, pretrained=False)
    module.load_state_dict(in_order(module.state_dict(), read_state(file), file, architecture))
    config = timm.data.resolve_data_config(model=module)
    n_classes = int(module.num_classes)  # type: ignore[arg-type]
    return LoadedModel(
        module.eval(), Transform.from_data_config(config), n_classes,
        imagenet_classes() if n_classes == 1000 else None, state_digest(module.state_dict()),
        f"timm {architecture} with the weights of the package {package}, {file.name}",
    )  # fmt: skip


def start_from_weights(module: nn.Module, pretrained: str, name: str) -> None:
    """Give a network published weights, all but those of its head."""
    head = head_of(module, name)
    prefix = next(key for key, each in module.named_modules() if each is head)
    own = module.state_dict()
    kept = {key for key in own if key.startswith(f"{prefix}.")}
    file = pretrained_weights(pretrained, name)
    module.load_state_dict(own | in_order(own, read_state(file), file, name, without=kept))


def read_state(file: Path) -> dict[str, Tensor]:
    """Read a state dict, without running code from a pickle."""
    try:
        if file.suffix == ".safetensors":
            state: Any = load_file(file)
        else:
            state = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many kinds for damaged files
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"not readable weights ({reason})", file=file) from error
    if not isinstance(state, Mapping) or not all(isinstance(v, Tensor) for v in state.values()):
        raise InputError("not a state dict: tensors by name", file=file)
    return dict(state)


def in_order(
    expected: Mapping[str, Tensor],
    state: Mapping[str, Tensor],
    file: Path,
    architecture: str,
    without: Collection[str] = (),
) -> dict[str, Tensor]:
    """Rename weights to those of a network: by name if the names are equal, else by position."""
    if len(state) != len(expected):
        raise InputError(
            f"holds {len(state)} tensors, but {architecture} has {len(expected)}",
            file=file,
            remedy="Name the architecture that the weights are of",
        )
    names = list(state) if state.keys() != expected.keys() else list(expected)
    both = zip(expected, names, strict=True)
    pairs = {name: theirs for name, theirs in both if name not in without}
    for name, theirs in pairs.items():
        shape, found = tuple(expected[name].shape), tuple(state[theirs].shape)
        if shape != found:
            raise InputError(
                f"{theirs} has shape {found}, but {name} of {architecture} has {shape}",
                file=file,
                remedy="Name the architecture that the weights are of",
            )
    return {name: state[theirs] for name, theirs in pairs.items()}
