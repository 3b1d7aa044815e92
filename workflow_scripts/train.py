"""Train models by their recipes: write weights (safetensors) and histories (CSV)."""

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from matcheval.execution.entry_points import show_progress
from matcheval.execution.jobs import stop_condition, unpack_argument
from matcheval.io.provenance import publish
from matcheval.training.settings import Engine

log = logging.getLogger("train")


def train(
    name: str, recipe: str, train: Sequence[Path], validation: Sequence[Path], output: Path,
    history: Path, engine: Engine, stops: Callable[[], bool],
) -> None:  # fmt: skip
    """Train one model, and write its weights and training history."""
    from matcheval.training.loop import train_to_checkpoint

    start = time.perf_counter()
    kept = train_to_checkpoint(
        name, recipe, train, validation, output, history, engine=engine, should_stop=stops,
        progress=show_progress(),
    )  # fmt: skip
    log.info(
        f"{name}: accuracy {kept.train_accuracy:.4f} in training, {kept.validation_accuracy:.4f} "
        f"in validation, of the weights after {kept.epoch} epochs, in "
        f"{time.perf_counter() - start:.1f} s"
    )


def train_models(
    trainings: str, datasets: Path, checkpoints: Path, links: Path, engine: Engine,
    processes: int = 1, minutes: int = 0,
) -> None:  # fmt: skip
    """Train the models that lack a current checkpoint, and link all their files into the study.

    `trainings` is a list, packed as JSON, of names, recipes, training sets and validation sets.
    """
    stops = stop_condition(minutes, time.monotonic())
    import matcheval.training.loop  # noqa: F401 - before the processes start, which need it
    from matcheval.execution.batches import Member, make_members
    from matcheval.training.loop import is_trained

    members, files = [], []
    for name, recipe, *sets in unpack_argument(trainings):
        described = dict(zip(("train", "validation"), sets, strict=True))
        arguments = {
            "name": name, "recipe": recipe,
            **{part: [datasets / data for data in names] for part, names in described.items()},
            "output": checkpoints / f"{name}.safetensors",
            "history": checkpoints / f"{name}.history.csv",
        }  # fmt: skip
        make = partial(train, **arguments, engine=engine, stops=stops)
        members.append(Member(name, make, partial(is_trained, **arguments)))
        files += [arguments["output"], arguments["history"]]
    make_members(members, n_processes=processes, should_stop=stops)
    for file in files:
        publish(file, links / file.name)
