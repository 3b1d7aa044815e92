"""The command `init`: a first study file, from two sets, a paper's name or an example."""

import argparse
import logging
from pathlib import Path
from typing import Any

from matcheval.cli.options import add_layout, arguments_of
from matcheval.errors import InputError
from matcheval.io.terminal import add_json, print_json, print_text
from matcheval.io.text_tables import counted
from matcheval.names import MODEL, is_name

_DESCRIPTION = "Write a study file and a catalogue of models. Look at them, and run the command."
_SETS = """\
ORIGINAL and OTHER are both
  a folder with a folder of images per class             photos/old
  prediction files, {model} for the names of models      'predictions/old/{model}.csv'
or ORIGINAL alone is a part of the paper on the protocol (Anzaku et al. 2022), with few models:
cifar10 (four to train) or imagenet (five pretrained ones).
"""
LOGGER = logging.getLogger(__name__)
_PAPERS = ("cifar10", "imagenet")


def add_init(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `init`."""
    parser.description, parser.epilog = _DESCRIPTION, _SETS
    parser.add_argument("original", nargs="?", metavar="ORIGINAL", help="the original set")
    parser.add_argument("other", nargs="?", metavar="OTHER", help="the set to compare")
    parser.add_argument(
        "--example", choices=("digits", "predictions", "images", "shifts"),
        help="write an example with its data; shifts are corrupted sets",
    )  # fmt: skip
    parser.add_argument("--name", help="name of the study (default: from the names of the sets)")
    parser.add_argument("--file", type=Path, help="the study file (default: [studies/]<name>.yaml)")
    parser.add_argument("--models", type=Path, help="a catalogue of your models, not to be trained")
    parser.add_argument("--force", action="store_true", help="replace these files, but no others")
    add_layout(parser, "labels_are_true")
    add_json(parser)
    parser.set_defaults(run=run_init, parser=parser)


def run_init(arguments: argparse.Namespace) -> None:
    """Write a study, and say what runs it."""
    from matcheval.init import study  # takes a second

    example, original, other = arguments.example, arguments.original, arguments.other
    if (original or arguments.models) if example else not other and original not in _PAPERS:
        arguments.parser.error(
            "name two sets, ORIGINAL and OTHER; or cifar10 or imagenet; or an --example alone"
        )
    default = f"example-{example}" if example else f"{original}-small"
    if other:
        default = "-".join(study.names_of_sets(original, other))
    name = arguments.name or (study.as_name(arguments.file.stem) if arguments.file else default)
    is_checkout = Path("Snakefile").is_file() and Path("studies").is_dir()
    file = arguments.file or Path("studies" if is_checkout else "", f"{name}.yaml")
    data = Path("data" if is_checkout else "", name)  # git ignores data/
    _check_places(arguments, name, file, data)
    if example in ("predictions", "images"):
        from matcheval.init.examples import write_example

        original, other = write_example(example, data)
    if not other:
        draft = study.draft_template(example or original)
    elif MODEL in original + other:
        layout = _layout(arguments, [*study.files_of_pattern(original).values(),
                                     *study.files_of_pattern(other).values()])  # fmt: skip
        draft = study.draft_predictions(name, (original, other), layout)
    else:
        draft = study.draft_images(name, original, other, trains=arguments.models is None)
    written = study.write_study(draft, name, file, arguments.models, may_lack_files=not other)
    if arguments.json:
        print_json("init", written)
    else:
        print_text(_text(written))


def _check_places(arguments: argparse.Namespace, name: str, file: Path, data: Path) -> None:
    """Check that the files of the study are not there yet."""
    if not is_name(name):
        raise InputError(f"--name '{name}' is not a valid name")
    if file == arguments.models:
        raise InputError("is the catalogue of models, too", file=file)
    paths = [file, Path("results", name), *([data] if arguments.example else [])]
    paths += [] if arguments.models else [file.with_name(f"{file.stem}-models.csv")]
    present = [str(path) for path in paths if path.exists()]
    if present and not arguments.force:
        remedy = "Give another --name or --file, or replace them with --force"
        raise InputError(f"there already: {', '.join(present)}", remedy=remedy)


def _layout(arguments: argparse.Namespace, files: list[Path]) -> dict[str, Any]:
    """Return how prediction files are laid out, as options of sets."""
    from matcheval.predictions.inputs import layout_of

    layout = layout_of(files, **arguments_of(layout_of, arguments))
    for note in layout.notes:
        LOGGER.info("%s", note)
    options = {
        "columns": dict(layout.columns), "classes": list(layout.classes or ()),
        "first_label": layout.first_label, "labels_are_true": layout.labels_are_true,
    }  # fmt: skip
    return {name: value for name, value in options.items() if value}


def _text(written: dict[str, Any]) -> str:
    sizes = counted(written["models"], "model"), counted(len(written["datasets"]), "set")
    lines = [*(f"wrote {path}" for path in written["files"]), ", ".join(sizes)]
    if written["missing"]:
        lines += ["", f"Before it can run: {written['missing']}"]
    else:
        lines[-1] += "; checked, nothing wrong was found"
    if written["compare"]:
        lines += ["", "Without Snakemake, in seconds:", f"    {written['compare']}"]
    if written["command"]:
        lines += ["", "Next, in this folder (with -n: what would run):",
                  f"    {written['command']}", f"Then open {written['report']}"]  # fmt: skip
    else:
        lines += ["", "Studies are run by Snakemake in a checkout of the repository: README.md."]
    return "\n".join(lines) + "\n"
