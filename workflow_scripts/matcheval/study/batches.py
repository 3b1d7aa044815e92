"""Which small trainings are run together, and which small models: sizes decide, not the machine.

On a processor, to start Python with torch takes longer than many a training. On a GPU, and for
larger networks, a job per training stays: it can be repeated, and run elsewhere, by itself.
"""

from collections.abc import Callable, Iterable
from functools import cached_property

from matcheval.execution.resources import CORE_FLOPS
from matcheval.study.contents import StudyContents
from matcheval.study.sizes import dataset_size, model_size

# Seconds of a slow core that a batch takes at most, and the part of it that a member may take.
# Models that are run together share the making and reading of images, and divide the datasets.
TRAINING_SECONDS, INFERENCE_SECONDS = 300, 1800
_LARGEST_PART = 0.2


def in_batches(
    names: Iterable[str], seconds: Callable[[str], float], most: float
) -> list[tuple[str, ...]]:
    """Put small members into batches, in their order; the larger ones are in none."""
    batches: list[list[str]] = []
    used = most
    for name in names:
        takes = seconds(name)
        if takes > _LARGEST_PART * most:
            continue
        if used + takes > most:
            batches, used = [*batches, []], 0.0
        batches[-1].append(name)
        used += takes
    return list(map(tuple, batches))


class Trainings:
    """The trainings of a study that one job runs together."""

    def __init__(self, study: StudyContents) -> None:
        self._study = study

    @cached_property
    def batches(self) -> dict[str, tuple[str, ...]]:
        """Names of models by the name of the job; models that are trained alone are in none."""
        study = self._study
        settings = study.training
        if settings is None or settings.device != "cpu" or settings.models_per_job == 1:
            return {}
        # Those of analyses may be trained on what the models of the catalogue predict.
        groups = {"models": [name for name in study.trained if name in study.models]}
        groups |= {name: list(one.trained) for name, one in study.analyses.items()}
        return {
            f"{name}-{i}": each
            for name, models in groups.items()
            for i, each in enumerate(in_batches(models, self._seconds, TRAINING_SECONDS), 1)
        }

    @property
    def alone(self) -> list[str]:
        """Names of the models that are trained by a job of their own."""
        return [name for name in self._study.trained if name not in self._batch_of]

    def _seconds(self, model: str) -> float:
        trained = self._study.trained[model]
        recipe = trained.model.recipe
        assert recipe is not None, model
        sizes = [dataset_size(self._study, name, planned=True) for name in trained.train]
        steps = recipe.epoch_steps * recipe.batch_size * len(sizes)
        images = recipe.epochs * (steps or sum(one.images for one in sizes))
        operations = 2.0 * recipe.typed_options[0].forward_passes * images
        return operations * model_size(self._study, model, sizes[0]).multiply_adds / CORE_FLOPS

    def index(self, batch: str) -> str:
        """Return the list of the checkpoints and histories of a batch."""
        return f"{self._study.folder}/batches/trainings/{batch}.json"

    @cached_property
    def _batch_of(self) -> dict[str, str]:
        return {model: batch for batch, models in self.batches.items() for model in models}

    def checkpoint_input(self, model: str) -> str | None:
        """Return the file that rules wait for before they read weights; None if there is none."""
        batch = self._batch_of.get(model)
        return self.index(batch) if batch else self._study.weights_file(model)

    def history_inputs(self, models: Iterable[str]) -> list[str]:
        """Return the files that rules wait for before they read histories, each once."""
        batch_of, alone = self._batch_of, self._study.history_file
        files = (self.index(batch_of[m]) if m in batch_of else alone(m) for m in models)
        return list(dict.fromkeys(files))
