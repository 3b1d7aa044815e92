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
    """A chosen model.

    Attributes
    ----------
    group : str
        Its hyper-parameters.
    step : int
        Its step.
    validation : float
        The accuracy that it was chosen by, as a fraction.
    test : float
        Its accuracy on the target, as a fraction.
    """

    group: str
    step: int
    validation: float
    test: float


def choose_steps(records: Iterable[Record], target: str, rule: Rule) -> dict[str, Choice]:
    """Choose a step for each group of hyper-parameters.

    - Source validation: the step with the highest mean accuracy over the validation parts of the
      domains trained on, each counted alike.
    - Leave one domain out: the step with the highest mean accuracy over further runs, each of which
      holds out the target and another domain, on that other domain.
    - Oracle: the last step, so that accuracies on the target do not stop a run early; its
      validation accuracy is that on the validation part of the target.

    Of equal accuracies, the first in the order of the records is chosen.

    Parameters
    ----------
    records : iterable of Record
        All of one dataset, algorithm and trial. Those that do not hold out the target are ignored.
    target : str
        The test domain.
    rule : Rule

    Returns
    -------
    dict of str to Choice
        By group, in the order of the records. A group lacks if it has no run that holds out the
        target only, or if by leaving one domain out no step has the runs for all other domains.

    Raises
    ------
    InputError
        If a rule needs a run's accuracies at a step and there are two of them.
    """
    held_out = [record for record in records if target in record.held_out]
    choices = {
        group: _STEPS[rule](of_group, target)
        for group, of_group in _grouped(held_out, lambda record: record.group).items()
    }
    return {group: choice for group, choice in choices.items() if choice is not None}


def choose(records: Iterable[Record], target: str, rule: Rule) -> Choice | None:
    """Choose the hyper-parameters and the step of one trial.

    Parameters
    ----------
    records, target, rule
        As for `choose_steps`.

    Returns
    -------
    Choice or None
        The one with the highest validation accuracy; None if there is none to choose from.

    Raises
    ------
    InputError
        As for `choose_steps`.
    """
    choices = choose_steps(records, target, rule).values()
    return max(choices, key=lambda choice: choice.validation, default=None)


def choose_group(records: Iterable[Record], target: str, rule: Rule) -> str | None:
    """Choose the same hyper-parameters for all trials, as Sun et al. (2024) do.

    Parameters
    ----------
    records : iterable of Record
        All of one dataset and algorithm, of all trials.
    target, rule
        As for `choose_steps`.

    Returns
    -------
    str or None
        The group with the highest validation accuracy, averaged over trials, of those that every
        trial has; None if there is no such group.

    Raises
    ------
    InputError
        As for `choose_steps`.
    """
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
