"""The commands `compare` and `match`: from the user's prediction files to tables and figures."""

import argparse
import logging
import os
import re
import sys
from typing import TYPE_CHECKING

from matcheval.cli.layouts import read_layout
from matcheval.datasets.pairs import Pair
from matcheval.errors import InputError, printable
from matcheval.io.files import check_place
from matcheval.io.tables import check_suffix, write_table
from matcheval.predictions.files import read_predictions
from matcheval.predictions.formats import check_is_file
from matcheval.predictions.group_files import read_group_column
from matcheval.protocol.blocks import Blocks
from matcheval.protocol.compared_models import ComparedModels, PredictionFile
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.criteria import MAX_SEEDS, Criterion, check_epsilon
from matcheval.protocol.pair_blocks import blocks_of_pair
from matcheval.protocol.runs import MatchedComparison
from matcheval.protocol.schemas import RUNS
from matcheval.protocol.settings import MatchingMethod
from matcheval.protocol.suspicions import MANY_UNMATCHED, suspicions_of
from matcheval.settings import MAX_NAME_LENGTH, NAME_PATTERN

if TYPE_CHECKING:
    from matcheval.cli.analyses import CommandAnalysis

LOGGER = logging.getLogger(__name__)


def run_compare(arguments: argparse.Namespace) -> None:
    """Print a comparison of two sets, and optionally write tables, figures and a summary.

    Parameters
    ----------
    arguments : argparse.Namespace
        Arguments of `matched-eval compare`.

    Raises
    ------
    InputError
        If an argument is invalid, the files cannot be read or compared, or the output cannot be
        written.
    """
    from matcheval.cli.console import describe
    from matcheval.protocol.gap_estimates import estimate_gaps
    from matcheval.protocol.tables import tabulate_runs

    analyses = _analyses(arguments)
    if arguments.output is not None:
        check_place(arguments.output / "summary.md")
    comparison = _comparison(
        arguments, original=arguments.original, paired=arguments.paired,
        groups_shared=arguments.groups_shared,
    )  # fmt: skip
    blocks = _blocks(comparison, arguments)
    criteria = [Criterion(name) for name in dict.fromkeys(arguments.criterion or Criterion)]
    seeds = range(arguments.seeds)
    matched = {
        criterion: MatchedComparison(comparison, _method(criterion, arguments), seeds)
        for criterion in criteria
    }
    tables = {criterion: tabulate_runs([each.runs()]) for criterion, each in matched.items()}
    for criterion, table in tables.items():
        _warn_of_unmatched(float(table["fraction_unmatched_mean"].iloc[0]), criterion)
    methods = {criterion.value: _method(criterion, arguments) for criterion in criteria}
    files = _prediction_files(arguments) if analyses else {}
    known = ComparedModels(
        comparison.pair, (comparison,), methods, tuple(seeds), blocks, files=(files,)
    )
    gaps = estimate_gaps(known)
    sys.stdout.write(printable(describe(comparison, tables, gaps.means)))
    results = [analysis.tabulated(known) for analysis in analyses]
    for result in results:
        sys.stdout.write(printable(result.describe()))
    if arguments.output is not None:
        from matcheval.cli.comparison_files import write_comparison

        for path in write_comparison(
            comparison, matched, tables, gaps, list(seeds), arguments.output
        ):
            LOGGER.info("wrote %s", path)
        for result in results:
            for path in result.write(comparison.pair.name, arguments.output):
                LOGGER.info("wrote %s", path)


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
    comparison = _comparison(arguments, original="source")
    criterion, seeds = Criterion(arguments.criterion), range(arguments.seeds)
    matched = MatchedComparison(comparison, _method(criterion, arguments), seeds)
    runs = matched.runs()
    identity = {
        "model": comparison.model,
        "pair": comparison.pair.name,
        "epsilon": str(arguments.epsilon),
    }
    columns = {name: runs[name].to_numpy() for name in RUNS.names}
    write_table(RUNS.table(columns, identity | {"criterion": criterion.value}), arguments.output)
    _warn_of_unmatched(float(columns["fraction_unmatched"].mean()), criterion)
    if arguments.pairs is not None:
        write_table(matched.pairs(), arguments.pairs)


def _analyses(arguments: argparse.Namespace) -> "list[CommandAnalysis]":
    """Find the analyses that are asked for; those of studies are imported only if there are any."""
    if not arguments.analyses:
        return []
    from matcheval.cli.analyses import chosen_analyses

    return chosen_analyses(arguments.analyses)


def _warn_of_unmatched(share: float, criterion: Criterion) -> None:
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


def _prediction_files(arguments: argparse.Namespace) -> dict[str, PredictionFile]:
    """Return both files of a comparison, by origin."""
    layout, _ = read_layout(arguments, [arguments.source, arguments.target])
    origins = ("original", "replication")
    if arguments.original == "target":
        origins = ("replication", "original")
    paths = (arguments.source, arguments.target)
    return {o: PredictionFile(path, layout) for o, path in zip(origins, paths, strict=True)}


def _method(criterion: Criterion, arguments: argparse.Namespace) -> MatchingMethod:
    return MatchingMethod(criterion=criterion, epsilon=arguments.epsilon)


def _blocks(comparison: Comparison, arguments: argparse.Namespace) -> Blocks | None:
    """Return what belongs together, according to the arguments and the files' columns `group`."""
    files = {"source": arguments.source, "target": arguments.target}
    other = "target" if arguments.original == "source" else "source"
    layout, _ = read_layout(arguments, list(files.values()))
    known = {
        origin: read_group_column(files[role], getattr(comparison, origin).index, layout)
        for origin, role in (("original", arguments.original), ("replication", other))
    }
    return blocks_of_pair(comparison, known)


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


def _comparison(
    arguments: argparse.Namespace,
    *,
    original: str,
    paired: bool = False,
    groups_shared: bool = False,
) -> Comparison:
    """Check the arguments and read both files; the roles are those on the command line."""
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
    model = arguments.model or source.metadata.get("model") or "model"
    if not model.isprintable() or len(model) > MAX_NAME_LENGTH:
        raise InputError(
            f"the name of the model, {model!a:.100}, is not printable or too long",
            remedy=f"Give --model NAME, of up to {MAX_NAME_LENGTH} characters",
        )
    comparison = Comparison(model, pair, sets[original], sets[other])
    for text in suspicions_of(comparison):
        LOGGER.warning("warning: %s", text)
    return comparison
