"""Loading a study: its configuration and model catalogue read, its analyses set up, all checked."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matcheval.datasets.kind import DatasetKind
from matcheval.datasets.pairs import Pair
from matcheval.datasets.specs import DatasetSpec
from matcheval.errors import configuration_error
from matcheval.inference.settings import InferencePlan
from matcheval.models.published import describe_published
from matcheval.study.analysis import Analysis
from matcheval.study.catalogue import read_catalogue
from matcheval.study.checks import check_study
from matcheval.study.configuration import complete_configuration, read_configuration
from matcheval.study.study import Study


def load_study(
    given: Mapping[str, Any],
    *,
    default_study: str | os.PathLike[str],
    analyses: Sequence[type[Analysis]],
) -> Study:
    """Read and check a configuration, its catalogue and the files it names, before any job."""
    read, suites = read_configuration(complete_configuration(given, default_study), analyses)
    models = read_catalogue(read.models) if read.models else {}
    sources = [model.source for model in models.values() if model.source]
    published = describe_published(sources, Path(read.results) / "weights")
    datasets: Mapping[str, DatasetKind] = read.datasets  # type: ignore[attr-defined]
    study = Study(
        name=read.study,
        results=read.results,
        mirror=read.mirror,
        download_options=read.downloads.options,
        confidence=read.confidence,
        formats=read.figures.formats,
        models=models,
        datasets={
            name: DatasetSpec(name, kind.kind, kind.options) for name, kind in datasets.items()
        },
        pairs={
            name: Pair(
                name, pair.original, pair.replication, pair.source, pair.paired, pair.groups_shared
            )
            for name, pair in read.pairs.items()
        },
        group_files={name: pair.groups for name, pair in read.pairs.items()},
        suites=suites.suites,
        training=read.training,
        inference=read.inference,
        inference_plan=InferencePlan(read.inference, published),
    )
    for analysis in analyses:
        study.analyses[analysis.name] = analysis(getattr(read, analysis.name), study)
    check_study(study)
    for loaded in study.analyses.values():
        loaded.check()
    _check_has_models(study)
    return study


def _check_has_models(study: Study) -> None:
    """Without a catalogue, an analysis has to train the models, and pairs have none."""
    if not study.models and (study.pairs or not study.trained):
        raise configuration_error(
            "missing: names the catalogue of the models that are compared", field="models"
        )
