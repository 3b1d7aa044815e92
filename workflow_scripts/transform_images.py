"""Decode, resize and crop a dataset once, for the models that share the geometry."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matcheval.execution.entry_points import run_door, show_progress


def transform_images(geometry: str, waiting: list[str], **arguments: Any) -> None:
    """Write pixels and ticket; `geometry` is JSON, the rest as for `issue_ticket`."""
    from matcheval.inference.cache_manifest import issue_ticket
    from matcheval.models.geometry import Geometry

    issue_ticket(
        geometry=Geometry.from_mapping(json.loads(geometry)),
        waiting=tuple(waiting),
        progress=show_progress(),
        **arguments,
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line and transform the images."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", type=Path, required=True, dest="dataset_folder")
    parser.add_argument("--geometry", required=True, help="JSON of a Geometry")
    parser.add_argument("--pixels", type=Path, required=True, help="cache to write, .npy")
    parser.add_argument("--ticket", type=Path, required=True, dest="path", help="ticket to write")
    parser.add_argument("--keep", action="store_true", help="keep the cache for good")
    parser.add_argument("--threads", type=int, default=1, dest="n_workers", help="processes")
    parser.add_argument("--waiting", nargs="*", default=[], help="prediction files to be made")
    run_door(transform_images, **vars(parser.parse_args(argv)))


if __name__ == "__main__":
    main()
