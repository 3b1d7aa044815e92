"""Measure how well a model's features tell orientations of images: the rotation scores."""

import argparse
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from matcheval.execution.entry_points import run_command, show_progress
from matcheval.execution.jobs import add_time_limit
from matcheval.inference.settings import InferenceConfig, add_inference_options

log = logging.getLogger("score_rotation")


def score(job: str, scores: Path, is_to_stop: Callable[[], bool], **config: Any) -> None:
    """Write the rotation scores of a model on sets of a suite."""
    from pydantic import TypeAdapter

    from matcheval.accuracy_prediction.rotating import RotationJob, score_rotation
    from matcheval.accuracy_prediction.scoring import SCORES
    from matcheval.execution.jobs import unpack_argument
    from matcheval.io.tables import write_table

    described = TypeAdapter(RotationJob).validate_json(unpack_argument(job))
    table = score_rotation(
        described, InferenceConfig(**config), is_to_stop=is_to_stop, progress=show_progress()
    )
    write_table(SCORES.from_frame(table), scores)
    log.info("%s: %d scores", described.model.name, table["score"].count())


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line and compute the scores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--job", required=True, help="JSON object, perhaps compressed: model, suite, sets, ..."
    )
    parser.add_argument("--scores", type=Path, required=True, help="the Parquet file to write")
    add_inference_options(parser)
    add_time_limit(parser)
    run_command(score, **vars(parser.parse_args(argv)))


if __name__ == "__main__":
    main()
