"""The command `compare`: one model or many on two sets, before and after matching."""

import argparse
import logging
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from matcheval.api.compared import Compared, compare_models
from matcheval.api.describing import described
from matcheval.api.models import all_given
from matcheval.api.options import PairOptions, methods_of
from matcheval.api.reading import read_compared
from matcheval.cli.commands import read_files
from matcheval.cli.layouts import read_layout
from matcheval.cli.model_files import find_files
from matcheval.errors import printable
from matcheval.io.printed_json import json_rows, print_json
from matcheval.protocol.compared_models import ComparedModels
from matcheval.protocol.criteria import Criterion

if TYPE_CHECKING:
    from matcheval.api.pair_analyses import AnalysisTable, CommandAnalysis

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
    analyses = _analyses(arguments)
    known = _read(arguments)
    compared = compare_models(known)
    for text in compared.warnings:
        LOGGER.warning("warning: %s", text)
    results = [analysis.tabulated(known) for analysis in analyses]
    if not arguments.json:
        sys.stdout.write(printable(described(compared)))
        for result in results:
            sys.stdout.write(printable(result.describe()))
    written = []
    if arguments.output is not None:
        from matcheval.api.comparison_files import write_comparison

        command = shlex.join(["matched-eval", *sys.argv[1:]])
        for path in write_comparison(compared, arguments.output, command, results):
            LOGGER.info("wrote %s", path)
            written.append(str(path))
    if arguments.json:
        print_json(_told(compared, results, written))


def _read(arguments: argparse.Namespace) -> ComparedModels:
    """Read SOURCE and TARGET, or the files of all models; the output's folder is checked before."""
    models = find_files(arguments)
    criteria = arguments.criterion or [criterion.value for criterion in Criterion]
    methods = methods_of(criteria, arguments.epsilon, arguments.seeds)
    options = PairOptions(
        arguments.pair, arguments.model or "", None, arguments.paired, arguments.groups_shared
    )
    if arguments.output is not None:
        from matcheval.api.comparison_files import check_folder

        check_folder(arguments.output)
    if not models:
        return read_files(arguments, options, methods)
    layout, n_classes = read_layout(arguments, [g.path for g in all_given(models) if g.path])
    return read_compared(models, options, methods, arguments.seeds, layout, n_classes)


def _told(
    compared: Compared, results: "Sequence[AnalysisTable]", written: Sequence[str]
) -> dict[str, Any]:
    """Return means over models, the rows of every model, further analyses, and files."""
    gaps, tables = compared.gaps, compared.tables
    return {
        "means": json_rows(gaps.means),
        "models": {name: json_rows(table) for name, table in gaps.models.items()},
        "tables": {criterion.value: json_rows(table) for criterion, table in tables.items()},
        "analyses": {one.analysis.kind.name: json_rows(one.table) for one in results},
        "written": written,
    }


def _analyses(arguments: argparse.Namespace) -> "list[CommandAnalysis]":
    """Find the analyses that are asked for; those of studies are imported only if there are any."""
    if not arguments.analyses:
        return []
    from matcheval.api.pair_analyses import chosen_analyses

    return chosen_analyses(arguments.analyses)
