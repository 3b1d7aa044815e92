"""Unfinished trainings on file, so that a kill costs minutes and not the training.

The file is torch's, read without code (`weights_only`). It holds what it is a part of - model,
recipe, data, versions, machine - and is taken up only by exactly that training.
"""

import json
import logging
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from matcheval.io.files import whole_file

log = logging.getLogger(__name__)


def save_partial(path: Path, identity: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Write the state of an unfinished training, whole or not at all.

    Parameters
    ----------
    path : Path
        Where to; a file there is replaced.
    identity : mapping
        What the state is of, as JSON values.
    state : mapping
        Tensors and plain values.
    """
    with whole_file(path) as partial:
        torch.save({"identity": _text(identity), "state": dict(state)}, partial)


def load_partial(
    path: Path, identity: Mapping[str, Any], device: torch.device
) -> Mapping[str, Any] | None:
    """Read the state of an unfinished training, if there is one of this identity.

    Parameters
    ----------
    path : Path
        What `save_partial` wrote; may be missing.
    identity : mapping
        What the state must be of.
    device : torch.device
        Where its tensors go.

    Returns
    -------
    mapping or None
        None if there is no such file, or it is damaged or of another training; why is logged,
        and the training starts anew.
    """
    if not path.is_file():
        return None
    try:
        content = torch.load(path, map_location=device, weights_only=True)
        found, state = json.loads(content["identity"]), content["state"]
    except (RuntimeError, OSError, EOFError, pickle.UnpicklingError, KeyError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        log.warning("%s: unreadable (%s); training starts anew", path, reason)
        return None
    wanted = json.loads(_text(identity))
    if found != wanted:
        keys = sorted(k for k in found.keys() | wanted.keys() if found.get(k) != wanted.get(k))
        changes = ", ".join(f"{key} {found.get(key)} -> {wanted.get(key)}" for key in keys)
        log.warning("%s: of another training (%s); training starts anew", path, changes)
        return None
    return dict(state)


def _text(identity: Mapping[str, Any]) -> str:
    return json.dumps(identity, sort_keys=True)
