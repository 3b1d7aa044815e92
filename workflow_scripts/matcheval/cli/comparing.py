"""The command `compare`: one model or many on two sets, before and after matching."""

import argparse
import json
import logging
import math
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from matcheval.cli.commands import UNNAMED, check_common, read_files, warn_of_unmatched
from matcheval.cli.layouts import read_layout
from matcheval.cli.model_files import ModelFiles, find_files, set_name
from matcheval.datasets.pairs import Pair
from matcheval.errors import ErrorCollector, printable
from matcheval.predictions.files import read_predictions
from matcheval.predictions.group_files import read_group_column
from matcheval.predictions.layout import Layout
from matcheval.protocol.blocks import Blocks
from matcheval.protocol.compared_models import ComparedModels, PredictionFile
from matcheval.protocol.comparisons import Comparison
from matcheval.protocol.criteria import Criterion
from matcheval.protocol.pair_blocks import blocks_of_pair
from matcheval.protocol.runs import MatchedComparison
from matcheval.protocol.settings import MatchingMethod
from matcheval.protocol.suspicions import suspicions_of

if TYPE_CHECKING:
    from matcheval.cli.analyses import CommandAnalysis

LOGGER = logging.getLogger(__name__)


def run_compare(arguments: argparse.Namespace) -> None:
    """Print a comparison of two sets, and optionally write a report, tables and figures.

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
    from matcheval.protocol.gap_estimates import estimate_gaps
    from matcheval.protocol.tables import tabulate_runs

    files = find_files(arguments)
    analyses = _analyses(arguments)
    if arguments.output is not None:
        from matcheval.cli.comparison_files import check_folder

        check_folder(arguments.output)
    known = _read_many(arguments, files) if files else _read_two(arguments)
    matched = {
        Criterion(name): [MatchedComparison(one, method, known.seeds) for one in known.comparisons]
        for name, method in known.methods.items()
    }
    tables = {c: tabulate_runs([each.runs() for each in all_]) for c, all_ in matched.items()}
    for criterion, table in tables.items():
        warn_of_unmatched(float(table["fraction_unmatched_mean"].mean()), criterion)
    gaps = estimate_gaps(known)
    results = [analysis.tabulated(known) for analysis in analyses]
    if arguments.json:
        sys.stdout.write(_as_json(gaps.means, gaps.models, tables))
    else:
        sys.stdout.write(printable(_described(known, tables, gaps.means)))
        for result in results:
            sys.stdout.write(printable(result.describe()))
    if arguments.output is not None:
        from matcheval.cli.comparison_files import Compared, write_comparison

        command = shlex.join(["matched-eval", *sys.argv[1:]])
        compared = Compared(known, matched, tables, gaps, results, _title(known), command)
        for path in write_comparison(compared, arguments.output):
            LOGGER.info("wrote %s", path)


def _title(known: ComparedModels) -> str:
    """Say what is compared: a model by its name, if it has one."""
    sets = f"{known.pair.original} (original) against {known.pair.replication} (replication)"
    n, first = len(known.comparisons), known.comparisons[0]
    if n > 1:
        return f"{n} models: {sets}"
    return sets if first.model == UNNAMED else f"{first.model}: {sets}"


def _described(
    known: ComparedModels, tables: Mapping[Criterion, pd.DataFrame], means: pd.DataFrame
) -> str:
    if len(known.comparisons) > 1:
        from matcheval.protocol.summary import write_summary

        titles = {criterion.value: criterion.description for criterion in tables}
        return write_summary(_title(known), means, titles)
    from matcheval.cli.console import describe

    return describe(known.comparisons[0], tables, means, _title(known))


def _as_json(
    means: pd.DataFrame,
    models: Mapping[str, pd.DataFrame],
    tables: Mapping[Criterion, pd.DataFrame],
) -> str:
    """Return the means over models, and the rows of every model, null for what is not defined."""
    found = {
        "means": _rows(means),
        "models": {name: _rows(table) for name, table in models.items()},
        "tables": {criterion.value: _rows(table) for criterion, table in tables.items()},
    }
    return json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    rows = json.loads(table.to_json(orient="records", double_precision=15))
    return [
        {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()}
        for row in rows
    ]


def _analyses(arguments: argparse.Namespace) -> "list[CommandAnalysis]":
    """Find the analyses that are asked for; those of studies are imported only if there are any."""
    if not arguments.analyses:
        return []
    from matcheval.cli.analyses import chosen_analyses

    return chosen_analyses(arguments.analyses)


def _methods(arguments: argparse.Namespace) -> dict[str, MatchingMethod]:
    criteria = [Criterion(name) for name in dict.fromkeys(arguments.criterion or Criterion)]
    return {c.value: MatchingMethod(criterion=c, epsilon=arguments.epsilon) for c in criteria}


def _read_two(arguments: argparse.Namespace) -> ComparedModels:
    """Read SOURCE and TARGET."""
    comparison = read_files(
        arguments, original=arguments.original, paired=arguments.paired,
        groups_shared=arguments.groups_shared,
    )  # fmt: skip
    layout, _ = read_layout(arguments, [arguments.source, arguments.target])
    files = ModelFiles("", arguments.source, arguments.target)
    if arguments.original == "target":
        files = ModelFiles("", arguments.target, arguments.source)
    return _known(arguments, [comparison], [files], layout)


def _read_many(arguments: argparse.Namespace, files: Sequence[ModelFiles]) -> ComparedModels:
    """Read the files of all models; the larger set is the source."""
    check_common(arguments)
    layout, n_classes = read_layout(arguments, [p for one in files for p in one.paths.values()])
    problems, comparisons = ErrorCollector(), list[Comparison]()
    pair: Pair | None = None
    for one in files:
        with problems.collected():
            read = {o: read_predictions(path, n_classes, layout) for o, path in one.paths.items()}
            if pair is None:
                names = {
                    o: read[o].metadata.get("dataset", set_name(path, one.model))
                    for o, path in one.paths.items()
                }
                if names["original"] == names["replication"]:
                    names = {origin: f"{name} ({origin})" for origin, name in names.items()}
                pair = Pair(
                    arguments.pair, names["original"], names["replication"], None,
                    arguments.paired, arguments.groups_shared,
                )  # fmt: skip
            model = one.model or arguments.model or read["original"].metadata.get("model", UNNAMED)
            comparison = Comparison(model, pair, read["original"], read["replication"])
            comparisons.append(comparison)
            for text in suspicions_of(comparison):
                LOGGER.warning("warning: %s: %s", model, text)
    problems.raise_any()
    return _known(arguments, comparisons, files, layout)


def _known(
    arguments: argparse.Namespace,
    comparisons: Sequence[Comparison],
    files: Sequence[ModelFiles],
    layout: Layout,
) -> ComparedModels:
    return ComparedModels(
        comparisons[0].pair,
        tuple(comparisons),
        _methods(arguments),
        tuple(range(arguments.seeds)),
        _blocks(comparisons[0], files[0], layout),
        tuple({o: PredictionFile(path, layout) for o, path in f.paths.items()} for f in files),
    )


def _blocks(comparison: Comparison, files: ModelFiles, layout: Layout) -> Blocks | None:
    """Return what belongs together, according to the arguments and the files' columns `group`."""
    known = {
        origin: read_group_column(path, getattr(comparison, origin).index, layout)
        for origin, path in files.paths.items()
    }
    return blocks_of_pair(comparison, known)
