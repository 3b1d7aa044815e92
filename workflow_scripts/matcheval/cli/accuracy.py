"""The command `predict-accuracy`: how accurate a model will be on sets without labels."""

import argparse
import logging
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matcheval.cli.layouts import add_layout, read_layout
from matcheval.errors import InputError, printable
from matcheval.io.terminal import json_rows, print_json
from matcheval.predictions.formats import check_is_file

if TYPE_CHECKING:
    import pyarrow as pa

LOGGER = logging.getLogger(__name__)
N_RESAMPLES = 200

FILES = """\
Files hold one model's predictions, one row per datapoint: Parquet, CSV, TSV or JSON (Lines) files
with columns label, prediction, probability (and optionally index), or .npz files with labels. Only
BASE and the files of --calibrate-on need labels. Some methods need the scores of all classes:
columns p_0, p_1, ... or prob_cat, prob_dog, ... of probabilities, logit_0, ... or logit_cat, ... of
logits, a column of lists (probabilities or logits), or arrays of these names in an .npz file. Files
that the workflow writes beside <model>.parquet (.logits.parquet, .features.parquet,
.statistics.npz) are found and used. docs/cli.md has the formats.
"""


def add_predict_accuracy(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `predict-accuracy`."""
    parser.add_argument("base", type=Path, metavar="BASE", help="predictions on a labelled set")
    parser.add_argument(
        "targets", type=Path, nargs="+", metavar="TARGET", help="predictions on sets to predict for"
    )
    parser.add_argument(
        "--methods", nargs="+", action="extend", default=[], metavar="NAME",
        help="methods, or variants as method:variant (default: those that need no further sets, "
        "and with --calibrate-on all)",
    )  # fmt: skip
    parser.add_argument(
        "--calibrate-on", type=Path, nargs="+", action="extend", default=[], metavar="FILE",
        help="predictions on at least 3 further labelled sets, which regressions are fitted on",
    )  # fmt: skip
    parser.add_argument(
        "--resamples", type=int, default=N_RESAMPLES, metavar="N",
        help="resamples of the datapoints for the intervals; 0 for none (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--seed", type=int, default=0, help="of the resamples and splits (default: %(default)s)"
    )
    add_layout(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.set_defaults(run=run_predict_accuracy)


def run_predict_accuracy(arguments: argparse.Namespace) -> None:
    """Print predicted accuracies."""
    from matcheval.api.inputs import Given
    from matcheval.api.model_outputs import GivenSets, predict_given

    given = [arguments.base, *arguments.calibrate_on, *arguments.targets]
    for path in given:
        check_is_file(path)
    _check_named_once(arguments)
    layout, n_classes = read_layout(arguments, given)
    base, table = predict_given(
        GivenSets(
            Given.of(arguments.base, "base"),
            {str(path): Given.of(path, str(path)) for path in arguments.targets},
            [Given.of(path, str(path)) for path in arguments.calibrate_on],
        ),
        arguments.methods, layout, n_classes, resamples=arguments.resamples, seed=arguments.seed,
        warn=lambda text: LOGGER.warning("warning: %s", text),
    )  # fmt: skip
    if arguments.json:
        print_json([{"base": base.name, **row} for row in json_rows(table)])
    else:
        sys.stdout.write(printable(_as_text(base.name, table)))


def _check_named_once(arguments: argparse.Namespace) -> None:
    """Refuse a file that counts twice; warn of one that has two roles."""
    for what in ("calibrate_on", "targets"):
        paths = [path.resolve() for path in getattr(arguments, what)]
        twice = [path for path in paths if paths.count(path) > 1]
        if twice:
            where = "--calibrate-on" if what == "calibrate_on" else "the targets"
            raise InputError(f"is named twice in {where}", file=twice[0], remedy="Name it once")
    base, fitted = arguments.base.resolve(), [p.resolve() for p in arguments.calibrate_on]
    for path in arguments.targets:
        if path.resolve() == base:
            LOGGER.warning("warning: %s is the base and a target", path)
        if path.resolve() in fitted:
            LOGGER.warning("warning: %s is a target, and regressions are fitted on it", path)
    if base in fitted:
        LOGGER.warning("warning: %s is the base, and regressions are fitted on it", arguments.base)


def _as_text(base: str, table: "pa.Table") -> str:
    """Return a block of lines per target, with accuracies in percent."""
    rows = table.to_pylist()
    first = rows[0]
    lines = [
        f"base {base}: {first['n_base']:,} datapoints, accuracy {_percent(first['accuracy_base'])}"
    ]
    width = max(len(row["title"]) + len(row["variant"]) for row in rows) + 3
    for target in dict.fromkeys(row["target"] for row in rows):
        of_target = [row for row in rows if row["target"] == target]
        lines += ["", *_block(of_target, width)]
    lines += [
        "",
        "Errors in percentage points. Intervals are over datapoints; they do not hold the error of "
        "a method's assumption.",
        "",
    ]
    return "\n".join(lines)


def _block(rows: Sequence[dict[str, Any]], width: int) -> Iterator[str]:
    first = rows[0]
    has_truth = not _is_nan(first["accuracy"])
    truth = f"accuracy {_percent(first['accuracy'])}" if has_truth else "no labels"
    yield f"{first['target']}: {first['n']:,} datapoints, {truth}"
    error = f"{'error':>8}" if has_truth else ""
    yield f"{'method'.ljust(width)}{'predicted':>9}{'95 % interval':>19}{error}"
    for row in rows:
        variant = f" ({row['variant']})" if row["variant"] else ""
        name = f"{row['title']}{variant}".ljust(width)
        if _is_nan(row["predicted"]):
            yield f"{name}      n/a   {row['reason']}"
            continue
        bounds = [_percent(row[f"predicted_{side}"]) for side in ("low", "high")]
        interval = "" if _is_nan(row["predicted_low"]) else f"{bounds[0][:-2]} – {bounds[1]}"
        line = f"{name}{_percent(row['predicted']):>9}{interval:>19}"
        line += f"{100 * row['error']:>8.2f}" if has_truth else ""
        yield f"{line}   {row['reason']}".rstrip()


def _percent(value: float) -> str:
    return f"{100 * value:.2f} %"


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)
