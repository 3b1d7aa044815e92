"""Checks of the core settings against each other and against files; analyses check their own."""

from pathlib import Path

from matcheval.datasets.custom_kinds import ImageFolder
from matcheval.datasets.kind import DatasetKind
from matcheval.datasets.label_spaces import compare_classes
from matcheval.datasets.pairs import Pair
from matcheval.datasets.specs import PREDICTIONS_KIND, DatasetSpec
from matcheval.errors import ErrorCollector, InputError, unknown_name_error
from matcheval.io.csv_rows import check_header
from matcheval.models.packages import is_file_of_weights, pretrained_weights
from matcheval.models.sizes import SPECIFICATIONS
from matcheval.predictions.group_files import GROUP
from matcheval.study.requests import check_one_size
from matcheval.study.study import Study
from matcheval.training.options import check_n_sources

_FILE = "configuration"
_RESIZE = "Add 'resize: 32', or another number of pixels, to this and the other sets"


def check_study(study: Study) -> None:
    """Check names, choices and files of the core settings, before any job."""
    if Path(study.results).exists() and not Path(study.results).is_dir():
        raise InputError(
            f"{study.results} is not a folder", file=_FILE, field="results",
            remedy="Name a folder, which need not exist",
        )  # fmt: skip
    _check_sources_of_datasets(study)
    _check_pairs(study)
    _check_training(study)
    _check_pretrained(study)
    _check_predictions(study)
    _check_sources(study)


def check_custom_images(study: Study) -> None:
    """Check that the user's images are there, in folders of the classes."""
    problems = ErrorCollector()
    for field, paths in study.missing_files().items():
        for path in paths:
            with problems.collected():
                raise InputError(
                    f"no such file or folder: {path}",
                    file=_FILE,
                    field=field,
                    remedy="Put it there, or say where it is (docs/datasets.md)",
                )
    for name in study.used:
        with problems.collected():
            _check_class_folders(name, study.datasets[name].settings)
    problems.raise_any()


def _check_class_folders(name: str, settings: DatasetKind) -> None:
    """Check the names of class folders, as far as that needs no archive to be read."""
    if isinstance(settings, ImageFolder) and (folder := settings.custom_paths["path"][0]).is_dir():
        filled = [
            each.name
            for each in folder.iterdir()
            if each.is_dir() and not each.name.startswith(".") and any(each.iterdir())
        ]
        settings.labels_of(dict.fromkeys(filled, 1), f"{folder} (datasets.{name})")


def _check_sources_of_datasets(study: Study) -> None:
    for name, spec in study.datasets.items():
        field = f"datasets.{name}.of"
        for source in spec.settings.sources:
            study.check_dataset(source, field, images=True)
            if spec.settings.needs_one_size:
                check_one_size(study, source, field=field, remedy=_RESIZE)
    for name, spec in study.datasets.items():
        before = list(spec.settings.sources)
        for source in before:  # grows while it is read
            before += [one for one in study.sources_of(source) if one not in before]
        if name in before:
            raise InputError(
                f"'{name}' is made from itself", file=_FILE, field=f"datasets.{name}.of"
            )


def _check_pairs(study: Study) -> None:
    for pair in study.pairs.values():
        field = f"pairs.{pair.name}"
        for origin, dataset in pair.datasets.items():
            study.check_dataset(dataset, f"{field}.{origin}")
        if pair.original == pair.replication:
            raise InputError(f"'{pair.original}' is compared with itself", file=_FILE, field=field)
        one, other = (study.datasets[name] for name in pair.datasets.values())
        if _same_files(one, other):
            raise InputError(
                f"'{pair.original}' is compared with itself: '{pair.replication}' has the same "
                "files",
                file=_FILE,
                field=field,
            )
        if pair.source is not None and pair.source not in pair.datasets.values():
            raise unknown_name_error(
                "set of the pair", pair.source, pair.datasets.values(),
                file=_FILE, field=f"{field}.source",
            )  # fmt: skip
        _check_groups(study, pair)
        check_label_spaces(study, field, pair.original, pair.replication)


def _check_groups(study: Study, pair: Pair) -> None:
    """Check that files of groups exist, and are of the pair's sets."""
    for dataset, file in study.group_files.get(pair.name, {}).items():
        field = f"pairs.{pair.name}.groups.{dataset}"
        if dataset not in pair.datasets.values():
            raise unknown_name_error(
                "set of the pair", dataset, pair.datasets.values(), file=_FILE, field=field
            )
        if not Path(file).is_file():
            raise InputError(f"no file at {file}", file=_FILE, field=field)
        check_header(file, [GROUP])


def _same_files(one: DatasetSpec, other: DatasetSpec) -> bool:
    """Whether two datasets are the same prediction files."""
    both = one.kind == other.kind == PREDICTIONS_KIND
    return both and all(
        one.options.get(key) == other.options.get(key) for key in ("files", "columns", "aliases")
    )


def check_label_spaces(study: Study, field: str, first: str, second: str) -> None:
    """Check that two datasets have the same classes, as far as these are known before any job."""
    one, other = (study.labelled_like(name).settings for name in (first, second))
    problem = ""
    counts = one.n_classes, other.n_classes
    if None not in counts and counts[0] != counts[1]:
        problem = f"'{first}' has {counts[0]} classes, '{second}' {counts[1]}"
    if not problem and one.known_classes and other.known_classes:
        difference = compare_classes(other.known_classes, one.known_classes)
        problem = difference and f"'{second}' has, against '{first}', {difference}"
    if problem:
        raise InputError(
            problem, file=_FILE, field=field, remedy="Both sets must have the same label space"
        )


def _check_training(study: Study) -> None:
    images = [name for name in study.evaluated if study.datasets[name].has_images]
    trained = [model.name for model in study.models.values() if model.recipe is not None]
    if study.training is None:
        if trained and images:
            raise InputError(
                f"models are to be trained ({trained[0]}, ...), and no training set is named",
                file=_FILE,
                field="training",
            )
        return
    for key, given in (
        ("train", study.training.train), ("validation", study.training.validation_sets),
    ):  # fmt: skip
        if trained and not given:
            raise InputError(
                f"missing: models of the catalogue are to be trained ({trained[0]}, ...)",
                file=_FILE,
                field=f"training.{key}",
            )
    sets = dict.fromkeys(study.training.train, "training.train")
    sets |= dict.fromkeys(study.training.validation_sets, "training.validation")
    for model in study.models.values():
        sets |= dict.fromkeys(model.train, f"train of {model.name}")
        if model.recipe is not None:
            n_sources = len(model.train or study.training.train)
            check_n_sources(model.recipe.algorithm, n_sources, model.name)
    for name, field in sets.items():
        study.check_dataset(name, field, images=True)
        check_one_size(study, name, field=f"datasets.{name}", remedy=_RESIZE)
    if trained and images:
        first = study.training.train[0]
        for name, field in (dict.fromkeys(images, "training.train") | sets).items():
            check_label_spaces(study, field, first, name)
            ours, others = (study.datasets[one].settings.pixel_format for one in (first, name))
            if ours and others and ours != others:
                raise InputError(
                    f"has images of {others}, and models are trained on '{first}', of {ours}",
                    file=_FILE, field=f"datasets.{name}",
                    remedy="Models can only be run on images like those that they are trained on",
                )  # fmt: skip
        _check_sizes_of_images(study)


def _check_sizes_of_images(study: Study) -> None:
    """Check that images are large enough for the networks that are trained on them."""
    for name, trained in study.trained.items():
        first, recipe = study.datasets.get(trained.train[0]), trained.model.recipe
        images = first.settings.pixel_format if first else None
        least = SPECIFICATIONS[recipe.architecture].min_side if recipe else 0
        if images and images.side < least:
            raise InputError(
                f"the architecture of model '{name}' does not accept images of {images.side} × "
                f"{images.side} pixels",
                file=_FILE,
                field=f"datasets.{trained.train[0]}",
                remedy=f"Use images of at least {least} × {least} pixels, or another architecture",
            )


def _check_pretrained(study: Study) -> None:
    """Check that the packages are installed whose weights models start from."""
    for trained in study.trained.values():
        recipe = trained.model.recipe
        # Files of the user's are looked for when the first job starts (`missing_files`).
        if recipe is not None and recipe.pretrained and not is_file_of_weights(recipe.pretrained):
            pretrained_weights(recipe.pretrained, trained.model.name)


def _check_predictions(study: Study) -> None:
    """Check that every model has predictions: by inference, or from a file that exists."""
    for dataset in study.evaluated:
        field, spec = f"datasets.{dataset}", study.datasets[dataset]
        if not spec.has_images:
            _check_suffixes(spec, field)
        for model in study.models.values():
            if spec.has_images:
                if model.source is None:
                    raise InputError(
                        f"model '{model.name}' is of kind 'predictions' and cannot be run on it",
                        file=_FILE,
                        field=field,
                        remedy="Give the set as kind 'predictions', with 'files'",
                    )
            elif not Path(study.predictions_file(dataset, model.name)).is_file():
                raise InputError(
                    f"no predictions of model '{model.name}' at "
                    f"{study.predictions_file(dataset, model.name)}",
                    file=_FILE,
                    field=f"{field}.{'file' if 'file' in spec.options else 'files'}",
                )


def _check_suffixes(spec: DatasetSpec, field: str) -> None:
    """Check the suffixes of files with predictions, and that the file of labels exists."""
    suffixes = spec.settings.suffixes
    for key in ("files", "file", "labels"):
        if key not in spec.options or (key == "labels" and "file" in spec.options):
            continue  # in an archive, `labels` is the name of an array
        path = Path(str(spec.options[key]))
        if not path.name.lower().endswith(suffixes):
            raise InputError(
                f"'{path.suffix}' is not a format of prediction files",
                file=_FILE,
                field=f"{field}.{key}",
                remedy=f"Use {', '.join(suffixes)}",
            )
    labels = spec.options.get("labels")
    if "files" in spec.options and labels and not Path(labels).is_file():
        raise InputError(f"no labels at {labels}", file=_FILE, field=f"{field}.labels")


def _check_sources(study: Study) -> None:
    """Check that the modules of callable models exist."""
    for model in study.models.values():
        source = model.source
        if source is None:
            continue
        _ = source.code_file  # raises if the module of a callable cannot be found
