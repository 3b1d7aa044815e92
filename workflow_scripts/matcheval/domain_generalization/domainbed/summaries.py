"""Accuracies of chosen models, summarised over trials: by target domain and on average."""

import math
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from matcheval.domain_generalization.domainbed.records import Record
from matcheval.domain_generalization.domainbed.selection import Rule, choose
from matcheval.io.tables import Column, TableSchema

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
