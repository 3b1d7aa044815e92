"""Checkpoints: a trained model's weights and everything that inference needs to know about it.

The file is in the safetensors format, which contains no code, unlike a pickle. Its metadata has a
single entry, which holds JSON: safetensors stores several entries in random order, but equal
checkpoints must give equal bytes.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from matcheval.errors import InputError
from matcheval.io.files import atomic_file
from matcheval.io.self_digests import DIGEST_KEY, EMPTY_DIGEST, enter_digest, verify_file
from matcheval.models.networks import build_model

_ENTRY = "matcheval"
_REMEDY = "Delete it and train the model again"


@dataclass(frozen=True)
class CheckpointInfo:
    """The description of a model in its checkpoint: network, training, classes, normalisation."""

    model: str
    architecture: str
    width: int
    depth: int
    input_shape: tuple[int, int, int]
    n_classes: int
    max_value: int
    recipe: Mapping[str, Any]
    data: Mapping[str, str]
    versions: Mapping[str, str]
    classes: tuple[str, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    groups: int = 1


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A trained model: its description and its weights."""

    info: CheckpointInfo
    state: Mapping[str, Tensor]

    def build(self, file: object = None) -> nn.Module:
        """Build the network with these weights, in evaluation mode; `file` is for messages."""
        info = self.info
        model = build_model(
            info.architecture, width=info.width, depth=info.depth, groups=info.groups,
            input_shape=info.input_shape, n_classes=info.n_classes,
        )  # fmt: skip
        try:
            model.load_state_dict(self.state)
        except RuntimeError as error:
            size = f"of width {info.width} and depth {info.depth} for {info.n_classes} classes"
            problem = f"the weights are not those of a {info.architecture} {size}"
            raise InputError(problem, file=file, remedy=_REMEDY) from error
        return model.eval()


def save_checkpoint(checkpoint: Checkpoint, path: str | os.PathLike[str]) -> None:
    """Write a checkpoint atomically; equal checkpoints give equal bytes."""
    state = {name: checkpoint.state[name].contiguous() for name in sorted(checkpoint.state)}
    text = json.dumps(asdict(checkpoint.info) | {DIGEST_KEY: EMPTY_DIGEST}, sort_keys=True)
    with atomic_file(path) as temporary:
        temporary.write_bytes(save(state, metadata={_ENTRY: text}))
        enter_digest(temporary)


def load_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Read a checkpoint; refuse a damaged one, or a file of another kind."""
    return Checkpoint(*_read_checkpoint(path, with_state=True))


def read_info(path: str | os.PathLike[str]) -> CheckpointInfo:
    """Read only the description in a checkpoint; refuse a file whose bytes have changed."""
    return _read_checkpoint(path, with_state=False)[0]


def _read_checkpoint(
    path: str | os.PathLike[str], *, with_state: bool
) -> tuple[CheckpointInfo, dict[str, Tensor]]:
    if not Path(path).is_file():
        raise InputError("no such file", file=path, remedy="Train the model first")
    try:
        verify_file(path)
        with safe_open(str(path), framework="pt", device="cpu") as archive:
            text = (archive.metadata() or {}).get(_ENTRY)
            names = archive.keys() if with_state else ()
            state = {name: archive.get_tensor(name) for name in names}
    except InputError:  # it says what is wrong
        raise
    except (SafetensorError, OSError, ValueError) as error:
        problem = f"not a readable checkpoint, perhaps truncated ({error})"
        raise InputError(problem, file=path, remedy=_REMEDY) from error
    return _parse_info(text, path), state


def _parse_info(text: str | None, path: object) -> CheckpointInfo:
    """Read the description of a checkpoint from its JSON text; refuse any but a complete one."""
    if text is None:
        problem = "a safetensors file, but not a checkpoint of this workflow"
        raise InputError(problem, file=path, remedy=_REMEDY)
    names = {field.name for field in fields(CheckpointInfo)}
    try:
        values = json.loads(text)
        values.pop(DIGEST_KEY, None)
        if set(values) != names:
            raise ValueError(f"fields {sorted(names ^ set(values))}")
        for name in ("input_shape", "classes", "mean", "std"):
            values[name] = tuple(values[name])
        info = CheckpointInfo(**values)
        channels = info.input_shape[2]
        if not len(info.mean) == len(info.std) == channels or len(info.classes) != info.n_classes:
            raise ValueError("numbers of channels or classes disagree")
        return info
    except (ValueError, TypeError, IndexError) as error:
        problem = f"its description is damaged or was written by another version ({error})"
        raise InputError(problem, file=path, remedy=_REMEDY) from error
