"""A study: what is compared, with which models, and where each artifact lies."""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matcheval.catalogue import Model, read_catalogue
from matcheval.config import check_config, complete_config
from matcheval.errors import InputError
from matcheval.settings import Criterion, Pair, check_epsilon

PREDICTIONS_KIND = "predictions"
PREDICTION_SUFFIXES = (".parquet", ".csv", ".npz")
# Folders of the results that studies share, and no study can be named after.
SHARED_FOLDERS = ("benchmarks", "checkpoints", "datasets", "logs", "predictions")


@dataclass(frozen=True)
class DatasetSpec:
    """A dataset as the configuration has it.

    Attributes
    ----------
    name, kind : str
        Its name, and where it comes from.
    options : mapping
        What else its kind needs.
    """

    name: str
    kind: str
    options: Mapping[str, Any]

    @property
    def options_json(self) -> str:
        """The options as JSON, for a command line."""
        return json.dumps(self.options, sort_keys=True)

    @property
    def has_images(self) -> bool:
        """Whether there are images, or just predictions on file."""
        return self.kind != PREDICTIONS_KIND


@dataclass(frozen=True)
class Study:
    """A checked study.

    Attributes
    ----------
    name, results : str
        Its name; the folder of all results.
    models : mapping
        Models by name, in catalogue order.
    datasets, pairs : mapping
        By name.
    training : mapping
        Names of the sets for `train` and `validation`; empty if nothing is trained.
    criteria : tuple of Criterion
    epsilon : float
    seeds : tuple of int
    models_per_job : int
        How many models one matching job takes.
    inference : mapping
        `device`, `batch_size` and `outputs`.
    formats : tuple of str
        File formats of the figures.
    reliability_models, save_pairs : tuple of str
        Models with a reliability diagram; models whose matched pairs are asked for.
    reliability_bins : int
    """

    name: str
    results: str
    models: Mapping[str, Model]
    datasets: Mapping[str, DatasetSpec]
    pairs: Mapping[str, Pair]
    training: Mapping[str, str]
    criteria: tuple[Criterion, ...]
    epsilon: float
    seeds: tuple[int, ...]
    models_per_job: int
    inference: Mapping[str, Any]
    formats: tuple[str, ...]
    reliability_models: tuple[str, ...]
    save_pairs: tuple[str, ...]
    reliability_bins: int

    @property
    def batches(self) -> dict[str, list[str]]:
        """Names of the models that are matched in one job, by the name of the batch.

        Batches follow catalogue order, so that a model appended re-runs just the last one.
        """
        names, size = list(self.models), self.models_per_job
        starts = range(0, len(names), size)
        return {f"{start // size:03d}": names[start : start + size] for start in starts}

    def predictions_file(self, dataset: str, model: str) -> str:
        """Where a model's predictions on a dataset lie: the user's own file, or ours."""
        spec = self.datasets[dataset]
        if spec.has_images:
            return f"{self.results}/predictions/{dataset}/{model}.parquet"
        return str(spec.options["files"]).replace("{model}", model)

    @property
    def compared(self) -> list[str]:
        """Names of the sets that are in a pair."""
        pairs = self.pairs.values()
        return sorted({name for pair in pairs for name in (pair.original, pair.replication)})

    def own_files_state(self, pair: str, models: Iterable[str]) -> list[tuple[int, int]]:
        """Size and time of the user's own prediction files of a pair.

        A parameter of the rules that read them: a file that is replaced by an older one is
        another file, which its time alone does not tell Snakemake.
        """
        both = (self.pairs[pair].original, self.pairs[pair].replication)
        own = [name for name in both if not self.datasets[name].has_images]
        files = [Path(self.predictions_file(name, model)) for model in models for name in own]
        return [(file.stat().st_size, file.stat().st_mtime_ns) for file in files]

    def inference_files(self, dataset: str, model: str) -> list[str]:
        """All that is wanted of a model's inference on a dataset: predictions, and what else."""
        predictions = self.predictions_file(dataset, model)
        if not self.datasets[dataset].has_images:
            return [predictions]
        stem = predictions.removesuffix(".parquet")
        return [predictions, *(f"{stem}.{output}.parquet" for output in self.inference["outputs"])]

    def predictions_of_pair(self, pair: str, models: Iterable[str]) -> dict[str, list[str]]:
        """Prediction files of some models on both sets of a pair, by origin."""
        models = list(models)
        both = self.pairs[pair]
        return {
            "original": [self.predictions_file(both.original, model) for model in models],
            "replication": [self.predictions_file(both.replication, model) for model in models],
        }


def load_study(
    config: Mapping[str, Any],
    *,
    defaults_file: str | os.PathLike[str],
    schema_file: str | os.PathLike[str],
) -> Study:
    """Complete and check a configuration, catalogue and files included, before any job.

    Parameters
    ----------
    config : mapping
        What the user gave; see `config.complete_config`. Paths are relative to the working
        directory.
    defaults_file, schema_file : path-like
        The default study's YAML and the JSON schema.

    Raises
    ------
    InputError
        Naming key and value of what is wrong.
    """
    config = complete_config(config, defaults_file)
    check_config(config, schema_file)
    if config["study"] in SHARED_FOLDERS:
        raise InputError(
            f"'{config['study']}' is a name of the results folder itself",
            file="configuration",
            field="study",
            remedy="Choose another",
        )
    matching, figures = config["matching"], config["figures"]
    study = Study(
        name=config["study"],
        results=config["results"].rstrip("/") or "/",
        models=read_catalogue(config["models"]),
        datasets={
            name: DatasetSpec(name, spec["kind"], {k: v for k, v in spec.items() if k != "kind"})
            for name, spec in config["datasets"].items()
        },
        pairs={name: Pair(name, **spec) for name, spec in config["pairs"].items()},
        training=config.get("training", {}),
        criteria=tuple(map(Criterion, matching["criteria"])),
        epsilon=check_epsilon(matching["epsilon"]),
        seeds=tuple(range(int(matching["seeds"]))),
        models_per_job=int(matching["models_per_job"]),
        inference=config["inference"],
        formats=tuple(figures["formats"]),
        reliability_models=tuple(figures["reliability_models"]),
        save_pairs=tuple(config["save_pairs"]),
        reliability_bins=int(figures["reliability_bins"]),
    )
    _check_pairs(study)
    _check_chosen_models(study)
    _check_training(study)
    _check_predictions(study)
    return study


def _check_pairs(study: Study) -> None:
    for pair in study.pairs.values():
        for origin in ("original", "replication"):
            _known(getattr(pair, origin), study.datasets, f"pairs.{pair.name}.{origin}", "dataset")
        if pair.original == pair.replication:
            raise InputError(
                f"'{pair.original}' is compared with itself",
                file="configuration",
                field=f"pairs.{pair.name}",
            )
        if pair.source is not None:
            both = dict.fromkeys((pair.original, pair.replication))
            _known(pair.source, both, f"pairs.{pair.name}.source", "set of the pair")


def _check_chosen_models(study: Study) -> None:
    for field, names in (
        ("figures.reliability_models", study.reliability_models),
        ("save_pairs", study.save_pairs),
    ):
        for name in names:
            _known(name, study.models, field, "model")


def _check_training(study: Study) -> None:
    has_images = any(study.datasets[name].has_images for name in study.compared)
    trained = [model.name for model in study.models.values() if model.recipe is not None]
    if trained and has_images and not study.training:
        raise InputError(
            f"models are to be trained ({trained[0]}, ...), and on what is not said",
            file="configuration",
            field="training",
        )
    for part, name in study.training.items():
        _known(name, study.datasets, f"training.{part}", "dataset")
        if not study.datasets[name].has_images:
            raise InputError(
                f"'{name}' has predictions only, no images to learn from",
                file="configuration",
                field=f"training.{part}",
            )


def _check_predictions(study: Study) -> None:
    """Every model must come to its predictions: by inference, or from a file that is there."""
    for dataset in study.compared:
        field = f"datasets.{dataset}"
        file = Path(study.predictions_file(dataset, "model"))
        if file.suffix not in PREDICTION_SUFFIXES:
            raise InputError(
                f"'{file.suffix}' is no kind of prediction file",
                file="configuration",
                field=f"{field}.files",
                remedy=f"Use {', '.join(PREDICTION_SUFFIXES)}",
            )
        for model in study.models.values():
            if study.datasets[dataset].has_images:
                if model.recipe is None:
                    raise InputError(
                        f"model '{model.name}' is of kind 'predictions' and cannot be run on it",
                        file="configuration",
                        field=field,
                        remedy="Give the set as kind 'predictions', with 'files'",
                    )
            elif not Path(study.predictions_file(dataset, model.name)).is_file():
                raise InputError(
                    f"no predictions of model '{model.name}' at "
                    f"{study.predictions_file(dataset, model.name)}",
                    file="configuration",
                    field=f"{field}.files",
                )


def _known(name: str, known: Mapping[str, object], field: str, what: str) -> None:
    if name not in known:
        raise InputError(
            f"unknown {what} '{name}'",
            file="configuration",
            field=field,
            remedy=f"Known: {', '.join(known)}",
        )
