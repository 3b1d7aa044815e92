"""Build one dataset: a folder of images, labels and a description."""

import argparse
import json
import logging
from collections.abc import Sequence

from matcheval.datasets import KINDS, build_dataset
from matcheval.datasets.folders import write_dataset
from matcheval.doors import run_door
from matcheval.errors import InputError

log = logging.getLogger("prepare_dataset")


def prepare(name: str, kind: str, options: str, output: str) -> None:
    """Build dataset `name` from `kind` and its `options` (a JSON object) into a folder."""
    try:
        parsed = json.loads(options)
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON ({error})", file=name, field="options") from error
    if not isinstance(parsed, dict):
        raise InputError("not a JSON object", file=name, field="options")
    dataset = build_dataset(name, kind, parsed)
    write_dataset(dataset, output)
    shape = "×".join(str(side) for side in dataset.image_shape)
    log.info("%s: %d images of %s, sha256 %s", name, len(dataset), shape, dataset.sha256[:16])


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line and prepare the dataset."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", required=True, help="what to call the dataset")
    parser.add_argument("--kind", required=True, help=f"source: {', '.join(KINDS)}")
    parser.add_argument("--options", default="{}", help="the kind's options, a JSON object")
    parser.add_argument("--output", required=True, help="folder to write")
    arguments = parser.parse_args(argv)
    run_door(prepare, **vars(arguments))


if __name__ == "__main__":
    main()
