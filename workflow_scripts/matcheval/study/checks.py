"""What a study's configuration must mean together, beyond what its schema says of each key."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from matcheval.analyses.published_values.checks import check_published
from matcheval.datasets.label_spaces import compare_classes
from matcheval.datasets.specs import SUFFIXES, DatasetSpec
from matcheval.errors import InputError, Problems, unknown
from matcheval.models.rows import CHECKPOINT
from matcheval.statistics.scales import Scale
from matcheval.study.configuration import TRAINING_SETS

if TYPE_CHECKING:
    from matcheval.study.study import Study


def check_study(study: "Study") -> None:
    """Check names, choices and files, before any job.

    Raises
    ------
    InputError
        Naming key and value of what is wrong.
    """
    _check_pairs(study)
    _check_chosen_models(study)
    _check_top(study)
    _check_fit_range(study)
    check_published(study)
    _check_training(study)
    _check_predictions(study)
    _check_inference(study)


def _check_pairs(study: "Study") -> None:
    for pair in study.pairs.values():
        for origin in ("original", "replication"):
            check_known(
                getattr(pair, origin), study.datasets, f"pairs.{pair.name}.{origin}", "dataset"
            )
        if pair.original == pair.replication:
            raise InputError(
                f"'{pair.original}' is compared with itself",
                file="configuration",
                field=f"pairs.{pair.name}",
            )
        if pair.source is not None:
            both = dict.fromkeys((pair.original, pair.replication))
            check_known(pair.source, both, f"pairs.{pair.name}.source", "set of the pair")
        _check_label_spaces(study, f"pairs.{pair.name}", (pair.original, pair.replication))


def _check_label_spaces(study: "Study", field: str, names: tuple[str, str]) -> None:
    """Refuse two sets of different classes, as far as they are known before any job."""
    specs = [study.datasets[name] for name in names]
    counts = [spec.n_classes for spec in specs]
    if None not in counts and len(set(counts)) > 1:
        raise InputError(
            f"'{names[0]}' has {counts[0]} classes, '{names[1]}' {counts[1]}",
            file="configuration",
            field=field,
            remedy="Both sets must be of one label space",
        )
    first, second = (spec.classes for spec in specs)
    problem = compare_classes(second, first) if first and second else ""
    if problem:
        raise InputError(
            f"'{names[1]}' has, against '{names[0]}', {problem}",
            file="configuration",
            field=field,
            remedy="Both sets must be of one label space",
        )


def check_own_images(study: "Study") -> None:
    """Images of the user's own must be there.

    Apart from `check_study`, so that what a study would do can be planned without ImageNet.

    Raises
    ------
    InputError
        Naming all that is missing.
    """
    used = {*study.compared, *(study.training[part] for part in TRAINING_SETS if study.training)}
    problems = Problems()
    for name in sorted(used):
        for key, paths in study.datasets[name].own_paths.items():
            for path in paths:
                with problems.gathered():
                    if not path.exists():
                        raise InputError(
                            f"no such file or folder: {path}",
                            file="configuration",
                            field=f"datasets.{name}.{key}",
                            remedy="Put it there, or say where it is (docs/datasets.md)",
                        )
    problems.raise_any()


def _check_chosen_models(study: "Study") -> None:
    for field, names in (
        ("figures.reliability_models", study.reliability_models),
        ("save_pairs", study.save_pairs),
        *(("replication.fit_without", study.replication.left_out(scale)) for scale in Scale),
        ("replication.range_without", study.replication.range_without),
    ):
        for name in names:
            check_known(name, study.models, field, "model")
        if names and not study.matched_pairs and not field.startswith("replication."):
            raise InputError(
                "no pair can be matched: every pair has a set without probabilities",
                file="configuration",
                field=field,
                remedy="Leave it empty; such a study has replication tables only",
            )


def _check_top(study: "Study") -> None:
    """More than the first class is to be counted only where it is known."""
    most = max(study.replication.top)
    run = any(study.datasets[name].has_images for name in study.compared)
    kept = study.inference["top"] if "top" in study.inference["outputs"] else 1
    if run and most > kept:
        raise InputError(
            f"top-{most} accuracies of models that are run here, of which {kept} "
            f"class{'es are' if kept > 1 else ' is'} kept",
            file="configuration",
            field="replication.top",
            remedy=f"Put 'top' among inference.outputs, with inference.top of {most} or more",
        )


def _check_fit_range(study: "Study") -> None:
    low, high = study.replication.fit_range
    if low >= high:
        raise InputError(
            f"{low:g} is not below {high:g}",
            file="configuration",
            field="replication.fit_range",
            remedy="Give the least original accuracy first, then the largest",
        )


def _check_training(study: "Study") -> None:
    has_images = any(study.datasets[name].has_images for name in study.compared)
    trained = [model.name for model in study.models.values() if model.recipe is not None]
    if trained and has_images and not study.training:
        raise InputError(
            f"models are to be trained ({trained[0]}, ...), and on what is not said",
            file="configuration",
            field="training",
        )
    for part in TRAINING_SETS if study.training else ():
        name = study.training[part]
        check_known(name, study.datasets, f"training.{part}", "dataset")
        if not study.datasets[name].has_images:
            raise InputError(
                f"'{name}' has predictions only, no images to learn from",
                file="configuration",
                field=f"training.{part}",
            )
    if trained and has_images and study.training:
        train = study.training["train"]
        for name in {**dict.fromkeys(study.compared), study.training["validation"]: None}:
            if study.datasets[name].has_images:
                _check_label_spaces(study, "training.train", (train, name))


def _check_predictions(study: "Study") -> None:
    """Every model must come to its predictions: by inference, or from a file that is there."""
    for dataset in study.compared:
        field = f"datasets.{dataset}"
        spec = study.datasets[dataset]
        if not spec.has_images:
            _check_suffixes(spec, field)
        for model in study.models.values():
            if spec.has_images:
                if model.source is None:
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
                    field=f"{field}.{'file' if 'file' in spec.options else 'files'}",
                )


def _check_inference(study: "Study") -> None:
    """What models are loaded from is there, as far as it is not made or downloaded."""
    if study.inference["precision"] == "tf32" and study.inference["device"] in ("cpu", "mps"):
        raise InputError(
            f"no {study.inference['device']} has tf32",
            file="configuration",
            field="inference.precision",
            remedy="Use fp32, or device cuda",
        )
    for model in study.models.values():
        source = model.source
        if source is None:
            continue
        if source.kind == CHECKPOINT and not Path(source.source).is_file():
            raise InputError(
                f"no checkpoint at {source.source}", file=f"model '{model.name}'", field="source"
            )
        _ = source.code_file  # a callable's module is there


def _check_suffixes(spec: DatasetSpec, field: str) -> None:
    """Files that all models share, and the suffixes of all files."""
    for key in ("files", "file", "labels"):
        if key == "labels" and "file" in spec.options:  # the name of an array
            continue
        suffix = Path(str(spec.options.get(key, ""))).suffix
        if key in spec.options and suffix not in SUFFIXES[spec.kind]:
            raise InputError(
                f"'{suffix}' is no kind of prediction file",
                file="configuration",
                field=f"{field}.{key}",
                remedy=f"Use {', '.join(SUFFIXES[spec.kind])}",
            )
    labels = spec.options.get("labels")
    if "files" in spec.options and labels and not Path(labels).is_file():
        raise InputError(
            f"no labels at {labels}", file="configuration", field=f"{field}.labels"
        )  # fmt: skip


def check_known(name: str, known: Mapping[str, object], field: str, what: str) -> None:
    """Refuse a name of the configuration that is not among the known ones."""
    if name not in known:
        raise unknown(what, name, known, file="configuration", field=field)
