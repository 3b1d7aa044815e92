"""Download a published file, or the weights of a model, from its host or a mirror; verify it."""

import logging
from pathlib import Path

from matcheval.downloads.fetching import HOURS, download
from matcheval.downloads.sources import Expected, PublishedFile, published_file
from matcheval.errors import InputError
from matcheval.execution.entry_points import show_progress


def download_file(
    name: str, output: str, url: str = "", sha256: str | None = None, size: int | None = None,
    path: str = "", mirror: str = "", hours: float = HOURS, log: str = "",
) -> None:  # fmt: skip
    """Download and verify a published file, from sources.yaml by its name or from a URL.

    Messages go to `log`, as standard error has the progress bar. A mirror may have the file at
    another path.
    """
    if log:
        logging.getLogger().addHandler(logging.FileHandler(log, mode="w", encoding="utf-8"))
    try:
        listed = PublishedFile(name, (url,), Expected(sha256, size=size), path)
        file = listed if url else published_file(name)
        download(
            file.urls, output, file.expected, mirror=mirror or None, mirror_path=file.path,
            hours=hours, progress=show_progress(),
        )  # fmt: skip
    except InputError as error:
        if log:
            with Path(log).open("a", encoding="utf-8") as lines:
                lines.write(f"error: {error}\n")
        raise


def download_weights(url: str, output: str, mirror: str = "", hours: float = HOURS) -> None:
    """Download a file of weights, and check it against the digest in its name."""
    from matcheval.models.published import check_file_name_digest

    progress = show_progress()
    sha256 = download(url, output, mirror=mirror or None, hours=hours, progress=progress)
    check_file_name_digest(url, Path(output), sha256)
