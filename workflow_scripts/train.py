"""Train models by their recipes: write weights (safetensors) and histories (CSV)."""

import argparse
import json
import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from matcheval.datasets.folders import DESCRIPTION
from matcheval.execution.entry_points import run_command, show_progress
from matcheval.execution.jobs import add_time_limit, unpacked
from matcheval.io.json_files import digest_of

log = logging.getLogger("train")


def train(
    name: str,
    recipe: str,
    train: Sequence[Path],
    validation: Sequence[Path],
    output: Path,
    history: Path,
    is_to_stop: Callable[[], bool] = lambda: False,
    **engine: Any,
) -> None:
    """Train a model."""
    from matcheval.training.loop import train_to_checkpoint
    from matcheval.training.settings import Engine

    start = time.perf_counter()
    kept = train_to_checkpoint(
        name, recipe, train, validation, output, history, engine=Engine(**engine),
        is_to_stop=is_to_stop, progress=show_progress(),
    )  # fmt: skip
    log.info(
        f"{name}: accuracy {kept.train_accuracy:.4f} in training, {kept.validation_accuracy:.4f} "
        f"in validation, of the weights after {kept.epoch} epochs, in "
        f"{time.perf_counter() - start:.1f} s"
    )


def train_batch(
    trainings: Sequence[Any],
    index: Path,
    results: Path,
    n_processes: int,
    is_to_stop: Callable[[], bool] = lambda: False,
    **engine: Any,
) -> None:
    """Train models that are not trained yet, several at a time, and list their files."""
    import matcheval.training.loop  # noqa: F401 - before the processes start, which need it
    from matcheval.execution.batches import Member, make_members
    from matcheval.models.packages import is_file_of_weights
    from matcheval.training import TRAINING_VERSION

    members = []
    for name, recipe, *sets in trainings:
        of_training, of_validation = ([results / "datasets" / one for one in some] for some in sets)
        checkpoint = results / "checkpoints" / f"{name}.safetensors"
        history = checkpoint.with_name(f"{name}.history.csv")
        start = json.loads(recipe).get("pretrained", "")
        reads = [folder / DESCRIPTION for folder in (*of_training, *of_validation)]
        reads += [Path(start)] if is_file_of_weights(start) else []
        arguments = {
            "name": name, "recipe": recipe, "train": of_training, "validation": of_validation,
            "output": checkpoint, "history": history, "is_to_stop": is_to_stop, **engine,
        }  # fmt: skip
        key = digest_of([TRAINING_VERSION, name, recipe])
        members.append(Member(name, (checkpoint, history), key, tuple(reads), train, arguments))
    make_members(index, members, results, n_processes=n_processes, is_to_stop=is_to_stop)


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line and train the model or models."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("one", help="one model")
    one.set_defaults(function=train)
    one.add_argument("--name", required=True, help="from which the model's seeds are derived")
    one.add_argument("--recipe", required=True, help="the recipe's fields, a JSON object")
    for option, number, meaning in (
        ("--train", "+", "folders of the training sets"),
        ("--validation", "+", "folders of the validation sets"),
        ("--output", None, "checkpoint to write, .safetensors"),
        ("--history", None, "history by epoch to write, .csv"),
    ):
        one.add_argument(option, required=True, type=Path, nargs=number, help=meaning)
    batch = commands.add_parser("batch", help="models whose trainings are short")
    batch.set_defaults(function=train_batch)
    about = "JSON list of [name, recipe, training sets, validation sets]"
    batch.add_argument("--trainings", type=unpacked, required=True, help=about)
    batch.add_argument("--index", type=Path, required=True, help="list of their files to write")
    batch.add_argument("--results", type=Path, required=True, help="folder of all results")
    batch.add_argument("--processes", type=int, default=1, dest="n_processes")
    for each in (one, batch):
        _add_engine_options(each)
        add_time_limit(each)
    run_command(**vars(parser.parse_args(argv)))


def _add_engine_options(parser: argparse.ArgumentParser) -> None:
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


if __name__ == "__main__":
    main()
