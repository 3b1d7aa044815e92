"""Writing a study file and its catalogue, after the study's own loader has read them."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from matcheval.errors import InputError
from matcheval.io.files import atomic_file, check_place
from matcheval.io.yaml_files import read_yaml
from matcheval.registry import ANALYSES
from matcheval.starting.commands import run_command_line
from matcheval.starting.drafts import Draft
from matcheval.starting.rendering import render_catalogue, render_study
from matcheval.study.checks import check_custom_images
from matcheval.study.configuration import load_study
from matcheval.study.stored import check_shared_names
from matcheval.study.study import Study

FOLDERS = ("data", "results")


@dataclass(frozen=True)
class Written:
    """A study that was written."""

    study: Study
    files: tuple[Path, ...]
    command: str | None
    missing: str


def check_absent(files: Mapping[str, Path], *, force: bool) -> None:
    """Check that files can be written, and that nothing is overwritten unasked."""
    for what, path in files.items():
        if what not in FOLDERS:
            check_place(path)
        elif path.exists() and not path.is_dir():
            raise InputError("is a file, and no folder", file=path)
    present = [f"{path} ({what})" for what, path in files.items() if path.exists()]
    if present and not force:
        raise InputError(
            f"there already: {', '.join(present)}",
            remedy="Give another --name or --output, or replace them with --force",
        )


def write_study(draft: Draft, name: str, file: Path, models: Path | None, results: str) -> Written:
    """Write a study, once it has been read and checked as the workflow does."""
    command = run_command_line(file)
    catalogue = models or catalogue_of(file)
    prefix = ""
    study = _loaded(_texts(draft, name, catalogue, models is None, results, command), models)
    try:
        check_shared_names(study)
    except InputError:  # another study in this folder of results has sets or models of these names
        draft, prefix = draft.renamed(name), name
        texts = _texts(draft, name, catalogue, models is None, results, command, prefix)
        study = _loaded(texts, models)
        check_shared_names(study)
    text, rows = _texts(draft, name, catalogue, models is None, results, command, prefix)
    files = {catalogue: rows, file: text} if models is None else {file: text}
    for path, content in files.items():
        with atomic_file(path) as partial:
            partial.write_text(content, encoding="utf-8")
    try:
        check_custom_images(study)
        missing = ""
    except InputError as error:
        missing = str(error)
    return Written(study, tuple(reversed(files)), command, missing)


def catalogue_of(file: Path) -> Path:
    """Return the path of the catalogue that is written with a study file."""
    return file.with_name(f"{file.stem}-models.csv")


def _texts(
    draft: Draft,
    name: str,
    catalogue: Path,
    writes_catalogue: bool,
    results: str,
    command: str | None,
    prefix: str = "",
) -> tuple[str, str]:
    """Return the study file and the catalogue."""
    shown = command or f"snakemake --cores all --configfile {name}.yaml"
    study = render_study(draft, name, str(catalogue), results, shown)
    return study, render_catalogue(draft, prefix) if writes_catalogue else ""


def _loaded(texts: tuple[str, str], models: Path | None) -> Study:
    """Read a study as the workflow does, from temporary files."""
    with tempfile.TemporaryDirectory() as folder:
        file, catalogue = Path(folder, "study.yaml"), Path(folder, "models.csv")
        for path, text in zip((file, catalogue), texts, strict=True):
            path.write_text(text, encoding="utf-8")
        given = read_yaml(file)
        if models is None:
            given["models"] = str(catalogue)
        return load_study(given, default_study="config.yaml", analyses=ANALYSES)
