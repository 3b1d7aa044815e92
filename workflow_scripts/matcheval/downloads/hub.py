"""Files on the Hugging Face hub by `hf://` addresses: downloaded once, into the hub's own cache."""

import os
import re
from pathlib import Path

from matcheval.errors import InputError

# A `Path` has one slash after the colon.
_ADDRESS = re.compile(
    r"hf:/{1,2}(?:(?P<kind>dataset|space|model)s/)?(?P<repo>[^/@]+/[^/@]+)"
    r"(?:@(?P<revision>[^/]+))?/(?P<file>.+)"
)
_FORM = "Write it like hf://user/repository/file.csv, or hf://datasets/user/repository/file.csv"


def local_file(path: str | os.PathLike[str]) -> Path:
    """Return a path as it is; for a hub address (`hf://...`), download to the cache if needed."""
    if not os.fspath(path).startswith("hf:/"):
        return Path(path)
    parts = _ADDRESS.fullmatch(os.fspath(path))
    shown = re.sub("^hf:/+", "hf://", os.fspath(path))
    if parts is None:
        raise InputError("names no file of a repository", file=shown, remedy=_FORM)
    try:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import EntryNotFoundError
    except ImportError as error:
        problem = "files of the hub need the package huggingface_hub, which is not installed"
        remedy = "Install it: pip install 'matched-eval[hub]'"
        raise InputError(problem, file=shown, remedy=remedy) from error
    try:
        return Path(hf_hub_download(
            parts["repo"], parts["file"], repo_type=parts["kind"] or "model",
            revision=parts["revision"],
        ))  # fmt: skip
    except (EntryNotFoundError, OSError, ValueError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        remedy = "Check its name and the network; of a private repository, `hf auth login` first"
        problem = f"the hub gave no such file ({reason:.200})"
        raise InputError(problem, file=shown, remedy=remedy) from error
