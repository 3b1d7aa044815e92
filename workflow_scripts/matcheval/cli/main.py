"""`matched-eval`: the protocol for a person's own prediction files, by the workflow's functions."""

import argparse
import logging
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from matcheval import __version__
from matcheval.analyses.near_duplicates.commands import add_search
from matcheval.analyses.sampling.commands import add_allocate, add_count, add_sample, add_simulate
from matcheval.datasets.pairs import Pair
from matcheval.errors import InputError
from matcheval.execution.entry_points import run_door
from matcheval.io.tables import check_suffix, write_table
from matcheval.predictions.files import read_predictions
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.criteria import EPSILON, N_SEEDS, Criterion, check_epsilon
from matcheval.protocol.runs import comparison_pairs, comparison_runs
from matcheval.protocol.schemas import RUNS
from matcheval.study.names import NAME

LOGGER = logging.getLogger(__name__)

_FILES = """\
SOURCE and TARGET are one model's predictions on two test sets, a row per datapoint: Parquet or
CSV with columns label, prediction, probability (and perhaps index, the position in the dataset),
or .npz with labels and one of logits and probabilities. Probability is the largest softmax value.
The protocol takes the larger set as source.
"""


def main(argv: Sequence[str] | None = None) -> None:
    """Run `matched-eval`.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; the process's own by default.

    Raises
    ------
    SystemExit
        With code 1 on bad input, 2 on a bad command line.
    """
    if isinstance(sys.stdout, TextIOWrapper):  # where ε or ± cannot be shown, '?' will do
        sys.stdout.reconfigure(errors="replace")
    arguments = _parser().parse_args(argv)
    run_door(arguments.run, arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="matched-eval",
        description="How a classifier really behaves on similar-but-non-identical test sets.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(title="commands", required=True)

    compare = commands.add_parser(
        "compare", help="compare two sets: a table, and with --output tables and figures",
        description="Compare a model's accuracy on two sets before and after matching.",
        epilog=_FILES, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    _add_common(compare)
    compare.add_argument(
        "--criterion", action="append", choices=[c.value for c in Criterion], default=None,
        help="repeat for several; both by default",
    )  # fmt: skip
    compare.add_argument(
        "--original", choices=["source", "target"], default="source",
        help="which is the original set; gaps are original minus replication (default: source)",
    )  # fmt: skip
    compare.add_argument(
        "--output", type=Path, metavar="DIR", help="write tables, figures and a summary here"
    )
    compare.set_defaults(run=_compare)

    match = commands.add_parser(
        "match", help="write the quantities of every seed, and the matched pairs on request",
        description="Run the matching of a model's two prediction sets.",
        epilog=_FILES, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    _add_common(match)
    match.add_argument(
        "--criterion", choices=[c.value for c in Criterion],
        default=Criterion.LABEL_PROBABILITY.value, help="default: %(default)s",
    )  # fmt: skip
    match.add_argument(
        "--output", type=Path, required=True, metavar="FILE", help="runs, as .parquet or .csv"
    )
    match.add_argument(
        "--pairs", type=Path, metavar="FILE", help="matched index pairs, as .parquet or .csv"
    )
    match.set_defaults(run=_match)
    _add_replicate(commands)
    add_search(
        commands.add_parser(
            "duplicates", help="search for near duplicates: the nearest images of another set",
            description="Find the images of TRAIN most like each of TEST (docs/followups.md).",
        )
    )  # fmt: skip
    return parser


def _add_replicate(commands: Any) -> None:
    """Add the making of a new test set, in steps."""
    replicate = commands.add_parser(
        "replicate", help="make a test set: annotated candidates in, a new set out",
        description="Make a replication test set (docs/sampling.md). Sets are the folders that the "
        "workflow makes of datasets.",
    )  # fmt: skip
    steps = replicate.add_subparsers(title="steps", required=True)
    for step, add, what in (
        ("simulate", add_simulate, "simulate workers' answers, to try things out"),
        ("count", add_count, "count workers' answers: selection frequencies"),
        ("sample", add_sample, "sample the new test set"),
        ("allocate", add_allocate, "divide images among keywords, as CIFAR-10.1 does"),
    ):
        add(steps.add_parser(step, help=what, description=f"{what[0].upper()}{what[1:]}."))


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", type=Path, metavar="SOURCE")
    parser.add_argument("target", type=Path, metavar="TARGET")
    parser.add_argument(
        "--epsilon", type=float, default=EPSILON,
        help="largest difference of matched probabilities, in (0, 1] (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--seeds",
        type=int,
        default=N_SEEDS,
        metavar="N",
        help="runs, seeds 0 to N - 1 (default: %(default)s)",
    )
    parser.add_argument("--classes", type=int, metavar="N", help="number of classes, to check")
    parser.add_argument("--model", help="name of the model (default: as the files say, or 'model')")
    parser.add_argument(
        "--pair", default="pair",
        help="name of the pair; it and the model's name seed the picks (default: %(default)s)",
    )  # fmt: skip


def _match(arguments: argparse.Namespace) -> None:
    """Write the runs, and the pairs on request."""
    _check_outputs(arguments)
    comparison = _comparison(arguments, original="source")
    criterion, seeds = Criterion(arguments.criterion), range(arguments.seeds)
    runs = comparison_runs(comparison, criterion, arguments.epsilon, seeds)
    identity = {
        "model": comparison.model,
        "pair": comparison.pair.name,
        "epsilon": str(arguments.epsilon),
    }
    columns = {name: runs[name].to_numpy() for name in RUNS.names}
    write_table(RUNS.table(columns, identity | {"criterion": criterion.value}), arguments.output)
    if not any(columns["n_matched"]):
        LOGGER.warning("no target was matched in any run: matched accuracies are NaN (undefined)")
    if arguments.pairs is not None:
        write_table(
            comparison_pairs(comparison, criterion, arguments.epsilon, seeds), arguments.pairs
        )


def _check_outputs(arguments: argparse.Namespace) -> None:
    """Refuse, before any work, outputs that overwrite an input or each other, or have no format."""
    taken = {arguments.source.resolve(), arguments.target.resolve()}
    for path in filter(None, (arguments.output, arguments.pairs)):
        check_suffix(path)
        if path.resolve() in taken:
            raise InputError("is named twice, and would be overwritten", file=path)
        taken.add(path.resolve())


def _compare(arguments: argparse.Namespace) -> None:
    """Print the comparison, and write tables and figures on request."""
    from matcheval.cli.console import describe
    from matcheval.protocol.tables import tabulate_runs

    comparison = _comparison(arguments, original=arguments.original)
    criteria = [Criterion(name) for name in dict.fromkeys(arguments.criterion or Criterion)]
    seeds = range(arguments.seeds)
    runs = {c: comparison_runs(comparison, c, arguments.epsilon, seeds) for c in criteria}
    tables = {criterion: tabulate_runs([table]) for criterion, table in runs.items()}
    sys.stdout.write(describe(comparison, tables))
    if arguments.output is not None:
        from matcheval.cli.comparison_files import write_comparison

        for path in write_comparison(comparison, runs, tables, list(seeds), arguments.output):
            LOGGER.info("wrote %s", path)


def _comparison(arguments: argparse.Namespace, *, original: str) -> Comparison:
    """Read and check the two files; the roles are as the command line gives them."""
    check_epsilon(arguments.epsilon)
    if arguments.seeds < 1:
        raise InputError(f"--seeds {arguments.seeds}", remedy="Give at least 1")
    if not NAME.fullmatch(arguments.pair):
        raise InputError(
            f"--pair '{arguments.pair}'", remedy="Use letters, digits, '.', '_' and '-'"
        )
    source = read_predictions(arguments.source, arguments.classes)
    target = read_predictions(arguments.target, arguments.classes)
    if len(target) > len(source):
        LOGGER.warning(
            "note: TARGET (%d datapoints) is larger than SOURCE (%d), so that many targets cannot "
            "be matched. The protocol takes the larger set as source: swap the files (and tell "
            "'compare' which is the original: --original target)", len(target), len(source),
        )  # fmt: skip
    names = {
        "source": source.metadata.get("dataset", arguments.source.stem),
        "target": target.metadata.get("dataset", arguments.target.stem),
    }
    if names["source"] == names["target"]:
        names = {role: f"{name} ({role})" for role, name in names.items()}
    other = "target" if original == "source" else "source"
    pair = Pair(arguments.pair, names[original], names[other], source=names["source"])
    sets = {"source": source, "target": target}
    model = arguments.model or source.metadata.get("model") or "model"
    return Comparison(model, pair, sets[original], sets[other])


if __name__ == "__main__":
    main()
