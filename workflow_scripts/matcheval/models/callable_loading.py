"""Loading of models that a function of the user builds."""

import importlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import nn

from matcheval.datasets.dataset import Dataset
from matcheval.errors import InputError
from matcheval.models.loaded_model import LoadedModel, state_digest
from matcheval.models.rows import ModelSource
from matcheval.models.transforms import Transform


def load_callable_model(source: ModelSource, weights: Path | None, dataset: Dataset) -> LoadedModel:
    """Call the user's function, which returns a module, or a module and its transform."""
    module_name, _, name = source.source.partition(":")
    folder = os.getcwd()  # noqa: PTH109
    if folder not in sys.path:  # Python does not add it for the installed command
        sys.path.insert(0, folder)
    try:
        function = getattr(importlib.import_module(module_name), name)
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"cannot import '{name}' from '{module_name}' ({error})",
            file=source.name,
            field="source",
        ) from error
    built = function()
    module, transform = built if isinstance(built, tuple) and len(built) == 2 else (built, None)
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
    """Convert what a user's function returned to a transform."""
    if given is None:
        return Transform.plain()
    if isinstance(given, Transform):
        return given
    if isinstance(given, Mapping):
        return Transform.from_data_config(given)
    return Transform.from_preset(given)
