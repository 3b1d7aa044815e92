"""The commands that read prediction files: `compare`, `label-plan` and others.

Each calls the Python function of its name, whose arguments are its options.
"""

import argparse
import logging
import os
import shlex
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matcheval.cli import options
from matcheval.cli.options import NamesAction, print_result
from matcheval.errors import InputError
from matcheval.io.files import check_place
from matcheval.io.terminal import json_rows
from matcheval.protocol.criteria import Criterion

# The library is imported by what needs it: help texts and refused files do not wait for it.
if TYPE_CHECKING:
    from matcheval.api.comparison import ComparisonResult
    from matcheval.few_labels.accuracy import AccuracyEstimate
    from matcheval.few_labels.differences import AccuracyDifference

LOGGER = logging.getLogger(__name__)
_MATCH = "matcheval.api.comparing.match"
_PREDICT = "matcheval.api.predicting.predict_accuracy"
_CRITERIA = [criterion.value for criterion in Criterion]
# Quantities of --fail-if; those that depend on the matching with their columns.
_MATCHING_COLUMNS = {
    name: name.replace("-", "_") for name in options.with_bounds("matched-gap")
} | {"unmatched-targets": "fraction_unmatched"}
_PAIR_QUANTITIES = [
    *options.with_bounds("gap"), *_MATCHING_COLUMNS, "accuracy-original", "accuracy-replication",
    *options.with_bounds("confidence-part", "conditional-part"),
]  # fmt: skip
_MODEL_QUANTITIES = [*options.with_bounds("difference"), "accuracy-first", "accuracy-second"]

FILES = """\
Files are text, JSON, Parquet, Feather, .npz, .npy, safetensors, torch tensors, HDF5 or .xlsx.
Columns hold the true class (label, target, ...), the predicted one (prediction, pred, ...) and its
probability (probability, confidence, ...); or, in place of the last two, the scores of all classes
(logits, probs, or a column per class). Classes are numbers or names. What was recognised is said;
what has two meanings is refused with the option that decides it (docs/cli.md).
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
Only BASE and the files of --calibration need labels. Some methods need the scores of all classes.
Files that the workflow writes beside <model>.parquet (.logits.parquet, .features.parquet,
.statistics.npz) are found and used.
"""


def check_outputs(folder: Path, names: Sequence[str], inputs: Sequence[Path]) -> None:
    """Check that files can be written to a folder, and that none of them is an input."""
    if folder.suffix in (".csv", ".parquet") and not folder.is_dir():
        problem = "looks like a file, and --output is a folder"
        raise InputError(problem, file=folder, remedy=f"Give --output {folder.stem}")
    read = set(map(os.path.realpath, inputs))
    for name in names:
        check_place(folder / name)
        if os.path.realpath(folder / name) in read:
            raise InputError("is read, and would be overwritten", file=folder / name)


def _add_prediction_files(parser: argparse.ArgumentParser, *names: str) -> None:
    for name in names:
        text = f"predictions on the {name} set"
        parser.add_argument(name, type=Path, metavar=name.upper(), help=text)


def add_compare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `compare`."""
    parser.description = "Compare a model's accuracy on two sets before and after matching."
    parser.epilog = _PAIR_FILES + _PATTERNS
    _add_prediction_files(parser, "original", "replication")
    options.add_options(
        parser, options.COMPARE, "source", "criteria", "epsilon", "margin", "seeds", "pair",
        "paired", "groups_shared", "analyses",
    )  # fmt: skip
    options.add_options(parser, _MATCH, "model")
    options.add_layout(parser, "labels_are_true")
    parser.add_argument(
        "--full", action="store_true", help="print all numbers, not only claims and one table"
    )
    options.add_output(parser, "a report, tables and figures, in place of an earlier comparison,")
    parser.add_argument(
        "--figures", action=NamesAction, valid=("pdf", "png"), metavar="FORMAT",
        help="formats of the figures in DIR beside SVG: pdf, png",
    )  # fmt: skip
    options.add_fail_if(
        parser,
        [*_PAIR_QUANTITIES, *(f"{name}:{c}" for name in _MATCHING_COLUMNS for c in _CRITERIA)],
        "; those of matching are of the first criterion, others are named like "
        "matched-gap:probability",
    )  # fmt: skip


def run_compare(arguments: argparse.Namespace) -> None:
    """Print a comparison of two sets, and optionally write a report, tables and figures."""
    for condition in arguments.fail_if:
        criterion = condition.quantity.partition(":")[2]
        if criterion and criterion not in getattr(arguments, "criteria", _CRITERIA):
            arguments.parser.error(f"--fail-if '{condition.text}' needs --criteria {criterion}")
    options.check_files(arguments)
    folder = arguments.output
    if folder is not None:
        from matcheval.api.output_folder import check_folder

        check_folder(folder)
    from matcheval.api.comparing import compare

    result = compare(**options.arguments_for(compare, arguments), progress=True)
    where = "--output DIR writes all" if folder is None else f"in the tables below {folder}"
    options.log_remarks(result, where)
    if not arguments.full:
        where = f"--full prints all, {where}"
    written = []
    if folder is not None:
        result = replace(result, _asked=shlex.join(["matched-eval", *sys.argv[1:]]))
        written = [str(path) for path in result.save(folder, figures=arguments.figures)]
        LOGGER.info("wrote %d files; the one to open: %s", len(written), folder / "report.html")
    from matcheval.api.comparison import describe

    estimates, tables = result._estimates, result._tables
    print_result(
        arguments,
        lambda: {
            "verdict": asdict(result.verdict),
            "means": json_rows(estimates.means),
            "models": {name: json_rows(table) for name, table in estimates.models.items()},
            "tables": {criterion.value: json_rows(table) for criterion, table in tables.items()},
            "analyses": {name: json_rows(a.table) for name, a in result._analyses.items()},
            "written": written,
        },
        describe(result, where, full=arguments.full),
    )
    if arguments.fail_if:
        options.end_if_met(arguments.fail_if, _fail_if_values(result))


def _fail_if_values(result: "ComparisonResult") -> dict[str, dict[str, float]]:
    """Return the quantities of `--fail-if`, by model and name, in percent."""
    values = defaultdict[str, dict[str, float]](dict)
    for _, row in result.to_pandas("models", all=True).iterrows():
        quantities = values[row["model"] if len(result.models) > 1 else result.title]
        for name in _PAIR_QUANTITIES:
            value = 100 * float(row[_MATCHING_COLUMNS.get(name, name.replace("-", "_"))])
            quantities.setdefault(name, value)  # of the first criterion
            quantities[f"{name}:{row['criterion']}"] = value
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
    options.add_layout(parser, "labels_are_true")
    options.add_output(parser, "disagreements.csv and .parquet, where the models disagree,")
    options.add_fail_if(parser, _MODEL_QUANTITIES)


def run_compare_models(arguments: argparse.Namespace) -> None:
    """Print a comparison of two models, and optionally write where they disagree."""
    files, output = (arguments.first, arguments.second), arguments.output
    options.check_files(arguments)
    from matcheval.api.comparing_models import OUTPUT_FILES, compare_models, describe

    if output is not None:
        check_outputs(output, OUTPUT_FILES, files)
    result = compare_models(**options.arguments_for(compare_models, arguments))
    options.log_remarks(result)
    written = [] if output is None else result.save(output)
    (row,) = result.to_pandas(all=True).to_dict("records")
    numbers = {str(name): value for name, value in row.items()}
    where = f"all are in {written[0]}" if written else "--output DIR writes all"
    datapoints, paths = result.to_pandas("datapoints", all=True), [*map(str, written)]
    print_result(
        arguments,
        lambda: numbers | {"datapoints": json_rows(datapoints), "written": paths},
        describe(result, where),
    )
    values = {name: 100 * numbers[name.replace("-", "_")] for name in _MODEL_QUANTITIES}
    options.end_if_met(arguments.fail_if, {f"{result.first} and {result.second}": values})


def add_match(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `match`."""
    parser.description, parser.epilog = "Match a model's predictions on two sets.", _PAIR_FILES
    _add_prediction_files(parser, "original", "replication")
    options.add_options(parser, _MATCH, "source", "criterion", "seeds", "model")
    options.add_options(parser, options.COMPARE, "epsilon", "pair")
    options.add_layout(parser, "labels_are_true")
    options.add_output(parser, "the table of runs, runs.csv and runs.parquet,", required=True)
    parser.add_argument(
        "--pairs", action="store_true",
        help="also write pairs.parquet: the matched pairs of indices",
    )  # fmt: skip


def run_match(arguments: argparse.Namespace) -> None:
    """Match a model's predictions on two sets, and write the runs, and optionally the pairs."""
    files = arguments.original, arguments.replication
    options.check_files(arguments)
    from matcheval.api.comparing import PAIRS_FILE, RUN_FILES, match

    check_outputs(arguments.output, (*RUN_FILES, PAIRS_FILE), files)
    result = match(**options.arguments_for(match, arguments))
    written = [str(path) for path in result.save(arguments.output, pairs=arguments.pairs)]
    options.log_remarks(result)
    values = {name: getattr(result, name) for name in ("model", "criterion", "epsilon")}
    values |= {"pair": result._pair, "written": written}
    print_result(arguments, lambda: values | {"runs": json_rows(result._runs)}, f"{result}\n")


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
    options.add_options(parser, _PREDICT, "methods", "calibration_groups", "resamples", "seed")
    parser.add_argument(
        "--calibration", type=Path, nargs="+", action="extend", default=[], metavar="FILE",
        help="predictions on at least 3 further labelled sets, which regressions are fitted on",
    )  # fmt: skip
    options.add_layout(parser, "labels_are_true")


def run_predict_accuracy(arguments: argparse.Namespace) -> None:
    """Print the accuracies that are predicted for sets without labels."""
    roles = {
        "BASE": [arguments.base], "the targets": arguments.targets,
        "--calibration": arguments.calibration,
    }  # fmt: skip
    roles_by_file = defaultdict[Path, list[str]](list)
    options.check_files(arguments)
    for role, files in roles.items():
        for file in files:
            roles_by_file[file.resolve()].append(role)
    for file, names in roles_by_file.items():
        if len(set(names)) < len(names):
            raise InputError(f"is named twice in {names[-1]}", file=file, remedy="Name it once")
        if len(names) > 1:
            LOGGER.warning("warning: %s is in %s", file, " and in ".join(names))
    from matcheval.api.predicting import predict_accuracy

    result = predict_accuracy(**options.arguments_for(predict_accuracy, arguments), progress=True)
    options.log_remarks(result)
    advice = [asdict(recommendation) for recommendation in result.recommendations]
    values = {"base": result.base, "recommendations": advice}
    print_result(arguments, lambda: values | {"predictions": json_rows(result._table)}, str(result))


# --- `label-plan` and `estimate-accuracy`: accuracy from few labels

_PLAN = "matcheval.few_labels.plans.label_plan"
_ESTIMATE = "matcheval.few_labels.accuracy.estimate_accuracy"
_FEW_LABELS_QUANTITIES = ["estimate", "lower", "upper", "half-width"]
# Options for one model only, with their values if they are not given.
_ONE_MODEL_DEFAULTS = {
    "method": "auto", "estimand": "set", "half_width": None, "base": None, "original": None
}  # fmt: skip


def _add_shared_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that `label-plan` and `estimate-accuracy` share."""
    parser.epilog = FILES
    parser.add_argument(
        "predictions", type=Path, metavar="PREDICTIONS",
        help="predictions on all datapoints of a set, as other tools write them; no labels needed",
    )  # fmt: skip
    parser.add_argument(
        "second", type=Path, metavar="SECOND", nargs="?",
        help="those of another model on the same datapoints",
    )  # fmt: skip
    options.add_layout(parser)


def add_label_plan(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `label-plan`."""
    parser.description = (
        "Say how many labels the accuracy of a model, or the difference of two models, needs, and "
        "draw the datapoints to label."
    )
    _add_shared_arguments(parser)
    options.add_options(parser, _PLAN, "half_width", "n", "design", "level", "seed", "base")
    options.add_options(parser, _ESTIMATE, "plan", "outside")
    parser.add_argument(
        "--pilot", type=Path, metavar="FILE",
        help="labels so far, with the --plan that drew them, which is extended",
    )  # fmt: skip
    options.add_output(parser, "worklist.csv and plan.json")
    parser.add_argument(
        "--show-predictions", action="store_true",
        help="write predictions and confidences, which may bias who labels, to the worklist",
    )  # fmt: skip


def add_estimate_accuracy(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `estimate-accuracy`."""
    parser.description = (
        "Estimate a model's accuracy, or the difference of two models, from few labels, with an "
        "interval and its guarantee."
    )
    _add_shared_arguments(parser)
    options.add_options(
        parser, _ESTIMATE, "labels", "plan", "method", "estimand", "level", "assume_random",
        "outside", "base",
    )  # fmt: skip
    parser.add_argument(
        "--watch", type=options.parse_points, metavar="POINTS", dest="half_width",
        help="look after every label: exit code 0 once the interval has been as narrow as so many "
        f"percentage points to either side, {options.EXIT_CODE} before",
    )  # fmt: skip
    parser.add_argument(
        "--original", type=Path, metavar="FILE",
        help="predictions on another set, with labels of all datapoints: also print the gap, "
        "original minus this set",
    )  # fmt: skip
    options.add_fail_if(parser, _FEW_LABELS_QUANTITIES)


def run_label_plan(arguments: argparse.Namespace) -> None:
    """Print how many labels are needed, and optionally write which datapoints to label."""
    if (arguments.pilot is None) == ("plan" in arguments):
        raise InputError("--pilot and --plan go together", remedy="Give both, or neither")
    if arguments.output is not None:
        check_outputs(arguments.output, ("worklist.csv", "plan.json"), ())
    options.check_files(arguments)
    from matcheval.few_labels.plans import label_plan

    keywords = options.arguments_for(label_plan, arguments)
    if arguments.pilot is not None:
        pilot = vars(arguments) | {"labels": arguments.pilot, "half_width": None}
        keywords["pilot"] = _estimate_from_labels(argparse.Namespace(**pilot))
    plan = label_plan(**keywords)
    options.log_remarks(plan)
    written, end = list[str](), "--output DIR writes the worklist."
    if arguments.output is not None:
        paths = plan.save(arguments.output, show_predictions=arguments.show_predictions)
        written = [str(path) for path in paths]
        end = f"written: {', '.join(written)}"
    numbers = {
        k: v for k, v in vars(plan).items() if isinstance(v, int | float | str) and k[0] != "_"
    }
    lists = {"needs": json_rows(plan.to_pandas()), "written": written}
    print_result(arguments, lambda: numbers | lists, f"{plan}{end}\n")


def run_estimate_accuracy(arguments: argparse.Namespace) -> None:
    """Print an accuracy, or a difference of two, that is estimated from few labels."""
    if arguments.second is not None:
        for name, default in _ONE_MODEL_DEFAULTS.items():
            if vars(arguments).get(name, default) != default:
                option = "--watch" if name == "half_width" else f"--{name}"
                raise InputError(f"{option} is for one model", remedy="Leave it or SECOND out")
    options.check_files(arguments)
    result, gap = _estimate_from_labels(arguments), None
    options.log_remarks(result)
    if arguments.original is not None:
        from matcheval.few_labels.differences import estimate_gap

        keywords = options.arguments_for(estimate_gap, arguments)
        gap = estimate_gap(**keywords | {"target": result})
        for note in gap.notes:
            LOGGER.info("%s", note)
    gap_values = {} if gap is None else {"gap": _json_values(gap)}
    text = str(result) + ("" if gap is None else f"\n{gap}")
    print_result(arguments, lambda: _json_values(result) | gap_values, text)
    values = {name: 100 * getattr(result, name) for name in _FEW_LABELS_QUANTITIES[:3]}
    values["half-width"] = (values["upper"] - values["lower"]) / 2
    name = getattr(result, "name", None) or f"{arguments.predictions} and {arguments.second}"
    options.end_if_met(arguments.fail_if, {name: values})
    if arguments.half_width is not None and getattr(result, "stopped_at", None) is None:
        points = 100 * arguments.half_width
        LOGGER.info("go on: the interval is not yet as narrow as ± %g points", points)
        raise SystemExit(options.EXIT_CODE)


def _estimate_from_labels(arguments: argparse.Namespace) -> Any:
    """Estimate the accuracy, or the difference of accuracies where there are two models."""
    from matcheval.few_labels.accuracy import estimate_accuracy
    from matcheval.few_labels.differences import estimate_difference

    if arguments.second is None:
        return estimate_accuracy(**options.arguments_for(estimate_accuracy, arguments))
    keywords = options.arguments_for(estimate_difference, arguments)
    return estimate_difference(**keywords | {"first": arguments.predictions})


def _json_values(result: "AccuracyEstimate | AccuracyDifference") -> dict[str, Any]:
    """Return an estimate's numbers and warnings as JSON values."""
    return json_rows(result.to_pandas(all=True))[0] | {"warnings": list(result.warnings)}
