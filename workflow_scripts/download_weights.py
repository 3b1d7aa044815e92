"""Download the weights of a pretrained model."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from matcheval.downloads.fetching import add_limits
from matcheval.execution.entry_points import run_command, show_progress


def download_weights(
    url: str, output: Path, mirror: str | None, hours: float, least_rate: float
) -> None:
    """Download a file of weights, and compare it with the digest in its name."""
    from matcheval.downloads.fetching import download
    from matcheval.models.published import check_file_name_digest

    sha256 = download(
        url, output, mirror=mirror or None, hours=hours, least_rate=least_rate,
        progress=show_progress(),
    )  # fmt: skip
    check_file_name_digest(url, output, sha256)


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line and download the weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True, help="where the weights are published")
    parser.add_argument("--mirror", default="", help="folder or address that replaces the host")
    add_limits(parser)
    parser.add_argument("--output", type=Path, required=True, help="file to write")
    run_command(download_weights, **vars(parser.parse_args(argv)))


if __name__ == "__main__":
    main()
