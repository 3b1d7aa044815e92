"""Which small trainings are run together, and which small models: sizes decide, not the machine.

On a processor, to start Python with torch takes longer than many a training. On a GPU, and for
larger networks, a job per training stays: it can be repeated, and run elsewhere, by itself.
"""

from collections.abc import Callable, Iterable
from functools import cached_property

from matcheval.study.contents import StudyContents
from matcheval.study.sizes import CORE_FLOPS, dataset_size, model_size

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
    def batches(self) -> dict[int, tuple[str, ...]]:
        """Names of models by the number of the job; models that are trained alone are in none."""
        study = self._study
        settings = study.training
        if settings is None or settings.device != "cpu" or settings.models_per_job == 1:
            return {}
        # Those of analyses may be trained on what the models of the catalogue predict.
        groups = [[name for name in study.trained if name in study.models]]
        groups += [list(one.trained) for one in study.analyses.values()]
        found = (each for models in groups for each in self._batches(models))
        return dict(enumerate(found, 1))

    def _batches(self, models: Iterable[str]) -> list[tuple[str, ...]]:
        return in_batches(models, self._seconds, TRAINING_SECONDS)

    @property
    def alone(self) -> list[str]:
        """Names of the models that are trained by a job of their own."""
        together = {model for models in self.batches.values() for model in models}
        return [name for name in self._study.trained if name not in together]

    def _seconds(self, model: str) -> float:
        trained = self._study.trained[model]
        recipe = trained.model.recipe
        assert recipe is not None, model
        sizes = [dataset_size(self._study, name, planned=True) for name in trained.train]
        steps = recipe.epoch_steps * recipe.batch_size * len(sizes)
        images = recipe.epochs * (steps or sum(one.images for one in sizes))
        operations = 2.0 * recipe.typed_options[0].forward_passes * images
        return operations * model_size(self._study, model, sizes[0]).multiply_adds / CORE_FLOPS
