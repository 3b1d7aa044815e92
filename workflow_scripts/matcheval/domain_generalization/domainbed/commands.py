"""The command `matched-eval domainbed`: tables of DomainBed's own sweeps."""

import argparse
import sys
from pathlib import Path

from matcheval.domain_generalization.domainbed.selection import Rule
from matcheval.errors import InputError, printable
from matcheval.io.tables import check_suffix
from matcheval.io.terminal import add_json, json_rows, print_json

DESCRIPTION = """\
Read the records of a sweep of DomainBed, choose hyper-parameters and steps by each rule of model
selection, and print the accuracies on the held-out domains in DomainBed's layout: means and
standard errors over trials, in percent.
"""


def add_domainbed(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `domainbed`."""
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the sweep's --output_dir")
    parser.add_argument(
        "--rule", action="append", choices=[rule.value for rule in Rule], default=None,
        help="what to choose by; repeat for several (default: all three)",
    )  # fmt: skip
    parser.add_argument(
        "--default-only", action="store_true",
        help="only runs with the default hyper-parameters (seed 0): no advantage for algorithms "
        "with more of them to choose from",
    )  # fmt: skip
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="also write the table (.csv, .parquet)"
    )
    parser.add_argument(
        "--choices", type=Path, metavar="FILE",
        help="also write which hyper-parameters and step were chosen per trial (.csv, .parquet)",
    )  # fmt: skip
    add_json(parser)
    parser.set_defaults(run=run_domainbed)


def run_domainbed(arguments: argparse.Namespace) -> None:
    """Print the tables of a sweep, and write them if requested."""
    from matcheval.domain_generalization.domainbed.layout import domainbed_tables
    from matcheval.domain_generalization.domainbed.reading import (
        DEFAULT_GROUP,
        domains_of,
        read_sweep,
    )
    from matcheval.domain_generalization.domainbed.summaries import (
        summarize_choices,
        tabulate_choices,
    )
    from matcheval.io.tables import write_table

    for path in filter(None, (arguments.output, arguments.choices)):
        check_suffix(path)
    if arguments.output is not None and arguments.output == arguments.choices:
        raise InputError("is given for two tables", file=arguments.output)
    records = read_sweep(arguments.folder)
    if arguments.default_only:
        records = [record for record in records if record.group == DEFAULT_GROUP]
    rules = [Rule(name) for name in dict.fromkeys(arguments.rule or Rule)]
    choices = tabulate_choices(records, rules)
    if len(choices) == 0:
        raise InputError(
            "has no runs that the chosen rules apply to",
            file=arguments.folder,
            remedy="Source validation and oracle need runs with a single held-out domain, "
            "leave-one-domain-out also runs with two, and --default-only hparams_seed 0",
        )
    targets = summarize_choices(choices, domains_of(records))
    if not arguments.json:
        tables = f"Total records: {len(records)}\n\n{domainbed_tables(targets)}"
        sys.stdout.write(printable(tables))
    written = []
    for table, path in ((targets, arguments.output), (choices, arguments.choices)):
        if path is not None:
            write_table(table, path)
            written.append(str(path))
    if arguments.json:
        print_json({
            "records": len(records), "accuracies": json_rows(targets),
            "choices": json_rows(choices), "written": written,
        })  # fmt: skip
