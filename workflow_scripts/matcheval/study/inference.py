"""Which models are run on which datasets by which jobs, and where their results lie."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property

from matcheval.inference import OUTPUT_SUFFIXES
from matcheval.study.batches import INFERENCE_SECONDS, in_batches
from matcheval.study.contents import StudyContents
from matcheval.study.sizes import CORE_FLOPS, ImageSet, dataset_size, model_size


class Predicting:
    """The inference jobs of a study.

    A job runs one model, or several, on all datasets of pairs and suites. The results on a dataset
    of a pair are a file for each model and output; those on the sets of a suite are a folder for
    each model.
    """

    def __init__(self, study: StudyContents) -> None:
        self._study = study

    @cached_property
    def models(self) -> list[str]:
        """Names of the models of the catalogue that are run."""
        return [name for name, model in self._study.models.items() if model.source is not None]

    @cached_property
    def batches(self) -> dict[int, tuple[str, ...]]:
        """Models that one job runs, where these are several, by the number of the job."""
        planned = self._study.inference_plan.batches(self.models).values()
        batches = self._small if self.are_small else planned
        return dict(enumerate((each for each in batches if len(each) > 1), 1))

    @property
    def are_small(self) -> bool:
        """Whether batches are of small models, which run side by side on a processor."""
        settings = self._study.inference
        return settings.models_per_job == "auto" and settings.device == "cpu"

    @property
    def alone(self) -> list[str]:
        """Models with a job of their own."""
        together = {model for models in self.batches.values() for model in models}
        return [model for model in self.models if model not in together]

    @property
    def _small(self) -> list[tuple[str, ...]]:
        by_geometry: dict[str, list[str]] = {}
        for name in self.models:
            geometry = self._study.inference_plan.geometry(name).name
            by_geometry.setdefault(geometry, []).append(name)
        groups = by_geometry.values()
        return [b for names in groups for b in in_batches(names, self._seconds, INFERENCE_SECONDS)]

    def _seconds(self, model: str) -> float:
        """Return how long a slow core needs for a model on all datasets."""
        of_image = ((model_size(self._study, model, one), n) for one, n in self._images.items())
        return 2 * sum(n * size.multiply_adds for size, n in of_image) / CORE_FLOPS

    @cached_property
    def _images(self) -> Counter[ImageSet]:
        """Number of the images of all datasets, by what else their sizes are."""
        found = Counter[ImageSet]()
        for name in self.datasets:
            size = dataset_size(self._study, name, planned=True)
            found[replace(size, images=1)] += size.images
        return found

    # --- datasets and files

    @cached_property
    def single(self) -> list[str]:
        """Names of the datasets with images whose results are files of their own."""
        return [name for name in self._study.single if self._study.datasets[name].has_images]

    @cached_property
    def suites(self) -> dict[str, list[str]]:
        """Names of the datasets whose results lie in the folder of a suite, by suite."""
        found: dict[str, list[str]] = {}
        for name, suite in self._study.suite_of.items():
            found.setdefault(suite, []).append(name)
        return found

    @cached_property
    def checked_suites(self) -> dict[str, list[str]]:
        """Names of the datasets with images of every suite that has some."""
        found = {}
        for name, suite in self._study.suites.items():
            sets = [one for one in suite.datasets if self._study.datasets[one].has_images]
            if sets:
                found[name] = sets
        return found

    @property
    def datasets(self) -> list[str]:
        """Names of all datasets that the models of the catalogue are run on."""
        return [*self.single, *self._study.suite_of]

    @property
    def suffixes(self) -> list[str]:
        """Suffixes of the files of a model's results on a dataset."""
        outputs = ("predictions", *self._study.inference.outputs)
        return [OUTPUT_SUFFIXES[output] for output in outputs]

    def suite_file(self, suite: str) -> str:
        """Return the file with the names and digests of the datasets of a suite."""
        return f"{self._study.folder}/suites/{suite}.json"

    def tested_folder(self, batch: str) -> str:
        """Return the folder of the predictions of models that an analysis tests together."""
        return f"{self._study.folder}/tested/{batch}"

    def files(
        self, dataset: str, models: Iterable[str], suffixes: Sequence[str] = (".parquet",)
    ) -> list[str]:
        """Return what rules declare of models' results on a dataset: files, or folders."""
        suite, found = self._study.suite_of.get(dataset), dict[str, None]()
        for model in models:
            if suite and model in self._study.models:
                found[f"{self._study.folder}/predictions/{suite}/{model}"] = None
            else:
                stem = self._study.predictions_stem(dataset, model)
                found |= {stem + suffix: None for suffix in suffixes}
        return list(found)

    @property
    def all_files(self) -> list[str]:
        """All files and folders of the models of the catalogue."""
        first = [sets[0] for sets in self.suites.values()]
        sets = (*self.single, *first)
        return [file for name in sets for file in self.files(name, self.models, self.suffixes)]
