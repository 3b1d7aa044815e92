"""The outputs of a forward pass: the prediction file, and further files beside it.

To add an output:

1. write a class with `update` and `finish` (see `writers.FileWriter`) that is constructed from a
   path and the provenance;
2. add it to `_WRITERS`;
3. add its name and the suffix of its files to `inference.OUTPUT_SUFFIXES`.

If it needs results of the pass other than logits and features, add a field to
`batches.ForwardBatch`.
"""

import functools
from collections.abc import Callable, Mapping
from pathlib import Path

from matcheval.errors import InputError
from matcheval.inference import N_TOP
from matcheval.inference.batches import Writer
from matcheval.inference.vector_writers import FeatureWriter, LogitWriter
from matcheval.inference.writers import PredictionWriter, StatisticsWriter, TopKWriter

_WRITERS: dict[str, Callable[[Path, Mapping[str, str]], Writer]] = {
    "predictions": PredictionWriter,
    "logits": LogitWriter,
    "features": FeatureWriter,
    "statistics": StatisticsWriter,
    "top": TopKWriter,
}


def build_writers(
    files: Mapping[str, Path], metadata: Mapping[str, str], n_top: int = N_TOP
) -> list[Writer]:
    """Build the writers of the requested outputs."""
    unknown = sorted(files.keys() - _WRITERS.keys())
    if unknown:
        raise InputError(
            f"unknown output '{unknown[0]}'",
            field="outputs",
            remedy=f"Known: {', '.join(_WRITERS)}",
        )
    builders = _WRITERS | {"top": functools.partial(TopKWriter, n_top=n_top)}
    return [builders[name](path, metadata) for name, path in files.items()]
