"""Model selection without the test domain: which hyper-parameters, and which step of a run.

The three rules are those of Gulrajani & Lopez-Paz (2021), In search of lost domain generalization,
section 3. A rule gives every run and step a validation accuracy; the highest is chosen.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from matcheval.domain_generalization.domainbed.records import Record
from matcheval.errors import InputError

Key = TypeVar("Key")


class Rule(StrEnum):
    """What the hyper-parameters and the step are chosen by."""

    SOURCE_VALIDATION = "source-validation"
    LEAVE_ONE_OUT = "leave-one-domain-out"
    ORACLE = "oracle"

    @property
    def description(self) -> str:
        """The rule's name in the tables of DomainBed."""
        return _DESCRIPTIONS[self]


_DESCRIPTIONS = {
    Rule.SOURCE_VALIDATION: "training-domain validation set",
    Rule.LEAVE_ONE_OUT: "leave-one-domain-out cross-validation",
    Rule.ORACLE: "test-domain validation set (oracle)",
}


@dataclass(frozen=True)
class Choice:
    """A chosen model."""

    group: str
    step: int
    validation: float
    test: float


def choose_steps(records: Iterable[Record], target: str, rule: Rule) -> dict[str, Choice]:
    """Choose a step for each group of hyper-parameters."""
    held_out = [record for record in records if target in record.held_out]
    choices = {
        group: _STEPS[rule](of_group, target)
        for group, of_group in _grouped(held_out, lambda record: record.group).items()
    }
    return {group: choice for group, choice in choices.items() if choice is not None}


def choose(records: Iterable[Record], target: str, rule: Rule) -> Choice | None:
    """Choose the hyper-parameters and the step of one trial."""
    choices = choose_steps(records, target, rule).values()
    return max(choices, key=lambda choice: choice.validation, default=None)


def choose_group(records: Iterable[Record], target: str, rule: Rule) -> str | None:
    """Choose the same hyper-parameters for all trials, as Sun et al. (2024) do."""
    trials = [
        choose_steps(of_trial, target, rule)
        for of_trial in _grouped(records, lambda record: record.trial).values()
    ]
    if not trials:
        return None
    means = {
        group: sum(choices[group].validation for choices in trials) / len(trials)
        for group in trials[0]
        if all(group in choices for choices in trials)
    }
    return max(means, key=lambda group: means[group], default=None)


def _by_source_validation(records: Sequence[Record], target: str) -> Choice | None:
    def choice(record: Record) -> Choice:
        sources = [record.validation[name] for name in record.validation if name != target]
        return Choice(
            record.group, record.step, sum(sources) / len(sources), record.accuracies[target]
        )

    alone = (choice(record) for record in records if len(record.held_out) == 1)
    return max(alone, key=lambda each: each.validation, default=None)


def _by_leaving_one_out(records: Sequence[Record], target: str) -> Choice | None:
    choices = []
    for step, of_step in _grouped(records, lambda record: record.step).items():
        runs = {record.held_out: record for record in of_step}
        if len(runs) < len(of_step):
            first = of_step[0]
            raise InputError(
                f"two records of {first.algorithm}, hyper-parameters {first.group}, trial "
                f"{first.trial}, held-out domains {target} and others, step {step}",
                file=first.dataset,
                remedy="Keep one run of each kind",
            )
        tested = runs.get(frozenset({target}))
        if tested is None:
            continue
        others = [name for name in tested.accuracies if name != target]
        if not all(frozenset({target, name}) in runs for name in others):
            continue
        accuracies = [runs[frozenset({target, name})].accuracies[name] for name in others]
        mean = sum(accuracies) / len(accuracies)
        choices.append(Choice(tested.group, step, mean, tested.accuracies[target]))
    return max(choices, key=lambda each: each.validation, default=None)


def _by_oracle(records: Sequence[Record], target: str) -> Choice | None:
    alone = [record for record in records if len(record.held_out) == 1]
    if not alone:
        return None
    last = max(alone, key=lambda record: record.step)
    return Choice(last.group, last.step, last.validation[target], last.accuracies[target])


_STEPS: dict[Rule, Callable[[Sequence[Record], str], Choice | None]] = {
    Rule.SOURCE_VALIDATION: _by_source_validation,
    Rule.LEAVE_ONE_OUT: _by_leaving_one_out,
    Rule.ORACLE: _by_oracle,
}


def _grouped(records: Iterable[Record], key: Callable[[Record], Key]) -> dict[Key, list[Record]]:
    """Return records by a key, keys in the order of their first record."""
    groups: dict[Key, list[Record]] = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return groups
