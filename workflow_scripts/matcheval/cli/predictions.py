"""The commands for prediction files: `compare`, `match` and `predict-accuracy`."""

import argparse
import logging
import os
import shlex
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matcheval.cli.conditions import add_fail_if, end_if_met, with_bounds
from matcheval.cli.parser import Several
from matcheval.errors import InputError
from matcheval.io.files import check_is_file, check_place
from matcheval.io.terminal import add_json, json_rows, print_json, print_text
from matcheval.names import MODEL
from matcheval.protocol.criteria import EPSILON, MARGIN, N_SEEDS, N_SEEDS_COMPARED, Criterion

# The library is imported by what needs it: help texts and refused files do not wait for it.
if TYPE_CHECKING:
    from matcheval.api.comparison import Compared
    from matcheval.api.pairs import GivenModel, PairOptions
    from matcheval.predictions.formats import InMemory
    from matcheval.predictions.layout import Layout
    from matcheval.protocol.compared_models import ComparedModels

LOGGER = logging.getLogger(__name__)
_MAX_CLASSES = 10  # in a message
MAX_WARNINGS = 5  # on the terminal
N_RESAMPLES = 200
# What --fail-if knows, and the columns of what depends on the matching.
_OF_MATCHING = {name: name.replace("-", "_") for name in with_bounds("matched-gap")} | {
    "unmatched-targets": "fraction_unmatched"
}
_QUANTITIES = [
    *with_bounds("gap"), *_OF_MATCHING, *with_bounds("confidence-part", "conditional-part"),
    "accuracy-original", "accuracy-replication",
]  # fmt: skip

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

_ACCURACY_FILES = f"""\
Files hold one model's predictions, a row per datapoint, as other tools write them.

{FILES}
Only BASE and the files of --calibrate-on need labels. Some methods need the scores of all classes.
Files that the workflow writes beside <model>.parquet (.logits.parquet, .features.parquet,
.statistics.npz) are found and used.
"""


def add_layout(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that `read_layout` reads."""
    parser.add_argument(
        "--classes", metavar="N|FILE",
        help="number of classes, to check the files against; or the names of the classes, in the "
        "order of their labels: a file with a name per line, cifar10 or imagenet (default: if the "
        "files hold names, all that occur, sorted)",
    )  # fmt: skip
    parser.add_argument(
        "--columns", action=Several, metavar="OURS=THEIRS",
        help="names of the files' columns: label=target prediction=pred probability=conf; scores "
        "with a column per class by what these begin with: 'probabilities=score_*'",
    )  # fmt: skip
    parser.add_argument(
        "--first-label", type=int, choices=[0, 1], default=0,
        help="number of the first class in the files (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--labels-are-true", action="store_true",
        help="labels that all predictions equal are the true classes all the same",
    )  # fmt: skip


def read_layout(
    arguments: argparse.Namespace, sources: "Sequence[Path | InMemory]"
) -> "tuple[Layout, int | None]":
    """Read these arguments, and tell the names of classes that files have where none are given."""
    from matcheval.predictions.inputs import layout_of
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
    given = None if arguments.classes is None else read_classes(arguments.classes)
    layout, n_classes = layout_of(
        sources, columns, given, arguments.first_label, "command",
        labels_are_true=arguments.labels_are_true,
    )  # fmt: skip
    if layout.classes is not None and not isinstance(given, tuple):
        more = ", ..." if len(layout.classes) > _MAX_CLASSES else ""
        LOGGER.warning(
            "classes: the %d names that occur in the files, sorted: %s%s (--classes FILE gives "
            "others, or another order)", len(layout.classes),
            ", ".join(layout.classes[:_MAX_CLASSES]), more,
        )  # fmt: skip
    for other, name in layout.merged.items():
        LOGGER.warning("classes: '%s' is taken for another spelling of '%s'", other, name)
    return layout, n_classes


def add_compare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `compare`."""
    parser.description = "Compare a model's accuracy on two sets before and after matching."
    _add_common(parser, N_SEEDS_COMPARED)
    parser.epilog = _PAIR_FILES + _PATTERNS
    known = [criterion.value for criterion in Criterion]
    for name, told in (
        ("--criteria", f"matching criteria: {', '.join(known)} (default: both)"),
        ("--criterion", argparse.SUPPRESS),  # its name in 0.2
    ):
        parser.add_argument(
            name, dest="criteria", action=Several, known=known, metavar="NAME", help=told
        )
    parser.add_argument(
        "--paired", action="store_true",
        help="both sets show the same images, row by row: indices and labels must agree",
    )  # fmt: skip
    parser.add_argument(
        "--groups-shared", action="store_true",
        help="a name in the columns `group` means the same group in both sets (default: in each by "
        "itself)",
    )  # fmt: skip
    parser.add_argument(
        "--analyses", action=Several, metavar="NAME",
        help="further analyses of the matched predictions, with default settings, such as "
        "mcnemar class_gaps epsilon_sweep; an unknown name lists all (docs/analyses.md)",
    )  # fmt: skip
    parser.add_argument(
        "--output", type=Path, metavar="DIR",
        help="write a report, tables and figures to DIR, in place of what an earlier comparison "
        "wrote there",
    )  # fmt: skip
    parser.add_argument(
        "--figures", action=Several, known=("pdf", "png"), metavar="FORMAT",
        help="formats of the figures in DIR beside SVG: pdf, png",
    )  # fmt: skip
    parser.add_argument(
        "--margin", type=_points, default=100 * MARGIN, metavar="POINTS",
        help="differences of accuracy below it do not matter, for the verdict (default: 1)",
    )  # fmt: skip
    quantities = [*_QUANTITIES, *(f"{name}:{one}" for name in _OF_MATCHING for one in known)]
    add_fail_if(
        parser, quantities, "; those of matching are of the first criterion, others are named like "
        "matched-gap:probability",
    )  # fmt: skip
    add_json(parser)
    parser.set_defaults(run=run_compare, parser=parser)


def _points(text: str) -> float:
    """Read percentage points that a difference may have."""
    value = float(text)
    if not 0 < value < 100:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 100 points, such as 1")
    return value


def add_match(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `match`."""
    parser.description = "Match a model's predictions on two sets."
    _add_common(parser, N_SEEDS)
    parser.add_argument(
        "--criterion", choices=[c.value for c in Criterion],
        default=Criterion.LABEL_PROBABILITY.value, help="default: %(default)s",
    )  # fmt: skip
    parser.add_argument(
        "--output", type=Path, required=True, metavar="DIR",
        help="write the table of runs to DIR: runs.csv and runs.parquet",
    )  # fmt: skip
    parser.add_argument(
        "--pairs", action="store_true",
        help="also write pairs.parquet: the matched pairs of indices",
    )  # fmt: skip
    add_json(parser)
    parser.set_defaults(run=run_match)


def _add_common(parser: argparse.ArgumentParser, n_seeds: int) -> None:
    """Add the arguments that `compare` and `match` share."""
    parser.epilog = _PAIR_FILES
    for name in ("original", "replication"):
        parser.add_argument(
            name, type=Path, metavar=name.upper(), help=f"predictions on the {name} set"
        )
    parser.add_argument(
        "--source", choices=["original", "replication"],
        help="the set in which a match is sought for each datapoint of the other "
        "(default: the larger set, the original if both are equally large)",
    )  # fmt: skip
    parser.add_argument(
        "--epsilon", type=float, default=EPSILON,
        help="largest difference between matched probabilities, in (0, 1] (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--seeds", type=int, default=n_seeds, metavar="N",
        help="number of runs, with seeds 0 to N - 1 (default: %(default)s)",
    )  # fmt: skip
    add_layout(parser)
    parser.add_argument(
        "--model", help="name of the model (default: the name in the files, or 'model')"
    )
    parser.add_argument(
        "--pair", default="pair",
        help="name of the pair; random matches depend on it and on the model's name "
        "(default: %(default)s)",
    )  # fmt: skip


def _options(
    arguments: argparse.Namespace, criteria: Sequence[str], **others: Any
) -> "PairOptions":
    from matcheval.api.pairs import PairOptions

    return PairOptions(
        criteria, arguments.epsilon, arguments.seeds, arguments.pair, arguments.model or "",
        arguments.source, **others,
    )  # fmt: skip


def _read(
    arguments: argparse.Namespace, models: "Sequence[GivenModel]", options: "PairOptions"
) -> "ComparedModels":
    """Read the predictions of models, and tell what was recognised."""
    from matcheval.api.pairs import all_sources, read_compared

    layout, n_classes = read_layout(arguments, all_sources(models))
    compared = read_compared(models, options, layout, n_classes, progress=True)
    for text in compared.told:
        LOGGER.info("%s", text)
    return compared


def run_match(arguments: argparse.Namespace) -> None:
    """Match two sets, and write the table of runs and optionally the matched pairs."""
    both = arguments.original, arguments.replication
    for path in both:
        check_is_file(path)
    from matcheval.api.matching import PAIRS_FILE, RUN_FILES, MatchResult
    from matcheval.api.pairs import GivenModel

    check_outputs(arguments.output, (*RUN_FILES, PAIRS_FILE), both)
    model = GivenModel("", arguments.original, arguments.replication)
    options = _options(arguments, [arguments.criterion])
    result = MatchResult.of(_read(arguments, [model], options))
    written = result.save(arguments.output, pairs=arguments.pairs)
    for text in result.warnings:
        LOGGER.warning("warning: %s", text)
    if arguments.json:
        told = {"model": result.model, "pair": arguments.pair, "criterion": result.criterion}
        runs = json_rows(result._runs)
        files = [str(path) for path in written]
        print_json("match", told | {"epsilon": result.epsilon, "runs": runs, "written": files})
    else:
        print_text(f"{result}\n")


def check_outputs(folder: Path, names: Sequence[str], inputs: Sequence[Path]) -> None:
    """Check that files can be written to a folder, and that none of them is read."""
    if folder.suffix in (".csv", ".parquet") and not folder.is_dir():
        problem, remedy = (
            "looks like a file, and --output is a folder",
            f"Give --output {folder.stem}",
        )
        raise InputError(problem, file=folder, remedy=remedy)
    read = set(map(os.path.realpath, inputs))
    for name in names:
        check_place(folder / name)
        if os.path.realpath(folder / name) in read:
            raise InputError("is read, and would be overwritten", file=folder / name)


def run_compare(arguments: argparse.Namespace) -> None:
    """Print a comparison of two sets, and optionally write a report, tables and figures."""
    criteria = arguments.criteria or [criterion.value for criterion in Criterion]
    for condition in arguments.fail_if:
        named = condition.quantity.partition(":")[2]
        if named and named not in criteria:
            arguments.parser.error(f"--fail-if '{condition.text}' needs --criteria {named}")
    models = _given_models(arguments)
    from matcheval.api.comparison import chosen_analyses, compare_sets

    analyses = chosen_analyses(arguments.analyses)
    options = _options(
        arguments, criteria, paired=arguments.paired, groups_shared=arguments.groups_shared
    )  # fmt: skip
    folder = arguments.output
    if folder is not None:
        from matcheval.api.comparison_output import check_folder

        check_folder(folder)
    read = _read(arguments, models, options)
    if (n := len(read.comparisons)) > 1:
        LOGGER.info("comparing %d models", n)
    compared = compare_sets(read, analyses, margin=arguments.margin / 100, progress=True)
    from matcheval.api.comparison_output import describe, write_comparison

    for text in compared.warnings[:MAX_WARNINGS]:
        LOGGER.warning("warning: %s", text)
    where = "--output DIR writes all" if folder is None else f"in the tables below {folder}"
    if (more := len(compared.warnings) - MAX_WARNINGS) > 0:
        LOGGER.warning("warning: and %d more like these: %s", more, where)
    written = []
    if folder is not None:
        command = shlex.join(["matched-eval", *sys.argv[1:]])
        written = list(map(str, write_comparison(compared, folder, command, arguments.figures)))
        LOGGER.info("wrote %d files; the one to open: %s", len(written), folder / "report.html")
    if not arguments.json:
        print_text(describe(compared, where))
    else:
        gaps, tables = compared.gaps, compared.tables
        print_json("compare", {
            "verdict": asdict(compared.verdict),
            "means": json_rows(gaps.means),
            "models": {name: json_rows(table) for name, table in gaps.models.items()},
            "tables": {criterion.value: json_rows(table) for criterion, table in tables.items()},
            "analyses": {name: json_rows(one.table) for name, one in compared.analyses.items()},
            "written": written,
        })  # fmt: skip
    if arguments.fail_if:
        end_if_met(arguments.fail_if, _quantities(compared))


def _quantities(compared: "Compared") -> dict[str, dict[str, float]]:
    """Return what `--fail-if` compares, in percent, by model."""
    from matcheval.protocol.verdicts import with_accuracies

    found = defaultdict[str, dict[str, float]](dict)
    for criterion, table in compared.tables.items():
        gaps = compared.gaps.models[criterion.value]
        joined = with_accuracies(gaps, table)
        for model, row in joined.iterrows():
            of_model = found[str(model) if len(joined) > 1 else compared.title]
            for name in _QUANTITIES:
                value = 100 * float(row[_OF_MATCHING.get(name, name.replace("-", "_"))])
                of_model.setdefault(name, value)  # of the first criterion
                of_model[f"{name}:{criterion.value}"] = value
    return found


def _given_models(arguments: argparse.Namespace) -> "list[GivenModel]":
    """Return the model of two files, or all models that patterns name."""
    both = arguments.original, arguments.replication
    if not any(MODEL in str(one) for one in both):
        for path in both:
            check_is_file(path)
        from matcheval.api.pairs import GivenModel

        return [GivenModel("", *both)]
    from matcheval.api.pairs import by_pattern

    models, left_out = by_pattern(*map(str, both))
    for text in left_out:
        LOGGER.warning("warning: %s", text)
    return models


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
    parser.add_argument(
        "--methods", action=Several, metavar="NAME",
        help="methods, or variants as method:variant (default: those that need no further sets, "
        "and with --calibrate-on all)",
    )  # fmt: skip
    parser.add_argument(
        "--calibrate-on", type=Path, nargs="+", action="extend", default=[], metavar="FILE",
        help="predictions on at least 3 further labelled sets, which regressions are fitted on",
    )  # fmt: skip
    parser.add_argument(
        "--calibration-groups", nargs="+", default=[], metavar="NAME",
        help="the group of each of these files, such as its corruption, for intervals over groups "
        "of sets (default: each file is a group)",
    )  # fmt: skip
    parser.add_argument(
        "--resamples", type=int, default=N_RESAMPLES, metavar="N",
        help="resamples of the datapoints for the intervals; 0 for none (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--seed", type=int, default=0, help="of the resamples and splits (default: %(default)s)"
    )
    add_layout(parser)
    add_json(parser)
    parser.set_defaults(run=run_predict_accuracy)


def run_predict_accuracy(arguments: argparse.Namespace) -> None:
    """Print predicted accuracies."""
    for path in [arguments.base, *arguments.calibrate_on, *arguments.targets]:
        check_is_file(path)
    from matcheval.accuracy_prediction.recommendation import describe, recommend
    from matcheval.api.predicting import GivenSets, predict_given

    targets = {str(path): path for path in arguments.targets}
    groups = arguments.calibration_groups
    given = GivenSets(arguments.base, targets, arguments.calibrate_on, groups=groups)
    _check_named_once(arguments)
    layout, n_classes = read_layout(arguments, given.all)
    base, table = predict_given(
        given, arguments.methods, layout, n_classes, resamples=arguments.resamples,
        seed=arguments.seed, warn=lambda text: LOGGER.warning("warning: %s", text),
        tell=LOGGER.info, progress=True,
    )  # fmt: skip
    if arguments.json:
        advice = [asdict(one) for one in recommend(table.to_pylist())]
        rows = json_rows(table)
        told = {"base": base.name, "recommendations": advice, "predictions": rows}
        print_json("predict-accuracy", told)
    else:
        print_text(describe(base.name, table.to_pylist()))


def _check_named_once(arguments: argparse.Namespace) -> None:
    """Refuse a file that counts twice; warn of one that has two roles."""
    roles = {
        "BASE": [arguments.base], "the targets": arguments.targets,
        "--calibrate-on": arguments.calibrate_on,
    }  # fmt: skip
    roles_of = defaultdict[Path, list[str]](list)
    for role, paths in roles.items():
        for path in paths:
            roles_of[path.resolve()].append(role)
    for path, found in roles_of.items():
        if len(set(found)) < len(found):
            raise InputError(f"is named twice in {found[-1]}", file=path, remedy="Name it once")
        if len(found) > 1:
            LOGGER.warning("warning: %s is in %s", path, " and in ".join(found))
