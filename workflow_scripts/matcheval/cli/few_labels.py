"""The commands `label-plan` and `estimate-accuracy`: accuracy from few labels."""

import argparse
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matcheval.cli.conditions import EXIT_CODE, add_fail_if, end_if_met
from matcheval.cli.options import add_options
from matcheval.cli.predictions import FILES, MAX_WARNINGS, add_layout, check_outputs, read_layout
from matcheval.errors import InputError
from matcheval.io.files import check_is_file
from matcheval.io.terminal import add_json, json_rows, print_json, print_text

if TYPE_CHECKING:
    from matcheval.few_labels.accuracy import AccuracyEstimate
    from matcheval.few_labels.differences import AccuracyDifference
    from matcheval.few_labels.plans import LabelPlan

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
    parser.epilog = (
        "PREDICTIONS are of all datapoints of a set, a row each, as other tools write them; labels "
        "are not\nneeded. SECOND has those of another model on the same datapoints.\n\n" + FILES
    )
    parser.add_argument("predictions", type=Path, metavar="PREDICTIONS")
    parser.add_argument("second", type=Path, metavar="SECOND", nargs="?")
    add_layout(parser)
    add_json(parser)


def add_label_plan(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `label-plan`."""
    parser.description = (
        "Say how many labels the accuracy of a model, or the difference of two models, needs, and "
        "draw the datapoints to label."
    )
    _add_common(parser)
    add_options(parser, _PLAN, "half_width", "n", "design", "level", "seed", "base")
    add_options(parser, _ESTIMATE, "plan", "outside")
    parser.add_argument(
        "--pilot", type=Path, metavar="FILE",
        help="labels so far, with the --plan that drew them, which is extended",
    )  # fmt: skip
    parser.add_argument(
        "--output", type=Path, metavar="DIR", help="write worklist.csv and plan.json to DIR"
    )
    parser.add_argument(
        "--show-predictions", action="store_true",
        help="write predictions and confidences, which may bias who labels, to the worklist",
    )  # fmt: skip
    parser.set_defaults(run=run_label_plan)


def add_estimate_accuracy(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `estimate-accuracy`."""
    parser.description = (
        "Estimate a model's accuracy, or the difference of two models, from few labels, with an "
        "interval and its guarantee."
    )
    _add_common(parser)
    add_options(
        parser, _ESTIMATE, "labels", "plan", "method", "estimand", "level", "assume_random",
        "outside", "base",
    )  # fmt: skip
    parser.add_argument(
        "--watch", type=float, metavar="H", dest="half_width",
        help="look after every label: exit code 0 once the interval has been as narrow as ± H, "
        f"{EXIT_CODE} before",
    )  # fmt: skip
    parser.add_argument(
        "--original", type=Path, metavar="FILE",
        help="predictions on another set, with labels of all datapoints: also print the gap, "
        "original minus this set",
    )  # fmt: skip
    add_fail_if(parser, _QUANTITIES)
    parser.set_defaults(run=run_estimate_accuracy)


def run_label_plan(arguments: argparse.Namespace) -> None:
    """Print a plan, and optionally write its worklist."""
    if (arguments.pilot is None) != (arguments.plan is None):
        raise InputError("--pilot and --plan go together", remedy="Give both, or neither")
    if arguments.output is not None:
        check_outputs(arguments.output, ("worklist.csv", "plan.json"), ())
    layout = _read_layout(arguments, ("predictions", "second", "base"))
    from matcheval.few_labels.plans import label_plan

    pilot = None
    if arguments.pilot is not None:
        pilot = _estimated(arguments, layout, arguments.pilot)
    options = {
        name: getattr(arguments, name)
        for name in ("half_width", "n", "design", "level", "seed", "base")
    }
    plan = label_plan(
        arguments.predictions, arguments.second, pilot=pilot, **layout, **options
    )  # fmt: skip
    _log(plan)
    written = []
    if arguments.output is not None:
        paths = plan.save(arguments.output, show_predictions=arguments.show_predictions)
        written = [str(path) for path in paths]
    if arguments.json:
        numbers = {
            k: v for k, v in vars(plan).items() if isinstance(v, int | float | str) and k[0] != "_"
        }
        needs = json_rows(plan.to_pandas())
        print_json("label-plan", numbers | {"needs": needs, "written": written})
        return
    print_text(str(plan))
    if written:
        print_text(f"written: {', '.join(written)}\n")
    else:
        print_text("--output DIR writes the worklist.\n")


def run_estimate_accuracy(arguments: argparse.Namespace) -> None:
    """Print an accuracy, or a difference, from few labels."""
    if arguments.second is not None:
        for name, default in _OF_ONE_MODEL.items():
            if getattr(arguments, name) != default:
                option = "--watch" if name == "half_width" else f"--{name}"
                raise InputError(f"{option} is for one model", remedy="Leave it or SECOND out")
    layout = _read_layout(arguments, ("predictions", "second", "base", "original"))
    result = _estimated(
        arguments, layout, arguments.labels, assume_random=arguments.assume_random,
        **{k: getattr(arguments, k) for k in ("method", "estimand", "half_width")},
    )  # fmt: skip
    gap = None
    if arguments.original is not None:
        from matcheval.few_labels.differences import estimate_gap

        gap = estimate_gap(arguments.original, result, **layout)
    _log(result)
    if arguments.json:
        of_gap = {} if gap is None else {"gap": _numbers(gap)}
        print_json("estimate-accuracy", _numbers(result) | of_gap)
    else:
        print_text(str(result) + ("" if gap is None else f"\n{gap}"))
    values = {name: 100 * getattr(result, name) for name in _QUANTITIES[:3]}
    values["half-width"] = (values["upper"] - values["lower"]) / 2
    name = getattr(result, "name", None) or f"{arguments.predictions} and {arguments.second}"
    end_if_met(arguments.fail_if, {name: values})
    if arguments.half_width is not None and getattr(result, "stopped_at", None) is None:
        LOGGER.info("go on: the interval is not yet as narrow as ± %s", arguments.half_width)
        raise SystemExit(EXIT_CODE)


def _read_layout(arguments: argparse.Namespace, roles: Iterable[str]) -> dict[str, Any]:
    """Check that all files are there, and return what the functions take of their layout."""
    sources = [path for role in roles if (path := getattr(arguments, role)) is not None]
    others = [getattr(arguments, name, None) for name in ("plan", "pilot", "labels")]
    for path in [*sources, *others]:
        if path is not None:
            check_is_file(path)
    layout, n_classes = read_layout(arguments, sources)
    return {"columns": layout, "classes": n_classes}


def _estimated(
    arguments: argparse.Namespace, layout: dict[str, Any], labels: Path,
    assume_random: bool = False, **of_one_model: Any,
) -> Any:  # fmt: skip
    """Estimate from labels: the accuracy, or the difference where there are two models."""
    from matcheval.few_labels.accuracy import estimate_accuracy
    from matcheval.few_labels.differences import estimate_difference

    options = {name: getattr(arguments, name) for name in ("plan", "level", "outside")}
    options |= layout | {"assume_random": assume_random}
    if arguments.second is not None:
        return estimate_difference(arguments.predictions, arguments.second, labels, **options)
    options |= of_one_model | {"base": arguments.base}
    return estimate_accuracy(arguments.predictions, labels, **options)


def _numbers(result: "AccuracyEstimate | AccuracyDifference") -> dict[str, Any]:
    """Return all numbers as JSON values."""
    return json_rows(result.to_pandas(all=True))[0] | {"warnings": list(result.warnings)}


def _log(result: "AccuracyEstimate | AccuracyDifference | LabelPlan") -> None:
    for text in result.notes:
        LOGGER.info("%s", text)
    for text in result.warnings[:MAX_WARNINGS]:
        LOGGER.warning("warning: %s", text)
