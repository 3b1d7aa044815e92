"""Compute the features of a dataset's images by a frozen network, as a dataset of vectors."""

import logging
import time
from pathlib import Path

from matcheval.execution.entry_points import show_progress
from matcheval.inference.settings import InferenceConfig

log = logging.getLogger("extract_features")


def extract(
    name: str, of: Path, network: str, output: Path, config: InferenceConfig,
    as_stored: bool = False,
) -> None:  # fmt: skip
    """Write the features that a network computes of a dataset's images as a dataset.

    Images taken `as_stored` are not resized and cropped.
    """
    from matcheval.analyses.features import extract_features
    from matcheval.datasets.folders import read_dataset, write_dataset
    from matcheval.models.rows import ModelSource

    start = time.perf_counter()
    features = extract_features(
        name, ModelSource.from_json(network), read_dataset(of), config,
        as_stored=as_stored, progress=show_progress(),
    )  # fmt: skip
    write_dataset(features, output)
    log.info("%s: %d vectors, %.1f s", name, len(features), time.perf_counter() - start)
