"""Download a published file, or the weights of a model, from its host or a mirror; verify it."""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.downloads.fetching import HOURS, download
from matcheval.downloads.sources import Expected, PublishedFile, published_file
from matcheval.errors import InputError
from matcheval.execution.entry_points import run_command, show_progress


def download_file(
    name: str, url: str, sha256: str, size: int, path: str, output: str, mirror: str, hours: float,
    log: str,
) -> None:  # fmt: skip
    """Download a published file; messages go to `log`, as standard error has the progress bar."""
    if log:
        logging.getLogger().addHandler(logging.FileHandler(log, mode="w", encoding="utf-8"))
    try:
        listed = PublishedFile(name, (url,), Expected(sha256, size=size), path)
        file = listed if url else published_file(name)
        download(
            file.urls, output, file.expected, mirror=mirror or None, mirrored=file.path,
            hours=hours, progress=show_progress(),
        )  # fmt: skip
    except InputError as error:
        if log:
            with Path(log).open("a", encoding="utf-8") as lines:
                lines.write(f"error: {error}\n")
        raise


def download_weights(url: str, output: str, mirror: str, hours: float) -> None:
    """Download a file of weights, and compare it with the digest in its name."""
    from matcheval.models.published import check_file_name_digest

    progress = show_progress()
    sha256 = download(url, output, mirror=mirror or None, hours=hours, progress=progress)
    check_file_name_digest(url, Path(output), sha256)


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line and download the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    file = commands.add_parser("file", help="a file of a dataset")
    file.set_defaults(function=download_file)
    file.add_argument("--name", required=True, help="its name, for example in sources.yaml")
    file.add_argument("--url", default="", help="its address, if it is not in sources.yaml")
    file.add_argument("--sha256", help="its digest, with --url")
    file.add_argument("--size", type=int, help="its size in bytes, with --url")
    file.add_argument("--path", default="", help="where a mirror has it, if not by its name")
    file.add_argument("--log", default="", help="file for messages, besides standard error")
    weights = commands.add_parser("weights", help="the weights of a pretrained model")
    weights.set_defaults(function=download_weights)
    weights.add_argument("--url", required=True, help="where the weights are published")
    for sub in (file, weights):
        sub.add_argument("--output", required=True, help="file to write, with the published name")
        sub.add_argument("--mirror", default="", help="folder or address that replaces the host")
        sub.add_argument("--hours", type=float, default=HOURS, help="the longest it may take")
    run_command(**vars(parser.parse_args(argv)))


if __name__ == "__main__":
    main()
