"""What the jobs of a study ask for, by rule and wildcards; the numbers are in `resources`."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from matcheval.execution import resources, workloads
from matcheval.execution.resources import Need
from matcheval.execution.workloads import ImageSet, ModelSize
from matcheval.models.rows import TIMM, TORCHVISION

if TYPE_CHECKING:
    from matcheval.study.study import Study

# Images at a time that a model without a given number is taken to be run on, on a CPU.
_AUTO_BATCH = 64


class Needs:
    """The needs of a study's jobs at their first attempt.

    Parameters
    ----------
    study : Study
        The checked study.
    gpus_of : callable
        GPUs of a job, by the device that the configuration names.
    """

    def __init__(self, study: "Study", gpus_of: Callable[[str], int]) -> None:
        self._study, self._gpus_of = study, gpus_of
        # Rules that are not named here are small: seconds, whatever the study.
        self._by_rule: Mapping[str, Callable[[Any], Need]] = {
            "download_file": lambda w: resources.of_downloading(),
            "download_weights": lambda w: resources.of_downloading(),
            "prepare_dataset": lambda w: resources.of_preparing(self._set(w.dataset)),
            "derive_dataset": lambda w: resources.of_preparing(self._set(w.dataset)),
            "find_neighbours": lambda w: resources.of_searching(
                [self._set(w.dataset), self._set(w.reference)], study.followups.compare_size
            ),
            "simulate_answers": self._of_pool,
            "count_selections": self._of_pool,
            "sample_dataset": self._of_sampling,
            "transform_images": self._of_pixels,
            "train_model": self._of_training,
            "predict_dataset": self._of_inference,
            "match_predictions": lambda w: self._of_matching(w, len(study.batches[w.batch])),
            "save_pairs": lambda w: self._of_matching(w, 1),
            "count_correct": lambda w: resources.of_reading(
                len(study.models), self._set(w.dataset).images
            ),
        }

    def of(self, rule: str, wildcards: Any) -> Need:
        """Need of a job of a rule, by its wildcards as attributes."""
        return self._by_rule[rule](wildcards) if rule in self._by_rule else resources.SMALL

    def _set(self, name: str) -> ImageSet:
        """How large a dataset is: by its description where it is prepared, else by its kind."""
        folder = f"{self._study.results}/datasets/{name}"
        while name in self._study.derivations or name in self._study.sampled:
            if name in self._study.derivations:
                name = self._study.derivations[name].of[0]
            else:
                name = self._study.pool_of(name).candidates
        return workloads.size_of_dataset(self._study.datasets[name].kind, folder)

    def _model(self, name: str, data: ImageSet) -> ModelSize:
        """How large a model is: by its recipe, else by its name."""
        model = self._study.runnable[name]
        assert model.source is not None, name  # known predictions are of no job
        described: Mapping[str, Any] = model.source.options
        if model.recipe is not None:
            described = vars(model.recipe)
        if described:
            return workloads.size_of_architecture(
                described["architecture"],
                int(described["width"]),
                int(described["depth"]),
                data,
                groups=int(described.get("groups", 1)),
            )
        if model.source.kind in (TIMM, TORCHVISION):
            side = max(self._study.inference_plan.geometry(name).crop)
            return workloads.size_of_published(model.source.source, side=side)
        return workloads.UNKNOWN_PUBLISHED

    def _of_training(self, wildcards: Any) -> Need:
        trained = self._study.trained[wildcards.model]
        data, recipe = self._set(trained.train), trained.model.recipe
        assert recipe is not None, wildcards.model
        return resources.of_training(
            self._model(wildcards.model, data),
            data,
            epochs=recipe.epochs,
            batch_size=recipe.batch_size,
            gpus=self._gpus_of(self._study.training["device"]),
            threads=self._study.training["threads"],
        )

    def _of_inference(self, wildcards: Any) -> Need:
        data, settings = self._set(wildcards.dataset), self._study.inference
        batch = _AUTO_BATCH if settings["batch_size"] == "auto" else settings["batch_size"]
        return resources.of_inference(
            self._model(wildcards.model, data),
            data,
            batch_size=batch,
            gpus=self._gpus_of(settings["device"]),
            threads=settings["threads"],
        )

    def _of_pixels(self, wildcards: Any) -> Need:
        job = self._study.pixel_jobs[f"{self._study.results}/pixels/{wildcards.ticket}.json"]
        return resources.of_pixels(self._set(job.dataset), cached=job.cached)

    def _of_pool(self, wildcards: Any) -> Need:
        return resources.of_preparing(self._set(self._study.pools[wildcards.pool].candidates))

    def _of_sampling(self, wildcards: Any) -> Need:
        pool = self._study.pool_of(wildcards.dataset)
        sets = [self._set(name) for name in (pool.candidates, pool.original, *pool.against)]
        size = self._study.datasets[wildcards.dataset].options.get("compare_size")
        return resources.of_searching(sets, size)

    def _of_matching(self, wildcards: Any, n_models: int) -> Need:
        pair = self._study.pairs[wildcards.pair]
        images = max(self._set(name).images for name in (pair.original, pair.replication))
        return resources.of_matching(n_models, len(self._study.seeds), images)
