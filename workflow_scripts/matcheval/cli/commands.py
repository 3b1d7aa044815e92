"""The command `match`, and what it shares with `compare`: arguments, and reading two files."""

import argparse
import logging
import os
import re
from typing import TYPE_CHECKING

from matcheval.cli.layouts import read_layout
from matcheval.datasets.pairs import Pair
from matcheval.errors import InputError
from matcheval.io.files import check_place
from matcheval.io.tables import check_suffix, write_table
from matcheval.predictions.files import read_predictions
from matcheval.predictions.formats import check_is_file
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.criteria import MAX_SEEDS, Criterion, check_epsilon
from matcheval.protocol.runs import MatchedComparison
from matcheval.protocol.schemas import RUNS
from matcheval.protocol.settings import MatchingMethod
from matcheval.protocol.suspicions import MANY_UNMATCHED, suspicions_of
from matcheval.settings import MAX_NAME_LENGTH, NAME_PATTERN

if TYPE_CHECKING:
    pass

LOGGER = logging.getLogger(__name__)
UNNAMED = "model"  # the name of a model that neither files nor arguments name


def run_match(arguments: argparse.Namespace) -> None:
    """Match two sets, and write the table of runs and optionally the matched pairs.

    Parameters
    ----------
    arguments : argparse.Namespace
        Arguments of `matched-eval match`.

    Raises
    ------
    InputError
        If an argument is invalid, the files cannot be read or compared, or the output cannot be
        written.
    """
    _check_outputs(arguments)
    comparison = read_files(arguments, original="source")
    criterion, seeds = Criterion(arguments.criterion), range(arguments.seeds)
    matched = MatchedComparison(
        comparison, MatchingMethod(criterion=criterion, epsilon=arguments.epsilon), seeds
    )
    runs = matched.runs()
    identity = {
        "model": comparison.model,
        "pair": comparison.pair.name,
        "epsilon": str(arguments.epsilon),
    }
    columns = {name: runs[name].to_numpy() for name in RUNS.names}
    write_table(RUNS.table(columns, identity | {"criterion": criterion.value}), arguments.output)
    warn_of_unmatched(float(columns["fraction_unmatched"].mean()), criterion)
    if arguments.pairs is not None:
        write_table(matched.pairs(), arguments.pairs)


def warn_of_unmatched(share: float, criterion: Criterion) -> None:
    """Warn if most targets are unmatched.

    Parameters
    ----------
    share : float
        Mean share of unmatched targets.
    criterion : Criterion
    """
    if share == 1:
        LOGGER.warning(
            "warning: no target was matched in any run by %s: matched accuracies are NaN "
            "(undefined)", criterion.description,
        )  # fmt: skip
    elif share > MANY_UNMATCHED:
        LOGGER.warning(
            "warning: %.1f %% of the targets are unmatched by %s: matched accuracies are those of "
            "a minority", 100 * share, criterion.description,
        )  # fmt: skip


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


def check_common(arguments: argparse.Namespace) -> None:
    """Check the arguments that `compare` and `match` share.

    Parameters
    ----------
    arguments : argparse.Namespace

    Raises
    ------
    InputError
        If one is out of range, or is no name.
    """
    check_epsilon(arguments.epsilon)
    if not 1 <= arguments.seeds <= MAX_SEEDS:
        what = "no run" if arguments.seeds < 1 else "too many runs"
        raise InputError(
            f"--seeds {arguments.seeds} gives {what}",
            remedy=f"Give 1 to {MAX_SEEDS:,}",
        )
    if not re.fullmatch(NAME_PATTERN, arguments.pair):
        raise InputError(
            f"--pair '{arguments.pair}' is not a valid name",
            remedy="Use letters, digits, '.', '_' and '-'",
        )


def read_files(
    arguments: argparse.Namespace,
    *,
    original: str,
    paired: bool = False,
    groups_shared: bool = False,
) -> Comparison:
    """Check the arguments and read SOURCE and TARGET.

    Parameters
    ----------
    arguments : argparse.Namespace
        Those that `compare` and `match` share.
    original : str
        Which of `source` and `target` is the original.
    paired, groups_shared : bool
        See `Pair`.

    Raises
    ------
    InputError
        If an argument is invalid, or the files cannot be read or compared.
    """
    check_common(arguments)
    layout, n_classes = read_layout(arguments, [arguments.source, arguments.target])
    source = read_predictions(arguments.source, n_classes, layout)
    target = read_predictions(arguments.target, n_classes, layout)
    if len(target) > len(source):
        LOGGER.warning(
            "note: TARGET (%d datapoints) is larger than SOURCE (%d), so that many targets cannot "
            "be matched. The protocol takes the larger set as source: swap the files (with "
            "'compare', add --original target)", len(target), len(source),
        )  # fmt: skip
    names = {
        "source": source.metadata.get("dataset", arguments.source.stem),
        "target": target.metadata.get("dataset", arguments.target.stem),
    }
    if names["source"] == names["target"]:
        names = {role: f"{name} ({role})" for role, name in names.items()}
    other = "target" if original == "source" else "source"
    pair = Pair(
        arguments.pair, names[original], names[other], names["source"], paired, groups_shared
    )
    sets = {"source": source, "target": target}
    model = arguments.model or source.metadata.get("model") or UNNAMED
    if not model.isprintable() or len(model) > MAX_NAME_LENGTH:
        raise InputError(
            f"the name of the model, {model!a:.100}, is not printable or too long",
            remedy=f"Give --model NAME, of up to {MAX_NAME_LENGTH} characters",
        )
    comparison = Comparison(model, pair, sets[original], sets[other])
    for text in suspicions_of(comparison):
        LOGGER.warning("warning: %s", text)
    return comparison
