"""The command `init`: a first study file, from what a person has."""

import argparse
import os
from pathlib import Path
from typing import Any

from matcheval.cli.predictions import add_layout, read_layout
from matcheval.errors import InputError
from matcheval.io.terminal import add_json, print_json, print_text
from matcheval.io.text_tables import counted
from matcheval.names import is_name
from matcheval.starting.commands import own_command_line
from matcheval.starting.drafting import Draft, Wishes, as_name, draft_study
from matcheval.starting.examples import EXAMPLES
from matcheval.starting.looking import Given, ImageSet, PredictionSet, SetFolder, look_at

_DESCRIPTION = """\
Write a study file, and a catalogue of models where one is needed, from what is there: two folders
of images, prediction files, published sets, or a folder of sets. Look at the file, and run the
command that is printed.
"""
_EXAMPLES = """\
ORIGINAL and OTHER are each
  a folder with a folder of images per class             photos/old
  prediction files, {model} for the names of models      'predictions/old/{model}.csv'
  the name of a published set                            cifar10, cifar10.1, imagenet, imagenetv2
OTHER may also be a folder of sets of either kind.

  matched-eval init 'old/{model}.csv' 'new/{model}.csv'
  matched-eval init cifar10 cifar10.1
  matched-eval init photos/old photos/shifted
  matched-eval init --example predictions
"""


def add_init(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `init`."""
    parser.description, parser.epilog = _DESCRIPTION, _EXAMPLES
    parser.add_argument("original", nargs="?", metavar="ORIGINAL", help="the original set")
    parser.add_argument(
        "other", nargs="?", metavar="OTHER", help="the set to compare, or a folder of sets"
    )
    parser.add_argument(
        "--example", choices=list(EXAMPLES),
        help="write an example with its data: "
        + "; ".join(f"{name}: {one.summary}" for name, one in EXAMPLES.items()),
    )  # fmt: skip
    parser.add_argument("--name", help="name of the study (default: from the names of the sets)")
    parser.add_argument(
        "--file", type=Path, metavar="FILE",
        help="the study file (default: <name>.yaml, in the folder studies/ of a checkout)",
    )  # fmt: skip
    parser.add_argument(
        "--results", default="results", metavar="DIR", help="folder of results (default: results)"
    )
    parser.add_argument(
        "--models", type=Path, metavar="FILE", help="a catalogue of models of your own"
    )
    parser.add_argument(
        "--train", metavar="DIR",
        help="images to train models on, a folder per class (default: half of those of ORIGINAL)",
    )  # fmt: skip
    parser.add_argument(
        "--resize", type=int, metavar="PIXELS",
        help="height and width of all images (default: 32, or that of small square images)",
    )  # fmt: skip
    parser.add_argument(
        "--skip-missing", action="store_true",
        help="leave out models that do not have a prediction file on every set",
    )  # fmt: skip
    add_layout(parser)
    parser.add_argument(
        "--force", action="store_true", help="replace files that are there, but no other files"
    )
    add_json(parser)
    parser.set_defaults(run=run_init, parser=parser)


def run_init(arguments: argparse.Namespace) -> None:
    """Write a study, and say what runs it."""
    if not arguments.results or Path(arguments.results).is_file():
        raise InputError(f"--results '{arguments.results}' is no folder")
    draft, name, file = (_example if arguments.example else _draft)(arguments)
    from matcheval.starting.writing import write_study  # takes a second: all analyses

    written = write_study(draft, name, file, arguments.models, arguments.results)
    told: dict[str, Any] = {
        "study": name, "files": [str(path) for path in written.files],
        "models": len(written.study.models), "datasets": list(written.study.datasets),
        "command": written.command,
        "compare": _compare(draft, Path(arguments.results, f"{name}-compared")),
        "report": str(Path(arguments.results, name, "report.html")),
        "missing": written.missing or None, "opened": written.opened or None,
    }  # fmt: skip
    if arguments.json:
        print_json("init", told)
    else:
        print_text(_described(told, draft))


def _draft(arguments: argparse.Namespace) -> tuple[Draft, str, Path]:
    """Draft the study of two sets; return it with its name and file."""
    if not arguments.original or not arguments.other:
        arguments.parser.error(
            f"name two sets, ORIGINAL and OTHER, or an example: --example {'|'.join(EXAMPLES)}"
        )
    original, other = look_at(arguments.original), look_at(arguments.other)
    train = None if arguments.train is None else look_at(arguments.train)
    if train is not None and not isinstance(train, ImageSet):
        raise InputError("holds no images in class folders", file=arguments.train, field="--train")
    if arguments.resize is not None and arguments.resize < 1:
        raise InputError(f"--resize {arguments.resize} is no number of pixels", remedy="Give 32")
    models_train = None
    if arguments.models is not None:
        from matcheval.study.catalogue import read_catalogue

        models = read_catalogue(arguments.models).values()
        models_train = any(model.recipe is not None for model in models)
    layout = _layout_options(arguments, [original, other])
    wishes = Wishes(train, models_train, arguments.resize, arguments.skip_missing, layout)
    draft = draft_study(original, other, wishes)
    return draft, *_place(arguments, draft.name)


def _example(arguments: argparse.Namespace) -> tuple[Draft, str, Path]:
    """Write the data of an example; return its draft with its name and file."""
    unused = (arguments.original, arguments.other, arguments.models, arguments.train,
              arguments.resize, arguments.classes, arguments.columns or None)  # fmt: skip
    if any(one is not None for one in unused):
        arguments.parser.error("--example takes no sets, models or images")
    example, name = EXAMPLES[arguments.example], f"example-{arguments.example}"
    name, file = _place(arguments, name, holds_data=example.write is not None)
    data = _data_of(name)
    if example.write:
        example.write(data)
    return example.draft(data), name, file


def _place(
    arguments: argparse.Namespace, default: str, *, holds_data: bool = False
) -> tuple[str, Path]:
    """Return the name of the study, and its file, once all files are known to be absent."""
    from matcheval.starting.writing import catalogue_of, check_absent

    name = arguments.name
    if name is None:
        name = as_name(arguments.file.stem) if arguments.file else default
    if not is_name(name):
        remedy = "Use up to 100 letters, digits, '.', '_' and '-', a letter or digit first"
        raise InputError(f"--name '{name}' is not a valid name", remedy=remedy)
    file = arguments.file or Path("studies" if _in_checkout() else "", f"{name}.yaml")
    if file.suffix not in (".yaml", ".yml"):
        raise InputError("a study file ends in .yaml", file=file)
    files = {"study": file, "results": Path(arguments.results, name)}
    if arguments.models is None:
        files["catalogue"] = catalogue_of(file)
    elif os.path.realpath(arguments.models) == os.path.realpath(file):
        raise InputError("is the catalogue of models, too", file=file)
    if holds_data:
        files["data"] = _data_of(name)
    check_absent(files, force=arguments.force)
    return name, file


def _in_checkout() -> bool:
    return Path("Snakefile").is_file() and Path("studies").is_dir()


def _data_of(name: str) -> Path:
    """Return the folder of the data of an example; `data/` is ignored by git."""
    return Path("data" if _in_checkout() else "", name)


def _layout_options(arguments: argparse.Namespace, given: list[Given]) -> dict[str, Any]:
    """Return how prediction files are laid out, after reading the first one of every set."""
    sets = [
        one
        for found in given
        for one in (found.sets.values() if isinstance(found, SetFolder) else [found])
        if isinstance(one, PredictionSet)
    ]
    if not sets:
        return {}
    from matcheval.predictions.files import read_predictions

    layout, n_classes = read_layout(arguments, [p for one in sets for p in one.files.values()])
    for one in sets:
        read_predictions(next(iter(one.files.values())), n_classes, layout)
    options = {
        "columns": dict(layout.columns), "classes": list(layout.classes or ()),
        "first_label": layout.first_label,
    }  # fmt: skip
    return {name: value for name, value in options.items() if value}


def _compare(draft: Draft, output: Path) -> str | None:
    """Return the command that compares prediction files without Snakemake."""
    if not draft.models or not draft.replication:
        return None
    blocks = {block.name: block.options for block in draft.datasets}
    original, other = blocks[draft.original], blocks[draft.replication]
    if {"aliases", "columns", "classes", "first_label"} & {*original, *other}:
        return None
    return own_command_line(["compare", original["files"], other["files"], "--output", str(output)])


def _described(told: dict[str, Any], draft: Draft) -> str:
    lines = [f"wrote {path}" for path in told["files"]]
    lines += [
        f"{draft.title}: {counted(told['models'], 'model')}, "
        f"{counted(len(told['datasets']), 'set')}"
        + ("" if told["missing"] else "; checked, nothing wrong was found")
        + (f" (opened: {told['opened']})" if told["opened"] else ""), "",
    ]  # fmt: skip
    if told["missing"]:
        lines += [f"Before it can run: {told['missing']}", ""]
    if told["compare"]:
        lines += ["Without Snakemake, in seconds:", f"    {told['compare']}", ""]
    if told["command"]:
        lines += ["Next, in this folder (with -n: what would run):", f"    {told['command']}",
                  f"Then open {told['report']}"]  # fmt: skip
    else:
        lines += ["Studies are run by Snakemake in a checkout of the repository: see README.md."]
    return "\n".join(lines) + "\n"
