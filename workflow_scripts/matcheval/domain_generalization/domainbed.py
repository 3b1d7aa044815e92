"""The command `matched-eval domainbed`: tables of DomainBed's own sweeps."""

import argparse
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa

from matcheval.domain_generalization import domainbed_sweeps as sweeps
from matcheval.domain_generalization.domainbed_sweeps import Record, Rule
from matcheval.errors import InputError, printable
from matcheval.io.tables import Column, TableSchema, check_suffix, text, write_table
from matcheval.io.terminal import add_json, json_rows, print_json

DESCRIPTION = """\
Read the records of a sweep of DomainBed, choose hyper-parameters and steps by each rule of model
selection, and print the accuracies on the held-out domains in DomainBed's layout: means and
standard errors over trials, in percent.
"""
_DESCRIPTIONS = {  # the rules in DomainBed's tables
    Rule.SOURCE_VALIDATION: "training-domain validation set",
    Rule.LEAVE_ONE_OUT: "leave-one-domain-out cross-validation",
    Rule.ORACLE: "test-domain validation set (oracle)",
}
AVERAGE = "average"

_CHOSEN_FOR = (
    text("dataset", "collection of domains"),
    text("rule", "what hyper-parameters and step were chosen by"),
    text("algorithm", "what was trained"),
)
CHOICES = TableSchema(
    "chosen models",
    (
        *_CHOSEN_FOR,
        text("target", "domain held out and tested on"),
        Column("trial", pa.int64(), "1", "seed of the repetition"),
        text("group", "the chosen hyper-parameters"),
        Column("step", pa.int64(), "1", "the chosen step"),
        Column("validation_accuracy", pa.float64(), "1", "that it was chosen by, as a fraction"),
        Column("accuracy", pa.float64(), "1", "accuracy on the target, as a fraction"),
    ),
)
TARGETS = TableSchema(
    "accuracies by target domain",
    (
        *_CHOSEN_FOR,
        text("target", f"domain tested on, or '{AVERAGE}' of all"),
        Column("n_trials", pa.int64(), "1", "repetitions that have a chosen model"),
        Column("accuracy", pa.float64(), "1", "mean over trials as a fraction, or NaN"),
        Column("standard_error", pa.float64(), "1", "of the mean over trials, or NaN"),
    ),
)


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
    outputs = [path for path in (arguments.output, arguments.choices) if path is not None]
    for path in outputs:
        check_suffix(path)
    if len(set(outputs)) < len(outputs):
        raise InputError("is given for two tables", file=outputs[0])
    records = sweeps.read_sweep(arguments.folder)
    if arguments.default_only:
        records = [record for record in records if record.group == sweeps.DEFAULT_GROUP]
    rules = [Rule(name) for name in dict.fromkeys(arguments.rule or Rule)]
    choices = tabulate_choices(records, rules)
    if len(choices) == 0:
        remedy = (
            "Source validation and oracle need runs with a single held-out domain, "
            "leave-one-domain-out also runs with two, and --default-only hparams_seed 0"
        )
        problem = "has no runs that the chosen rules apply to"
        raise InputError(problem, file=arguments.folder, remedy=remedy)
    targets = summarize_choices(choices, sweeps.domains_of(records))
    if not arguments.json:
        tables = f"Total records: {len(records)}\n\n{domainbed_tables(targets)}"
        sys.stdout.write(printable(tables))
    for table, path in ((targets, arguments.output), (choices, arguments.choices)):
        if path is not None:
            write_table(table, path)
    if arguments.json:
        print_json({
            "records": len(records), "accuracies": json_rows(targets),
            "choices": json_rows(choices), "written": list(map(str, outputs)),
        })  # fmt: skip


def tabulate_choices(records: Iterable[Record], rules: Iterable[Rule] = tuple(Rule)) -> pa.Table:
    """Choose a model per algorithm, target and trial, by each of several rules."""
    trials: dict[tuple[str, str, int], list[Record]] = {}
    for record in records:
        trials.setdefault((record.dataset, record.algorithm, record.trial), []).append(record)
    rows = []
    for rule in rules:
        for (dataset, algorithm, trial), of_trial in trials.items():
            for target in dict.fromkeys(name for r in of_trial for name in r.accuracies):
                choice = sweeps.choose(of_trial, target, rule)
                if choice is not None:
                    rows.append(
                        (dataset, rule.value, algorithm, target, trial, choice.group, choice.step,
                         choice.validation, choice.test)
                    )  # fmt: skip
    return CHOICES.from_frame(pd.DataFrame(rows, columns=CHOICES.names))


def summarize_choices(choices: pa.Table, domains: Mapping[str, Sequence[str]]) -> pa.Table:
    """Summarise chosen models over trials, by target domain and on average over all of them."""
    rows = []
    keys = ["dataset", "rule", "algorithm"]
    for key, each in choices.to_pandas().groupby(keys, sort=False):
        by_trial = each.pivot_table(index="trial", columns="target", values="accuracy")
        by_trial = by_trial.reindex(columns=list(domains[key[0]]))
        averages = [math.fsum(trial) / len(trial) for trial in by_trial.dropna().to_numpy()]
        values = {name: by_trial[name].dropna().tolist() for name in by_trial}
        for target, of_target in (values | {AVERAGE: averages}).items():
            rows.append((*key, target, len(of_target), *mean_and_error(of_target)))
    return TARGETS.from_frame(pd.DataFrame(rows, columns=TARGETS.names))


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Compute the mean and its standard error, as DomainBed prints them."""
    n = len(values)
    if n == 0:
        return math.nan, math.nan
    mean = math.fsum(values) / n
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / n)
    return mean, deviation / math.sqrt(n)


def domainbed_tables(targets: pa.Table) -> str:
    """Lay out accuracies by target domain, as text like the tables of DomainBed."""
    rows = targets.to_pandas()
    lines: list[str] = []
    for rule, how in _DESCRIPTIONS.items():
        selection = f"model selection method: {how}"
        of_rule = rows[rows["rule"] == rule]
        averages = of_rule[of_rule["target"] == AVERAGE]
        for dataset, each in of_rule.drop(averages.index).groupby("dataset"):
            lines += _table(f"Dataset: {dataset}, {selection}", 20, each, "target")
        if len(averages):
            ordered = averages.sort_values("dataset", kind="stable")
            lines += _table(f"Averages, {selection}", 25, ordered, "dataset")
    return "\n".join(lines)


def _table(title: str, width: int, rows: pd.DataFrame, column: str) -> Iterator[str]:
    """Lay out a row per algorithm, ERM first, with its mean over the columns."""

    def line(cells: Iterable[str]) -> str:
        return "  ".join(each.ljust(width) for each in cells).rstrip()

    def cell(mean: float, error: str = "") -> str:
        return "X" if math.isnan(mean) else f"{100 * mean:.1f}{error}"

    columns = list(dict.fromkeys(rows[column]))
    yield f"-------- {title}"
    yield line(["Algorithm", *columns, "Avg"])
    for algorithm in sorted(set(rows["algorithm"]), key=lambda name: (name != "ERM", name)):
        of_algorithm = rows[rows["algorithm"] == algorithm].set_index(column).reindex(columns)
        mean, error = of_algorithm["accuracy"], of_algorithm["standard_error"]
        cells = [cell(m, f" +/- {100 * e:.1f}") for m, e in zip(mean, error, strict=True)]
        yield line([algorithm, *cells, cell(sum(mean) / len(columns))])
    yield ""
