"""Download one published file, or take it from a mirror, and verify it."""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.downloads.fetching import add_limits, download
from matcheval.downloads.sources import published_file
from matcheval.errors import InputError
from matcheval.execution.entry_points import run_command, show_progress


def download_file(
    name: str, output: str, mirror: str, hours: float, least_rate: float, log: str
) -> None:
    """Download a published file; messages go to `log`, as standard error has the progress bar."""
    if log:
        logging.getLogger().addHandler(logging.FileHandler(log, mode="w", encoding="utf-8"))
    try:
        file = published_file(name)
        download(
            file.urls, output, sha256=file.sha256, md5=file.md5, size=file.size,
            mirror=mirror or None, hours=hours, least_rate=least_rate, progress=show_progress(),
        )  # fmt: skip
    except InputError as error:
        if log:
            with Path(log).open("a", encoding="utf-8") as lines:
                lines.write(f"error: {error}\n")
        raise


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line and download the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", required=True, help="name of the file in downloads/sources.yaml")
    parser.add_argument(
        "--output", required=True, help="file to write; must have the published name"
    )
    parser.add_argument("--mirror", default="", help="folder or address that replaces all hosts")
    add_limits(parser)
    parser.add_argument("--log", default="", help="file for messages, besides standard error")
    run_command(download_file, **vars(parser.parse_args(argv)))


if __name__ == "__main__":
    main()
