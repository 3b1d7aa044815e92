"""Study files of two folders of images, of two patterns of prediction files, or of a template.

A study is drafted, read and checked as the workflow does, and written then.
"""

import json
import logging
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import yaml

from matcheval.datasets.published import digits_rows, writers
from matcheval.errors import InputError, listed
from matcheval.health import find_snakefile
from matcheval.io.files import atomic_file, check_place, disk_errors, files_below, write_text
from matcheval.names import MAX_NAME_LENGTH, MODEL
from matcheval.predictions.formats import files_by_model, set_names
from matcheval.study.checks import check_custom_files, open_samples
from matcheval.study.configuration import load_study
from matcheval.study.stored import check_shared_names

LOGGER = logging.getLogger(__name__)
_HEADER = "# Written by `matched-eval init`, for you to edit; docs/configuration.md has all keys.\n"
_COMMENTS = {
    "pairs": "gaps are original minus replication; the larger set is the source of the matching",
    "training": "of the models of kind `trained`; the validation set is watched only",
    "figures": "further analyses, such as `mcnemar: {pairs: [...]}`: docs/analyses.md",
}


class Draft(NamedTuple):
    """A study to be written: YAML of its keys after `study` and `models`, and its catalogue."""

    keys: str
    catalogue: str
    compared: tuple[str, ...] = ()  # patterns that `compare` reads, too


def as_name(text: str) -> str:
    """Make a valid name of a text: other characters become hyphens, and it is cut short."""
    kept = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._")
    return kept[: MAX_NAME_LENGTH // 2] or "study"


def derive_set_names(original: str, replication: str) -> tuple[str, str]:
    """Derive the names of two sets from what tells their folders or patterns apart."""
    paths = [os.path.realpath(text) for text in (original, replication)]
    if paths[0] == paths[1]:
        raise InputError("the original would be compared with itself", remedy="Name another set")
    first, second = set_names(*paths) or ("original", "replication")
    return as_name(first), as_name(second)


def draft_template(name: str) -> Draft:
    """Draft a study that comes with the package: a short form of a longer one."""
    catalogue = "digits" if name == "shifts" else name
    return Draft(_read_template(f"{name}.yaml"), _read_template(f"{catalogue}.csv"))


def _read_template(name: str) -> str:
    return resources.files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


def draft_images(study: str, original: str, replication: str, *, trains: bool) -> Draft:
    """Draft a study of two image folders; with `trains`, part of the original is for training."""
    images, new_images = _images_by_class(original), _images_by_class(replication)
    if different := sorted({*images} ^ {*new_images}):
        problem = f"has other classes than {original}: {listed(different)}"
        remedy = "Rename or remove folders; or use `label_map` (docs/datasets.md)"
        raise InputError(problem, file=replication, remedy=remedy)
    classes = sorted(images, key=lambda name: name.zfill(9) if name.isdecimal() else name)
    block: dict[str, Any] = {"kind": "image_folder", "path": original, "classes": classes}
    if not trains:
        return Draft(_draft_keys(study, block, block | {"path": replication}), "")
    n = min(map(len, images.values())) // 2
    if n < 1:
        problem = "has a class with one image, too few to train on some and to test on others"
        raise InputError(problem, file=original, remedy="Name models of yours with --models")
    block["resize"] = 32  # pixels: enough to see that the study runs
    first, second = block | {"skip_per_class": n}, block | {"path": replication}
    header, *rows = _read_template("images.csv").splitlines(keepends=True)
    catalogue = header + "".join(f"{study}-{row}" for row in rows)
    return Draft(_draft_keys(study, first, second, block | {"per_class": n}), catalogue)


def _images_by_class(folder: str) -> dict[str, list[Path]]:
    images = dict[str, list[Path]]()
    for file in files_below(Path(folder)) if os.path.isdir(folder) else ():  # noqa: PTH112
        if len(parts := file.relative_to(folder).parts) > 1:
            images.setdefault(parts[0], []).append(file)
    if len(images) < 2:
        problem = "is not a folder with images of two classes or more"
        remedy = f"Images lie in old/cat, old/dog, ...; names of prediction files have {MODEL}"
        raise InputError(problem, file=folder[:200], remedy=remedy)
    return images


def draft_predictions(study: str, patterns: tuple[str, str], layout: Mapping[str, Any]) -> Draft:
    """Draft a study of the prediction files of two patterns, of the same models and layout."""
    models, new_models = (set(find_prediction_files(pattern)) for pattern in patterns)
    if different := sorted(models ^ new_models):
        problem = f"models without files on both sets: {listed(different)}"
        remedy = "Add these files, or narrow the patterns; a model has one name on both sides"
        raise InputError(problem, remedy=remedy)
    by_name = {as_name(model): model for model in sorted(models)}
    if len(by_name) < len(models):
        problem = "several models have one name, of whose characters A-Z a-z 0-9 . _ - are kept"
        raise InputError(problem, file=patterns[0], remedy="Rename the files")
    aliases = {name: model for name, model in by_name.items() if name != model}
    options = {**layout, **({"aliases": aliases} if aliases else {})}
    first, second = ({"kind": "predictions", "files": text, **options} for text in patterns)
    catalogue = "name,kind,note\n" + "".join(f"{name},predictions,\n" for name in by_name)
    return Draft(_draft_keys(study, first, second), catalogue, () if options else patterns)


def find_prediction_files(pattern: str) -> dict[str, Path]:
    """Return the prediction files that a pattern matches, by model; there must be one."""
    if not (files := files_by_model(pattern)):
        remedy = "Look at the folder, and at the pattern: quotes keep the shell from reading it"
        raise InputError("there are no files of this name", file=pattern, remedy=remedy)
    return files


def _draft_keys(
    study: str, first: Mapping[str, Any], second: Mapping[str, Any],
    train: Mapping[str, Any] | None = None,
) -> str:  # fmt: skip
    """Write the keys of a study as YAML; its sets are named <study>-original and so on."""
    roles = ("original", "replication", "train")
    original, replication, training = (f"{study}-{role}" for role in roles)
    keys: dict[str, Any] = {"datasets": {original: first, replication: second}}
    keys["pairs"] = {study: {"original": original, "replication": replication}}
    if train is not None:
        keys["datasets"] = {training: train} | keys["datasets"]
        keys["training"] = {"train": training, "validation": original, "device": "auto"}
        keys["inference"] = {"device": "auto"}
    keys["matching"] = {"epsilon": 0.005, "seeds": 10}
    return _as_yaml(keys | {"figures": {"formats": ["pdf", "png", "svg"]}})


def _as_yaml(keys: Mapping[str, Any]) -> str:
    """Write keys of a study as YAML, with comments."""
    text = ""
    for key, value in keys.items():
        comment = f"# {_COMMENTS[key]}\n" if key in _COMMENTS else ""
        # As JSON and back: lists that occur twice are no references to each other.
        section = json.loads(json.dumps({key: value}))
        style = None if isinstance(value, Mapping) else False
        text += comment + yaml.safe_dump(
            section, sort_keys=False, width=100, default_flow_style=style
        )
    return text


def write_study(
    draft: Draft, name: str, file: Path, models: Path | None, *, may_lack_files: bool
) -> dict[str, Any]:
    """Check a drafted study, write it with its catalogue, and return a description for JSON.

    Of a template, files may be missing: the description says which.
    """
    with tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder, "models.csv")
        temporary.write_text(draft.catalogue, encoding="utf-8")
        keys = {"study": name, "models": str(models or temporary), **yaml.safe_load(draft.keys)}
        study = load_study(keys)
    check_shared_names(study)
    missing, opened = None, ""
    try:
        check_custom_files(study)
        opened, warnings = open_samples(study)
        for text in warnings:
            LOGGER.warning("warning: %s", text)
    except InputError as error:
        if not may_lack_files:
            raise
        missing = str(error)
    workflow, catalogue = find_snakefile(), models or file.with_name(f"{file.stem}-models.csv")
    place = [] if workflow in (None, Path("Snakefile")) else ["--snakefile", str(workflow)]
    command = _command_line("snakemake", *place, "--cores", "all", "--configfile", str(file))
    texts = {file: _HEADER + _as_yaml({"study": name, "models": str(catalogue)}) + draft.keys}
    if models is None:
        texts[catalogue] = draft.catalogue
    for path, text in texts.items():
        write_text(path, text)
    compared = [*draft.compared, "--output", str(Path("results", f"{name}-compared"))]
    return {
        "study": name, "files": list(map(str, texts)), "models": len(study.models),
        "datasets": list(study.datasets), "command": command if workflow else None,
        "compare": _command_line("matched-eval", "compare", *compared) if draft.compared else None,
        "report": str(Path("results", name, "report.html")), "missing": missing,
        "opened": opened or None,
    }  # fmt: skip


def _command_line(program: str, *arguments: str) -> str:
    """Return a shell command of a program of this environment, with its path if needed."""
    own = Path(sys.executable).with_name(program)
    is_named = shutil.which(program) == str(own) or not own.is_file()
    return shlex.join([program if is_named else os.path.relpath(own), *arguments])


# --- Data of examples: real scans of digits by known and by new writers

_MAX_VALUE = 16  # of a pixel of the scans


def write_example(example: str, folder: Path) -> tuple[str, str]:
    """Write an example's images or predictions; return the folders or patterns of both sets."""
    known, new = folder / "known-writers", folder / "new-writers"
    if example == "images":
        rows = np.concatenate([digits_rows("train"), digits_rows("known")])
        _write_example_images(known, np.sort(rows))
        _write_example_images(new, digits_rows("new-writers"))
        return str(known), str(new)
    _write_example_predictions(known, new)
    return f"{known}/{MODEL}.csv", f"{new}/{MODEL}.csv"


def _write_example_predictions(known_writers: Path, new_writers: Path) -> None:
    """Write the predictions of three classifiers for digits of known and of new writers."""
    import pandas as pd
    from sklearn.datasets import load_digits
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB

    scans, labels = load_digits(return_X_y=True)
    train = digits_rows("train")
    for name, classifier in {  # whose confidences are rarely equal
        "logistic-regression": LogisticRegression(C=0.01, max_iter=1000),
        "naive-bayes": GaussianNB(var_smoothing=1.0),
        "random-forest": RandomForestClassifier(50, min_samples_leaf=3, random_state=0),
    }.items():
        classifier.fit(scans[train], labels[train])
        for folder, part in ((known_writers, "known"), (new_writers, "new-writers")):
            rows = digits_rows(part)
            scores = classifier.predict_proba(scans[rows])
            predictions = pd.DataFrame({
                "label": labels[rows], "prediction": scores.argmax(axis=1),
                "probability": scores.max(axis=1).astype(np.float32),
                "group": writers([f"digits/{row}" for row in rows]),
            })  # fmt: skip
            with atomic_file(folder / f"{name}.csv") as partial:
                predictions.to_csv(partial, index=False)


def _write_example_images(folder: Path, rows: npt.NDArray[np.int64]) -> None:
    """Write rows of scikit-learn's digits as PNG files, in a folder per digit."""
    from PIL import Image
    from sklearn.datasets import load_digits

    scans, labels = load_digits(return_X_y=True)
    for row in rows:
        path = folder / str(labels[row]) / f"{row:04d}.png"
        pixels = np.round(scans[row].reshape(8, 8) * (255 / _MAX_VALUE)).astype(np.uint8)
        check_place(path)
        with disk_errors(path):
            Image.fromarray(pixels).save(path)
