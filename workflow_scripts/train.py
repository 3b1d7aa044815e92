"""Train one model by its recipe: write its weights (safetensors) and history (CSV)."""

import argparse
import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matcheval.execution.entry_points import run_command, show_progress
from matcheval.execution.jobs import is_to_stop

log = logging.getLogger("train")


def train(
    name: str,
    recipe: str,
    train: Sequence[Path],
    validation: Sequence[Path],
    output: Path,
    history: Path,
    **engine: Any,
) -> None:
    """Train a model."""
    from matcheval.training.loop import train_to_checkpoint
    from matcheval.training.settings import Engine

    start = time.perf_counter()
    kept = train_to_checkpoint(
        name, recipe, train, validation, output, history, engine=Engine(**engine),
        is_to_stop=is_to_stop(), progress=show_progress(),
    )  # fmt: skip
    log.info(
        f"{name}: accuracy {kept.train_accuracy:.4f} in training, {kept.validation_accuracy:.4f} "
        f"in validation, of the weights after {kept.epoch} epochs, in "
        f"{time.perf_counter() - start:.1f} s"
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line and train the model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", required=True, help="from which the model's seeds are derived")
    parser.add_argument("--recipe", required=True, help="the recipe's fields, a JSON object")
    for option, number, meaning in (
        ("--train", "+", "folders of the training sets"),
        ("--validation", "+", "folders of the validation sets"),
        ("--output", None, "checkpoint to write, .safetensors"),
        ("--history", None, "history by epoch to write, .csv"),
    ):
        parser.add_argument(option, required=True, type=Path, nargs=number, help=meaning)
    parser.add_argument("--threads", type=int, default=1, dest="n_threads", help="CPU threads")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, mps or auto")
    parser.add_argument(
        "--channels-last", action="store_true", help="memory layout of images and weights"
    )
    parser.add_argument("--compile", action="store_true", help="use torch.compile")
    parser.add_argument(
        "--fast",
        action="store_false",
        dest="deterministic",
        help="allow faster algorithms that are not deterministic",
    )
    parser.add_argument(
        "--validate-every", type=int, default=1, help="epochs between two validations"
    )
    parser.add_argument(
        "--save-minutes", type=float, default=10, help="minutes between saves of the resume state"
    )
    run_command(train, **vars(parser.parse_args(argv)))


if __name__ == "__main__":
    main()
