"""A study: its contents and files, and which models are trained and run by which jobs.

On a processor, to start Python with torch takes longer than many a training. Small trainings, and
small models, are therefore run together: sizes decide, not the machine. On a GPU, and for larger
networks, a job per training stays: it can be repeated, and run elsewhere, by itself.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path

from matcheval.inference import OUTPUT_SUFFIXES
from matcheval.study.contents import StudyContents
from matcheval.study.sizes import CORE_FLOPS, ImageSet, inference_work, total_sizes, training_work

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
    """Which of a study's trainings share a job."""

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
        groups += [list(analysis.trained) for analysis in study.analyses.values()]
        batches = (in_batches(models, self._seconds, TRAINING_SECONDS) for models in groups)
        return dict(enumerate(chain.from_iterable(batches), 1))

    @property
    def with_own_job(self) -> list[str]:
        """Names of the models that are trained by a job of their own."""
        together = {model for models in self.batches.values() for model in models}
        return [name for name in self._study.trained if name not in together]

    def _seconds(self, model: str) -> float:
        return training_work(self._study, model).operations / CORE_FLOPS


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
        batches = self._batches_of_small if self.are_small else planned
        return dict(enumerate((models for models in batches if len(models) > 1), 1))

    @property
    def are_small(self) -> bool:
        """Whether batches are of small models, which run side by side on a processor."""
        settings = self._study.inference
        return settings.models_per_job == "auto" and settings.device == "cpu"

    @property
    def with_own_job(self) -> list[str]:
        """Names of the models that are run by a job of their own."""
        together = {model for models in self.batches.values() for model in models}
        return [model for model in self.models if model not in together]

    @property
    def _batches_of_small(self) -> list[tuple[str, ...]]:
        by_geometry: dict[str, list[str]] = {}
        for name in self.models:
            geometry = self._study.inference_plan.geometry(name).name
            by_geometry.setdefault(geometry, []).append(name)
        groups = by_geometry.values()
        return [b for names in groups for b in in_batches(names, self._seconds, INFERENCE_SECONDS)]

    def _seconds(self, model: str) -> float:
        """Return how long a slow core needs for a model on all datasets."""
        return inference_work(self._study, [model], self.sizes).operations / CORE_FLOPS

    @cached_property
    def sizes(self) -> list[ImageSet]:
        """Estimated sizes of these datasets, together where they are alike."""
        return total_sizes(self._study, self.datasets)

    # --- datasets and files

    @cached_property
    def single(self) -> list[str]:
        """Names of the datasets with images whose results are files of their own."""
        return [name for name in self._study.single if self._study.datasets[name].has_images]

    @cached_property
    def suites(self) -> dict[str, list[str]]:
        """Names of the datasets whose results lie in the folder of a suite, by suite."""
        suites: dict[str, list[str]] = {}
        for name, suite in self._study.suite_of.items():
            suites.setdefault(suite, []).append(name)
        return suites

    @cached_property
    def checked_suites(self) -> dict[str, list[str]]:
        """Names of the datasets with images of every suite that has some."""
        datasets = self._study.datasets
        suites = {
            name: [dataset for dataset in suite.datasets if datasets[dataset].has_images]
            for name, suite in self._study.suites.items()
        }
        return {name: sets for name, sets in suites.items() if sets}

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


class Study(StudyContents):
    """A study with its training and inference jobs."""

    @cached_property
    def trainings(self) -> Trainings:
        """Its trainings that are run together."""
        return Trainings(self)

    @cached_property
    def predicting(self) -> Predicting:
        """Its inference jobs."""
        return Predicting(self)

    def results_inputs(
        self, dataset: str, models: Iterable[str] | None = None,
        suffixes: Sequence[str] = (".parquet",),
    ) -> list[str]:  # fmt: skip
        """Return what rules read of models' results on a dataset: files, or folders of suites."""
        chosen = dict.fromkeys(self.models if models is None else models)
        spec = self.datasets.get(dataset)
        if spec and not spec.has_images:
            return spec.results_files(chosen)
        suite, files = self.suite_of.get(dataset), list[str]()
        for model in chosen:
            if suite and model in self.models:
                files.append(f"{self.folder}/predictions/{suite}/{model}")
            else:
                stem = self.predictions_stem(dataset, model)
                files += [stem + suffix for suffix in suffixes]
        return files

    def suite_inputs(
        self, suite: str, models: Iterable[str], others: Iterable[str] = ()
    ) -> list[str]:
        """Return what rules read of models' outputs on a suite and on others, and its labels."""
        chosen, suffixes = list(models), self.predicting.suffixes
        files, folders = list[str](), set[str]()
        for name in (*others, *self.suites[suite].datasets):
            home = self.suite_of.get(name, "")
            if home not in folders:  # one folder has all sets
                files += self.results_inputs(name, chosen, suffixes)
            folders |= {home} if home else set()
        labels = (member.all_labels for member in self.suites[suite].members)
        files += [file for file in labels if Path(file).is_file()]  # a plan can lack them
        return list(dict.fromkeys(files))
