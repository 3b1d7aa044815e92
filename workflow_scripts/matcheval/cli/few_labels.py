"""The commands `label-plan` and `estimate-accuracy`: accuracy from few labels."""

import argparse
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matcheval.cli.conditions import EXIT_CODE, add_fail_if, end_if_met
from matcheval.cli.predictions import FILES, MAX_WARNINGS, add_layout, check_outputs, read_layout
from matcheval.errors import InputError
from matcheval.io.files import check_is_file
from matcheval.io.terminal import add_json, json_rows, print_json, print_text

if TYPE_CHECKING:
    from matcheval.api.few_label_results import AccuracyDifference, AccuracyEstimate

LOGGER = logging.getLogger(__name__)
_QUANTITIES = ["estimate", "lower", "upper", "half-width"]
_PREDICTIONS = f"""\
PREDICTIONS are of all datapoints of a set, a row each, as other tools write them; labels are not
needed. SECOND has those of another model on the same datapoints.

{FILES}
"""


def _add_common(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that both commands share."""
    parser.epilog = _PREDICTIONS
    parser.add_argument("predictions", type=Path, metavar="PREDICTIONS")
    parser.add_argument("second", type=Path, metavar="SECOND", nargs="?")
    parser.add_argument(
        "--base", type=Path, metavar="FILE",
        help="predictions on a labelled set, with scores of all classes: calibrates confidences",
    )  # fmt: skip
    parser.add_argument(
        "--level", type=float, default=0.95, help="of the interval (default: %(default)s)"
    )
    parser.add_argument("--plan", type=Path, metavar="FILE", help="plan.json that drew the labels")
    parser.add_argument(
        "--outside", choices=["error", "wrong"], default="error",
        help="labels that are no class of the set: refuse them, or count them as wrong predictions "
        "(default: %(default)s)",
    )  # fmt: skip
    add_layout(parser)


def add_label_plan(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `label-plan`."""
    parser.description = (
        "Say how many labels the accuracy of a model, or the difference of two models, needs, and "
        "draw the datapoints to label."
    )
    _add_common(parser)
    parser.add_argument(
        "--half-width", type=float, metavar="H",
        help="wish: half the width of the interval, 0.03 for ± 3 points (default: 0.05)",
    )  # fmt: skip
    parser.add_argument("--n", type=int, help="number of labels, in place of the planned one")
    parser.add_argument(
        "--design", metavar="NAME",
        help="random, mixed, proportional, neyman, active, lure or, of two models, disagreement "
        "(default: the recommended one; docs/few-labels.md)",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, help="of the draw (default: %(default)s)")
    parser.add_argument(
        "--pilot", type=Path, metavar="FILE",
        help="labels so far, with the --plan that drew them, which is extended",
    )  # fmt: skip
    parser.add_argument(
        "--output", type=Path, metavar="DIR", help="write worklist.csv and plan.json to DIR"
    )
    parser.add_argument(
        "--images", type=Path, metavar="DIR",
        help="folder of the images that the predictions name: also write the page label.html, on "
        "which they are labelled",
    )  # fmt: skip
    parser.add_argument(
        "--show-predictions", action="store_true",
        help="write predictions and confidences, which may bias who labels, to the worklist",
    )  # fmt: skip
    add_json(parser)
    parser.set_defaults(run=run_label_plan)


def add_estimate_accuracy(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `estimate-accuracy`."""
    parser.description = (
        "Estimate a model's accuracy, or the difference of two models, from few labels, with an "
        "interval and its guarantee."
    )
    _add_common(parser)
    parser.add_argument(
        "--labels", type=Path, required=True, metavar="FILE",
        help="labels: columns index (or file), label, and perhaps status",
    )  # fmt: skip
    parser.add_argument(
        "--method", default="auto",
        help="default: auto, which chooses by design and counts (docs/few-labels.md has all)",
    )  # fmt: skip
    parser.add_argument(
        "--estimand", choices=["set", "population"], default="set",
        help="accuracy on exactly these datapoints, or of what they come from (default: "
        "%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--watch", type=float, metavar="H",
        help="look after every label: exit code 0 once the interval has been as narrow as ± H, "
        f"{EXIT_CODE} before",
    )  # fmt: skip
    parser.add_argument(
        "--assume-random", action="store_true",
        help="labels without a plan were drawn uniformly at random, in their order",
    )  # fmt: skip
    parser.add_argument(
        "--second-labels", type=Path, metavar="FILE", help="of another annotator: Cohen's kappa"
    )
    parser.add_argument(
        "--original", type=Path, metavar="FILE",
        help="predictions on another set, with labels of all datapoints: also print the gap, "
        "original minus this set",
    )  # fmt: skip
    add_fail_if(parser, _QUANTITIES)
    add_json(parser)
    parser.set_defaults(run=run_estimate_accuracy)


def run_label_plan(arguments: argparse.Namespace) -> None:
    """Print a plan, and optionally write its worklist."""
    if (arguments.pilot is None) != (arguments.plan is None):
        raise InputError("--pilot and --plan go together", remedy="Give both, or neither")
    if arguments.images is not None and arguments.output is None:
        raise InputError("--images needs --output", remedy="Say where to write the page")
    if arguments.output is not None:
        check_outputs(arguments.output, ("worklist.csv", "plan.json"), ())
    sources, layout, n_classes = _read(arguments, ("predictions", "second", "base"))
    from matcheval.api.label_plans import plan_from

    pilot = None
    if arguments.pilot is not None:
        pilot = _estimated(arguments, sources, layout, n_classes, arguments.pilot)
    found = plan_from(
        sources, layout, n_classes, half_width=arguments.half_width, n=arguments.n,
        design=arguments.design, level=arguments.level, seed=arguments.seed, pilot=pilot,
    )  # fmt: skip
    _tell(found.notes, found.warnings)
    written = []
    if arguments.output is not None:
        shown = arguments.show_predictions
        paths = found.save(arguments.output, images=arguments.images, show_predictions=shown)
        written = [str(path) for path in paths]
    if arguments.json:
        names = (
            "n", "half_width", "level", "recommended", "design", "seed", "n_labels", "n_done",
            "n_needed",
        )  # fmt: skip
        numbers = {name: getattr(found, name) for name in names}
        told = numbers | {"needs": json_rows(found.to_pandas()), "written": written}
        print_json("label-plan", told)
        return
    print_text(str(found))
    if written:
        print_text(f"written: {', '.join(written)}\n")
    else:
        print_text("--output DIR writes the worklist.\n")


def run_estimate_accuracy(arguments: argparse.Namespace) -> None:
    """Print an accuracy, or a difference, from few labels."""
    if arguments.second is not None:
        given = [
            name
            for name, value, default in (
                ("--method", arguments.method, "auto"), ("--estimand", arguments.estimand, "set"),
                ("--watch", arguments.watch, None), ("--base", arguments.base, None),
                ("--original", arguments.original, None),
                ("--second-labels", arguments.second_labels, None),
            )
            if value != default
        ]  # fmt: skip
        if given:
            raise InputError(f"{given[0]} is for one model", remedy="Leave it or SECOND out")
    paths = ("predictions", "second", "base", "original")
    sources, layout, n_classes = _read(arguments, paths)
    found = _estimated(arguments, sources, layout, n_classes, arguments.labels)
    gap = None
    if arguments.original is not None:
        from matcheval.api.few_label_results import AccuracyEstimate
        from matcheval.api.few_labels import estimate_gap, fully_labelled

        assert isinstance(found, AccuracyEstimate)
        original = fully_labelled(sources["original"], layout, n_classes, found)
        gap = estimate_gap(original, found)
    _tell(found.notes, found.warnings)
    if arguments.json:
        numbers = _numbers(found)
        told = numbers if gap is None else numbers | {"gap": _numbers(gap)}
        print_json("estimate-accuracy", told)
    else:
        print_text(str(found) + ("" if gap is None else f"\n{gap}"))
    values = {name: 100 * getattr(found, name) for name in _QUANTITIES[:3]}
    values["half-width"] = (values["upper"] - values["lower"]) / 2
    named = getattr(found, "name", None) or f"{arguments.predictions} and {arguments.second}"
    end_if_met(arguments.fail_if, {named: values})
    if arguments.watch is not None and getattr(found, "stopped_at", None) is None:
        LOGGER.info("go on: the interval is not yet as narrow as ± %s", arguments.watch)
        raise SystemExit(EXIT_CODE)


def _read(arguments: argparse.Namespace, roles: Iterable[str]) -> tuple[dict[str, Path], Any, Any]:
    """Check that all files are there, and read what is said of their layout."""
    sources = {role: path for role in roles if (path := getattr(arguments, role)) is not None}
    others = [getattr(arguments, name, None) for name in ("plan", "pilot", "labels")]
    for path in [*sources.values(), *others, getattr(arguments, "second_labels", None)]:
        if path is not None:
            check_is_file(path)
    return (sources, *read_layout(arguments, [*sources.values()]))


def _estimated(
    arguments: argparse.Namespace, sources: dict[str, Path], layout: Any, n_classes: int | None,
    labels: Path,
) -> "AccuracyEstimate | AccuracyDifference":  # fmt: skip
    """Estimate from labels: the difference where there are two models."""
    from matcheval.api.few_labels import accuracy_from, difference_from

    shared: dict[str, Any] = {
        "labels": labels, "plan": arguments.plan, "level": arguments.level,
        "outside": arguments.outside, "assume_random": getattr(arguments, "assume_random", False),
    }  # fmt: skip
    if "second" in sources:
        pair = {role: sources[role] for role in ("predictions", "second")}
        return difference_from(pair, layout, n_classes, **shared)
    return accuracy_from(
        sources, layout, n_classes, **shared, method=getattr(arguments, "method", "auto"),
        estimand=getattr(arguments, "estimand", "set"),
        half_width=getattr(arguments, "watch", None),
        second_labels=getattr(arguments, "second_labels", None),
    )  # fmt: skip


def _numbers(found: "AccuracyEstimate | AccuracyDifference") -> dict[str, Any]:
    """Return all numbers as JSON values."""
    return json_rows(found.to_pandas(all=True))[0] | {"warnings": list(found.warnings)}


def _tell(notes: Iterable[str], warnings: Iterable[str]) -> None:
    for text in notes:
        LOGGER.info("%s", text)
    for text in [*warnings][:MAX_WARNINGS]:
        LOGGER.warning("warning: %s", text)
