"""Arguments that say how the user's prediction files are laid out."""

import argparse
import logging
import math
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matcheval.api.comparison import Compared, chosen_analyses, compare_models
from matcheval.api.comparison_output import described
from matcheval.api.inputs import Given
from matcheval.api.pairs import (
    GivenModel,
    PairOptions,
    all_given,
    by_pattern,
    input_warnings,
    methods_of,
    read_compared,
    unmatched_warning,
)
from matcheval.errors import InputError, printable
from matcheval.io.files import check_place
from matcheval.io.printed_json import json_rows, print_json
from matcheval.io.tables import check_suffix, write_table
from matcheval.predictions.class_names import read_classes
from matcheval.predictions.files import shared_classes
from matcheval.predictions.formats import check_is_file
from matcheval.predictions.layout import Layout, check_columns_given
from matcheval.protocol.compared_models import ComparedModels
from matcheval.protocol.criteria import Criterion
from matcheval.protocol.runs import MatchedComparison
from matcheval.protocol.schemas import RUNS
from matcheval.protocol.settings import MatchingMethod

if TYPE_CHECKING:
    import pyarrow as pa

LOGGER = logging.getLogger(__name__)
_MAX_SHOWN = 10  # classes in a message


def add_layout(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that `read_layout` reads."""
    parser.add_argument(
        "--classes", metavar="N|FILE",
        help="number of classes, to check the files against; or the names of the classes, in the "
        "order of their labels: a file with a name per line, cifar10 or imagenet (default: if the "
        "files hold names, all that occur, sorted)",
    )  # fmt: skip
    parser.add_argument(
        "--columns", metavar="OURS=THEIRS,...",
        help="names of the files' columns: label=target,prediction=pred,probability=conf; scores "
        "with a column per class by what these begin with: probabilities=score_*",
    )  # fmt: skip
    parser.add_argument(
        "--first-label", type=int, choices=[0, 1], default=0,
        help="number of the first class in the files (default: %(default)s)",
    )  # fmt: skip


def read_layout(
    arguments: argparse.Namespace, paths: Sequence[Path]
) -> tuple[Layout, int | None]:  # fmt: skip
    """Read these arguments, and find the names of classes in the files where none are given."""
    columns = _columns(arguments.columns)
    given = None if arguments.classes is None else read_classes(arguments.classes)
    if isinstance(given, tuple):
        return Layout(columns, given, arguments.first_label), None
    layout = Layout(columns, None, arguments.first_label)
    found = shared_classes(paths, layout)
    if found is not None:
        more = ", ..." if len(found) > _MAX_SHOWN else ""
        LOGGER.warning(
            "classes: the %d names that occur in the files, sorted: %s%s (--classes FILE gives "
            "others, or another order)", len(found), ", ".join(found[:_MAX_SHOWN]), more,
        )  # fmt: skip
    return Layout(columns, found, arguments.first_label), given


def _columns(text: str | None) -> dict[str, str]:
    """Read `label=target,prediction=pred`."""
    columns: dict[str, str] = {}
    for part in text.split(",") if text is not None else ():
        ours, is_pair, theirs = (piece.strip() for piece in part.partition("="))
        if not is_pair or ours in columns:
            raise InputError(
                f"--columns '{text}': '{part}' is not of the form ours=theirs, or occurs twice",
                remedy="Write it like --columns label=target,prediction=pred,probability=conf",
            )
        columns[ours] = theirs
    check_columns_given(columns, "command line", "--columns")
    return columns


def run_match(arguments: argparse.Namespace) -> None:
    """Match two sets, and write the table of runs and optionally the matched pairs."""
    _check_outputs(arguments)
    methods = methods_of([arguments.criterion], arguments.epsilon, arguments.seeds)
    known = read_files(arguments, PairOptions(arguments.pair, arguments.model or ""), methods)
    (comparison,), (method,) = known.comparisons, methods.values()
    matched = MatchedComparison(comparison, method, known.seeds)
    runs = matched.runs()
    identity = {
        "model": comparison.model,
        "pair": comparison.pair.name,
        "epsilon": str(arguments.epsilon),
    }
    columns = {name: runs[name].to_numpy() for name in RUNS.names}
    identity["criterion"] = method.criterion.value
    write_table(RUNS.table(columns, identity), arguments.output)
    share = float(columns["fraction_unmatched"].mean())
    for text in filter(None, [*input_warnings(known), unmatched_warning(share, method.criterion)]):
        LOGGER.warning("warning: %s", text)
    if arguments.pairs is not None:
        write_table(matched.pairs(), arguments.pairs)
    if arguments.json:
        written = [str(path) for path in (arguments.output, arguments.pairs) if path is not None]
        print_json({**identity, "runs": json_rows(runs), "written": written})


def _check_outputs(arguments: argparse.Namespace) -> None:
    """Check the formats of the outputs, and that no output overwrites another file given."""
    inputs = (arguments.source, arguments.target)
    for path in inputs:
        check_is_file(path)
    taken = {os.path.realpath(path) for path in inputs}
    for path in filter(None, (arguments.output, arguments.pairs)):
        check_suffix(path)
        check_place(path)
        if os.path.realpath(path) in taken:
            raise InputError(
                "occurs twice on the command line, and would be overwritten",
                file=path,
                remedy="Give every output a file of its own",
            )
        taken.add(os.path.realpath(path))


def read_files(
    arguments: argparse.Namespace, options: PairOptions, methods: Mapping[str, MatchingMethod]
) -> ComparedModels:
    """Read SOURCE and TARGET."""
    files = arguments.source, arguments.target
    layout, n_classes = read_layout(arguments, files)
    reverse = getattr(arguments, "original", "source") == "target"
    options = replace(options, source="replication" if reverse else "original")
    given = GivenModel("", *(Given.of(path, path.name) for path in files[:: -1 if reverse else 1]))
    known = read_compared([given], options, methods, arguments.seeds, layout, n_classes)
    comparison = known.comparisons[0]
    if len(comparison.target) > len(comparison.source):
        LOGGER.warning(
            "note: TARGET (%d datapoints) is larger than SOURCE (%d), so that many targets cannot "
            "be matched. The protocol takes the larger set as source: swap the files (with "
            "'compare', add --original target)", len(comparison.target), len(comparison.source),
        )  # fmt: skip
    return known


_ROLES = ("source", "target")


def find_files(arguments: argparse.Namespace) -> list[GivenModel]:
    """Find the files that `--original` and `--replication` name."""
    has_roles = arguments.original in _ROLES
    if arguments.replication is None:
        if arguments.target is None or not has_roles:
            arguments.parser.error(
                "name two files, SOURCE and TARGET (--original is 'source' or 'target'), or give "
                "both --original and --replication, each a file or a pattern like old/{model}.csv"
            )
        return []
    if arguments.source is not None or has_roles:
        arguments.parser.error("--replication needs --original FILE, and no other files")
    models, left_out = by_pattern(arguments.original, arguments.replication)
    for text in left_out:
        LOGGER.warning("warning: %s", text)
    return models


_MAX_WARNINGS = 5  # on the terminal


def run_compare(arguments: argparse.Namespace) -> None:
    """Print a comparison of two sets, and optionally write a report, tables and figures."""
    analyses = chosen_analyses(arguments.analyses)
    known = _read(arguments)
    if (n := len(known.comparisons)) > 1:
        LOGGER.info("comparing %d models", n)
    compared = compare_models(known, analyses, progress=True)
    folder = arguments.output
    _warn(compared.warnings, folder is not None)
    if not arguments.json:
        where = "--output DIR writes all" if folder is None else f"in the tables below {folder}"
        sys.stdout.write(printable(described(compared, where)))
    written = []
    if folder is not None:
        from matcheval.api.comparison_output import write_comparison

        command = shlex.join(["matched-eval", *sys.argv[1:]])
        written = [str(path) for path in write_comparison(compared, folder, command)]
        LOGGER.info("wrote %d files; the one to open: %s", len(written), folder / "report.html")
    if arguments.json:
        print_json(_told(compared, written))


def _warn(texts: Sequence[str], is_written: bool) -> None:
    """Show the first warnings, and say where the others are."""
    for text in texts[:_MAX_WARNINGS]:
        LOGGER.warning("warning: %s", text)
    if (more := len(texts) - _MAX_WARNINGS) > 0:
        where = "summary.md and the report have" if is_written else "--output DIR writes"
        LOGGER.warning("warning: and %d more like these; %s all", more, where)


def _read(arguments: argparse.Namespace) -> ComparedModels:
    """Read SOURCE and TARGET, or the files of all models; the output's folder is checked before."""
    models = find_files(arguments)
    criteria = arguments.criterion or [criterion.value for criterion in Criterion]
    methods = methods_of(criteria, arguments.epsilon, arguments.seeds)
    options = PairOptions(
        arguments.pair, arguments.model or "", None, arguments.paired, arguments.groups_shared
    )
    if arguments.output is not None:
        from matcheval.api.comparison_output import check_folder

        check_folder(arguments.output)
    if not models:
        return read_files(arguments, options, methods)
    layout, n_classes = read_layout(arguments, [g.path for g in all_given(models) if g.path])
    return read_compared(
        models, options, methods, arguments.seeds, layout, n_classes, progress=True
    )


def _told(compared: Compared, written: Sequence[str]) -> dict[str, Any]:
    """Return means over models, the rows of every model, further analyses, and files."""
    gaps, tables = compared.gaps, compared.tables
    return {
        "means": json_rows(gaps.means),
        "models": {name: json_rows(table) for name, table in gaps.models.items()},
        "tables": {criterion.value: json_rows(table) for criterion, table in tables.items()},
        "analyses": {name: json_rows(one.table) for name, one in compared.analyses.items()},
        "written": written,
    }


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
    from matcheval.api.predicting import GivenSets, predict_given

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
