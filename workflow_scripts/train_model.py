"""Train one model by its recipe: weights as safetensors, history as CSV."""

import argparse
import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matcheval.execution.entry_points import run_command, show_progress

log = logging.getLogger("train_model")


def train_model(
    name: str, recipe: str, train: str, validation: str, output: str, history: str, **engine: Any
) -> None:
    """Train model `name` by `recipe` (a JSON object); `engine` is how, the others are paths."""
    from matcheval.training.engine import Engine
    from matcheval.training.running import train_to_checkpoint

    start = time.perf_counter()
    files = map(Path, (train, validation, output, history))
    last = train_to_checkpoint(
        name, recipe, *files, engine=Engine(**engine), progress=show_progress()
    )
    log.info(
        f"{name}: accuracy {last.train_accuracy:.4f} in training, {last.validation_accuracy:.4f} "
        f"in validation, after {last.epoch} epochs and {time.perf_counter() - start:.1f} s"
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line and train the model."""
    parser = argparse.ArgumentParser(description=__doc__)
    for option, meaning in (
        ("--name", "the model's name; enters its seeds"),
        ("--recipe", "the recipe's fields, a JSON object"),
        ("--train", "dataset folder to learn from"),
        ("--validation", "dataset folder to report on"),
        ("--output", "checkpoint to write, .safetensors"),
        ("--history", "figures by epoch to write, .csv"),
    ):
        parser.add_argument(option, required=True, help=meaning)
    parser.add_argument("--threads", type=int, default=1, dest="n_threads", help="CPU threads")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, mps or auto")
    parser.add_argument("--channels-last", action="store_true", help="memory layout")
    parser.add_argument("--compile", action="store_true", help="use torch.compile")
    parser.add_argument("--fast", action="store_false", dest="deterministic", help="see Engine")
    parser.add_argument("--validate-every", type=int, default=1, help="epochs")
    parser.add_argument("--save-minutes", type=float, default=10, help="between two savings")
    run_command(train_model, **vars(parser.parse_args(argv)))


if __name__ == "__main__":
    main()
