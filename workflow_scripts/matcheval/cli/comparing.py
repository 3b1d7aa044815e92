"""The command `compare`: one model or many on two sets, before and after matching."""

import argparse
import logging
import shlex
import sys
from collections.abc import Sequence
from typing import Any

from matcheval.api.compared import Compared, compare_models
from matcheval.api.describing_models import described
from matcheval.api.models import all_given
from matcheval.api.options import PairOptions, methods_of
from matcheval.api.pair_analyses import chosen_analyses
from matcheval.api.reading import read_compared
from matcheval.cli.commands import read_files
from matcheval.cli.layouts import read_layout
from matcheval.cli.model_files import find_files
from matcheval.errors import printable
from matcheval.io.terminal import json_rows, print_json
from matcheval.protocol.compared_models import ComparedModels
from matcheval.protocol.settings import Criterion

LOGGER = logging.getLogger(__name__)
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
        from matcheval.api.comparison_files import write_comparison

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
        from matcheval.api.comparison_files import check_folder

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
