"""The command `match`, and what it shares with `compare`: arguments, and reading two files."""

import argparse
import logging
import os
from collections.abc import Mapping
from dataclasses import replace

from matcheval.api.inputs import Given
from matcheval.api.models import GivenModel
from matcheval.api.options import PairOptions, methods_of
from matcheval.api.reading import input_warnings, read_compared, unmatched_warning
from matcheval.cli.layouts import read_layout
from matcheval.errors import InputError
from matcheval.io.files import check_place
from matcheval.io.tables import check_suffix, write_table
from matcheval.io.terminal import json_rows, print_json
from matcheval.predictions.formats import check_is_file
from matcheval.protocol.compared_models import ComparedModels, MatchedModel
from matcheval.protocol.schemas import RUNS
from matcheval.protocol.settings import MatchingMethod

LOGGER = logging.getLogger(__name__)


def run_match(arguments: argparse.Namespace) -> None:
    """Match two sets, and write the table of runs and optionally the matched pairs."""
    _check_outputs(arguments)
    methods = methods_of([arguments.criterion], arguments.epsilon, arguments.seeds)
    known = read_files(arguments, PairOptions(arguments.pair, arguments.model or ""), methods)
    (comparison,), (method,) = known.comparisons, methods.values()
    matched = MatchedModel.of(comparison, method, known.seeds)
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
