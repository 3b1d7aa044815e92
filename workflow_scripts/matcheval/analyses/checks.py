"""What a study's follow-ups must mean, beyond what its schema says of each key."""

from pathlib import Path
from typing import TYPE_CHECKING

from matcheval.datasets.specs import ACCURACIES_KIND, SAMPLED_KIND
from matcheval.errors import InputError
from matcheval.study.checks import check_known

if TYPE_CHECKING:
    from matcheval.study.study import Study


def check_followups(study: "Study") -> None:
    """Check names and files of the follow-ups, before any job.

    Raises
    ------
    InputError
        Naming key and value of what is wrong.
    """
    for search in study.followups.searches:
        for key, name in (("of", search.dataset), ("among", search.reference)):
            field = f"followups.searches.{key}"
            check_known(name, study.datasets, field, "dataset")
            if not study.datasets[name].has_images:
                raise InputError(
                    f"'{name}' has no images to search", file="configuration", field=field
                )
    for name in study.followups.without:
        check_known(name, study.models, "followups.without", "model")
    for key, datasets in study.followups.on_datasets.items():
        for name in datasets:
            check_known(name, study.datasets, f"followups.{key}", "dataset")
            _check_results(study, name, key)
    for name in study.followups.people:
        check_known(name, study.pairs, "followups.people", "pair")
        for of_pair in study.sets_of_pair(name).values():
            _check_results(study, of_pair, "people")
    for names in study.followups.revisions.values():
        for name in names:
            check_known(name, study.datasets, "followups.revisions", "dataset")
            _check_run(study, name, "revisions")
    for name in study.followups.difficulty:
        check_known(name, study.pairs, "followups.difficulty", "pair")
        if "probit" not in study.fitted_scales:
            raise InputError(
                "the model of difficulty needs a probit fit",
                file="configuration",
                field="followups.difficulty",
                remedy="Add probit to replication.scales; at least three models are needed",
            )
    _check_files(study)


def _check_results(study: "Study", name: str, key: str) -> None:
    """Models must have been run on it, datapoint by datapoint."""
    field = f"followups.{key}"
    if study.datasets[name].kind == ACCURACIES_KIND:
        raise InputError(
            f"'{name}' has accuracies only, not what is right of each datapoint",
            file="configuration",
            field=field,
        )
    _check_run(study, name, key)


def _check_run(study: "Study", name: str, key: str) -> None:
    if name not in study.compared:
        raise InputError(
            f"'{name}' is in no pair, so that no model was run on it",
            file="configuration",
            field=f"followups.{key}",
        )


def _check_files(study: "Study") -> None:
    for key, files in study.followups.own_files.items():
        for path in files.values():
            if not Path(path).is_file():
                raise InputError(
                    f"no such file: {path}", file="configuration", field=f"followups.{key}"
                )
    for name, path in study.followups.on_datasets["by_frequency"].items():
        if not path and study.datasets[name].kind != SAMPLED_KIND:
            raise InputError(
                f"'{name}' was not sampled, so that its selection frequencies must be given",
                file="configuration",
                field="followups.by_frequency",
                remedy="Name a file with columns index, n_answers, n_selected",
            )
