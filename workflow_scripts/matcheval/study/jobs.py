"""Inputs, parameters and arguments of the jobs of the stages that all analyses build upon.

Rules in `rules/` name these methods; each takes a job's wildcards.
"""

import shlex
from pathlib import Path

from matcheval.models.packages import is_file_of_weights
from matcheval.study.analysis import Wildcards
from matcheval.study.dataset_jobs import DatasetJobs
from matcheval.study.inference_jobs import InferenceJobs
from matcheval.study.study import Study


class StageJobs(DatasetJobs, InferenceJobs):
    """Jobs from downloads to predictions."""

    def __init__(self, study: Study) -> None:
        self._study = study

    # --- how the machine is used: resources, because a changed parameter would repeat the job

    @property
    def download_options(self) -> str:
        """The mirror that files are downloaded from, and limits, as options."""
        mirror = f"--mirror {shlex.quote(self._study.mirror)}" if self._study.mirror else ""
        return mirror + self._study.download_options

    @property
    def training_options(self) -> str:
        """How training uses the machine, as options."""
        return self._study.training.machine_options if self._study.training else ""

    def training_sets(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """Return the files of the sets that a model is trained and validated on, and of its start.

        Parameters
        ----------
        wildcards : Wildcards
            `model`.
        """
        trained = self._study.trained[wildcards.model]
        sets = {
            what: [file for name in names for file in self._study.dataset_files(name)]
            for what, names in (("train", trained.train), ("validation", trained.validation))
        }
        recipe = trained.model.recipe
        start = recipe.pretrained if recipe else ""
        # A study can be planned without the file.
        started = is_file_of_weights(start) and Path(start).is_file()
        return sets | ({"pretrained": [start]} if started else {})

    def training_waits_for(self, wildcards: Wildcards) -> list[str]:
        """Return the files that have to be there before a model is trained, however old."""
        file = self._study.trained[wildcards.model].waits_for
        return [file] if file else []

    def train_arguments(self, wildcards: Wildcards) -> list[str]:
        """Return the arguments of a training job."""
        trained = self._study.trained[wildcards.model]
        return [
            "--name", wildcards.model, "--recipe", trained.model.recipe_json,
            "--train", *(self._study.dataset_folder(name) for name in trained.train),
            "--validation", *(self._study.dataset_folder(name) for name in trained.validation),
        ]  # fmt: skip
