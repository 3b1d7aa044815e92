"""Score how well a model's features tell orientations of images, on the sets of a suite."""

import logging
import time
from pathlib import Path

from matcheval.execution.entry_points import show_progress
from matcheval.execution.jobs import stop_condition, unpack_argument
from matcheval.inference.settings import InferenceConfig

log = logging.getLogger("score_rotation")


def score(job: str, scores: Path, config: InferenceConfig, minutes: int = 0) -> None:
    """Compute and write a model's rotation scores, by a `RotationJob` packed as JSON."""
    stops = stop_condition(minutes, time.monotonic())
    from pydantic import TypeAdapter

    from matcheval.accuracy_prediction.rotating import RotationJob, score_rotation
    from matcheval.accuracy_prediction.scoring import SCORES
    from matcheval.io.tables import write_table

    described = TypeAdapter(RotationJob).validate_python(unpack_argument(job))
    table = score_rotation(described, config, should_stop=stops, progress=show_progress())
    write_table(SCORES.from_frame(table), scores)
    log.info("%s: %d scores", described.model.name, table["score"].count())
