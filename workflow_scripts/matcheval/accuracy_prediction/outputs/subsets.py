"""Which classes of the base count on a set, and a model's outputs cut to them.

A target may have a part of the base's classes (ImageNet-A has 200 of 1,000), or groups of them (the
30 classes of ImageNet-Vid-Robust stand for 288). Base and target are then compared on what they
have in common.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from matcheval.accuracy_prediction.outputs.model_outputs import (
    Classes,
    ClassRule,
    Floats,
    Members,
    Outputs,
    softmax,
)
from matcheval.errors import InputError, unknown_name_error

_LISTED = 5  # names in a message


def class_rule(
    base: Sequence[str],
    target: Sequence[str] | Mapping[str, Sequence[str]],
    *,
    renormalise: bool = False,
    restrict_argmax: bool = True,
    members: Members = Members.MAX,
) -> ClassRule:
    """Return the rule for a target with other classes than the base."""
    position = {name: k for k, name in enumerate(base)}
    if isinstance(target, Mapping):
        for name in (name for group in target.values() for name in group):
            if name not in position:
                raise unknown_name_error("class of the base set", name, position, field="groups")
        columns = tuple(tuple(position[name] for name in group) for group in target.values())
        columns = tuple(group for group in columns if group)
    else:
        columns = tuple((k,) for k, name in enumerate(base) if name in set(target))
    if not columns:
        raise InputError(
            f"no class in common: the base set has {_listed(base)}, the target {_listed(target)}",
            field="classes",
            remedy="Name the target's classes as the base's, or give groups of the base's classes",
        )
    _check_disjoint(columns, base)
    if columns == _whole(len(base)):
        columns = ()
    return ClassRule(columns, renormalise, restrict_argmax, members)


def restrict(outputs: Outputs, rule: ClassRule, is_base: bool) -> Outputs:
    """Cut outputs to the datapoints and the classes that count."""
    side = "base set" if is_base else "target"
    n_classes = _n_classes(outputs)
    if n_classes and rule.columns == _whole(n_classes):
        rule = ClassRule()
    if rule.columns and is_base and outputs.labels is None:
        raise InputError(
            f"the {side} has no labels to tell which datapoints are of the classes that count",
            remedy="Give a base set with labels",
        )
    if rule.columns and not n_classes:
        raise InputError(
            f"the {side} has the probability of the predicted class only; a part of the classes "
            "needs the others",
            remedy="Switch on inference.outputs: [logits]",
        )
    labels = _positions(outputs.labels, rule, n_classes, side)
    counts: npt.NDArray[np.bool_] = np.ones(len(outputs), bool)
    if labels is not None:
        counts = np.asarray(labels >= 0 if labels.ndim == 1 else (labels >= 0).any(axis=1))
    if not counts.any():
        raise InputError(
            f"no datapoint of the {side} is of a class that counts",
            remedy="Compare the classes of the base set and of the target",
        )
    chosen = None if counts.all() else counts
    if not rule.columns:
        return outputs if chosen is None else outputs.rows(chosen)
    return _cut(outputs, rule, chosen, labels)


def class_probabilities(
    logits: npt.NDArray[Any], rule: ClassRule, temperature: float = 1.0
) -> Floats:
    """Compute the probabilities of the classes that count from the logits of all.

    Parameters
    ----------
    logits : float array, shape (n, n_classes)
    rule : ClassRule
    temperature : float
        Positive number that the logits are divided by.

    Returns
    -------
    float64 array, shape (n, n_columns)
        A column for every member of `rule.columns`; of all classes if the rule has none.
    """
    if not rule.columns:
        return softmax(logits, temperature)
    if rule.renormalise:  # the same as dividing by their sum, which may underflow
        return softmax(np.take(logits, _flat(rule), axis=1), temperature)
    return np.take(softmax(logits, temperature), _flat(rule), axis=1)


def largest_probability(probabilities: Floats, rule: ClassRule) -> Floats:
    """Return the largest probability of a class of the target (P1, equation 5).

    Parameters
    ----------
    probabilities : float64 array, shape (n, n_columns)
        Of the classes that count, as `class_probabilities` returns them.
    rule : ClassRule

    Returns
    -------
    float64 array, shape (n,)
    """
    grouped = probabilities if rule.members is Members.MAX else _grouped(probabilities, rule)
    largest: Floats = grouped.max(axis=1)
    return largest


def _cut(
    outputs: Outputs, rule: ClassRule, chosen: npt.NDArray[np.bool_] | None, labels: Classes | None
) -> Outputs:
    """Cut outputs to the columns of a rule, and to some datapoints if any are chosen."""
    cut = replace(outputs, probabilities=None, labels=labels)
    cut = cut if chosen is None else cut.rows(chosen)
    members = _flat(rule)
    if outputs.probabilities is None or (rule.renormalise and cut.logits is not None):
        assert cut.logits is not None
        probabilities = class_probabilities(cut.logits, rule)
    else:
        p = outputs.probabilities
        index = np.ix_(np.flatnonzero(chosen), members) if chosen is not None else None
        probabilities = np.take(p, members, axis=1) if index is None else p[index]
        if rule.renormalise:
            probabilities /= _positive_sums(probabilities)
    if not rule.restrict_argmax:
        n_classes = _n_classes(outputs)
        others = len(rule.columns) + np.arange(n_classes)
        predicted = _lookup(rule, others)[cut.predicted]
    elif cut.logits is not None and rule.members is Members.MAX:  # no ties by underflow
        predicted = _grouped(np.take(cut.logits, members, axis=1), rule).argmax(axis=1)
    else:
        predicted = _grouped(probabilities, rule).argmax(axis=1)
    return replace(
        cut, predicted=predicted, confidences=largest_probability(probabilities, rule),
        probabilities=probabilities, rule=rule,
    )  # fmt: skip


def _grouped(values: npt.NDArray[Any], rule: ClassRule) -> npt.NDArray[Any]:
    """Return a column per class of the target from a column per member."""
    sizes = np.array([len(group) for group in rule.columns])
    if not rule.columns or (sizes == 1).all():
        return values
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    if rule.members is Members.MAX:
        return np.maximum.reduceat(values, starts, axis=1)
    sums = np.add.reduceat(values, starts, axis=1)
    return sums / sizes if rule.members is Members.MEAN else sums


def _positions(
    labels: Classes | None, rule: ClassRule, n_classes: int, side: str
) -> Classes | None:
    """Return labels as positions in the rule's columns, -1 for those that do not count."""
    if labels is None or not rule.columns:
        return labels
    for label in (labels.min(initial=0), labels.max(initial=0)):
        if not -1 <= label < n_classes:
            raise InputError(
                f"label {label} of the {side} is out of range: there are {n_classes} classes",
                remedy="Labels are positions in the base's label space, from 0, or -1",
            )
    return _lookup(rule, np.full(n_classes, -1))[labels]


def _lookup(rule: ClassRule, others: Classes) -> Classes:
    """Return each class's position in the columns, or what `others` has; -1 at the end."""
    found = np.append(others, -1)
    for position, group in enumerate(rule.columns):
        found[list(group)] = position
    return found


def _positive_sums(probabilities: Floats) -> Floats:
    """Return the sums of rows, of which none may be 0."""
    sums: Floats = probabilities.sum(axis=1, keepdims=True)
    if zero := int((sums == 0).sum()):
        raise InputError(
            f"on {zero} of {len(sums)} datapoints the probabilities of the classes that count add "
            "up to 0 and cannot be normalised",
            field="renormalise",
            remedy="Give logits instead of probabilities, or set renormalise: false",
        )
    return sums


def _n_classes(outputs: Outputs) -> int:
    """Return the number of the base's classes; 0 if it is not on file."""
    for array in (outputs.logits, outputs.probabilities):
        if array is not None:
            return int(array.shape[1])
    return 0


def _flat(rule: ClassRule) -> Classes:
    return np.array([k for group in rule.columns for k in group], np.int64)


def _whole(n_classes: int) -> tuple[tuple[int, ...], ...]:
    return tuple((k,) for k in range(n_classes))


def _check_disjoint(columns: Sequence[Sequence[int]], base: Sequence[str]) -> None:
    seen: set[int] = set()
    for k in (k for group in columns for k in group):
        if k in seen:
            raise InputError(
                f"class '{base[k]}' of the base set is given twice",
                field="groups",
                remedy="A class of the base may stand for one class of the target only",
            )
        seen.add(k)


def _listed(names: Sequence[str] | Mapping[str, Sequence[str]]) -> str:
    more = len(names) - _LISTED
    return ", ".join(list(names)[:_LISTED]) + (f" and {more} more" if more > 0 else "")
