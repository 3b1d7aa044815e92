"""The commands `compare`, `compare-models`, `match` and `predict-accuracy`.

Each calls the Python function of its name. Options have the names of the function's arguments; one
that is not given is not passed, so that defaults are those of the function.
"""

import argparse
import inspect
import logging
import os
import shlex
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matcheval.cli.conditions import add_fail_if, end_if_met, with_bounds
from matcheval.cli.parser import Several
from matcheval.errors import InputError
from matcheval.io.files import check_is_file, check_place
from matcheval.io.terminal import add_json, json_rows, print_json, print_text
from matcheval.names import MODEL
from matcheval.protocol.criteria import EPSILON, N_SEEDS, N_SEEDS_COMPARED, Criterion

# The library is imported by what needs it: help texts and refused files do not wait for it.
if TYPE_CHECKING:
    from matcheval.api.comparing import ComparisonResult
    from matcheval.predictions.formats import InMemory
    from matcheval.predictions.layout import Layout

LOGGER = logging.getLogger(__name__)
MAX_WARNINGS = 5  # on the terminal
_CRITERIA = [criterion.value for criterion in Criterion]
# What --fail-if knows, and the columns of what depends on the matching.
_OF_MATCHING = {name: name.replace("-", "_") for name in with_bounds("matched-gap")} | {
    "unmatched-targets": "fraction_unmatched"
}
_OF_PAIRS = [
    *with_bounds("gap"), *_OF_MATCHING, *with_bounds("confidence-part", "conditional-part"),
    "accuracy-original", "accuracy-replication",
]  # fmt: skip
_OF_MODELS = [*with_bounds("difference"), "accuracy-first", "accuracy-second"]

FILES = """\
Formats: text (commas, semicolons, tabs), JSON, Parquet, Feather, .npz, .npy, safetensors, torch
tensors, HDF5, .xlsx. Columns hold the true class (label, target, y_true, ...), the predicted class
(prediction, pred, ...) and its probability (probability, confidence, ...). In place of the last two
there can be the scores of all classes: an array or lists (logits, probs, ...), or a column per
class (logit_cat, prob_0, cat, ...). Classes are numbers or names. What was recognised is said; what
has two meanings is refused with the option that tells it. docs/cli.md lists the formats.
"""
_PAIR_FILES = f"""\
ORIGINAL and REPLICATION hold one model's predictions on two test sets, a row per datapoint, as
other tools write them.

{FILES}
A column `group` names a writer or a video, whose datapoints are not independent.
"""
_PATTERNS = """
With {model} in both, all models are compared that have both files:
  matched-eval compare 'old/{model}.csv' 'new/{model}.csv' --output compared
"""
_MODEL_FILES = f"""\
FIRST and SECOND hold two models' predictions, a row per datapoint, as other tools write them. Rows
are aligned by index or file name, where both files have them.

{FILES}"""
_ACCURACY_FILES = f"""\
Files hold one model's predictions, a row per datapoint, as other tools write them.

{FILES}
Only BASE and the files of --calibrate-on need labels. Some methods need the scores of all classes.
Files that the workflow writes beside <model>.parquet (.logits.parquet, .features.parquet,
.statistics.npz) are found and used.
"""


def _points(text: str) -> float:
    """Read percentage points that a difference may have, as a fraction."""
    value = float(text)
    if not 0 < value < 100:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 100 points, such as 1")
    return value / 100


# Names, help texts, and what else `add_argument` takes.
_Options = Sequence[tuple[str, str, dict[str, Any]]]
_LAYOUT: _Options = (
    ("--classes", "number of classes, to check the files against; or the names of the classes, in "
     "the order of their labels: a file with a name per line, cifar10 or imagenet (default: if the "
     "files hold names, all that occur, sorted)", {"default": None, "metavar": "N|FILE"}),
    ("--columns", "names of the files' columns: label=target prediction=pred probability=conf; "
     "scores with a column per class by what these begin with: 'probabilities=score_*'",
     {"default": [], "action": Several, "metavar": "OURS=THEIRS"}),
    ("--first-label", "number of the first class in the files (default: 0)",
     {"default": 0, "type": int, "choices": [0, 1]}),
    ("--labels-are-true", "labels that all predictions equal are the true classes all the same",
     {"default": False, "action": "store_true"}),
)  # fmt: skip
_PAIR: _Options = (
    ("--source", "the set in which a match is sought for each datapoint of the other (default: the "
     "larger set, the original if both are equally large)",
     {"choices": ["original", "replication"]}),
    ("--epsilon", "largest difference between matched probabilities, in (0, 1] (default: "
     f"{EPSILON})", {"type": float}),
    ("--seeds", "number of runs, with seeds 0 to N - 1 (default of compare: "
     f"{N_SEEDS_COMPARED}, of match: {N_SEEDS})", {"type": int, "metavar": "N"}),
    ("--model", "name of the model (default: the name in the files, or 'model')", {}),
    ("--pair", "name of the pair; random matches depend on it and on the model's name (default: "
     "pair)", {}),
)  # fmt: skip
_CRITERION = {"dest": "criteria", "action": Several, "known": _CRITERIA, "metavar": "NAME"}
_COMPARE: _Options = (
    ("--criteria", f"matching criteria: {', '.join(_CRITERIA)} (default: both)", _CRITERION),
    ("--criterion", argparse.SUPPRESS, _CRITERION),  # its name in 0.2
    ("--paired", "both sets show the same images, row by row: indices and labels must agree",
     {"action": "store_true"}),
    ("--groups-shared", "a name in the columns `group` means the same group in both sets (default: "
     "in each by itself)", {"action": "store_true"}),
    ("--analyses", "further analyses of the matched predictions, with default settings, such as "
     "mcnemar class_gaps epsilon_sweep; an unknown name lists all (docs/analyses.md)",
     {"action": Several, "metavar": "NAME"}),
    ("--margin", "differences of accuracy below it do not matter, for the verdict (default: 1)",
     {"type": _points, "metavar": "POINTS"}),
    ("--output", "write a report, tables and figures to DIR, in place of what an earlier "
     "comparison wrote there", {"default": None, "type": Path, "metavar": "DIR"}),
    ("--figures", "formats of the figures in DIR beside SVG: pdf, png",
     {"default": [], "action": Several, "known": ("pdf", "png"), "metavar": "FORMAT"}),
)  # fmt: skip
_COMPARE_MODELS: _Options = (
    ("--output", "write the datapoints on which the models disagree to DIR: disagreements.csv and "
     "disagreements.parquet", {"default": None, "type": Path, "metavar": "DIR"}),
)  # fmt: skip
_MATCH: _Options = (
    ("--criterion", f"default: {_CRITERIA[0]}", {"choices": _CRITERIA}),
    ("--output", "write the table of runs to DIR: runs.csv and runs.parquet",
     {"type": Path, "required": True, "metavar": "DIR"}),
    ("--pairs", "also write pairs.parquet: the matched pairs of indices",
     {"default": False, "action": "store_true"}),
)  # fmt: skip
_PREDICT_ACCURACY: _Options = (
    ("--methods", "methods, or variants as method:variant (default: those that need no further "
     "sets, and with --calibrate-on all)", {"action": Several, "metavar": "NAME"}),
    ("--calibrate-on", "predictions on at least 3 further labelled sets, which regressions are "
     "fitted on", {"dest": "calibration", "default": [], "type": Path, "nargs": "+",
                   "action": "extend", "metavar": "FILE"}),
    ("--calibration-groups", "the group of each of these files, such as its corruption, for "
     "intervals over groups of sets (default: each file is a group)",
     {"nargs": "+", "metavar": "NAME"}),
    ("--resamples", "resamples of the datapoints for the intervals; 0 for none (default: 200)",
     {"type": int, "metavar": "N"}),
    ("--seed", "of the resamples and splits (default: 0)", {"type": int}),
)  # fmt: skip


def _add(parser: argparse.ArgumentParser, *tables: _Options) -> None:
    for name, text, settings in (option for options in tables for option in options):
        keywords: dict[str, Any] = {"default": argparse.SUPPRESS, "help": text} | settings
        parser.add_argument(name, **keywords)


def add_layout(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how files are laid out."""
    _add(parser, _LAYOUT)


def _arguments_of(function: Callable[..., Any], arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of a function that the command line gives."""
    names = inspect.signature(function).parameters
    return {k: v for k, v in vars(arguments).items() if k in names} | _layout(arguments)


def _layout(arguments: argparse.Namespace) -> dict[str, Any]:
    from matcheval.predictions.layout import read_classes

    columns = dict[str, str]()
    for part in arguments.columns:
        ours, is_pair, theirs = (piece.strip() for piece in part.partition("="))
        if not is_pair or ours in columns:
            raise InputError(
                f"--columns: '{part}' is not of the form ours=theirs, or occurs twice",
                remedy="Write it like --columns label=target prediction=pred probability=conf",
            )
        columns[ours] = theirs
    return {
        "columns": columns,
        "classes": None if arguments.classes is None else read_classes(arguments.classes),
        "first_label": arguments.first_label, "labels_are_true": arguments.labels_are_true,
    }  # fmt: skip


def read_layout(
    arguments: argparse.Namespace, sources: "Sequence[Path | InMemory]"
) -> "tuple[Layout, int | None]":
    """Read the options of `add_layout`, and tell which classes were recognised."""
    from matcheval.predictions.inputs import layout_of

    layout, n_classes = layout_of(sources, **_layout(arguments))
    for note in layout.notes:
        LOGGER.warning("%s", note)
    return layout, n_classes


def check_outputs(folder: Path, names: Sequence[str], inputs: Sequence[Path]) -> None:
    """Check that files can be written to a folder, and that none of them is read."""
    if folder.suffix in (".csv", ".parquet") and not folder.is_dir():
        problem = "looks like a file, and --output is a folder"
        raise InputError(problem, file=folder, remedy=f"Give --output {folder.stem}")
    read = set(map(os.path.realpath, inputs))
    for name in names:
        check_place(folder / name)
        if os.path.realpath(folder / name) in read:
            raise InputError("is read, and would be overwritten", file=folder / name)


def _tell(result: Any, where: str = "") -> None:
    """Tell what was recognised in files, and what looks wrong."""
    for note in result.notes:
        LOGGER.info("%s", note)
    shown = result.warnings[:MAX_WARNINGS] if where else result.warnings
    for warning in shown:
        LOGGER.warning("warning: %s", warning)
    if (more := len(result.warnings) - len(shown)) > 0:
        LOGGER.warning("warning: and %d more like these: %s", more, where)


def _add_files(parser: argparse.ArgumentParser, *names: str) -> None:
    for name in names:
        text = f"predictions on the {name} set"
        parser.add_argument(name, type=Path, metavar=name.upper(), help=text)


def add_compare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `compare`."""
    parser.description = "Compare a model's accuracy on two sets before and after matching."
    parser.epilog = _PAIR_FILES + _PATTERNS
    _add_files(parser, "original", "replication")
    _add(parser, _PAIR, _LAYOUT, _COMPARE)
    add_fail_if(
        parser, [*_OF_PAIRS, *(f"{name}:{c}" for name in _OF_MATCHING for c in _CRITERIA)],
        "; those of matching are of the first criterion, others are named like "
        "matched-gap:probability",
    )  # fmt: skip
    add_json(parser)
    parser.set_defaults(run=run_compare, parser=parser)


def run_compare(arguments: argparse.Namespace) -> None:
    """Print a comparison of two sets, and optionally write a report, tables and figures."""
    for condition in arguments.fail_if:
        criterion = condition.quantity.partition(":")[2]
        if criterion and criterion not in getattr(arguments, "criteria", _CRITERIA):
            arguments.parser.error(f"--fail-if '{condition.text}' needs --criteria {criterion}")
    files, folder = (arguments.original, arguments.replication), arguments.output
    if not any(MODEL in str(file) for file in files):
        for file in files:
            check_is_file(file)
    if folder is not None:
        from matcheval.api.comparison_output import check_folder

        check_folder(folder)
    from matcheval.api.comparing import compare

    result = compare(**_arguments_of(compare, arguments), progress=True)
    where = "--output DIR writes all" if folder is None else f"in the tables below {folder}"
    _tell(result, where)
    written = []
    if folder is not None:
        result = replace(result, _asked=shlex.join(["matched-eval", *sys.argv[1:]]))
        written = [str(path) for path in result.save(folder, figures=arguments.figures)]
        LOGGER.info("wrote %d files; the one to open: %s", len(written), folder / "report.html")
    compared = result._compared
    if arguments.json:
        gaps, tables = compared.gaps, compared.tables
        print_json("compare", {
            "verdict": asdict(result.verdict),
            "means": json_rows(gaps.means),
            "models": {name: json_rows(table) for name, table in gaps.models.items()},
            "tables": {criterion.value: json_rows(table) for criterion, table in tables.items()},
            "analyses": {name: json_rows(a.table) for name, a in compared.analyses.items()},
            "written": written,
        })  # fmt: skip
    else:
        from matcheval.api.comparison_output import describe

        print_text(describe(compared, where))
    if arguments.fail_if:
        end_if_met(arguments.fail_if, _quantities(result))


def _quantities(result: "ComparisonResult") -> dict[str, dict[str, float]]:
    """Return what `--fail-if` compares, in percent, by model."""
    keys, values = ["criterion", "model"], defaultdict[str, dict[str, float]](dict)
    accuracies = result.to_pandas("accuracies")
    accuracies = accuracies[[*keys, "accuracy_original", "accuracy_replication"]]
    for _, row in result.to_pandas("models", all=True).merge(accuracies, on=keys).iterrows():
        of_model = values[row["model"] if len(result.models) > 1 else result.title]
        for name in _OF_PAIRS:
            value = 100 * float(row[_OF_MATCHING.get(name, name.replace("-", "_"))])
            of_model.setdefault(name, value)  # of the first criterion
            of_model[f"{name}:{row['criterion']}"] = value
    return values


def add_compare_models(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `compare-models`."""
    parser.description = (
        "Compare two models on the same images: accuracies, their difference with a paired "
        "interval, McNemar's exact test, and the datapoints on which the models disagree."
    )
    parser.epilog = _MODEL_FILES
    parser.add_argument("first", type=Path, metavar="FIRST", help="predictions of a model")
    parser.add_argument(
        "second", type=Path, metavar="SECOND",
        help="those of another model; differences are FIRST minus SECOND",
    )  # fmt: skip
    _add(parser, _LAYOUT, _COMPARE_MODELS)
    add_fail_if(parser, _OF_MODELS)
    add_json(parser)
    parser.set_defaults(run=run_compare_models)


def run_compare_models(arguments: argparse.Namespace) -> None:
    """Print a comparison of two models, and optionally write where they disagree."""
    files, output = (arguments.first, arguments.second), arguments.output
    for file in files:
        check_is_file(file)
    from matcheval.api.comparing_models import OUTPUT_FILES, compare_models, describe

    if output is not None:
        check_outputs(output, OUTPUT_FILES, files)
    result = compare_models(**_arguments_of(compare_models, arguments))
    _tell(result)
    written = [] if output is None else result.save(output)
    (row,) = result.to_pandas(all=True).to_dict("records")
    numbers = {str(name): value for name, value in row.items()}
    if arguments.json:
        rows = json_rows(result.to_pandas("datapoints", all=True))
        paths = [str(path) for path in written]
        print_json("compare-models", numbers | {"datapoints": rows, "written": paths})
    else:
        where = f"all are in {written[0]}" if written else "--output DIR writes all"
        print_text(describe(result, where))
    values = {name: 100 * numbers[name.replace("-", "_")] for name in _OF_MODELS}
    end_if_met(arguments.fail_if, {f"{result.first} and {result.second}": values})


def add_match(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `match`."""
    parser.description, parser.epilog = "Match a model's predictions on two sets.", _PAIR_FILES
    _add_files(parser, "original", "replication")
    _add(parser, _PAIR, _LAYOUT, _MATCH)
    add_json(parser)
    parser.set_defaults(run=run_match)


def run_match(arguments: argparse.Namespace) -> None:
    """Match a model's predictions on two sets, and write the runs, and optionally the pairs."""
    files = arguments.original, arguments.replication
    for file in files:
        check_is_file(file)
    from matcheval.api.matching import PAIRS_FILE, RUN_FILES, match

    check_outputs(arguments.output, (*RUN_FILES, PAIRS_FILE), files)
    result = match(**_arguments_of(match, arguments))
    written = [str(path) for path in result.save(arguments.output, pairs=arguments.pairs)]
    _tell(result)
    if arguments.json:
        names = ("model", "criterion", "epsilon")
        values = {name: getattr(result, name) for name in names} | {"pair": result._pair}
        print_json("match", values | {"runs": json_rows(result._runs), "written": written})
    else:
        print_text(f"{result}\n")


def add_predict_accuracy(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `predict-accuracy`."""
    parser.description = (
        "Predict a model's accuracy on each TARGET from its predictions there and on a labelled "
        "BASE."
    )
    parser.epilog = _ACCURACY_FILES
    parser.add_argument("base", type=Path, metavar="BASE", help="predictions on a labelled set")
    parser.add_argument(
        "targets", type=Path, nargs="+", metavar="TARGET", help="predictions on sets to predict for"
    )
    _add(parser, _PREDICT_ACCURACY, _LAYOUT)
    add_json(parser)
    parser.set_defaults(run=run_predict_accuracy)


def run_predict_accuracy(arguments: argparse.Namespace) -> None:
    """Print predicted accuracies."""
    roles = {
        "BASE": [arguments.base], "the targets": arguments.targets,
        "--calibrate-on": arguments.calibration,
    }  # fmt: skip
    roles_of = defaultdict[Path, list[str]](list)
    for role, files in roles.items():
        for file in files:
            check_is_file(file)
            roles_of[file.resolve()].append(role)
    for file, names in roles_of.items():
        if len(set(names)) < len(names):
            raise InputError(f"is named twice in {names[-1]}", file=file, remedy="Name it once")
        if len(names) > 1:
            LOGGER.warning("warning: %s is in %s", file, " and in ".join(names))
    from matcheval.api.predicting import predict_accuracy

    result = predict_accuracy(**_arguments_of(predict_accuracy, arguments), progress=True)
    _tell(result)
    if arguments.json:
        advice = [asdict(recommendation) for recommendation in result.recommendations]
        values = {"base": result.base, "recommendations": advice}
        print_json("predict-accuracy", values | {"predictions": json_rows(result._table)})
    else:
        print_text(str(result))
