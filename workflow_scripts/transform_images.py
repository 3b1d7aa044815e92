"""Decode, resize and crop the images of a dataset once for all models that share a geometry."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matcheval.execution.entry_points import run_command, show_progress


def transform_images(geometry: str, waiting: list[str], **arguments: Any) -> None:
    """Write a pixel cache and its manifest.

    Parameters
    ----------
    geometry : str
        JSON of a `Geometry`.
    waiting : list of str
        Prediction files that will be computed from the cache.
    **arguments
        As for `cache_manifest.write_cache_and_manifest`.
    """
    from matcheval.inference.cache_manifest import write_cache_and_manifest
    from matcheval.models.geometry import Geometry

    write_cache_and_manifest(
        geometry=Geometry.from_mapping(json.loads(geometry)),
        waiting=tuple(waiting),
        progress=show_progress(),
        **arguments,
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line and transform the images.

    Parameters
    ----------
    argv : sequence of str, optional
        Command-line arguments; those of the process by default.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", type=Path, required=True, dest="dataset_folder")
    parser.add_argument("--geometry", required=True, help="JSON of a Geometry")
    parser.add_argument("--pixels", type=Path, required=True, help="cache to write, .npy")
    parser.add_argument(
        "--manifest", type=Path, required=True, dest="path", help="manifest to write"
    )
    parser.add_argument("--keep", action="store_true", help="keep the cache permanently")
    parser.add_argument(
        "--threads", type=int, default=1, dest="n_workers", help="parallel processes"
    )
    parser.add_argument(
        "--waiting",
        nargs="*",
        default=[],
        help="prediction files that will be computed from the cache",
    )
    run_command(transform_images, **vars(parser.parse_args(argv)))


if __name__ == "__main__":
    main()
