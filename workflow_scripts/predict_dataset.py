"""Run one model on one dataset: the prediction file, and files beside it."""

import argparse
import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matcheval.doors import run_door, show_progress
from matcheval.inference import OUTPUTS

log = logging.getLogger("predict_dataset")


def predict_dataset(
    model: str, checkpoint: str, dataset_name: str, dataset: str, files: dict[str, Path], **how: Any
) -> None:
    """Run `model` on a dataset; `files` maps outputs to paths, `how` goes to the library."""
    from matcheval.inference.running import predict_to_files

    start = time.perf_counter()
    predict_to_files(
        model, Path(checkpoint), dataset_name, Path(dataset), files, progress=show_progress(), **how
    )
    log.info("%s on %s: %.1f s", model, dataset_name, time.perf_counter() - start)


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line and run the model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="the model's name")
    parser.add_argument("--checkpoint", required=True, help="its weights, .safetensors")
    parser.add_argument("--dataset", required=True, help="dataset folder")
    parser.add_argument("--dataset-name", required=True, help="the dataset's name")
    parser.add_argument("--batch-size", type=int, default=256, help="images at a time")
    parser.add_argument("--threads", type=int, default=1, dest="n_threads", help="CPU threads")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, mps or auto")
    parser.add_argument("--output", required=True, help="prediction file to write, .parquet")
    for name in OUTPUTS[1:]:
        parser.add_argument(f"--{name}", help=f"file of {name} to write, .parquet")
    arguments = vars(parser.parse_args(argv))
    # --output is the first of OUTPUTS; the others have their own name.
    paths = {name: arguments.pop(name) for name in OUTPUTS[1:]} | {
        OUTPUTS[0]: arguments.pop("output")
    }
    files = {name: Path(path) for name, path in paths.items() if path}
    run_door(predict_dataset, files=files, **arguments)


if __name__ == "__main__":
    main()
