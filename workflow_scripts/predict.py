"""Run models on datasets: write the predictions and further outputs that are not there yet."""

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from matcheval.execution.entry_points import show_progress
from matcheval.execution.jobs import stop_condition, unpack_argument
from matcheval.inference import OUTPUT_SUFFIXES
from matcheval.inference.settings import InferenceConfig
from matcheval.io.provenance import publish

log = logging.getLogger("predict")


def predict(
    models: str, places: str, datasets: Path, predictions: Path, config: InferenceConfig,
    outputs: Sequence[str] = (), processes: bool = False, minutes: int = 0,
) -> None:  # fmt: skip
    """Run models on datasets, and link the predictions to their places in the study.

    Both are packed as JSON: `models` is a list of sources and files of weights; `places` says what
    is run and linked: sets or the file of a suite, and a path stem. Small models are run in
    `processes`, a dataset each, which is faster than threads.
    """
    stops = stop_condition(minutes, time.monotonic())
    from matcheval.datasets.suites import read_members
    from matcheval.inference.job import predict_datasets
    from matcheval.inference.store import ModelFiles, output_files
    from matcheval.models.rows import ModelSource

    start = time.perf_counter()
    run, published = unpack_argument(models), unpack_argument(places)
    files = [
        ModelFiles(ModelSource(**source), Path(weights) if weights else None)
        for source, weights in run
    ]
    members = [
        place["sets"] if "sets" in place else read_members(Path(place["suite"]))
        for place in published
    ]
    names = dict.fromkeys(name for sets in members for name in sets)
    n_processes = config.n_threads if processes else 1
    predict_datasets(
        files, {name: datasets / name for name in names}, predictions, outputs,
        config=replace(config, n_threads=1) if processes else config, n_processes=n_processes,
        should_stop=stops, progress=show_progress(),
    )  # fmt: skip
    for place, sets in zip(published, members, strict=True):
        for dataset, (source, _) in product(sets, run):
            model = source["name"]
            stem = place["stem"].format(dataset=dataset, model=model)
            for output, kept in output_files(predictions, dataset, model, outputs).items():
                publish(kept, Path(stem + OUTPUT_SUFFIXES[output]))
    seconds = time.perf_counter() - start
    log.info("%d model(s), %d dataset(s): %.1f s", len(run), len(names), seconds)
