"""DIS², an almost provable lower bound on accuracy (Rosenfeld & Garg 2023, arXiv 2306.00312).

A linear critic of features or logits is trained to agree with the model on the base and to disagree
with it on the target. If the truth disagrees with the model no more than the best critic does, as
no data can show, accuracy falls from base to target by no more than the critic's agreement. As it
is a bound and no estimate, it is no score, and no recommendation rests on it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from matcheval.accuracy_prediction.scores.outputs import Classes, Floats
from matcheval.accuracy_prediction.scores.score import MIN_ROWS
from matcheval.errors import InputError

if TYPE_CHECKING:
    import torch

DELTA = 0.01
_BATCH, _RATE, _DECAY = 256, 0.003, 5e-4


@dataclass(frozen=True)
class Bound:
    """A lower bound on accuracy, and what it allows for chance on the held-out datapoints."""

    lower_bound: float
    epsilon: float


def dis2_bound(
    accuracy_base: float, agree_base: float, agree_target: float, n_base: int, n_target: int,
    delta: float = DELTA,
) -> Bound:  # fmt: skip
    """Compute the bound from what a critic did on held-out datapoints.

    Parameters
    ----------
    accuracy_base : float
        Accuracy of the model on held-out datapoints of the base.
    agree_base, agree_target : float
        Shares of held-out datapoints on which the critic predicts the model's class.
    n_base, n_target : int
        Held-out datapoints of the two sets, at least 1.
    delta : float
        In (0, 1): chance that the bound fails for one critic chosen beforehand. It does not pay for
        taking the best of many, which is why the bound is almost provable only.

    Raises
    ------
    InputError
        If a value is out of range; the message names it.

    References
    ----------
    Rosenfeld & Garg (2023), NeurIPS, arXiv 2306.00312.
    """
    shares = {
        "accuracy_base": accuracy_base,
        "agree_base": agree_base,
        "agree_target": agree_target,
    }
    for name, share in shares.items():
        if not 0 <= share <= 1:
            raise InputError(f"is {share}", field=name, remedy="Give a fraction in [0, 1]")
    for name, n in {"n_base": n_base, "n_target": n_target}.items():
        if not 1 <= n < np.inf:
            raise InputError(f"is {n}", field=name, remedy="Give at least 1 datapoint")
    if not 0 < delta < 1:
        raise InputError(
            f"is {delta}", field="delta", remedy=f"Give one in (0, 1), such as {DELTA}"
        )
    epsilon = float(np.sqrt((n_base + 4 * n_target) * np.log(1 / delta) / (2 * n_base * n_target)))
    return Bound(max(0.0, accuracy_base - (agree_base - agree_target) - epsilon), epsilon)


def disagreement_loss(logits: npt.NDArray[Any], predicted: npt.NDArray[Any]) -> Floats:
    """Compute how far a critic is from disagreeing with the model, by datapoint.

    Parameters
    ----------
    logits : float array, shape (n, n_classes)
        Of the critic, of at least two classes; finite.
    predicted : int array, shape (n,)
        Classes that the model predicts, in [0, n_classes).

    Returns
    -------
    float64 array, shape (n,)
        log(1 + exp(z - mean of the other logits)), z the critic's logit of the predicted class.

    Raises
    ------
    InputError
        If shapes or classes do not fit, or logits are not finite.

    References
    ----------
    Rosenfeld & Garg (2023), NeurIPS, arXiv 2306.00312.
    """
    z, classes = np.asarray(logits, np.float64), np.asarray(predicted)
    n_classes = z.shape[1] if z.ndim == 2 else 0
    _check("logits", z, classes, n_classes, 1)
    own = z[np.arange(len(z)), classes]
    return np.logaddexp(0, own - (z.sum(axis=1) - own) / (n_classes - 1))


def accuracy_bound(
    features_base: npt.NDArray[Any], predicted_base: npt.NDArray[Any],
    correct_base: npt.NDArray[np.bool_], features_target: npt.NDArray[Any],
    predicted_target: npt.NDArray[Any], n_classes: int, *, delta: float = DELTA,
    restarts: int = 30, epochs: int = 50, seed: int = 0,
) -> Bound:  # fmt: skip
    """Train critics on one half of both sets, and compute the bound on the other half.

    Parameters
    ----------
    features_base, features_target : float arrays, shapes (n_base, d) and (n_target, d)
        Features or logits, finite, of at least 2 datapoints. Logits are linear in the features of
        the last layer, so critics of features can disagree more: a lower, more credible bound.
    predicted_base, predicted_target : int arrays, shapes (n_base,) and (n_target,)
        Classes that the model predicts, in [0, n_classes).
    correct_base : bool array, shape (n_base,)
        Whether predictions on the base are right.
    n_classes : int
        At least 2.
    delta
        As of `dis2_bound`.
    restarts, epochs : int
        Critics, which differ in their initial values, and passes over the larger set; the largest
        held-out difference over both is used.
    seed : int
        Of halves, initial values and batches; the same on the same machine.

    Raises
    ------
    InputError
        If shapes, classes or numbers are not as described.

    References
    ----------
    Rosenfeld & Garg (2023), NeurIPS, arXiv 2306.00312: AdamW, rate 0.003, weight decay 0.0005,
    batches of 256. All critics see the same batches here, so that they are trained at once.
    """
    sides = [
        (np.asarray(features_base), np.asarray(predicted_base)),
        (np.asarray(features_target), np.asarray(predicted_target)),
    ]
    for (features, predicted), name in zip(
        sides, ("features_base", "features_target"), strict=True
    ):
        _check(name, features, predicted, n_classes, MIN_ROWS)
    if sides[0][0].shape[1] != sides[1][0].shape[1]:
        raise InputError(
            f"{sides[1][0].shape[1]} features where the base has {sides[0][0].shape[1]}",
            field="features_target", remedy="Give the same of both sets",
        )  # fmt: skip
    if np.shape(correct_base) != sides[0][1].shape:
        raise InputError(
            f"has shape {np.shape(correct_base)}", field="correct_base",
            remedy=f"Give one value for each of {len(sides[0][1])} predictions",
        )  # fmt: skip
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(len(predicted)) for _, predicted in sides]
    halves = [np.array_split(order, 2) for order in orders]  # fitted, held out
    agrees = _agreements(sides, halves, n_classes, restarts, epochs, rng)
    of_base, of_target = agrees[:, np.argmax(agrees[0] - agrees[1])].tolist()
    n_base, n_target = (len(half[1]) for half in halves)
    accuracy = float(np.asarray(correct_base)[halves[0][1]].mean())
    return dis2_bound(accuracy, of_base, of_target, n_base, n_target, delta)


def _agreements(
    sides: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]], halves: list[list[Classes]],
    n_classes: int, restarts: int, epochs: int, rng: np.random.Generator,
) -> Floats:  # fmt: skip
    """Return held-out agreements on base and target, (2, restarts · epochs), of trained critics."""
    import torch
    from torch.nn import functional

    fitted, held_out = (
        [
            (torch.tensor(x[rows[part]], dtype=torch.float32), torch.tensor(y[rows[part]]).long())
            for (x, y), rows in zip(sides, halves, strict=True)
        ]
        for part in (0, 1)
    )
    width = sides[0][0].shape[1]
    initial = rng.uniform(-1, 1, (restarts, width + 1, n_classes)) / np.sqrt(width)
    weights = torch.tensor(initial, dtype=torch.float32, requires_grad=True)
    optimizer = torch.optim.AdamW([weights], _RATE, weight_decay=_DECAY)

    def outputs(x: "torch.Tensor") -> "torch.Tensor":  # (restarts, n, n_classes)
        return x @ weights[:, :-1] + weights[:, -1:]

    size = max(len(y) for _, y in fitted)
    found = []
    for _ in range(epochs):
        # The smaller set is passed over as often as it takes.
        orders = [
            np.concatenate([rng.permutation(len(y)) for _ in range(-(-size // len(y)))])[:size]
            for _, y in fitted
        ]
        for start in range(0, size, _BATCH):
            (x, y), (other_x, other_y) = (
                (x[rows[start : start + _BATCH]], y[rows[start : start + _BATCH]])
                for (x, y), rows in zip(fitted, orders, strict=True)
            )
            agree = functional.cross_entropy(
                outputs(x).flatten(0, 1), y.repeat(restarts), reduction="sum"
            )
            z = outputs(other_x)
            own = z[:, torch.arange(len(other_y)), other_y]
            differ = functional.softplus(own - (z.sum(dim=2) - own) / (n_classes - 1)).sum()
            optimizer.zero_grad(set_to_none=True)
            ((agree + differ) / (2 * len(y))).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        with torch.no_grad():
            found.append([(outputs(x).argmax(2) == y).double().mean(1) for x, y in held_out])
    return np.concatenate([torch.stack(pair).numpy() for pair in found], axis=1)


def _check(
    name: str, values: npt.NDArray[Any], predicted: npt.NDArray[Any], n_classes: int, least: int
) -> None:
    """Refuse values that are no table of finite numbers, or classes that do not fit to them."""
    if values.ndim != 2 or predicted.shape != (len(values),) or len(values) < least:
        raise InputError(
            f"has shape {values.shape}, predicted classes {predicted.shape}", field=name,
            remedy=f"Give a row and a predicted class for each of at least {least} datapoints",
        )  # fmt: skip
    if not np.isfinite(values).all():
        raise InputError("has non-finite numbers", field=name)
    if n_classes < 2 or not 0 <= predicted.min() <= predicted.max() < n_classes:
        raise InputError(
            f"{n_classes} classes, and predictions of {predicted.min()} to {predicted.max()}",
            field=name, remedy="Give at least 2 classes, numbered from 0",
        )  # fmt: skip
