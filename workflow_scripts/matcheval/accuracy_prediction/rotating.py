"""The rotation scores of one model, which need a pass of it over rotated images.

What is computed on a set is kept in a file of its own, so that a job that was ended goes on.
"""

import logging
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from matcheval.accuracy_prediction import ROTATION_VERSION, scoring
from matcheval.accuracy_prediction.scores import SCORES, features
from matcheval.accuracy_prediction.scores.outputs import Outputs
from matcheval.accuracy_prediction.scores.score import Sources
from matcheval.datasets.folders import read_dataset, read_description
from matcheval.errors import InputError, StoppedError
from matcheval.inference.outputs import FeatureWriter
from matcheval.inference.readers import ORIENTATIONS
from matcheval.inference.running import ModelRunner
from matcheval.inference.settings import InferenceConfig, deciding
from matcheval.inference.store import ModelFiles, inputs_digest
from matcheval.io.array_archives import write_arrays
from matcheval.io.self_digests import verify_file
from matcheval.models.rows import ModelSource

log = logging.getLogger(__name__)

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class RotationJob:
    """What a job computes: the rotation scores of a model on the sets of a suite."""

    model: ModelSource
    weights: Path | None
    stored: scoring.SuiteOutputs
    methods: tuple[str, ...]
    datasets: Path
    folder: Path
    seeds: tuple[int, ...] = (0,)


def score_rotation(
    job: RotationJob, config: InferenceConfig, *, should_stop: Callable[[], bool] = lambda: False,
    progress: bool = False,
) -> pd.DataFrame:  # fmt: skip
    """Tabulate the rotation scores of a model on the sets of a suite, for every seed."""
    name, stored = job.model.name, job.stored
    passes = _RotatedPasses(job, config, should_stop, progress)
    scores = [SCORES[method] for method in job.methods]

    def read_with_orientations(seed: int, dataset: str) -> Outputs:
        """Read the model's outputs, with logits of orientations on all sets but the base."""
        outputs = stored.files.read(dataset, name)
        if dataset == stored.base:
            return outputs
        return replace(outputs, orientations=passes.logits(dataset, seed))

    tables = []
    for seed in job.seeds:
        reader = scoring.SuiteReader(stored, partial(read_with_orientations, seed))
        scorer = scoring.ModelScorer(Sources(reader.base, seed=seed), scores)
        tables.append(scoring.score_suite(name, reader, [scorer]))
    return pd.concat(tables, ignore_index=True)


class _RotatedPasses:
    """Runs a model on rotated images, and keeps the logits of their orientations in files."""

    def __init__(
        self, job: RotationJob, config: InferenceConfig, should_stop: Callable[[], bool],
        progress: bool,
    ) -> None:  # fmt: skip
        self.job, self._config, self._progress = job, config, progress
        self._should_stop, self._has_computed = should_stop, False
        self._model = ModelFiles(job.model, job.weights)
        self._identity = self._model.digest()
        self._heads: dict[int, features.LinearClassifier] = {}

    def logits(self, dataset: str, seed: int) -> Floats:
        """Return the logits of orientations on a set, from file or computed now.

        Raises `StoppedError` instead of a second computation if time is up.
        """
        base = self.job.stored.base
        path = self.job.folder / base / dataset / f"{self.job.model.name}.{seed}.npz"
        inputs = f"{ROTATION_VERSION} {seed} {self._digest(base)} {self._digest(dataset)}"
        logits = _read_logits(path, inputs)
        if logits is None:
            if self._has_computed and self._should_stop():
                message = "stopped as its time is nearly over"
                raise StoppedError(message, file=f"dataset '{dataset}'")
            if seed not in self._heads:
                self._heads[seed] = features.fit_rotation_head(self._base_features, seed)
            logits = self._run(dataset, partial(features.orientation_logits, self._heads[seed]))
            write_arrays(path, {"logits": logits, "inputs": np.array(inputs)})
            self._has_computed = True
        return logits

    def _digest(self, dataset: str) -> str:
        """Return a digest of all that decides the model's outputs on a dataset."""
        description = read_description(self.job.datasets / dataset)
        return inputs_digest(self._identity, description, deciding(self._config))

    @cached_property
    def _base_features(self) -> Floats:
        """Features of the images of the base in all orientations."""
        return self._run(self.job.stored.base, np.asarray)

    @cached_property
    def _runner(self) -> ModelRunner:
        return ModelRunner(self._config, progress=self._progress)

    def _run(self, dataset: str, function: Callable[[Floats], Floats]) -> Floats:
        """Run the model on images in all orientations; return the features mapped by `function`."""
        start, images = time.perf_counter(), read_dataset(self.job.datasets / dataset)
        writer = FeatureWriter(ORIENTATIONS * len(images), function)
        self._runner.run_rotated(self._model, images, writer)
        log.info("%s, turned: %.1f s", dataset, time.perf_counter() - start)
        return writer.values.reshape(-1, ORIENTATIONS, *writer.values.shape[1:])


def _read_logits(path: Path, inputs: str) -> Floats | None:
    """Read logits from file; None if it is missing, damaged, or computed from other inputs."""
    try:
        verify_file(path)
        with np.load(path, allow_pickle=False) as archive:
            if str(archive["inputs"]) == inputs:
                return archive["logits"]
    except FileNotFoundError:
        pass
    except (InputError, OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        log.warning("%s is damaged, and computed again", path)
    return None
