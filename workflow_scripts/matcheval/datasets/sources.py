"""What datasets are built from: published files, the user's files, and other datasets."""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from matcheval.datasets.trees import Tree, open_tree
from matcheval.downloads.checksums import Expected, verify_file
from matcheval.downloads.sources import published_file
from matcheval.errors import InputError


class Sources:
    """Opens the files that a dataset is built from, and records their checksums.

    Parameters
    ----------
    downloads : Path
        Folder of the published files.
    stack : ExitStack
        Closes the files once the dataset is built.
    datasets : Path
        Folder of the other datasets, each in a folder with its name.
    """

    def __init__(self, downloads: Path, stack: ExitStack, datasets: Path) -> None:
        self.downloads, self.datasets = downloads, datasets
        self._stack = stack
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
        file, path = published_file(name), self.downloads / name
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


@dataclass(frozen=True)
class LabelledFile:
    """An image file in memory."""

    name: str
    label: int
    encoded: bytes


@dataclass(frozen=True, eq=False)
class ImageStream:
    """A dataset whose images are read one by one."""

    name: str
    classes: tuple[str, ...]
    source: str
    files: Iterable[LabelledFile]
    notes: dict[str, object] = field(default_factory=dict)
