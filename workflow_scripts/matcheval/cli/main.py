"""Entry point of `matched-eval`."""

import argparse
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from matcheval.analyses.near_duplicates.commands import add_search
from matcheval.analyses.sampling.commands import add_allocate, add_count, add_sample, add_simulate
from matcheval.cli.checks import (
    COMPLETION,
    DOCTOR,
    ShowVersions,
    add_check_study,
    add_completion,
    add_doctor,
)
from matcheval.cli.checks import DESCRIPTION as CHECK_STUDY
from matcheval.cli.init import DESCRIPTION as INIT
from matcheval.cli.init import EXAMPLES_TEXT, add_init
from matcheval.cli.predictions import FILES as ACCURACY_FILES
from matcheval.cli.predictions import add_layout, add_predict_accuracy, run_compare, run_match
from matcheval.domain_generalization.domainbed.commands import DESCRIPTION as DOMAINBED
from matcheval.domain_generalization.domainbed.commands import add_domainbed
from matcheval.execution.entry_points import run_command
from matcheval.io.printed_json import add_json
from matcheval.protocol.criteria import EPSILON, N_SEEDS, Criterion
from matcheval.warehouse.commands import add_warehouse

_FILES = """\
SOURCE and TARGET hold one model's predictions on two test sets, one row per datapoint: Parquet,
CSV, TSV or JSON (Lines) files with columns label, prediction, probability (and optionally index,
the position in the dataset, and group, such as a writer or a video, whose datapoints are not
independent), or .npz files with labels and either logits or probabilities (and group). The
probability is the largest softmax value. In place of prediction and probability there can be a
column per class (prob_0 or prob_cat, logit_0 or logit_cat). Classes are numbers or names. The
protocol takes the larger set as source. docs/cli.md has the formats.
"""


def build_parser() -> argparse.ArgumentParser:
    """Build the parser of `matched-eval`."""
    parser = argparse.ArgumentParser(
        prog="matched-eval",
        description="Evaluate a classifier on similar-but-non-identical test sets.",
    )
    parser.add_argument(
        "--version",
        action=ShowVersions,
        nargs=0,
        default=argparse.SUPPRESS,
        help="print the versions of what matters",
    )
    commands = parser.add_subparsers(title="commands", required=True)
    add_init(
        commands.add_parser(
            "init", help="write a first study file, from images, prediction files or set names",
            description=INIT, epilog=EXAMPLES_TEXT,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
    )  # fmt: skip
    _add_compare(commands)
    _add_match(commands)
    _add_replicate(commands)
    add_predict_accuracy(
        commands.add_parser(
            "predict-accuracy", help="predict a model's accuracy on sets without labels",
            description="Predict a model's accuracy on each TARGET from its predictions there and "
            "on a labelled BASE.",
            epilog=ACCURACY_FILES, formatter_class=argparse.RawDescriptionHelpFormatter,
        )
    )  # fmt: skip
    add_domainbed(
        commands.add_parser("domainbed", help="tabulate sweeps of DomainBed", description=DOMAINBED)
    )
    add_search(
        commands.add_parser(
            "duplicates", help="search for near duplicates: the nearest images of another set",
            description="Find the images of TRAIN that are most similar to each image of TEST "
            "(docs/analyses/near_duplicates.md).",
        )
    )  # fmt: skip
    add_warehouse(
        commands.add_parser(
            "warehouse", help="build a suite of sets from images of one's own",
            description="Build a warehouse: reviewed, documented sets of images of one's own, by "
            "source, style and colour (docs/warehouse.md).",
        )
    )  # fmt: skip
    add_check_study(
        commands.add_parser(
            "check-study", help="check a study file without running it",
            description=CHECK_STUDY,
        )
    )  # fmt: skip
    add_doctor(
        commands.add_parser("doctor", help="look at this machine: what works", description=DOCTOR)
    )
    add_completion(
        commands.add_parser(
            "completion", help="print a script for the completion of commands by a shell",
            description=COMPLETION,
        ),
        parser,
    )  # fmt: skip
    return parser


def _add_compare(commands: Any) -> None:
    compare = commands.add_parser(
        "compare", help="compare two sets: print a table; with --output, write tables and figures",
        description="Compare a model's accuracy on two sets before and after matching.",
        epilog=_FILES, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    _add_common(compare, n_files="?")
    compare.add_argument(
        "--criterion", action="append", choices=[c.value for c in Criterion], default=None,
        help="matching criterion; repeat for several (default: both)",
    )  # fmt: skip
    compare.add_argument(
        "--original", default="source", metavar="source|target|FILE",
        help="which of SOURCE and TARGET is the original; gaps are original minus replication "
        "(default: source). Or, with --replication, the file of the original",
    )  # fmt: skip
    compare.add_argument(
        "--replication", metavar="FILE",
        help="the file of the replication, in place of SOURCE and TARGET; the larger set is the "
        "source. For many models, {model} in both FILEs stands for their names: --original "
        "'old/{model}.csv' --replication 'new/{model}.csv'",
    )  # fmt: skip
    compare.add_argument(
        "--paired", action="store_true",
        help="both sets show the same images, row by row: indices and labels must agree",
    )  # fmt: skip
    compare.add_argument(
        "--groups-shared", action="store_true",
        help="a name in the columns `group` means the same group in both sets (default: in each by "
        "itself)",
    )  # fmt: skip
    compare.add_argument(
        "--analyses", type=lambda text: text.split(","), default=[], metavar="NAME,...",
        help="further analyses of the matched predictions, with default settings, such as "
        "mcnemar,class_gaps,epsilon_sweep; an unknown name lists all (docs/analyses/README.md)",
    )  # fmt: skip
    compare.add_argument(
        "--output", type=Path, metavar="DIR",
        help="write a report, tables and figures to DIR, in place of what an earlier comparison "
        "wrote there",
    )  # fmt: skip
    add_json(compare)
    compare.set_defaults(run=run_compare, parser=compare)


def _add_match(commands: Any) -> None:
    match = commands.add_parser(
        "match", help="write the measured quantities of every seed, and optionally matched pairs",
        description="Match a model's predictions on two sets.",
        epilog=_FILES, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    _add_common(match)
    match.add_argument(
        "--criterion", choices=[c.value for c in Criterion],
        default=Criterion.LABEL_PROBABILITY.value, help="default: %(default)s",
    )  # fmt: skip
    match.add_argument(
        "--output", type=Path, required=True, metavar="FILE",
        help="table of runs, as .parquet or .csv",
    )  # fmt: skip
    match.add_argument(
        "--pairs", type=Path, metavar="FILE",
        help="also write the matched pairs of indices, as .parquet or .csv",
    )  # fmt: skip
    add_json(match)
    match.set_defaults(run=run_match)


def _add_replicate(commands: Any) -> None:
    """Add the steps of building a new test set."""
    replicate = commands.add_parser(
        "replicate", help="build a new test set from annotated candidates",
        description="Build a replication test set (docs/analyses/sampling.md). Datasets are given "
        "as folders written by the workflow.",
    )  # fmt: skip
    steps = replicate.add_subparsers(title="steps", required=True)
    for step, add, summary in (
        ("simulate", add_simulate, "simulate workers' annotations, for trial runs"),
        ("count", add_count, "count workers' annotations: selection frequencies"),
        ("sample", add_sample, "sample the new test set"),
        ("allocate", add_allocate, "divide images among keywords, as for CIFAR-10.1"),
    ):
        description = f"{summary[0].upper()}{summary[1:]}."
        add(steps.add_parser(step, help=summary, description=description))


def _add_common(parser: argparse.ArgumentParser, n_files: str | None = None) -> None:
    """Add the arguments that `compare` and `match` share."""
    parser.add_argument("source", type=Path, metavar="SOURCE", nargs=n_files)
    parser.add_argument("target", type=Path, metavar="TARGET", nargs=n_files)
    parser.add_argument(
        "--epsilon", type=float, default=EPSILON,
        help="largest difference between matched probabilities, in (0, 1] (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--seeds", type=int, default=N_SEEDS, metavar="N",
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


def main(argv: Sequence[str] | None = None) -> None:
    """Run `matched-eval`."""
    if isinstance(sys.stdout, TextIOWrapper):  # print '?' where ε or ± cannot be encoded
        sys.stdout.reconfigure(errors="replace")
    arguments = build_parser().parse_args(argv)
    run_command(arguments.run, arguments)
