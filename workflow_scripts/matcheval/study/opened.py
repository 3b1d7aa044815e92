"""A look into some of the user's files, for those who check a study before they run it."""

from collections.abc import Iterator
from pathlib import Path

from matcheval.datasets.custom import ImageFolder
from matcheval.datasets.decoding import UnreadableImageError, inspect_image
from matcheval.datasets.kinds import PREDICTIONS_KIND
from matcheval.errors import ErrorCollector, InputError, listed
from matcheval.io.files import files_below
from matcheval.io.text_tables import counted
from matcheval.models.rows import CALLABLE
from matcheval.predictions.files import read_predictions
from matcheval.predictions.layout import layout_of
from matcheval.predictions.suspicions import suspicions
from matcheval.study.study import Study

_N_IMAGES = 20  # of each set


def open_some(study: Study) -> tuple[str, list[str]]:
    """Open some images and prediction files of each set; say which, and what looks wrong."""
    problems, noticed = ErrorCollector(), list[str]()
    parts = _images(study, problems, noticed), _predictions(study, problems, noticed)
    opened = ", ".join(text for part in parts for text in part)
    problems.raise_any()
    return opened, noticed


def _images(study: Study, problems: ErrorCollector, noticed: list[str]) -> Iterator[str]:
    """Decode images of folders that are there, evenly spread."""
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
            noticed.append(
                f"{name}: images have several sizes ({listed(sorted(sizes), 3)} pixels): functions "
                "of models must return a transform with the model (docs/models.md), or the sets "
                "need `resize`"
            )
        yield f"{len(chosen)} of {counted(len(files), 'image')} of {name}"


def _predictions(
    study: Study, problems: ErrorCollector, noticed: list[str]
) -> Iterator[str]:  # fmt: skip
    """Read the first model's predictions on each set that is known by such files."""
    for name in study.evaluated if study.models else ():
        spec = study.datasets[name]
        if spec.kind == PREDICTIONS_KIND:
            file = Path(study.predictions_file(name, next(iter(study.models))))
            if str(file) in study.downloaded and not file.exists():
                continue
            with problems.collected():
                found = read_predictions(file, layout_of(spec))
                wrong = suspicions(found.label, found.prediction, found.probability, found.metadata)
                noticed += [f"{file}: {text}" for text in wrong]
            yield f"the predictions of 1 of {counted(len(study.models), 'model')} on {name}"
