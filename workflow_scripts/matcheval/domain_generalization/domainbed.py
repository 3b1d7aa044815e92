"""The command `matched-eval domainbed`: tables of DomainBed's own sweeps."""

import argparse
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from matcheval.domain_generalization.domainbed_sweeps import Record, Rule, choose
from matcheval.errors import InputError, printable
from matcheval.io.printed_json import add_json, json_rows, print_json
from matcheval.io.tables import Column, TableSchema, check_suffix

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
    from matcheval.domain_generalization.domainbed import (
        domainbed_tables,
        summarize_choices,
        tabulate_choices,
    )
    from matcheval.domain_generalization.domainbed_sweeps import (
        DEFAULT_GROUP,
        domains_of,
        read_sweep,
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


AVERAGE = "average"

CHOICES = TableSchema(
    "chosen models",
    (
        Column("dataset", pa.string(), "", "collection of domains"),
        Column("rule", pa.string(), "", "what hyper-parameters and step were chosen by"),
        Column("algorithm", pa.string(), "", "what was trained"),
        Column("target", pa.string(), "", "domain held out and tested on"),
        Column("trial", pa.int64(), "1", "seed of the repetition"),
        Column("group", pa.string(), "", "the chosen hyper-parameters"),
        Column("step", pa.int64(), "1", "the chosen step"),
        Column("validation_accuracy", pa.float64(), "1", "that it was chosen by, as a fraction"),
        Column("accuracy", pa.float64(), "1", "accuracy on the target, as a fraction"),
    ),
)

TARGETS = TableSchema(
    "accuracies by target domain",
    (
        Column("dataset", pa.string(), "", "collection of domains"),
        Column("rule", pa.string(), "", "what hyper-parameters and step were chosen by"),
        Column("algorithm", pa.string(), "", "what was trained"),
        Column("target", pa.string(), "", f"domain tested on, or '{AVERAGE}' of all"),
        Column("n_trials", pa.int64(), "1", "repetitions that have a chosen model"),
        Column("accuracy", pa.float64(), "1", "mean over trials as a fraction, or NaN"),
        Column("standard_error", pa.float64(), "1", "of the mean over trials, or NaN"),
    ),
)


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Compute the mean and its standard error, as DomainBed prints them."""
    n = len(values)
    if n == 0:
        return math.nan, math.nan
    mean = math.fsum(values) / n
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / n)
    return mean, deviation / math.sqrt(n)


def tabulate_choices(records: Iterable[Record], rules: Iterable[Rule] = tuple(Rule)) -> pa.Table:
    """Choose a model per algorithm, target and trial, by each of several rules."""
    trials: dict[tuple[str, str, int], list[Record]] = {}
    for record in records:
        key = (record.dataset, record.algorithm, record.trial)
        trials.setdefault(key, []).append(record)
    rows = []
    for rule in rules:
        for (dataset, algorithm, trial), of_trial in trials.items():
            targets = dict.fromkeys(name for r in of_trial for name in r.accuracies)
            for target in targets:
                choice = choose(of_trial, target, rule)
                if choice is not None:
                    rows.append(
                        (dataset, rule.value, algorithm, target, trial, choice.group, choice.step,
                         choice.validation, choice.test)
                    )  # fmt: skip
    columns = zip(*rows, strict=True) if rows else [[] for _ in CHOICES.names]
    return CHOICES.table(dict(zip(CHOICES.names, map(list, columns), strict=True)))


def summarize_choices(choices: pa.Table, domains: Mapping[str, Sequence[str]]) -> pa.Table:
    """Summarise chosen models over trials."""
    accuracies: dict[tuple[str, str, str], dict[str, dict[int, float]]] = {}
    for row in choices.to_pylist():
        of_algorithm = accuracies.setdefault((row["dataset"], row["rule"], row["algorithm"]), {})
        of_algorithm.setdefault(row["target"], {})[row["trial"]] = row["accuracy"]
    rows = []
    for (dataset, rule, algorithm), by_target in accuracies.items():
        names = domains[dataset]
        by_trial = [by_target.get(name, {}) for name in names]
        complete = [trial for trial in by_trial[0] if all(trial in each for each in by_trial)]
        averages = [math.fsum(each[trial] for each in by_trial) / len(names) for trial in complete]
        values = [list(each.values()) for each in by_trial]
        for target, of_target in zip([*names, AVERAGE], [*values, averages], strict=True):
            rows.append(
                (dataset, rule, algorithm, target, len(of_target), *mean_and_error(of_target))
            )
    columns = zip(*rows, strict=True) if rows else [[] for _ in TARGETS.names]
    return TARGETS.table(dict(zip(TARGETS.names, map(list, columns), strict=True)))


_DOMAIN_WIDTH, _DATASET_WIDTH = 20, 25
_UNDEFINED = "X"
_FIRST = "ERM"  # the baseline comes first, all others by name

Cells = dict[str, tuple[float, float]]


def domainbed_tables(targets: pa.Table) -> str:
    """Lay out accuracies by target domain."""
    rows = targets.to_pylist()
    by_rule = [
        (rule, [row for row in rows if row["rule"] == rule])
        for rule in Rule
        if any(row["rule"] == rule for row in rows)
    ]
    return "\n".join(line for rule, of_rule in by_rule for line in _of_rule(rule, of_rule))


def _of_rule(rule: Rule, rows: Sequence[dict[str, object]]) -> Iterator[str]:
    cells: dict[str, dict[str, Cells]] = {}
    for row in rows:
        of_algorithm = cells.setdefault(str(row["dataset"]), {}).setdefault(
            str(row["algorithm"]), {}
        )
        of_algorithm[str(row["target"])] = (float(str(row["accuracy"])),
                                            float(str(row["standard_error"])))  # fmt: skip
    for dataset in sorted(cells):
        yield f"-------- Dataset: {dataset}, model selection method: {rule.description}"
        yield from _domains(cells[dataset])
        yield ""
    yield f"-------- Averages, model selection method: {rule.description}"
    yield from _averages(cells)
    yield ""


def _domains(algorithms: dict[str, Cells]) -> Iterator[str]:
    names = [name for name in next(iter(algorithms.values())) if name != AVERAGE]
    yield _line(["Algorithm", *names, "Avg"], _DOMAIN_WIDTH)
    for algorithm in sorted(algorithms, key=_order):
        found = algorithms[algorithm]
        means = [found[name][0] for name in names]
        cells = [_cell(*found[name]) for name in names]
        yield _line([algorithm, *cells, _number(sum(means) / len(means))], _DOMAIN_WIDTH)


def _averages(cells: dict[str, dict[str, Cells]]) -> Iterator[str]:
    datasets = sorted(cells)
    yield _line(["Algorithm", *datasets, "Avg"], _DATASET_WIDTH)
    for algorithm in sorted({name for found in cells.values() for name in found}, key=_order):
        found = [
            cells[dataset].get(algorithm, {}).get(AVERAGE, (math.nan, math.nan))
            for dataset in datasets
        ]
        mean = sum(each[0] for each in found) / len(found)
        yield _line([algorithm, *(_cell(*each) for each in found), _number(mean)], _DATASET_WIDTH)


def _order(algorithm: str) -> tuple[bool, str]:
    return algorithm != _FIRST, algorithm


def _cell(mean: float, error: float) -> str:
    return _UNDEFINED if math.isnan(mean) else f"{100 * mean:.1f} +/- {100 * error:.1f}"


def _number(mean: float) -> str:
    return _UNDEFINED if math.isnan(mean) else f"{100 * mean:.1f}"


def _line(cells: Sequence[str], width: int) -> str:
    return "  ".join(cell.ljust(width) for cell in cells).rstrip()
