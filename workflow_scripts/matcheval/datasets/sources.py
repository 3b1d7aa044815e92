"""The files that datasets are built from: published files, and the user's files."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from matcheval.datasets.trees import Tree, open_tree
from matcheval.downloads.checksums import Expected, verify_file
from matcheval.downloads.sources import published_file
from matcheval.errors import InputError

# Options of every kind except the digits.
COMMON = ("per_class", "unreadable")


class Sources:
    """Opens the files that a dataset is built from, and records their checksums.

    Parameters
    ----------
    downloads : Path
        Folder of the published files.
    stack : ExitStack
        Closes the files once the dataset is built.
    """

    def __init__(self, downloads: Path, stack: ExitStack) -> None:
        self._downloads, self._stack = downloads, stack
        self.digests: dict[str, str] = {}

    def published(self, name: str) -> Path:
        """Verify a published file in the folder of downloads.

        Parameters
        ----------
        name : str
            Its name in `downloads/sources.yaml`.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        InputError
            If the name is unknown, or the file is missing or not as published.
        """
        file, path = published_file(name), self._downloads / name
        if not path.is_file():
            raise InputError("no such file", file=path, remedy=f"Download {file.urls[0]}")
        expected = Expected(file.sha256, file.md5, file.size)
        self.digests[name] = verify_file(path, expected)
        return path

    def custom_path(self, path: str) -> Path:
        """Find one of the user's files or folders, and record the checksum of a file.

        Parameters
        ----------
        path : str
            Its path; `~` stands for the home folder.

        Returns
        -------
        Path
            The expanded path.

        Raises
        ------
        InputError
            If it does not exist.
        """
        found = Path(path).expanduser()
        if found.is_file():
            self.digests[found.name] = verify_file(found, Expected())
        elif not found.is_dir():
            raise InputError("no such file or folder", file=path)
        return found

    def tree(self, path: Path, wanted: Callable[[str], bool] = lambda path: True) -> Tree:
        """Open a folder or archive, which stays open until the dataset is built.

        Parameters
        ----------
        path : Path
            The folder or tar archive.
        wanted : callable
            Whether a file, given by its path within the tree, is needed.

        Returns
        -------
        Tree

        Raises
        ------
        InputError
            As for `open_tree`.
        """
        return self._stack.enter_context(open_tree(path, wanted))


def check_options(
    name: str,
    options: Mapping[str, Any],
    required: Mapping[str, tuple[Any, ...]] | None = None,
    optional: tuple[str, ...] = (),
) -> None:
    """Check the options of a dataset.

    Parameters
    ----------
    name : str
        Name of the dataset, for messages.
    options : mapping
        The options.
    required : mapping, optional
        Allowed values by name of the options that must be set; an empty tuple allows any value.
    optional : tuple of str
        Names of the options that may be set, in addition to those of every kind.

    Raises
    ------
    InputError
        If an option is missing, unknown, or has a value that is not allowed.
    """
    required = required or {}
    for key, values in required.items():
        if key not in options or (values and options[key] not in values):
            known = f"One of {', '.join(map(str, values))}" if values else ""
            given = f"is '{options[key]}'" if key in options else "is missing"
            raise InputError(given, file=name, field=key, remedy=known)
    unknown = sorted(set(options) - set(required) - set(optional) - set(COMMON))
    if unknown:
        raise InputError("is not an option of this kind", file=name, field=unknown[0])
