"""Check a study's core settings: for consistency, references, and files that exist and can be read.

Every analysis checks its own settings. A setting that names models, datasets, pairs or suites says
so in its type, with what is needed of them (`settings.Ref`), so that all references are checked
here.
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel

from matcheval.datasets.custom import ImageFolder
from matcheval.datasets.decoding import UnreadableImageError, inspect_image
from matcheval.datasets.kind import DatasetKind
from matcheval.datasets.kinds import PREDICTIONS_KIND, DatasetSpec
from matcheval.datasets.label_spaces import compare_classes
from matcheval.datasets.suites import Pair
from matcheval.errors import (
    ErrorCollector,
    InputError,
    check_known,
    configuration_error,
    listed,
    suggest,
)
from matcheval.io.files import files_below, readable
from matcheval.io.text_tables import counted
from matcheval.io.user_files import check_header
from matcheval.models.packages import is_file_of_weights, pretrained_weights
from matcheval.models.rows import CALLABLE
from matcheval.models.sizes import SPECIFICATIONS
from matcheval.predictions.datapoints import GROUP
from matcheval.predictions.files import read_predictions
from matcheval.predictions.layout import layout_of
from matcheval.predictions.suspicions import suspicions
from matcheval.settings import Need, Ref
from matcheval.study.study import Study
from matcheval.study.work import check_one_size
from matcheval.training.options import check_n_sources

_RESIZE = "Add 'resize: 32', or another number of pixels, to this and the other sets"


def check_study(study: Study) -> None:
    """Check that the core settings are consistent and their files exist, before any job runs."""
    if Path(study.results).exists() and not Path(study.results).is_dir():
        remedy = "Name a folder, which need not exist"
        raise configuration_error(
            f"{study.results} is not a folder", field="results", remedy=remedy
        )
    _check_sources_of_datasets(study)
    for pair in study.pairs.values():
        _check_pair(study, pair)
    _check_training(study)
    for trained in study.trained.values():
        start = trained.recipe.pretrained
        # Files of the user's are looked for when the first job starts.
        if start and not is_file_of_weights(start):
            pretrained_weights(start, trained.model.name)
    _check_predictions(study)
    for name, model in study.models.items():
        # Raises if the module of a callable, or a file with names of classes, is missing.
        if model.source and (file := model.source.code_file) and model.source.kind == CALLABLE:
            _check_function(name, model.source.source.partition(":")[2], file)


def _check_function(model: str, function: str, file: Path) -> None:
    """Check, without importing it, that a Python file may define the function of a model."""
    if file.suffix != ".py":
        return
    with readable(file, "readable as Python", SyntaxError):
        body = ast.parse(file.read_bytes()).body
    defined, is_open = set[str](), False  # open: names that only running it can tell
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            defined |= {(name.asname or name.name).partition(".")[0] for name in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            defined |= {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
        else:
            is_open |= not isinstance(node, ast.Expr)
    if function not in defined and not is_open and not defined & {"*", "__getattr__"}:
        problem = f"there is no '{function}' in {file}"
        raise InputError(problem, file=model, field="source", remedy=suggest(function, defined))


def check_custom_files(study: Study) -> None:
    """Check that the user's images and weights exist, and that class folders fit the classes."""
    problems = ErrorCollector()
    # One error for all images, one for all weights: a study may lack hundreds of folders.
    for missing in (_missing_images(study), _missing_weights(study)):
        with problems.collected():
            if missing:
                remedy = "Put it there, or say where it is (docs/datasets.md)"
                files = listed(f"{path} ({field})" for field, path in missing)
                raise configuration_error(f"no such file or folder: {files}", remedy=remedy)
    for name in study.used:
        with problems.collected():
            _check_class_folders(name, study.datasets[name].settings)
    problems.raise_any()


def _missing_images(study: Study) -> list[tuple[str, Path]]:
    """Return the setting and the path of every missing image file, folder or label file.

    Not part of loading a study, so that it can be planned without ImageNet at hand.
    """
    images = [
        (f"datasets.{name}.{key}", path)
        for name in study.used
        for key, paths in study.datasets[name].settings.custom_paths.items()
        for path in paths
        if not path.exists()
    ]
    labels = [
        (f"suites.{suite.name}: all_labels of '{member.dataset}'", Path(member.all_labels))
        for suite in study.suites.values()
        for member in suite.members
        if member.all_labels and not Path(member.all_labels).is_file()
    ]
    return images + labels


def _missing_weights(study: Study) -> list[tuple[str, Path]]:
    """Return the setting and the path of every missing file of weights."""
    files: dict[Path, str] = {}
    for name, model in study.models.items():
        if model.source and model.source.own_weights:
            files[Path(model.source.own_weights)] = f"model '{name}': source"
    for name, trained in study.trained.items():
        start = trained.recipe.pretrained
        if is_file_of_weights(start):
            files.setdefault(Path(start), f"model '{name}': pretrained")
    return [(field, path) for path, field in files.items() if not path.is_file()]


def _check_class_folders(name: str, settings: DatasetKind) -> None:
    """Check that the class folders of an image folder are classes; archives are not read."""
    if isinstance(settings, ImageFolder) and (folder := settings.custom_paths["path"][0]).is_dir():
        visible = (path for path in folder.iterdir() if not path.name.startswith("."))
        filled = [path.name for path in visible if path.is_dir() and any(path.iterdir())]
        settings.class_labels(dict.fromkeys(filled, 1), f"{folder} (datasets.{name})")


def _check_sources_of_datasets(study: Study) -> None:
    """Check that datasets are made from others with images, and not from themselves."""
    for name, spec in study.datasets.items():
        field = f"datasets.{name}.of"
        for source in spec.settings.sources:
            check_need(study, source, Need.IMAGES, field)
            if spec.settings.needs_one_size:
                check_one_size(study, source, field=field, remedy=_RESIZE)
    for name, spec in study.datasets.items():
        before = list(spec.settings.sources)
        for source in before:  # grows while it is read
            before += [earlier for earlier in study.sources_of(source) if earlier not in before]
        if name in before:
            raise configuration_error(f"'{name}' is made from itself", field=f"datasets.{name}.of")


def _check_pair(study: Study, pair: Pair) -> None:
    """Check that a pair is of two different datasets, and that its files of groups exist."""
    field, names = f"pairs.{pair.name}", pair.datasets.values()
    for origin, dataset in pair.datasets.items():
        key = f"{field}.{origin}"
        check_known("dataset", [dataset], study.datasets, file="configuration", field=key)
    first, second = (study.datasets[name] for name in names)
    same_files = first.kind == second.kind == PREDICTIONS_KIND and all(
        first.options.get(key) == second.options.get(key) for key in ("files", "columns", "aliases")
    )
    if pair.original == pair.replication or same_files:
        problem = f"'{pair.original}' is compared with itself, as '{pair.replication}'"
        raise configuration_error(problem, field=field)
    groups = {f"{field}.groups.{name}": name for name in study.group_files.get(pair.name, {})}
    for key, name in {f"{field}.source": pair.source or pair.original, **groups}.items():
        check_known("set of the pair", [name], names, file="configuration", field=key)
    for key, name in groups.items():
        file = study.group_files[pair.name][name]
        if not Path(file).is_file():
            raise configuration_error(f"no file at {file}", field=key)
        check_header(file, [GROUP])
    check_label_spaces(study, field, pair.original, pair.replication)


def check_label_spaces(study: Study, field: str, first: str, second: str) -> None:
    """Check that two datasets have the same classes, if both are known before any job runs."""
    kinds = [study.label_source(name).settings for name in (first, second)]
    problem = ""
    counts = [kind.n_classes for kind in kinds]
    classes = [kind.known_classes for kind in kinds]
    if None not in counts and counts[0] != counts[1]:
        problem = f"'{first}' has {counts[0]} classes, '{second}' {counts[1]}"
    elif classes[0] and classes[1]:
        difference = compare_classes(classes[1], classes[0])
        problem = difference and f"'{second}' has, against '{first}', {difference}"
    if problem:
        remedy = "Both sets must have the same label space"
        raise configuration_error(problem, field=field, remedy=remedy)


def _check_training(study: Study) -> None:
    """Check that training sets are named, have images of one size, and are alike."""
    images = [name for name in study.evaluated if study.datasets[name].has_images]
    trained = [model.name for model in study.models.values() if model.recipe is not None]
    settings = study.training
    if settings is None:
        if trained and images:
            problem = f"models are to be trained ({trained[0]}, ...), and no training set is named"
            raise configuration_error(problem, field="training")
        return
    for key, sets in (("train", settings.train), ("validation", settings.validation_sets)):
        if trained and not sets:
            problem = f"missing: models of the catalogue are to be trained ({trained[0]}, ...)"
            raise configuration_error(problem, field=f"training.{key}")
    fields = dict.fromkeys(settings.train, "training.train")
    fields |= dict.fromkeys(settings.validation_sets, "training.validation")
    for model in study.models.values():
        fields |= dict.fromkeys(model.train, f"train of {model.name}")
        if model.recipe is not None:
            n_sources = len(model.train or settings.train)
            check_n_sources(model.recipe.algorithm, n_sources, model.name)
    for name, field in fields.items():
        check_need(study, name, Need.IMAGES, field)
        check_one_size(study, name, field=f"datasets.{name}", remedy=_RESIZE)
    if trained and images:
        for name, field in (dict.fromkeys(images, "training.train") | fields).items():
            _check_like_training_set(study, settings.train[0], name, field)
        _check_sizes_of_images(study)


def _check_like_training_set(study: Study, first: str, name: str, field: str) -> None:
    """Check that a dataset has the classes and the format of the first training set."""
    check_label_spaces(study, field, first, name)
    trained, own = (study.datasets[dataset].settings.pixel_format for dataset in (first, name))
    if trained and own and trained != own:
        problem = f"has images of {own}, and models are trained on '{first}', of {trained}"
        remedy = "Models can only be run on images like those that they are trained on"
        raise configuration_error(problem, field=f"datasets.{name}", remedy=remedy)


def _check_sizes_of_images(study: Study) -> None:
    """Check that the training images are not too small for the network architectures."""
    for name, trained in study.trained.items():
        first = study.datasets.get(trained.train[0])
        images = first.settings.pixel_format if first else None
        least = SPECIFICATIONS[trained.recipe.architecture].min_side
        if images and images.side < least:
            size = f"{images.side} × {images.side} pixels"
            problem = f"the architecture of model '{name}' does not accept images of {size}"
            remedy = f"Use images of at least {least} × {least} pixels, or another architecture"
            field = f"datasets.{trained.train[0]}"
            raise configuration_error(problem, field=field, remedy=remedy)


def _check_predictions(study: Study) -> None:
    """Check that every model has predictions: by inference, or from a file that exists."""
    for dataset in study.evaluated:
        field, spec = f"datasets.{dataset}", study.datasets[dataset]
        if spec.has_images:
            for model in study.models.values():
                if model.source is None:
                    problem = (
                        f"model '{model.name}' is of kind 'predictions' and cannot be run on it"
                    )
                    remedy = "Give the set as kind 'predictions', with 'files'"
                    raise configuration_error(problem, field=field, remedy=remedy)
            continue
        _check_files_of_results(study, spec, field)
        for model in study.models.values():
            file = study.predictions_file(dataset, model.name)
            if not (file in study.downloaded or Path(file).is_file()):
                field += ".file" if "file" in spec.options else ".files"
                is_listed = any(f.name.count("/") for f in study.published.get(dataset, ()))
                where = "in the list of published files" if is_listed else f"at {file}"
                problem = f"no predictions of model '{model.name}' {where}"
                home = "Write the full path: ~ and $HOME are not expanded in a study"
                is_short = not is_listed and file.startswith(("~", "$"))
                raise configuration_error(problem, field=field, remedy=home if is_short else "")


def _check_files_of_results(study: Study, spec: DatasetSpec, field: str) -> None:
    """Check that prediction files have a supported suffix, and that the label file exists."""
    suffixes = spec.settings.suffixes
    # In an archive, `labels` is the name of an array.
    keys = ("file",) if "file" in spec.options else ("files", "labels")
    for key in (key for key in keys if key in spec.options):
        path = Path(str(spec.options[key]))
        if not path.name.lower().endswith(suffixes):
            problem = f"'{path.suffix}' is not a format of prediction files"
            remedy = f"Use {', '.join(suffixes)}"
            raise configuration_error(problem, field=f"{field}.{key}", remedy=remedy)
    labels = spec.options.get("labels")
    is_there = labels in study.downloaded or Path(labels or "").is_file()
    if "files" in spec.options and labels and not is_there:
        raise configuration_error(f"no labels at {labels}", field=f"{field}.labels")


# --- references

_Reference = tuple[Ref, str, str]  # with the name, and the key that names it


def references(settings: BaseModel, field: str) -> Iterator[_Reference]:
    """Yield all references to models, datasets, pairs and suites in settings, with their keys."""
    for key, info in type(settings).model_fields.items():
        kind: Any = info.annotation
        for metadata in info.metadata:
            kind = Annotated[kind, metadata]
        yield from _references(kind, getattr(settings, key), f"{field}.{key}")


def _references(kind: Any, value: Any, field: str) -> Iterator[_Reference]:
    """Yield the references in a value that has the annotated type `kind`."""
    if get_origin(kind) is Annotated:
        inner, *metadata = get_args(kind)
        yield from ((ref, value, field) for ref in metadata if isinstance(ref, Ref))
        yield from _references(inner, value, field)
    elif isinstance(value, BaseModel):
        yield from references(value, field)
    elif isinstance(value, Mapping) and get_args(kind):
        key_kind, value_kind = get_args(kind)
        for key, item in value.items():
            yield from _references(key_kind, key, field)
            yield from _references(value_kind, item, f"{field}.{key}")
    elif isinstance(value, tuple) and get_origin(kind) is tuple:
        for item in value:
            yield from _references(get_args(kind)[0], item, field)
    elif value is not None:  # of a union, the alternatives
        for alternative in get_args(kind):
            yield from _references(alternative, value, field)


def check_names(study: Study, settings: BaseModel, field: str) -> None:
    """Check that all models, datasets, pairs and suites that settings name exist in the study."""
    names = {
        "model": study.models, "dataset": study.datasets, "pair": study.pairs,
        "suite": study.suites,
    }  # fmt: skip
    for ref, name, key in references(settings, field):
        check_known(ref.kind, [name], names[ref.kind], file="configuration", field=key)


def check_needs(study: Study, settings: BaseModel, field: str) -> None:
    """Check that datasets have what settings need of them, once all analyses are loaded."""
    for ref, name, key in references(settings, field):
        if ref.needs is not None:
            names = study.pairs[name].datasets.values() if ref.kind == "pair" else [name]
            for dataset in names:
                check_need(study, dataset, ref.needs, key)


def check_need(study: Study, dataset: str, need: Need, field: str) -> None:
    """Raise an error if a dataset lacks images, accuracies, correctness or probabilities needed."""
    check_known("dataset", [dataset], study.datasets, file="configuration", field=field)
    spec, problem = study.datasets[dataset], ""
    if need is Need.IMAGES:
        problem = "" if spec.has_images else "has predictions only, no images"
    elif dataset not in study.evaluated:
        problem = "is in no pair and no suite, so that no model is run on it"
    elif need is Need.CORRECTNESS and not spec.kind_class.has_correctness:
        problem = "has accuracies only, not the correctness of each datapoint"
    elif need is Need.PROBABILITIES and not spec.has_probabilities:
        problem = "has no probabilities"
    if problem:
        raise configuration_error(f"'{dataset}' {problem}", field=field)


# --- a look into some of the user's files

_N_IMAGES = 20  # of each set


def open_samples(study: Study) -> tuple[str, list[str]]:
    """Open some images of image folders and some prediction files; return which, and warnings."""
    problems, warnings = ErrorCollector(), list[str]()
    opened = [
        *_open_images(study, problems, warnings),
        *_open_predictions(study, problems, warnings),
    ]
    problems.raise_any()
    return ", ".join(opened), warnings


def _open_images(study: Study, problems: ErrorCollector, warnings: list[str]) -> Iterator[str]:
    """Decode images, evenly spread, of every image folder; yield how many, collect problems."""
    callables = [m for m in study.models.values() if m.source and m.source.kind == CALLABLE]
    for name in study.used:
        settings = study.datasets[name].settings
        if not isinstance(settings, ImageFolder) or settings.unreadable == "skip":
            continue
        if not (folder := settings.custom_paths["path"][0]).is_dir():
            continue
        files = files_below(folder)
        chosen = files[:: -(-len(files) // _N_IMAGES) or 1]
        sizes = set[str]()
        for file in chosen:
            with problems.collected():
                try:
                    image = inspect_image(file.read_bytes())
                    sizes.add(f"{image.height} × {image.width}")
                except UnreadableImageError as error:
                    problem = f"is not a readable image ({error})"
                    remedy = "Replace it, or leave such files out with 'unreadable: skip'"
                    raise InputError(problem, file=file, remedy=remedy) from error
        if callables and len(sizes) > 1 and settings.resize is None:
            warnings.append(
                f"{name}: images have several sizes ({listed(sorted(sizes), 3)} pixels): functions "
                "of models must return a transform with the model (docs/models.md), or the sets "
                "need `resize`"
            )
        yield f"{len(chosen)} of {counted(len(files), 'image')} of {name}"


def _open_predictions(study: Study, problems: ErrorCollector, warnings: list[str]) -> Iterator[str]:
    """Read the first model's predictions on each set of prediction files; yield a note of each."""
    for name in study.evaluated if study.models else ():
        spec = study.datasets[name]
        if spec.kind == PREDICTIONS_KIND:
            file = Path(study.predictions_file(name, next(iter(study.models))))
            if str(file) in study.downloaded and not file.exists():
                continue
            with problems.collected():
                read = read_predictions(file, layout_of(spec))
                wrong = suspicions(read.label, read.prediction, read.probability, read.metadata)
                warnings += [f"{file}: {text}" for text in wrong]
            yield f"the predictions of 1 of {counted(len(study.models), 'model')} on {name}"
