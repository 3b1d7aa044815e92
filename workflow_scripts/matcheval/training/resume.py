"""Resume states: the state of an unfinished training on disk, from which it is continued.

A killed job then loses minutes of work instead of the whole training. The file is a torch file,
loaded with `weights_only`, so that loading runs no code. It records the identity of its training
run (model, recipe, data, versions, machine settings), and only a run of the same identity resumes
from it.
"""

import json
import logging
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from matcheval.errors import InputError
from matcheval.io.files import atomic_file
from matcheval.io.self_digests import enter_digest_of_archive, verify_file

log = logging.getLogger(__name__)

_UNREADABLE = (
    InputError, RuntimeError, OSError, EOFError, pickle.UnpicklingError, KeyError, ValueError,
)  # fmt: skip


def save_resume_state(path: Path, identity: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Write the state of an unfinished training atomically."""
    with atomic_file(path) as temporary:
        torch.save({"identity": _to_json(identity), "state": dict(state)}, temporary)
        enter_digest_of_archive(temporary)


def load_resume_state(path: Path, identity: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Read the state of an unfinished training of the given identity."""
    if not path.is_file():
        return None
    try:
        verify_file(path)
        content = torch.load(path, map_location="cpu", weights_only=True)
        found, state = json.loads(content["identity"]), content["state"]
    except (
        InputError,
        RuntimeError,
        OSError,
        EOFError,
        pickle.UnpicklingError,
        KeyError,
        ValueError,
    ) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        log.warning("%s: not readable (%s); training starts from the beginning", path, reason)
        return None
    wanted = json.loads(_to_json(identity))
    if found != wanted:
        keys = sorted(k for k in found.keys() | wanted.keys() if found.get(k) != wanted.get(k))
        changes = ", ".join(f"{key} {found.get(key)} -> {wanted.get(key)}" for key in keys)
        log.warning(
            "%s: belongs to another training run (%s); training starts from the beginning",
            path,
            changes,
        )
        return None
    return dict(state)


def _to_json(identity: Mapping[str, Any]) -> str:
    return json.dumps(identity, sort_keys=True)
