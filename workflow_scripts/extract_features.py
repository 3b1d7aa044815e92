"""Compute the features of a dataset's images by a frozen network, as a dataset of vectors."""

import argparse
import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matcheval.execution.entry_points import run_command, show_progress
from matcheval.inference.settings import InferenceConfig, add_inference_options

log = logging.getLogger("extract_features")


def extract(
    name: str, of: Path, network: str, output: Path, device: str, as_stored: bool, **config: Any
) -> None:
    """Compute features and write them as a dataset."""
    from matcheval.analyses.features import extract_features
    from matcheval.datasets.folders import read_dataset, write_dataset
    from matcheval.models.rows import ModelSource

    start = time.perf_counter()
    features = extract_features(
        name, ModelSource.from_json(network), read_dataset(of),
        InferenceConfig(device, **config),
        as_stored=as_stored, progress=show_progress(),
    )  # fmt: skip
    write_dataset(features, output)
    log.info("%s: %d vectors, %.1f s", name, len(features), time.perf_counter() - start)


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line and compute features."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", required=True, help="name of the dataset to write")
    parser.add_argument("--of", type=Path, required=True, help="folder of the images")
    parser.add_argument("--network", required=True, help="the network, a JSON object")
    parser.add_argument("--output", type=Path, required=True, help="folder to write")
    parser.add_argument(
        "--as-stored", action="store_true", help="do not resize and crop images, only normalise"
    )
    add_inference_options(parser)
    run_command(extract, **vars(parser.parse_args(argv)))


if __name__ == "__main__":
    main()
