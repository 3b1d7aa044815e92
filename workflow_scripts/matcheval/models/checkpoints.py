"""Checkpoints: a trained model's weights and all that inference needs to know of it.

The file is safetensors (no code inside, unlike a pickle), with one metadata entry holding JSON:
safetensors stores several entries in random order, and files must repeat to the byte.
"""

import hashlib
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
from matcheval.io.files import whole_file
from matcheval.models.building import build_model

_ENTRY = "matcheval"
_REMEDY = "Delete it and train the model again"


@dataclass(frozen=True)
class CheckpointInfo:
    """What a checkpoint says besides its weights.

    Attributes
    ----------
    model : str
        The model's name.
    architecture, width, depth
        As for `build_model`.
    input_shape : (int, int, int)
        Height, width and channels of the images it takes.
    n_classes : int
        Number of classes.
    max_value : int
        Pixel value that meant 1.0 in the training set.
    recipe : mapping
        How it was trained: the catalogue's columns.
    data : mapping
        `train` and `validation`: name and digest of each set.
    versions : mapping
        Python, packages, and the training code's version.
    classes : tuple of str
        Names of the classes, by label.
    mean, std : tuple of float
        Of each channel, of pixels in [0, 1], by which the model's input is normalised; 0 and 1
        if it is not.
    groups : int
        As for `build_model`.
    """

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
    """A trained model.

    Attributes
    ----------
    info : CheckpointInfo
        What it is.
    state : mapping of str to tensor
        Its parameters and buffers, on the CPU.
    """

    info: CheckpointInfo
    state: Mapping[str, Tensor]

    def build(self) -> nn.Module:
        """Make the model with these weights, in evaluation mode.

        Raises
        ------
        InputError
            If the weights are not those of the model that `info` describes.
        """
        info = self.info
        model = build_model(
            info.architecture,
            width=info.width,
            depth=info.depth,
            input_shape=info.input_shape,
            n_classes=info.n_classes,
            groups=info.groups,
        )
        try:
            model.load_state_dict(self.state)
        except RuntimeError as error:
            raise InputError(
                f"the weights are not those of a {info.architecture} of width {info.width} and "
                f"depth {info.depth} for {info.n_classes} classes",
                file=info.model,
                remedy=_REMEDY,
            ) from error
        return model.eval()


def save_checkpoint(checkpoint: Checkpoint, path: str | os.PathLike[str]) -> None:
    """Write a checkpoint, whole or not at all; equal checkpoints give equal bytes."""
    state = {name: checkpoint.state[name].contiguous() for name in sorted(checkpoint.state)}
    text = json.dumps(asdict(checkpoint.info), sort_keys=True)
    with whole_file(path) as partial:
        partial.write_bytes(save(state, metadata={_ENTRY: text}))


def load_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Read and check a checkpoint.

    Raises
    ------
    InputError
        If the file is missing, damaged, not written by `save_checkpoint`, or its weights do
        not fit its description.
    """
    if not Path(path).is_file():
        raise InputError("no such file", file=path, remedy="Train the model first")
    try:
        with safe_open(str(path), framework="pt", device="cpu") as archive:
            text = (archive.metadata() or {}).get(_ENTRY)
            state = {name: archive.get_tensor(name) for name in archive.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise InputError(
            f"not a readable checkpoint, truncated perhaps ({error})", file=path, remedy=_REMEDY
        ) from error
    checkpoint = Checkpoint(_parse_info(text, path), state)
    try:
        checkpoint.build()
    except InputError as error:
        raise InputError(str(error), file=path) from error
    return checkpoint


def weights_digest(checkpoint: Checkpoint) -> str:
    """SHA-256 of the weights: name, type, shape and bytes of each tensor, sorted by name.

    Returns
    -------
    str
        64 hexadecimal digits; what else a checkpoint says does not count.
    """
    digest = hashlib.sha256()
    for name in sorted(checkpoint.state):
        array = checkpoint.state[name].contiguous().numpy()
        digest.update(f"{name} {array.dtype} {array.shape} ".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _parse_info(text: str | None, path: object) -> CheckpointInfo:
    if text is None:
        raise InputError(
            "a safetensors file, but not one that this workflow trained", file=path, remedy=_REMEDY
        )
    names = {field.name for field in fields(CheckpointInfo)}
    try:
        values = json.loads(text)
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
        raise InputError(
            f"its description is of another version or damaged ({error})", file=path, remedy=_REMEDY
        ) from error
