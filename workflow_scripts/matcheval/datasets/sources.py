"""What builders of datasets read from: published files, and files of the user's own."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from matcheval.datasets.trees import Tree, open_tree
from matcheval.downloads.checksums import Expected, verify_file
from matcheval.downloads.sources import published_file
from matcheval.errors import InputError

# Options of every kind but the digits.
COMMON = ("per_class", "unreadable")


class Sources:
    """Opens the files that a dataset is built from, and records their checksums.

    Parameters
    ----------
    downloads : Path
        Folder of the published files.
    stack : ExitStack
        Closes what was opened.
    """

    def __init__(self, downloads: Path, stack: ExitStack) -> None:
        self._downloads, self._stack = downloads, stack
        self.digests: dict[str, str] = {}

    def published(self, name: str) -> Path:
        """Verify a published file that was downloaded, or put there by hand.

        Raises
        ------
        InputError
            If it is missing, or not what was published.
        """
        file, path = published_file(name), self._downloads / name
        if not path.is_file():
            raise InputError("no such file", file=path, remedy=f"Download {file.urls[0]}")
        expected = Expected(file.sha256, file.md5, file.size)
        self.digests[name] = verify_file(path, expected)
        return path

    def own(self, path: str) -> Path:
        """Find a file or folder of the user's own.

        Raises
        ------
        InputError
            If it is missing.
        """
        found = Path(path).expanduser()
        if found.is_file():
            self.digests[found.name] = verify_file(found, Expected())
        elif not found.is_dir():
            raise InputError("no such file or folder", file=path)
        return found

    def tree(self, path: Path, wanted: Callable[[str], bool] = lambda path: True) -> Tree:
        """Open a folder or an archive until the dataset is built."""
        return self._stack.enter_context(open_tree(path, wanted))


def check_options(
    name: str,
    options: Mapping[str, Any],
    required: Mapping[str, tuple[Any, ...]] | None = None,
    optional: tuple[str, ...] = (),
) -> None:
    """Refuse options that a kind does not take.

    Parameters
    ----------
    name : str
        The dataset's name, for messages.
    options : mapping
        What was given.
    required : mapping, optional
        Options that must be there, and the values they may have; an empty tuple for any.
    optional : tuple of str
        Further ones, beside those of every kind.

    Raises
    ------
    InputError
        Naming the option.
    """
    required = required or {}
    for key, values in required.items():
        if key not in options or (values and options[key] not in values):
            known = f"One of {', '.join(map(str, values))}" if values else ""
            given = f"is '{options[key]}'" if key in options else "is missing"
            raise InputError(given, file=name, field=key, remedy=known)
    unknown = sorted(set(options) - set(required) - set(optional) - set(COMMON))
    if unknown:
        raise InputError("is no option of this kind", file=name, field=unknown[0])
