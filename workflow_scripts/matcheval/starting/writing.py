"""Writing a study file and its catalogue, after the study's own loader has read them."""

import csv
import io
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, StrictUndefined

from matcheval.errors import InputError
from matcheval.io.files import atomic_file, check_place
from matcheval.io.user_files import read_yaml
from matcheval.registry import ANALYSES
from matcheval.starting.commands import run_command_line, snakefile
from matcheval.starting.drafting import Draft
from matcheval.study.checks import check_custom_images
from matcheval.study.configuration import load_study
from matcheval.study.opened import open_some
from matcheval.study.stored import check_shared_names
from matcheval.study.study import Study

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_MAX_INLINE = 80  # characters of a mapping on one line


def _render_study(
    draft: Draft, study: str, models: str, results: str, command: str, file: Path
) -> str:  # fmt: skip
    """Write a study file."""
    # The texts are no HTML: what a person names is quoted as YAML.
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True)
    environment.filters |= {"yaml": as_yaml, "mapping": _as_mapping}
    template = environment.from_string(_template("study.yaml.j2"))
    prediction = {"base": draft.original}
    if draft.reference:
        prediction["reference"] = draft.reference
    return template.render(
        draft=draft, study=study, models=models, results=results, prediction=prediction,
        command=_CONTROLS.sub("?", command), schema=_schema(file),
        runs_models=any(one.options["kind"] != "predictions" for one in draft.datasets),
    )  # fmt: skip


def _schema(file: Path) -> str:
    """Return where an editor finds the schema of study files; empty without the workflow."""
    workflow = snakefile()
    if workflow is None:
        return ""
    schema = workflow.with_name("rules") / "schemas" / "config.schema.json"
    path = schema if schema.is_absolute() else os.path.relpath(schema, file.parent)
    return _CONTROLS.sub("?", str(path))


def _render_catalogue(draft: Draft) -> str:
    """Write the catalogue of models."""
    rows = [["name", "kind", "note"], *([name, "predictions", ""] for name in draft.models)]
    if draft.catalogue:
        rows = list(csv.reader(io.StringIO(_template(draft.catalogue))))
        name = rows[0].index("name")
        for row in rows[1:]:
            row[name] = draft.prefix + row[name]
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()


def as_yaml(value: Any) -> str:
    """Write a value as YAML on one line."""
    text: str = yaml.dump(
        value, Dumper=_OneLine, default_flow_style=True, width=2**31 - 1, sort_keys=False,
        allow_unicode=True,
    )  # fmt: skip
    return text.removesuffix("\n").removesuffix("\n...").strip()


class _OneLine(yaml.SafeDumper):  # type: ignore[misc]  # yaml has no types
    """Writes line breaks and other control characters as escapes."""


def _as_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if not text.isprintable() else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_OneLine.add_representer(str, _as_text)


def _as_mapping(value: Mapping[str, Any], indent: int, note: str = "") -> str:
    """Write a mapping as the value of a key: on the key's line if it is short."""
    comment = f"    # {note}" if note else ""
    flow = as_yaml(value)
    if len(flow) <= _MAX_INLINE:
        return f" {flow}{comment}"
    lines = (f"{' ' * indent}{as_yaml(key)}: {as_yaml(one)}" for key, one in value.items())
    return "\n".join([comment, *lines])


def _template(name: str) -> str:
    return resources.files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


FOLDERS = ("data", "results")


@dataclass(frozen=True)
class Written:
    """A study that was written."""

    study: Study
    files: tuple[Path, ...]
    command: str | None
    missing: str
    opened: str


def check_absent(files: Mapping[str, Path], *, force: bool) -> None:
    """Check that the files can be written, and that none exists unless overwriting is asked for."""
    for what, path in files.items():
        if what not in FOLDERS:
            check_place(path)
        elif path.exists() and not path.is_dir():
            raise InputError("is a file, and no folder", file=path)
    present = [f"{path} ({what})" for what, path in files.items() if path.exists()]
    if present and not force:
        raise InputError(
            f"there already: {', '.join(present)}",
            remedy="Give another --name or --file, or replace them with --force",
        )


def write_study(draft: Draft, name: str, file: Path, models: Path | None, results: str) -> Written:
    """Write a study, once it has been read and checked as the workflow does."""
    command = run_command_line(file)
    shown = command or f"snakemake --cores all --configfile {name}.yaml"
    catalogue = models or catalogue_of(file)

    def texts() -> dict[Path, str]:
        found = {} if models else {catalogue: _render_catalogue(draft)}
        return found | {file: _render_study(draft, name, str(catalogue), results, shown, file)}

    study = _loaded(texts(), file, catalogue)
    try:
        check_shared_names(study)
    except InputError:  # another study in this folder of results has sets or models of these names
        draft = draft.renamed(name)
        study = _loaded(texts(), file, catalogue)
        check_shared_names(study)
    files = texts()
    for path, content in files.items():
        with atomic_file(path) as partial:
            partial.write_text(content, encoding="utf-8")
    missing = opened = ""
    try:
        check_custom_images(study)
        opened, _ = open_some(study)
    except InputError as error:
        missing = str(error)
    return Written(study, tuple(reversed(files)), command, missing, opened)


def catalogue_of(file: Path) -> Path:
    """Return where the model catalogue of a new study file is written: beside it."""
    return file.with_name(f"{file.stem}-models.csv")


def _loaded(texts: Mapping[Path, str], study: Path, catalogue: Path) -> Study:
    """Read a study as the workflow does, from temporary files."""
    with tempfile.TemporaryDirectory() as folder:
        temporary = {path: Path(folder, path.name) for path in texts}
        for path, text in texts.items():
            temporary[path].write_text(text, encoding="utf-8")
        given = read_yaml(temporary[study])
        given["models"] = str(temporary.get(catalogue, catalogue))
        return load_study(given, default_study="config.yaml", analyses=ANALYSES)
