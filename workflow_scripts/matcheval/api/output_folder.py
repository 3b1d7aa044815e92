"""A folder of results whose files replace those of an earlier comparison, and no others."""

import json
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from matcheval.errors import InputError
from matcheval.io.files import check_place, write_text

_PARTIAL = ".partial"  # folder in which a comparison is written, before it replaces another
_LIST = "files.json"  # what a comparison wrote into its folder
_WRITER = "matched-eval compare"


def check_folder(folder: Path) -> None:
    """Raise an error unless a folder can be written to, and is empty or has earlier results."""
    check_place(folder / _LIST)
    if _earlier_files(folder) is None and any(path.name != _PARTIAL for path in folder.iterdir()):
        remedy = "Name an empty or a new folder"
        raise InputError("holds files that no comparison wrote", file=folder, remedy=remedy)


def replace_files(folder: Path, write: Callable[[Path], Iterable[Path]]) -> list[Path]:
    """Let `write` make files in a temporary subfolder; then replace the earlier results by them."""
    check_folder(folder)
    partial, earlier = folder / _PARTIAL, _earlier_files(folder) or []
    shutil.rmtree(partial, ignore_errors=True)  # of a run that was killed
    try:
        names = [path.relative_to(partial).as_posix() for path in write(partial)]
        _write_file_list(folder, [*names, *earlier])
        for name in {*earlier}.difference(names):
            _delete_file(folder, folder / name)
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (partial / name).replace(folder / name)
        _write_file_list(folder, names)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return [folder / name for name in names]


def _delete_file(folder: Path, path: Path) -> None:
    """Delete a file below a folder, and the subfolders that it leaves empty."""
    if not path.resolve().is_relative_to(folder.resolve()):
        return
    path.unlink(missing_ok=True)
    for parent in path.parents:
        if parent == folder or not parent.is_dir() or any(parent.iterdir()):
            break
        parent.rmdir()


def _write_file_list(folder: Path, names: Sequence[str]) -> None:
    text = json.dumps({"written_by": _WRITER, "files": names}, indent=1)
    write_text(folder / _LIST, text)


def _earlier_files(folder: Path) -> list[str] | None:
    """Return the names of files that an earlier comparison wrote; None if there was none."""
    try:
        listed = json.loads((folder / _LIST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(listed, dict) or listed.get("written_by") != _WRITER:
        return None
    return [name for name in listed.get("files", []) if isinstance(name, str)]
