"""Train one model by its recipe: weights as safetensors, history as CSV."""

import argparse
import logging
import time
from collections.abc import Sequence
from pathlib import Path

from matcheval.doors import run_door, show_progress

log = logging.getLogger("train_model")


def train_model(
    name: str, recipe: str, train: str, validation: str, threads: int, output: str, history: str
) -> None:
    """Train model `name` by `recipe` (a JSON object); the other arguments are files and folders."""
    from matcheval.training.running import train_to_checkpoint

    start = time.perf_counter()
    last = train_to_checkpoint(
        name,
        recipe,
        Path(train),
        Path(validation),
        Path(output),
        Path(history),
        n_threads=threads,
        progress=show_progress(),
    )
    seconds = time.perf_counter() - start
    log.info(
        f"{name}: accuracy {last.train_accuracy:.4f} in training, {last.validation_accuracy:.4f} "
        f"in validation, after {last.epoch} epochs and {seconds:.1f} s"
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line and train the model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", required=True, help="the model's name; enters its seeds")
    parser.add_argument("--recipe", required=True, help="the recipe's fields, a JSON object")
    parser.add_argument("--train", required=True, help="dataset folder to learn from")
    parser.add_argument("--validation", required=True, help="dataset folder to report on")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads")
    parser.add_argument("--output", required=True, help="checkpoint to write, .safetensors")
    parser.add_argument("--history", required=True, help="figures by epoch to write, .csv")
    run_door(train_model, **vars(parser.parse_args(argv)))


if __name__ == "__main__":
    main()
