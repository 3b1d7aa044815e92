"""Run models on datasets: write the predictions and further outputs that are not there yet."""

import argparse
import logging
import time
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from matcheval.execution.entry_points import run_command, show_progress
from matcheval.execution.jobs import add_time_limit, unpacked
from matcheval.inference import N_TOP, OUTPUT_SUFFIXES, OUTPUTS
from matcheval.inference.settings import add_inference_options
from matcheval.io.kept import publish

log = logging.getLogger("predict")


def predict(
    models: list[list[Any]],
    places: list[dict[str, Any]],
    datasets: Path,
    predictions: Path,
    outputs: Sequence[str],
    processes: bool,
    is_to_stop: Callable[[], bool] = lambda: False,
    **config: Any,
) -> None:
    """Run models on datasets, and link the results to the places where the study has them."""
    from matcheval.datasets.suites import read_members
    from matcheval.inference.job import predict_datasets
    from matcheval.inference.settings import InferenceConfig
    from matcheval.inference.store import ModelFiles, output_files
    from matcheval.models.rows import ModelSource

    start = time.perf_counter()
    files = [
        ModelFiles(ModelSource(**source), Path(weights) if weights else None)
        for source, weights in models
    ]
    members = [
        place["sets"] if "sets" in place else read_members(Path(place["suite"])) for place in places
    ]
    names = dict.fromkeys(name for sets in members for name in sets)
    n_processes = 1
    if processes:  # small models: to run several side by side is faster than one in threads
        n_processes, config["n_threads"] = config["n_threads"], 1
    predict_datasets(
        files, {name: datasets / name for name in names}, predictions, outputs,
        config=InferenceConfig(**config), n_processes=n_processes, is_to_stop=is_to_stop,
        progress=show_progress(),
    )  # fmt: skip
    named = [source["name"] for source, _ in models]
    for place, sets in zip(places, members, strict=True):
        for dataset, model in product(sets, named):
            stem = place["stem"].format(dataset=dataset, model=model)
            for output, kept in output_files(predictions, dataset, model, outputs).items():
                publish(kept, Path(stem + OUTPUT_SUFFIXES[output]))
    seconds = time.perf_counter() - start
    log.info("%d model(s), %d dataset(s): %.1f s", len(models), len(names), seconds)


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line and run the models."""
    parser = argparse.ArgumentParser(description=__doc__)
    about = "JSON list of [model, file of weights]"
    parser.add_argument("--models", type=unpacked, required=True, help=about)
    about = "JSON list of what is run and linked: sets or the file of a suite, and a path stem"
    parser.add_argument("--places", type=unpacked, required=True, help=about)
    parser.add_argument("--datasets", type=Path, required=True, help="folder of all datasets")
    parser.add_argument("--predictions", type=Path, required=True, help="folder of predictions")
    parser.add_argument(
        "--outputs", nargs="*", default=[], choices=OUTPUTS[1:], help="besides the predictions"
    )
    add_inference_options(parser)
    parser.add_argument(
        "--n-top", type=int, default=N_TOP, help="number of classes that the output `top` keeps"
    )
    about = "use the threads for processes, each for some of the datasets"
    parser.add_argument("--processes", action="store_true", help=about)
    add_time_limit(parser)
    run_command(predict, **vars(parser.parse_args(argv)))


if __name__ == "__main__":
    main()
