"""The commands `label-plan` and `estimate-accuracy`: accuracy from few labels."""

import argparse
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matcheval.cli import options
from matcheval.cli.predictions import FILES, check_outputs
from matcheval.errors import InputError
from matcheval.io.terminal import json_rows

if TYPE_CHECKING:
    from matcheval.few_labels.accuracy import AccuracyEstimate
    from matcheval.few_labels.differences import AccuracyDifference

LOGGER = logging.getLogger(__name__)
_PLAN = "matcheval.few_labels.plans.label_plan"
_ESTIMATE = "matcheval.few_labels.accuracy.estimate_accuracy"
_QUANTITIES = ["estimate", "lower", "upper", "half-width"]
# Options that are of one model, with what they are if they are not given.
_OF_ONE_MODEL = {
    "method": "auto", "estimand": "set", "half_width": None, "base": None, "original": None
}  # fmt: skip


def _add_common(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that both commands share."""
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
    _add_common(parser)
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
    _add_common(parser)
    options.add_options(
        parser, _ESTIMATE, "labels", "plan", "method", "estimand", "level", "assume_random",
        "outside", "base",
    )  # fmt: skip
    parser.add_argument(
        "--watch", type=options.read_points, metavar="POINTS", dest="half_width",
        help="look after every label: exit code 0 once the interval has been as narrow as so many "
        f"percentage points to either side, {options.EXIT_CODE} before",
    )  # fmt: skip
    parser.add_argument(
        "--original", type=Path, metavar="FILE",
        help="predictions on another set, with labels of all datapoints: also print the gap, "
        "original minus this set",
    )  # fmt: skip
    options.add_fail_if(parser, _QUANTITIES)


def run_label_plan(arguments: argparse.Namespace) -> None:
    """Print a plan, and optionally write its worklist."""
    if (arguments.pilot is None) == ("plan" in arguments):
        raise InputError("--pilot and --plan go together", remedy="Give both, or neither")
    if arguments.output is not None:
        check_outputs(arguments.output, ("worklist.csv", "plan.json"), ())
    options.check_files(arguments)
    from matcheval.few_labels.plans import label_plan

    keywords = options.arguments_of(label_plan, arguments)
    if arguments.pilot is not None:
        of_pilot = vars(arguments) | {"labels": arguments.pilot, "half_width": None}
        keywords["pilot"] = _estimated(argparse.Namespace(**of_pilot))
    plan = label_plan(**keywords)
    options.tell(plan)
    written, end = list[str](), "--output DIR writes the worklist."
    if arguments.output is not None:
        paths = plan.save(arguments.output, show_predictions=arguments.show_predictions)
        written = [str(path) for path in paths]
        end = f"written: {', '.join(written)}"
    numbers = {
        k: v for k, v in vars(plan).items() if isinstance(v, int | float | str) and k[0] != "_"
    }
    lists = {"needs": json_rows(plan.to_pandas()), "written": written}
    options.show(arguments, lambda: numbers | lists, f"{plan}{end}\n")


def run_estimate_accuracy(arguments: argparse.Namespace) -> None:
    """Print an accuracy, or a difference, from few labels."""
    if arguments.second is not None:
        for name, default in _OF_ONE_MODEL.items():
            if vars(arguments).get(name, default) != default:
                option = "--watch" if name == "half_width" else f"--{name}"
                raise InputError(f"{option} is for one model", remedy="Leave it or SECOND out")
    options.check_files(arguments)
    result, gap = _estimated(arguments), None
    options.tell(result)
    if arguments.original is not None:
        from matcheval.few_labels.differences import estimate_gap

        keywords = options.arguments_of(estimate_gap, arguments)
        gap = estimate_gap(**keywords | {"target": result})
        for note in gap.notes:
            LOGGER.info("%s", note)
    of_gap = {} if gap is None else {"gap": _numbers(gap)}
    text = str(result) + ("" if gap is None else f"\n{gap}")
    options.show(arguments, lambda: _numbers(result) | of_gap, text)
    values = {name: 100 * getattr(result, name) for name in _QUANTITIES[:3]}
    values["half-width"] = (values["upper"] - values["lower"]) / 2
    name = getattr(result, "name", None) or f"{arguments.predictions} and {arguments.second}"
    options.end_if_met(arguments.fail_if, {name: values})
    if arguments.half_width is not None and getattr(result, "stopped_at", None) is None:
        points = 100 * arguments.half_width
        LOGGER.info("go on: the interval is not yet as narrow as ± %g points", points)
        raise SystemExit(options.EXIT_CODE)


def _estimated(arguments: argparse.Namespace) -> Any:
    """Estimate from labels: the accuracy, or the difference where there are two models."""
    from matcheval.few_labels.accuracy import estimate_accuracy
    from matcheval.few_labels.differences import estimate_difference

    if arguments.second is None:
        return estimate_accuracy(**options.arguments_of(estimate_accuracy, arguments))
    keywords = options.arguments_of(estimate_difference, arguments)
    return estimate_difference(**keywords | {"first": arguments.predictions})


def _numbers(result: "AccuracyEstimate | AccuracyDifference") -> dict[str, Any]:
    """Return all numbers as JSON values."""
    return json_rows(result.to_pandas(all=True))[0] | {"warnings": list(result.warnings)}
