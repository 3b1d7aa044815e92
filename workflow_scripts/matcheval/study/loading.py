"""Loading a study: its configuration completed, its catalogue read, and all of it checked."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from matcheval.analyses.checks import check_followups
from matcheval.analyses.retraining.designs import Experiment, design_experiment
from matcheval.analyses.sampling.checks import check_sampling
from matcheval.analyses.sampling.settings import PoolSettings
from matcheval.analyses.settings import FollowUps
from matcheval.datasets.pairs import Pair
from matcheval.datasets.specs import DatasetSpec
from matcheval.errors import InputError
from matcheval.inference.planning import InferencePlan
from matcheval.models.published import describe_published
from matcheval.protocol.criteria import Criterion, check_epsilon
from matcheval.replication.settings import ReplicationSettings
from matcheval.study.catalogue import read_catalogue
from matcheval.study.checks import check_study
from matcheval.study.configuration import check_config, complete_config
from matcheval.study.study import SHARED_FOLDERS, Study


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
    results = config["results"].rstrip("/") or "/"
    models = read_catalogue(config["models"])
    sources = [model.source for model in models.values() if model.source]
    published = describe_published(sources, Path(results) / "weights")
    study = Study(
        name=config["study"],
        results=results,
        mirror=config["mirror"],
        models=models,
        datasets={
            name: DatasetSpec(name, spec["kind"], {k: v for k, v in spec.items() if k != "kind"})
            for name, spec in config["datasets"].items()
        },
        pairs={name: Pair(name, **spec) for name, spec in config["pairs"].items()},
        pools={
            name: PoolSettings.from_mapping(name, pool)
            for name, pool in config.get("pools", {}).items()
        },
        training=config.get("training", {}),
        criteria=tuple(map(Criterion, matching["criteria"])),
        epsilon=check_epsilon(matching["epsilon"]),
        seeds=tuple(range(int(matching["seeds"]))),
        models_per_job=int(matching["models_per_job"]),
        inference=config["inference"],
        inference_plan=InferencePlan(results, config["inference"], published),
        formats=tuple(figures["formats"]),
        reliability_models=tuple(figures["reliability_models"]),
        save_pairs=tuple(config["save_pairs"]),
        reliability_bins=int(figures["reliability_bins"]),
        replication=ReplicationSettings.from_mapping(config["replication"]),
        experiments={},
        followups=FollowUps.from_mapping(config["followups"]),
    )
    check_study(study)
    check_sampling(study)
    check_followups(study)
    return replace(study, experiments=_experiments(config.get("experiments", {}), study))


def _experiments(specs: Mapping[str, Any], study: Study) -> dict[str, Experiment]:
    experiments = {
        name: design_experiment(
            name, spec, models=study.models, pairs=study.pairs, training=study.training
        )
        for name, spec in specs.items()
    }
    for name, experiment in experiments.items():
        for dataset in (experiment.pair.original, experiment.pair.replication):
            if not study.datasets[dataset].has_images:
                raise InputError(
                    f"'{dataset}' has no images to train or to test on",
                    file="configuration",
                    field=f"experiments.{name}.pair",
                )
    return experiments
