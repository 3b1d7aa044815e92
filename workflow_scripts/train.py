"""Train models by their recipes: write weights (safetensors) and histories (CSV)."""

import argparse
import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from matcheval.execution.entry_points import run_command, show_progress
from matcheval.execution.jobs import add_time_limit, unpacked
from matcheval.io.kept import publish

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


def train_models(
    trainings: Sequence[Any], datasets: Path, checkpoints: Path, links: Path, n_processes: int,
    is_to_stop: Callable[[], bool] = lambda: False, **engine: Any,
) -> None:  # fmt: skip
    """Train the models that are not trained yet, several at a time; link their files."""
    import matcheval.training.loop  # noqa: F401 - before the processes start, which need it
    from matcheval.execution.batches import Member, make_members
    from matcheval.training.loop import is_trained

    members, files = [], []
    for name, recipe, *sets in trainings:
        described = dict(zip(("train", "validation"), sets, strict=True))
        arguments = {
            "name": name, "recipe": recipe,
            **{part: [datasets / data for data in names] for part, names in described.items()},
            "output": checkpoints / f"{name}.safetensors",
            "history": checkpoints / f"{name}.history.csv",
        }  # fmt: skip
        make = partial(train, **arguments, is_to_stop=is_to_stop, **engine)
        members.append(Member(name, make, partial(is_trained, **arguments)))
        files += [arguments["output"], arguments["history"]]
    make_members(members, n_processes=n_processes, is_to_stop=is_to_stop)
    for file in files:
        publish(file, links / file.name)


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line and train the models."""
    parser = argparse.ArgumentParser(description=__doc__)
    about = "JSON list of [name, recipe, training sets, validation sets]"
    parser.add_argument("--trainings", type=unpacked, required=True, help=about)
    parser.add_argument("--datasets", type=Path, required=True, help="folder of all datasets")
    parser.add_argument("--checkpoints", type=Path, required=True, help="folder to write to")
    parser.add_argument("--links", type=Path, required=True, help="folder of links to the files")
    parser.add_argument("--processes", type=int, default=1, dest="n_processes")
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
    add_time_limit(parser)
    run_command(train_models, **vars(parser.parse_args(argv)))


if __name__ == "__main__":
    main()
