"""Build one dataset: a folder of images, datapoints and a description."""

import argparse
import json
import logging
from collections.abc import Sequence
from pathlib import Path

from matcheval.datasets.prepare import KINDS, prepare_dataset
from matcheval.errors import InputError
from matcheval.execution.entry_points import run_command

log = logging.getLogger("prepare_dataset")


def prepare(name: str, kind: str, options: str, downloads: str, threads: int, output: str) -> None:
    """Build a dataset and write it to a folder."""
    try:
        parsed = json.loads(options)
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON ({error})", file=name, field="options") from error
    if not isinstance(parsed, dict):
        raise InputError("not a JSON object", file=name, field="options")
    dataset = prepare_dataset(name, kind, parsed, Path(output), Path(downloads), n_threads=threads)
    is_array = dataset.stored != "files"
    sizes = "×".join(map(str, dataset.image_shape)) if is_array else "various sizes"
    log.info("%s: %d images of %s, sha256 %s", name, len(dataset), sizes, dataset.sha256[:16])


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line and build the dataset."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", required=True, help="name of the dataset")
    parser.add_argument("--kind", required=True, help=f"kind of dataset: {', '.join(KINDS)}")
    parser.add_argument("--options", default="{}", help="the kind's options, a JSON object")
    parser.add_argument("--downloads", default="downloads", help="folder of the published files")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads for decoding images")
    parser.add_argument("--output", required=True, help="folder to write")
    run_command(prepare, **vars(parser.parse_args(argv)))


if __name__ == "__main__":
    main()
